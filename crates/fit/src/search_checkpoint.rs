//! What the checkpoint of a search holds.

use crate::search::Memory;
use crate::settings::FitSettings;
use deepgp_io::{FileError, FormatError, Kind};
use deepgp_task::Preprocessing;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An interrupted search, as it is stored: owned when it is read, borrowed when it is written.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SearchCheckpoint<S = FitSettings, P = Preprocessing, M = Memory> {
    /// Settings of the fit; `plan` in files.
    #[serde(rename = "plan")]
    pub settings: S,
    /// From a table to numbers and back.
    pub preprocessing: P,
    /// Training rows.
    pub rows: usize,
    /// Seconds so far.
    pub seconds: f64,
    /// What has been found out.
    pub memory: M,
}

impl SearchCheckpoint {
    /// Reads a search; what it has found out is checked where it is used.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let search: Self = deepgp_io::load(path, Kind::Search)?;
        let schema = &search.preprocessing.schema;
        match search.preprocessing.check(schema.n_features(), schema.targets().len()) {
            Ok(()) => Ok(search),
            Err(error) => {
                let source = FormatError::Invalid { what: error.to_string() };
                Err(FileError::Format { path: path.into(), source })
            }
        }
    }
}

impl SearchCheckpoint<&FitSettings, &Preprocessing, &Memory> {
    /// Writes the search, all of it or nothing.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        deepgp_io::save(path, Kind::Search, self)
    }
}
