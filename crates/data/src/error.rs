//! What can be wrong with a file of data, with the place to look at.

use std::path::PathBuf;

/// Result of every operation of this crate that reads data.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of a file or of a split. Lines count from 1, as editors do; rows count from 0, as indices do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, read or decompressed, or is not UTF-8.
    #[error("{}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The header is not CSV.
    #[error("{}: {cause}", path.display())]
    Csv {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        cause: csv::Error,
    },
    /// The file has no header, or nothing below it.
    #[error("{}: no {what} found", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// Two columns have the same name.
    #[error("{}: two columns are called {name:?}", path.display())]
    RepeatedName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A line has more or fewer fields than the header.
    #[error("{}, line {line}: {found} fields where the header has {expected}", path.display())]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Line of the file.
        line: u64,
        /// Fields of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A field is not a finite number.
    #[error("{}, line {line}, column {column:?}: {text:?} is not a finite number", path.display())]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Line of the file.
        line: u64,
        /// Name of the column.
        column: String,
        /// The field.
        text: String,
    },
    /// A field of a splits file is not a row number.
    #[error("{}, line {line}, field {field}: {text:?} is not a row number", path.display())]
    NotARow {
        /// The file.
        path: PathBuf,
        /// Line of the file.
        line: u64,
        /// Field of the line, from 1.
        field: usize,
        /// The field.
        text: String,
    },
    /// A split names a row that the data do not have.
    #[error("test row {row} is not one of the {n_rows} rows of the data")]
    RowOutOfRange {
        /// The row, from 0.
        row: usize,
        /// Rows of the data.
        n_rows: usize,
    },
    /// A split names a row twice.
    #[error("test row {row} is named twice")]
    RepeatedRow {
        /// The row, from 0.
        row: usize,
    },
    /// More target columns are asked for than leave an input.
    #[error("{n_targets} target columns asked for, but the table has {n_columns} columns; an input must be left")]
    TooManyTargets {
        /// Target columns asked for.
        n_targets: usize,
        /// Columns of the table.
        n_columns: usize,
    },
    /// The numbers do not form a matrix.
    #[error(transparent)]
    Matrix(#[from] deepgp::Error),
}
