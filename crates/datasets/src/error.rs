//! What can go wrong with data sets, with what to do about it.

use crate::registry::{Home, Set};
use std::path::PathBuf;

/// Result of every operation of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault of a name, a stored set, or an import.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No set has this name.
    #[error("there is no data set {name:?}{}", similar.map_or_else(
        || "; `deepgp data list` names them".to_owned(), |similar| format!("; did you mean {similar:?}?")))]
    Unknown {
        /// The name.
        name: String,
        /// One like it.
        similar: Option<&'static str>,
    },
    /// The set is not in the store.
    #[error("{} is not in {}: {}", set.name, folder.display(), remedy(set))]
    Missing {
        /// The set.
        set: &'static Set,
        /// The folder of the store.
        folder: PathBuf,
    },
    /// A table has not the shape of the set.
    #[error("{name}: {} has {} rows and {} columns instead of {} and {}", path.display(), found.0, found.1, expected.0,
        expected.1)]
    Shape {
        /// The set.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// Rows and columns that it should have.
        expected: (usize, usize),
        /// Rows and columns that it has.
        found: (usize, usize),
    },
    /// A table has the right shape and other values.
    #[error("{name}: the values in {} are not those of the set: their SHA-256 is {found}, not {expected}", path.display())]
    Values {
        /// The set.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// The checksum that it should have.
        expected: &'static str,
        /// The checksum that it has.
        found: String,
    },
    /// The splits are not those of the set.
    #[error("{name}: the splits in {} are not those of the set: their SHA-256 is {found}, not {expected}", path.display())]
    Splits {
        /// The set.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// The checksum that it should have.
        expected: &'static str,
        /// The checksum that it has.
        found: String,
    },
    /// A set whose splits are published came without them.
    #[error("{name}: {} has no splits.csv, and no rule makes the splits of this set", folder.display())]
    NoSplits {
        /// The set.
        name: &'static str,
        /// The folder.
        folder: PathBuf,
    },
    /// There is no folder to keep data in.
    #[error("no folder for data is known; give one with --data-dir, or set DEEPGP_DATA or HOME")]
    NoFolder,
    /// A table or a list of splits cannot be read.
    #[error(transparent)]
    Data(#[from] deepgp_data::Error),
    /// A file cannot be written.
    #[error(transparent)]
    File(#[from] deepgp_io::FileError),
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// How to get a set.
fn remedy(set: &Set) -> String {
    match set.home {
        Home::Elsewhere { hint } => format!("`deepgp data import FOLDER`; its source is {hint}"),
        _ => format!("`deepgp data fetch {}` or `deepgp data import FOLDER`", set.name),
    }
}
