//! What a model file holds: all that prediction needs, and the model's history.

use crate::limits;
use crate::model::Model;
use crate::record::Record;
use crate::summary::Range;
use deepgp::train::Fitted;
use deepgp::{Error, Result};
use deepgp_data::Standardiser;
use deepgp_io::{FileError, FormatError, Kind};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// How columns of a table become the numbers that a model takes.
///
/// For now every feature is one column of numbers of the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// Names of the inputs, in order.
    pub names: Vec<String>,
}

impl Features {
    /// Number of inputs of the model.
    pub fn n_inputs(&self) -> usize {
        self.names.len()
    }
}

/// The way from a table to a network's inputs, and from its outputs to predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// From columns to inputs.
    pub features: Features,
    /// How inputs are standardised.
    pub inputs: Standardiser,
    /// Where the training inputs lay, one for each input.
    pub ranges: Vec<Range>,
    /// Names of the targets.
    pub target_names: Vec<String>,
    /// How targets are standardised.
    pub targets: Standardiser,
}

impl Preprocessing {
    /// Checks that it fits a network with so many inputs and outputs.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self, dim_in: usize, dim_out: usize) -> Result<()> {
        let sizes = [
            ("features", dim_in, self.features.n_inputs()),
            ("columns of the inputs' standardiser", dim_in, self.inputs.columns()),
            ("ranges of the inputs", dim_in, self.ranges.len()),
            ("names of the targets", dim_out, self.target_names.len()),
            ("columns of the targets' standardiser", dim_out, self.targets.columns()),
        ];
        match sizes.into_iter().find(|(_, expected, found)| expected != found) {
            None => Ok(()),
            Some((what, expected, found)) => Err(Error::Shape { what, expected, found }),
        }
    }
}

/// A trained model as it is stored: preprocessing, network with factors, and history. It holds no training data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedModel {
    /// From a table to numbers and back.
    pub preprocessing: Preprocessing,
    /// The network.
    pub fitted: Fitted,
    /// Its history.
    pub record: Record,
}

impl SavedModel {
    /// Checks that the parts are sound and fit together.
    ///
    /// # Errors
    /// As [`Fitted::check`] and [`Preprocessing::check`]; [`Error::Parameter`] for sizes beyond all reason.
    pub fn check(&self) -> Result<()> {
        check_parts(&self.fitted, &self.preprocessing)
    }

    /// The model, ready to predict.
    ///
    /// # Errors
    /// As [`SavedModel::check`] and [`Model::from_parts`].
    pub fn model(&self) -> Result<Model> {
        self.check()?;
        let Preprocessing { inputs, targets, .. } = &self.preprocessing;
        Model::from_parts(inputs.clone(), targets.clone(), self.fitted.clone())
    }

    /// Writes the model file, all of it or nothing.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn save(&self, path: &Path) -> std::result::Result<(), FileError> {
        deepgp_io::save(path, Kind::Model, self)
    }

    /// Reads and checks a model file.
    ///
    /// # Errors
    /// [`FileError`]; what [`SavedModel::check`] finds is [`FormatError::Invalid`].
    pub fn load(path: &Path) -> std::result::Result<Self, FileError> {
        let saved: Self = deepgp_io::load(path, Kind::Model)?;
        saved.check().map_err(|e| FileError::Format { path: path.into(), source: invalid(&e) })?;
        Ok(saved)
    }

    /// The bytes of the model file.
    ///
    /// # Errors
    /// As [`deepgp_io::encode`].
    pub fn to_bytes(&self) -> std::result::Result<Vec<u8>, FormatError> {
        deepgp_io::encode(Kind::Model, self)
    }

    /// From the bytes of a model file; any bytes may be given.
    ///
    /// # Errors
    /// As [`deepgp_io::decode`]; what [`SavedModel::check`] finds is [`FormatError::Invalid`].
    pub fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, FormatError> {
        let saved: Self = deepgp_io::decode(Kind::Model, bytes)?;
        saved.check().map_err(|e| invalid(&e))?;
        Ok(saved)
    }
}

/// Checks a network and its preprocessing.
pub(crate) fn check_parts(fitted: &Fitted, preprocessing: &Preprocessing) -> Result<()> {
    fitted.check()?;
    limits::check(&fitted.model)?;
    preprocessing.check(fitted.model.dim_in(), fitted.model.dim_out())
}

/// What a check found, as a fault of the file.
pub(crate) fn invalid(error: &Error) -> FormatError {
    FormatError::Invalid { what: error.to_string() }
}
