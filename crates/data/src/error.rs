//! What can be wrong with data, with the place to look at and a hint at what to do.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

/// Result of every operation of this crate that reads data.
pub type Result<T> = std::result::Result<T, Error>;

/// Where in a table something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Line of a text file, from 1 as editors count; of a record over several lines, the first.
    Line(u64),
    /// Row of a file without lines, from 1.
    Row(u64),
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// An error in a file, in the columns asked for, or in a split.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be opened, read or decompressed.
    #[error("{}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The file is of a kind that is not read here.
    #[error("{}: this is {what}; {hint}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The kind of file.
        what: String,
        /// What to do.
        hint: &'static str,
    },
    /// A Parquet or Arrow file is damaged or uses what its reader does not know.
    #[error("{}: {message}", path.display())]
    DamagedFile {
        /// The file.
        path: PathBuf,
        /// What its reader says.
        message: String,
    },
    /// Text that is not UTF-8.
    #[error(
        "{}, {place}, field {field}: not UTF-8 text; save the file with the encoding UTF-8",
        path.display()
    )]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Field of the row, from 1.
        field: usize,
    },
    /// The file has no header, or nothing below it.
    #[error("{}: no {what} found", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// Two columns have the same name, or one was asked for twice.
    #[error("{}: two columns are called {name:?}; rename one of them", path.display())]
    RepeatedName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A column in memory that is longer or shorter than those before it.
    #[error("the column {column:?} has {found} entries, and the first one {expected}")]
    ColumnLength {
        /// Its name.
        column: String,
        /// Entries of the first column.
        expected: usize,
        /// Entries of this one.
        found: usize,
    },
    /// A row has more or fewer fields than the first one.
    #[error("{}, {place}: {found} fields where the first row has {expected}{}", path.display(), AsHint(hint))]
    Ragged {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Fields of the first row.
        expected: usize,
        /// Fields of this one.
        found: usize,
        /// What may be the cause.
        hint: &'static str,
    },
    /// A row is larger than any table's, often after a quote that is never closed.
    #[error(
        "{}, {place}: the row is longer than {limit} {unit}; is a quote not closed, or this not a table?",
        path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// The most that is read.
        limit: usize,
        /// "bytes" or "columns".
        unit: &'static str,
    },
    /// A cell is not a finite number where one is needed.
    #[error("{}, {place}, column {column:?}: {text:?} is not a finite number{}", path.display(), AsHint(hint))]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Name of the column.
        column: String,
        /// The cell, shortened if long.
        text: String,
        /// What may be the cause.
        hint: &'static str,
    },
    /// A cell is no date or time, or not of the kind that training had, in a column of dates or times.
    #[error(
        "{}, {place}, column {column:?}: {text:?} is not a date or time as the others{}",
        path.display(),
        AsHint(hint)
    )]
    NotATime {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Name of the column.
        column: String,
        /// The cell, shortened if long.
        text: String,
        /// What to do.
        hint: &'static str,
    },
    /// A cell is neither true nor false in a column that was so in training.
    #[error("{}, {place}, column {column:?}: {text:?} is neither true nor false", path.display())]
    NotABoolean {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Name of the column.
        column: String,
        /// The cell, shortened if long.
        text: String,
    },
    /// The target holds text.
    #[error(
        "{}, {place}: the target {column:?} holds text, such as {text:?}, and numbers were asked \
         for",
        path.display()
    )]
    TextTarget {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Name of the target.
        column: String,
        /// The cell, shortened if long.
        text: String,
    },
    /// A column is of a type that has no place in a table of numbers and categories.
    #[error(
        "{}, column {column:?}: values of type {type_name} are not read; convert them to numbers or text, or exclude \
         the column",
        path.display()
    )]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Type, as the file names it.
        type_name: String,
    },
    /// A column that is needed is not in the file.
    #[error("{}: column {name:?} not found{}", path.display(), Suggestion { similar, available, has_header: *has_header })]
    NoColumn {
        /// The file.
        path: PathBuf,
        /// The column asked for.
        name: String,
        /// The most similar name there is, if any is similar.
        similar: Option<String>,
        /// Names of all columns.
        available: Vec<String>,
        /// Whether these stand in the file.
        has_header: bool,
    },
    /// A file without header has neither the columns of the training data nor those without the targets.
    #[error(
        "{}: {found} columns without a header, where training had {expected}; give the columns names, or the same \
         number",
        path.display()
    )]
    ColumnCount {
        /// The file.
        path: PathBuf,
        /// Columns of the training data.
        expected: usize,
        /// Columns of the file.
        found: usize,
    },
    /// A column is asked for in two roles that exclude each other, such as target and input.
    #[error("column {name:?} is asked for in two roles: {roles}")]
    TwoRoles {
        /// The column.
        name: String,
        /// The two.
        roles: String,
    },
    /// Several targets are named together with what only one can have.
    #[error("{what} needs a single target; predict the targets one by one")]
    SeveralTargets {
        /// "a bound" or "a mark of censoring".
        what: &'static str,
    },
    /// A cell does not hold what the role of its column needs.
    #[error("{}, {place}, column {column:?}: {text:?} is not {role}; {hint}", path.display())]
    RoleCell {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Name of the column.
        column: String,
        /// The cell, shortened if long.
        text: Box<str>,
        /// What it should be: "a weight".
        role: &'static str,
        /// What such cells hold.
        hint: &'static str,
    },
    /// A lower bound is above the upper one.
    #[error(
        "{}, {place}: the lower bound {lower} (column {lower_column:?}) is above the upper bound {upper} (column \
         {upper_column:?})",
        path.display()
    )]
    BoundsOrder {
        /// The file.
        path: PathBuf,
        /// Where.
        place: Place,
        /// Column of the lower bound.
        lower_column: String,
        /// The lower bound.
        lower: f64,
        /// Column of the upper bound.
        upper_column: String,
        /// The upper bound.
        upper: f64,
    },
    /// All dates of a column can be read in two ways.
    #[error(
        "{}, column {column:?}: dates such as {text:?} may begin with the day or with the month; write them as \
         2024-01-15",
        path.display()
    )]
    AmbiguousDates {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// One of them.
        text: String,
    },
    /// No target was named.
    #[error("no target is named; name the column to predict")]
    NoTarget,
    /// A column of text that was asked for by name has too many different values to be a category.
    #[error(
        "{}: column {column:?} has more than {limit} different texts, such as {example:?}; leave it out, group its \
         values, or raise the limit",
        path.display()
    )]
    TooManyLevels {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Most levels that a category may have.
        limit: usize,
        /// One of them.
        example: String,
    },
    /// No column can serve as an input.
    #[error("{}: no column is left to predict from{}", path.display(), Dropped(dropped))]
    NoInput {
        /// The file.
        path: PathBuf,
        /// Why each column was left out.
        dropped: Vec<String>,
    },
    /// The inputs become more numbers a row than is sensible.
    #[error("{}: categories and all, the inputs are more than {limit} numbers a row", path.display())]
    TooWide {
        /// The file.
        path: PathBuf,
        /// The most there may be.
        limit: usize,
    },
    /// A stored schema contradicts itself.
    #[error("the stored schema is not valid: {what}")]
    Schema {
        /// What is wrong.
        what: String,
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
    Matrix(#[from] deepgp_numerics::Error),
}

/// "; hint", or nothing.
struct AsHint<'a>(&'a str);

impl Display for AsHint<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; {}", self.0) }
    }
}

/// "; did you mean …?", or the names there are.
struct Suggestion<'a> {
    similar: &'a Option<String>,
    available: &'a [String],
    has_header: bool,
}

impl Display for Suggestion<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        const SHOWN: usize = 12;
        if let Some(name) = self.similar {
            return write!(f, "; did you mean {name:?}?");
        }
        let shown: Vec<String> = self.available.iter().take(SHOWN).map(|name| format!("{:?}", excerpt(name))).collect();
        write!(f, "; there are {}", shown.join(", "))?;
        match self.available.len().saturating_sub(SHOWN) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        if self.has_header { Ok(()) } else { write!(f, ", by position, since the first row is no header") }
    }
}

/// ": why, why", or nothing.
struct Dropped<'a>(&'a [String]);

impl Display for Dropped<'_> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        const SHOWN: usize = 5;
        let shown = self.0.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("; ");
        if shown.is_empty() { Ok(()) } else { write!(f, ": {shown}") }
    }
}

/// The text, cut where a message would become hard to read.
pub(crate) fn excerpt(text: &str) -> String {
    const SHOWN: usize = 40;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
