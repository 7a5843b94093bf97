//! What a checkpoint holds: all that an interrupted run needs to go on but the data.

use crate::history::Record;
use crate::member::Member;
use crate::model_file::{Preprocessing, check_member, invalid};
use deepgp::Fitted;
use deepgp::train::Snapshot;
use deepgp_io::{FileError, FormatError, Kind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The best model of a run so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// Steps after which it was found.
    pub step: usize,
    /// Its score on held-out rows.
    pub score: f64,
    /// The network.
    pub fitted: Fitted,
}

/// A run as it is stored. `S` are the settings that the front door needs to find the data again: file, columns, split,
/// ….
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint<S> {
    /// Settings of the front door; `plan` in files.
    #[serde(rename = "plan")]
    pub settings: S,
    /// From a table to numbers and back.
    pub preprocessing: Preprocessing,
    /// The run itself.
    pub snapshot: Snapshot,
    /// The best model so far, where rows are held out.
    pub best: Option<Best>,
    /// History so far.
    pub record: Record,
}

impl<S: Serialize> Checkpoint<S> {
    /// Writes the checkpoint, all of it or nothing: the one before stays until this one is whole.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        deepgp_io::save(path, Kind::Checkpoint, self)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// As [`deepgp_io::encode`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        deepgp_io::encode(Kind::Checkpoint, self)
    }
}

impl<S: DeserializeOwned> Checkpoint<S> {
    /// Reads a checkpoint and checks the networks in it; all else about the run is checked when it is resumed.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let checkpoint: Self = deepgp_io::load(path, Kind::Checkpoint)?;
        checkpoint.checked().map_err(|source| FileError::Format { path: path.into(), source })
    }

    /// From the bytes of a checkpoint; any bytes may be given.
    ///
    /// # Errors
    /// As [`deepgp_io::decode`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        deepgp_io::decode::<Self>(Kind::Checkpoint, bytes)?.checked()
    }

    fn checked(self) -> Result<Self, FormatError> {
        let check = |network: &Fitted| check_member(&Member::new(1.0, network), &self.preprocessing);
        check(&self.snapshot.fitted()).map_err(|e| invalid(&e))?;
        self.best.iter().try_for_each(|best| check(&best.fitted)).map_err(|e| invalid(&e))?;
        Ok(self)
    }
}
