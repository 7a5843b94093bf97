//! What can go wrong with matrices and settings of optimisers, with the numbers needed to act on it.

/// Result of every fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of dense algebra or of an optimiser's settings. Whoever matches on it names every variant, so that none is
/// lost on the way to the error of another crate.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// An entry of a table is NaN or infinite.
    #[error("{what}: row {row}, column {column} is {value}; every entry must be finite")]
    NotFinite {
        /// Which table.
        what: &'static str,
        /// Zero-based row.
        row: usize,
        /// Zero-based column.
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// A table has no rows or no columns.
    #[error("{what}: has {rows} rows and {columns} columns; at least one of each is needed")]
    Empty {
        /// Which table.
        what: &'static str,
        /// Its number of rows.
        rows: usize,
        /// Its number of columns.
        columns: usize,
    },
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// Which size.
        what: &'static str,
        /// What it must be.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// A setting is outside its domain.
    #[error("{name}{}: {value} is not allowed; {requirement}", entry.map_or_else(String::new, |i| format!(" of entry {i}")))]
    Parameter {
        /// Name of the setting.
        name: &'static str,
        /// Zero-based entry of a vector, if any.
        entry: Option<usize>,
        /// The offending value.
        value: f64,
        /// What would be allowed, as a clause.
        requirement: &'static str,
    },
    /// A matrix that must be positive definite is not, even after the largest admissible jitter.
    #[error("{what}: not positive definite at pivot {pivot} with jitter {jitter:e}")]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// First pivot that was not positive.
        pivot: usize,
        /// Largest jitter tried.
        jitter: f64,
    },
}

/// `Ok` when `found == expected`, the [`Error::Shape`] otherwise.
///
/// # Errors
/// [`Error::Shape`].
pub fn expect_size(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}
