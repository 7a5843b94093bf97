//! What can go wrong with a fit.

use crate::target_error::TargetError;
use deepgp_io::FileError;
use deepgp_task::WarpKind;
use std::path::PathBuf;

/// Result of every fallible operation of this crate but the search, which fails as the engine does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Settings that ask for what cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A setting outside of its range.
    #[error("{name} must {must}")]
    OutOfRange {
        /// Its name.
        name: &'static str,
        /// What it must do, and what it is.
        must: String,
    },
    /// Nothing to learn from.
    #[error("no table is named")]
    NoTable,
    /// All columns are inputs or left alone.
    #[error("no column is left to predict")]
    NoTarget,
    /// A file name that a checkpoint could not keep.
    #[error("the name {} is not UTF-8, and a model file could not keep it; rename it", .0.display())]
    NotUtf8(PathBuf),
    /// Recalibration without held-out rows.
    #[error("recalibrate needs held-out rows, and valid is 0")]
    NothingToRecalibrateBy,
    /// Settings of a search beside those of a network.
    #[error("'ensemble' and 'effort' are for a search, and the network is given")]
    NetworkIsGiven,
    /// Settings of a network beside a search.
    #[error("'auto' decides on the network and its training itself; of these only seed, threads and time can be set")]
    NetworkIsSearched,
}

/// Why a model file cannot be written where it should go.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The folder of the file is missing.
    #[error("cannot write {}: there is no folder {}", out.display(), folder.display())]
    NoFolder {
        /// The file.
        out: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// The path is a folder.
    #[error("cannot write {}: it is a folder", .0.display())]
    Folder(PathBuf),
    /// The path ends in no name.
    #[error("cannot write {}: it names no file", .0.display())]
    NoName(PathBuf),
    /// A file that is not a model has this name.
    #[error("{} exists and is no model", .0.display())]
    NotAModel(PathBuf),
    /// The file is read-only.
    #[error("cannot write {}: it is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// What is there cannot be looked at.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What can go wrong with a fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The settings in a checkpoint.
    #[error("{} makes no sense", path.display())]
    StoredSettings {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with them.
        source: SettingsError,
    },
    /// The checkpoint of a search says that the network is given.
    #[error("the checkpoint of a search is not that of a given network")]
    StoredSearchOfNetwork,
    /// The place of the model file.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The target, which cannot be predicted as it should be.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The table, as it is read.
    #[error(transparent)]
    Data(#[from] deepgp_data::Error),
    /// The numbers of a table.
    #[error("{}", table.display())]
    Numbers {
        /// The table.
        table: PathBuf,
        /// What is wrong with them.
        source: deepgp::Error,
    },
    /// Targets that a transform does not suit.
    #[error(
        "the targets cannot be transformed by {kind}: there are too few different ones{}",
        if *kind == WarpKind::Log { ", or some are not positive" } else { "" }
    )]
    Transform {
        /// The transform.
        kind: WarpKind,
    },
    /// An interrupted fit on other rows.
    #[error("{} is not the table that the {began} began with", table.display())]
    OtherTable {
        /// The table.
        table: PathBuf,
        /// What was interrupted: "run" or "search".
        began: &'static str,
        /// How it differs.
        source: deepgp::Error,
    },
    /// From training or prediction.
    #[error(transparent)]
    Engine(#[from] deepgp::Error),
    /// A model file or a checkpoint.
    #[error(transparent)]
    File(#[from] FileError),
}
