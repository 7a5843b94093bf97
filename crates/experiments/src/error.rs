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
    NotARecord {
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
    /// From training or prediction.
    #[error(transparent)]
    Numerics(#[from] deepgp::Error),
    /// From the data.
    #[error(transparent)]
    Data(#[from] deepgp_data::Error),
    /// From the store of data sets.
    #[error(transparent)]
    Store(#[from] deepgp_datasets::Error),
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
