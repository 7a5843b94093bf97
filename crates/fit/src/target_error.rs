//! Why a target cannot be predicted as it should be.

use crate::names::LikelihoodName;
use deepgp_task::{MOST_CLASSES, Task};

/// Why a target cannot be predicted as it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A single label.
    #[error("the target {column:?} is always {label:?}: there is nothing to tell apart")]
    OneClass {
        /// The column.
        column: String,
        /// The label.
        label: String,
    },
    /// Text that is different in nearly every row, or has very many values.
    #[error(
        "the target {column:?} has {} different texts, such as {example:?}; at most {MOST_CLASSES} classes can be told \
         apart",
        if *has_more { format!("more than {count}") } else { count.to_string() }
    )]
    TooManyClasses {
        /// The column.
        column: String,
        /// How many.
        count: usize,
        /// Whether there are more.
        has_more: bool,
        /// One of them.
        example: String,
    },
    /// A label that the column does not have.
    #[error("the target {column:?} is never {label:?}; it is {}", listed(known))]
    NoSuchLabel {
        /// The column.
        column: String,
        /// The label.
        label: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A label of the column that was not listed.
    #[error("the target {column:?} is {label:?} in {rows}, which is not among the levels", rows = rows(*.count))]
    UnlistedLabel {
        /// The column.
        column: String,
        /// The label.
        label: String,
        /// Rows with it.
        count: u64,
    },
    /// A second of two labels where there are not two.
    #[error("'positive' is for two classes, and the target {column:?} has {count}")]
    NotTwoClasses {
        /// The column.
        column: String,
        /// How many it has.
        count: usize,
    },
    /// A level that was listed twice.
    #[error("the level {label:?} of {column:?} is listed twice")]
    RepeatedLevel {
        /// The column.
        column: String,
        /// The level.
        label: String,
    },
    /// An observation model of another task.
    #[error("the likelihood {likelihood} is not for {task}, as which {column:?} is predicted; {} are", models(*.task))]
    OtherLikelihood {
        /// The column.
        column: String,
        /// The observation model.
        likelihood: LikelihoodName,
        /// What is predicted.
        task: Task,
    },
    /// An observation model of one target for several.
    #[error("the likelihood {likelihood} is for a single target; fit one at a time")]
    OneTarget {
        /// The observation model.
        likelihood: LikelihoodName,
    },
    /// A number that an observation model of some numbers cannot have.
    #[error("the target {column:?} holds {value}, and the likelihood {likelihood} is for numbers {range}")]
    OutOfRange {
        /// The column.
        column: String,
        /// The number.
        value: String,
        /// The observation model.
        likelihood: LikelihoodName,
        /// Where they lie.
        range: &'static str,
    },
    /// A column that would say nothing of what is predicted.
    #[error("'{setting}' is for {meant}, and {column:?} is predicted otherwise")]
    IdleColumn {
        /// The setting that names it.
        setting: &'static str,
        /// What it is for.
        meant: &'static str,
        /// The target.
        column: String,
    },
    /// Counts that are none.
    #[error(
        "the target {column:?} is {value} in {place}, and counts are whole numbers from 0 on; correct it if that is a slip, \
         or say --task regression"
    )]
    NotCounts {
        /// The column.
        column: String,
        /// Where the first number stands that is no count.
        place: String,
        /// The number, as it is written.
        value: String,
    },
    /// Nothing that says within which bounds a target lies.
    #[error("for bounds of {column:?}, name the column that says what is censored, or those of the bounds")]
    NoBounds {
        /// The column.
        column: String,
    },
    /// A transform of what is no number with noise that is added to it.
    #[error("a transform is for numbers whose noise is added to them and not known, and {column:?} is none")]
    NoTransform {
        /// The column.
        column: String,
    },
    /// Several targets of which one is no number.
    #[error("several targets are predicted together only if all are numbers, and {column:?} is not; fit one at a time")]
    SeveralTargets {
        /// The column.
        column: String,
    },
    /// Text levels whose order is not known.
    #[error("the levels of {column:?} have no order that is known: list them, from the lowest on: {}", listed(known))]
    NoOrder {
        /// The column.
        column: String,
        /// What there is.
        known: Vec<String>,
    },
}

fn rows(count: u64) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

/// The first few of some labels.
fn listed(labels: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = labels.iter().take(SHOWN).map(|label| format!("{label:?}")).collect();
    let more = if labels.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// The names of the observation models of a task.
fn models(task: Task) -> String {
    let names: Vec<String> =
        task.likelihoods().iter().map(|choice| LikelihoodName::from(*choice).to_string()).collect();
    names.join(", ")
}
