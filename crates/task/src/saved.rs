//! What a model file holds: all that prediction needs, and the model's history.

use crate::indicators::Indicators;
use crate::limits;
use crate::linear::{LinearModel, baselines};
use crate::model::{Member, Model, check_network};
use crate::record::Record;
use crate::standardise::Standardiser;
use crate::summary::Range;
use crate::warp::Warp;
use deepgp::Fitted;
use deepgp::gauss::DiagGaussian;
use deepgp::{Error, Result};
use deepgp_data::Schema;
use deepgp_io::{FileError, FormatError, Kind};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The way from a table to a network's inputs, and from its outputs to predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// From columns to inputs, and the names of the targets.
    pub schema: Schema,
    /// How inputs are standardised.
    pub inputs: Standardiser,
    /// Where the training inputs lay, one for each input.
    pub ranges: Vec<Range>,
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
            ("features", dim_in, self.schema.n_features()),
            ("columns of the inputs' standardiser", dim_in, self.inputs.columns()),
            ("ranges of the inputs", dim_in, self.ranges.len()),
            ("names of the targets", dim_out, self.schema.targets().len()),
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
    /// The network, or the heaviest of a mixture.
    pub fitted: Fitted,
    /// Transforms of the standardised targets that it was trained on, one for each, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warps: Vec<Warp>,
    /// Indicators beside the standardised inputs that it was trained on, if there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indicators: Option<Indicators>,
    /// The other networks of a mixture, with weights relative to that of the first, which is 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Member>,
    /// Factor of all predicted standard deviations, where they were calibrated by held-out rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_factor: Option<f64>,
    /// A linear model of the same training rows, to compare with; none if there were too many features.
    pub linear: Option<LinearModel>,
    /// Its history.
    pub record: Record,
}

impl SavedModel {
    /// Of one network, or of several with weights.
    ///
    /// # Errors
    /// [`Error::Empty`] if there is none.
    pub fn new(
        preprocessing: Preprocessing,
        mut members: Vec<Member>,
        linear: Option<LinearModel>,
        record: Record,
    ) -> Result<Self> {
        members.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let mut rest = members.into_iter();
        let Some(Member { weight: heaviest, fitted, warps, indicators }) = rest.next() else {
            return Err(Error::Empty { what: "networks of a model", rows: 0, columns: 1 });
        };
        let others: Vec<Member> = rest.map(|m| Member { weight: m.weight / heaviest, ..m }).collect();
        Ok(Self { preprocessing, fitted, warps, indicators, others, std_factor: None, linear, record })
    }

    /// Checks that the parts are sound and fit together.
    ///
    /// # Errors
    /// As [`Fitted::check`], [`Preprocessing::check`] and [`LinearModel::check`]; [`Error::Parameter`] for sizes beyond
    /// all reason.
    pub fn check(&self) -> Result<()> {
        limits::check_members(1 + self.others.len())?;
        check_parts(&self.fitted, &self.warps, self.indicators.as_ref(), &self.preprocessing)?;
        for (entry, Member { weight, fitted, warps, indicators }) in self.others.iter().enumerate() {
            check_parts(fitted, warps, indicators.as_ref(), &self.preprocessing)?;
            if !(*weight > 0.0 && *weight <= 1.0) {
                let (name, requirement) = ("weight of a network", "it must lie between 0 and 1");
                return Err(Error::Parameter { name, layer: None, entry: Some(entry), value: *weight, requirement });
            }
        }
        match &self.linear {
            Some(linear) => linear.check(self.preprocessing.inputs.columns(), self.preprocessing.targets.columns()),
            None => Ok(()),
        }
    }

    /// The model, ready to predict.
    ///
    /// # Errors
    /// As [`SavedModel::check`] and [`Model::from_parts`].
    pub fn model(&self) -> Result<Model> {
        self.check()?;
        let Preprocessing { inputs, targets, .. } = &self.preprocessing;
        let (fitted, warps, indicators) = (self.fitted.clone(), self.warps.clone(), self.indicators.clone());
        let first = Member { weight: 1.0, fitted, warps, indicators };
        let members = [first].into_iter().chain(self.others.iter().cloned()).collect();
        Model::mixture(inputs.clone(), targets.clone(), members)?.with_std_factor(self.std_factor.unwrap_or(1.0))
    }

    /// What the models to compare with say of raw inputs, in the targets' units: "constant", the normal distribution of
    /// the training targets, and "linear" where there is one.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub fn baselines(&self, x: &Mat) -> Result<Vec<(&'static str, DiagGaussian)>> {
        let Preprocessing { inputs, targets, .. } = &self.preprocessing;
        baselines(inputs, targets, self.linear.as_ref(), x)
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
pub(crate) fn check_parts(
    fitted: &Fitted,
    warps: &[Warp],
    indicators: Option<&Indicators>,
    preprocessing: &Preprocessing,
) -> Result<()> {
    fitted.check()?;
    limits::check(&fitted.network)?;
    let n_indicators = indicators.map_or(0, Indicators::count);
    preprocessing.check(fitted.network.dim_in().saturating_sub(n_indicators), fitted.network.n_targets())?;
    check_network(fitted, warps, indicators, preprocessing.inputs.columns(), preprocessing.targets.columns())
}

/// What a check found, as a fault of the file.
pub(crate) fn invalid(error: &Error) -> FormatError {
    FormatError::Invalid { what: error.to_string() }
}
