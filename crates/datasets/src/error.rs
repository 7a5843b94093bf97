//! What can go wrong with data sets, with what to do about it.

use crate::set::{Home, Set};
use std::path::PathBuf;

/// Result of every operation of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a name, a stored set, an import or a download.
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
    /// A folder holds no set that is known.
    #[error("{} holds no data set that is known: neither its name nor the values in it are of one", folder.display())]
    Unrecognised {
        /// The folder.
        folder: PathBuf,
    },
    /// A file that came with a table makes no sense.
    #[error("{name}: {}: {what}", path.display())]
    Layout {
        /// The set.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The set cannot be downloaded.
    #[error("{} cannot be fetched: its source is {hint}; `deepgp data import FOLDER` takes a copy", set.name)]
    NoHome {
        /// The set.
        set: &'static Set,
        /// Where the data are and what they are wrapped in.
        hint: &'static str,
    },
    /// A download failed, again and again.
    #[error(
        "{name}: cannot fetch {url}: {what}, {attempts} times; try again later, or take a copy that you have: \
         `deepgp data import FOLDER`"
    )]
    Unreachable {
        /// The set.
        name: &'static str,
        /// What was to be downloaded.
        url: String,
        /// What went wrong at last.
        what: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// A server does not give what was asked for.
    #[error("{name}: cannot fetch {url}: {what}; `deepgp data import FOLDER` takes a copy that you have")]
    Refused {
        /// The set.
        name: &'static str,
        /// What was to be downloaded.
        url: String,
        /// What the server says.
        what: String,
    },
    /// Somebody else is downloading the same file.
    #[error("{name}: another deepgp is fetching it, into {}", path.display())]
    Busy {
        /// The set.
        name: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The address of a mirror is not one.
    #[error("DEEPGP_MIRROR is {address:?}, which begins neither with http:// nor with https://")]
    Mirror {
        /// The address.
        address: String,
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
