//! What was decided about the data on the way, for the user to know.

use crate::temporal::Temporal;
use std::fmt::{self, Display, Formatter};

/// A decision or a remark about the data. None of them is an error.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "notice", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// A column has no name in the header.
    Unnamed {
        /// The name it was given, by its position.
        column: String,
    },
    /// A column holds dates, times or durations, which were read as numbers.
    Times {
        /// The column.
        column: String,
        /// What it holds.
        kind: Temporal,
    },
    /// A column holds dates or times, and has become features.
    TimeFeatures {
        /// The column.
        column: String,
        /// Names of the features.
        features: Vec<String>,
    },
    /// A column holds dates that may begin with the day or with the month, and was not read as dates.
    AmbiguousDates {
        /// The column.
        column: String,
        /// One of them.
        example: String,
    },
    /// Rows were left out because a target is missing.
    RowsWithoutTarget {
        /// How many.
        count: u64,
    },
    /// Rows were left out because their weight is 0.
    RowsWithoutWeight {
        /// How many.
        count: u64,
    },
    /// The table lacks a column that belongs to its rows.
    TakenAs {
        /// The column.
        column: String,
        /// What stands for it in every row.
        value: f64,
    },
    /// A column was left out: it has a single value.
    Constant {
        /// The column.
        column: String,
        /// The value.
        value: String,
    },
    /// A column was left out: it has no values.
    AllMissing {
        /// The column.
        column: String,
    },
    /// A column of text was left out: it has more levels than a category may have.
    TooManyLevels {
        /// The column.
        column: String,
        /// Most levels that a category may have.
        limit: usize,
        /// One of them.
        example: String,
    },
    /// A column of text was left out: it is different in every row.
    Identifier {
        /// The column.
        column: String,
        /// One of its values.
        example: String,
    },
    /// A column was left out: it is the number of the row, or an index that was written along.
    RowNumber {
        /// The column.
        column: String,
    },
    /// A target has a single value.
    ConstantTarget {
        /// The target.
        column: String,
        /// The value.
        value: f64,
    },
    /// Rows have the inputs of earlier rows.
    RepeatedInputs {
        /// How many.
        count: u64,
        /// Rows of the table.
        rows: u64,
    },
    /// A target takes a few whole numbers only.
    WholeTarget {
        /// The target.
        column: String,
        /// How many different ones.
        different: usize,
    },
    /// Few rows have some of the labels of a target.
    RareLabels {
        /// The target.
        column: String,
        /// The labels.
        labels: Vec<String>,
        /// Each has fewer rows than this.
        rows: u64,
    },
    /// A column has missing values in the training data; an indicator feature tells where.
    MissingInTraining {
        /// The column.
        column: String,
        /// In how many rows.
        count: u64,
    },
    /// Missing values in a column that had none in training were replaced.
    Imputed {
        /// The column.
        column: String,
        /// How many.
        count: u64,
        /// What stands for them: the mean of the training data; `None` for a category, which is then no level at all.
        value: Option<f64>,
    },
    /// Missing dates or times in a column that had none in training were replaced by the means of its features.
    ImputedTime {
        /// The column.
        column: String,
        /// How many.
        count: u64,
    },
    /// Levels of a category that training did not have were taken as no level at all.
    UnknownLevel {
        /// The column.
        column: String,
        /// The first such level.
        level: String,
        /// Rows with such levels.
        count: u64,
    },
    /// A target names levels that training did not have.
    UnknownLabel {
        /// The target.
        column: String,
        /// The first such level.
        level: String,
        /// Rows with such levels.
        count: u64,
        /// Whether these rows were left out; otherwise they are taken as rows without a target.
        is_left_out: bool,
    },
}

impl Display for Notice {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Unnamed { column } => write!(f, "a column without a name is called {column:?}, by its position"),
            Self::Times { column, kind } => write!(f, "column {column:?} holds {kind}"),
            Self::TimeFeatures { column, features } => {
                write!(f, "column {column:?} holds dates or times; its features are {}", features.join(", "))
            }
            Self::AmbiguousDates { column, example } => write!(
                f,
                "column {column:?} is taken as text: dates such as {example:?} may begin with the day or with the \
                 month; 2024-01-15 would be clear"
            ),
            Self::RowsWithoutTarget { count } => write!(f, "{} left out: the target is missing", rows(*count)),
            Self::RowsWithoutWeight { count } => write!(f, "{} left out: their weight is 0", rows(*count)),
            Self::TakenAs { column, value } => {
                write!(f, "there is no column {column:?}: taken as {value} in every row")
            }
            Self::Constant { column, value } => write!(f, "column {column:?} left out: it is always {value:?}"),
            Self::AllMissing { column } => write!(f, "column {column:?} left out: it has no values"),
            Self::TooManyLevels { column, limit, example } => {
                write!(f, "column {column:?} left out: more than {limit} different texts, such as {example:?}")
            }
            Self::Identifier { column, example } => {
                write!(f, "column {column:?} left out: its text is different in every row, such as {example:?}")
            }
            Self::RowNumber { column } => {
                write!(f, "column {column:?} left out: it numbers the rows; name it among the features to use it")
            }
            Self::ConstantTarget { column, value } => write!(f, "the target {column:?} is always {value}"),
            Self::RepeatedInputs { count, rows } => {
                write!(
                    f,
                    "{count} of {rows} rows have the same inputs as an earlier row; scores on repeated rows are too optimistic"
                )
            }
            Self::WholeTarget { column, different } => write!(
                f,
                "the target {column:?} takes {different} whole numbers only; it is predicted as any other number"
            ),
            Self::RareLabels { column, labels, rows } => {
                const SHOWN: usize = 5;
                let shown: Vec<String> = labels.iter().take(SHOWN).map(|label| format!("{label:?}")).collect();
                let more = if labels.len() > SHOWN { ", …" } else { "" };
                write!(f, "the target {column:?} is {}{more} in fewer than {rows} rows", shown.join(" or "))?;
                write!(f, " each: their probabilities are rough")
            }
            Self::MissingInTraining { column, count } => {
                write!(f, "column {column:?} is missing in {}; the feature \"{column}=NA\" tells where", rows(*count))
            }
            Self::Imputed { column, count, value: Some(value) } => {
                write!(
                    f,
                    "column {column:?} is missing in {}, but never was in training: taken as {value}",
                    rows(*count)
                )
            }
            Self::Imputed { column, count, value: None } => {
                write!(
                    f,
                    "column {column:?} is missing in {}, but never was in training: taken as no level",
                    rows(*count)
                )
            }
            Self::ImputedTime { column, count } => {
                write!(f, "column {column:?} is missing in {}, but never was in training: means taken", rows(*count))
            }
            Self::UnknownLevel { column, level, count } => {
                write!(f, "column {column:?} has levels unknown from training, such as {level:?}, in {}", rows(*count))
            }
            Self::UnknownLabel { column, level, count, is_left_out } => {
                let what = if *is_left_out { "left out" } else { "without a known target" };
                write!(f, "{} {what}: training had no {column:?} such as {level:?}", rows(*count))
            }
        }
    }
}

fn rows(count: u64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}
