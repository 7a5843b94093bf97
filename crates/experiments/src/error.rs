//! What can go wrong with an experiment.

use std::path::PathBuf;
use thiserror::Error;

/// What can go wrong with an experiment.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A word that is neither a task of the paper nor `SET` or `SET:K`.
    #[error(
        "'{text}' is not a task: give a name such as boston or energy2, SET:K for the K-th target of a data set, or the path of a table"
    )]
    NotATask {
        /// The word.
        text: String,
    },
    /// A data set has fewer targets.
    #[error("task {task}: the data set has {targets} target(s)")]
    NoTarget {
        /// The task.
        task: String,
        /// How many there are.
        targets: usize,
    },
    /// A split that is not there.
    #[error("there is no split {split}; there are {splits}, counted from 0")]
    NoSplit {
        /// The split.
        split: usize,
        /// How many there are.
        splits: usize,
    },
    /// A word that is not a network.
    #[error(
        "'{text}' is not a network: give gp, or widths of hidden layers such as 2, D or D,D, with :linear for a linear mean"
    )]
    NotANetwork {
        /// The word.
        text: String,
    },
    /// Fewer rows than a search needs.
    #[error("{rows} training rows are too few for a search: there must be at least {least}")]
    TooFewRows {
        /// How many there are.
        rows: usize,
        /// How many are needed.
        least: usize,
    },
    /// A line of a record file that is not a record.
    #[error("{}, line {line}: not a record: {cause}", path.display())]
    InvalidRecord {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// A record of the same name that was made with other settings.
    #[error("{} has {what} already, made with other settings: choose another --study or another file", path.display())]
    OtherSettings {
        /// The file.
        path: PathBuf,
        /// What of it.
        what: String,
    },
    /// A record file cannot be read or written.
    #[error("cannot {action} {}: {cause}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// Two records of the same run that do not agree.
    #[error("{}: {what} differs from an earlier record of it", path.display())]
    TwoRecords {
        /// The file of the second.
        path: PathBuf,
        /// Study, task, variant and split.
        what: String,
    },
    /// A table of published figures that is not valid.
    #[error("{}{}: {cause}", path.display(), line.map_or_else(String::new, |line| format!(", line {line}")))]
    InvalidPublishedTable {
        /// The file.
        path: PathBuf,
        /// The line, from 1, if it is one line's fault.
        line: Option<u64>,
        /// What is wrong with it.
        cause: String,
    },
    /// A name that nothing has.
    #[error("there is no {what} '{name}'; {}", there_are(known))]
    Unknown {
        /// What it should name.
        what: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A template that cannot be filled in.
    #[error("{}, line {line}: {cause}", path.display())]
    Template {
        /// The file.
        path: PathBuf,
        /// The line on which the directive begins, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// From training or prediction.
    #[error(transparent)]
    Engine(#[from] deepgp::Error),
    /// Numbers that do not form a matrix.
    #[error(transparent)]
    Matrix(#[from] deepgp_numerics::Error),
    /// From the data.
    #[error(transparent)]
    Data(#[from] deepgp_data::Error),
    /// From the store of data sets.
    #[error(transparent)]
    Store(#[from] deepgp_datasets::Error),
}

fn there_are(known: &[String]) -> String {
    if known.is_empty() { "there are none".into() } else { format!("there are {}", known.join("; ")) }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
