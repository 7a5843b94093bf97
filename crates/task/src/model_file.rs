//! What a model file holds: all that prediction needs, and the model's history.

use crate::baselines::{Baselines, Linear};
use crate::coding::Coding;
use crate::history::Record;
use crate::indicators::Indicators;
use crate::input_ranges::Range;
use crate::likelihood_choice::ConstantLaw;
use crate::member::Member;
use crate::model::Model;
use crate::predictive::Predictive;
use crate::row_info::Rows;
use crate::size_limits;
use crate::standardise::Standardiser;
use crate::task::Task;
use crate::warp::Warp;
use deepgp::Fitted;
use deepgp::network::DeepGp;
use deepgp::{Error, Result};
use deepgp_data::Schema;
use deepgp_io::{FileError, FormatError, Kind};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::{Borrow, Cow};
use std::path::Path;

/// The way from a table to a network's inputs, and from its outputs to predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preprocessing {
    /// What the targets are; files do not name regression.
    #[serde(default, skip_serializing_if = "Task::is_default")]
    pub task: Task,
    /// From columns to inputs, and the names of the targets.
    pub schema: Schema,
    /// How inputs are standardised.
    pub inputs: Standardiser,
    /// Where the training inputs lay, one for each input.
    pub ranges: Vec<Range>,
    /// How targets are standardised.
    pub targets: Standardiser,
    /// The law of the training targets, where they are no numbers of a regression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average_row: Option<ConstantLaw>,
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
        if let Some((what, expected, found)) = sizes.into_iter().find(|(_, expected, found)| expected != found) {
            return Err(Error::Shape { what, expected, found });
        }
        if (self.task != Task::Regression) != self.average_row.is_some() {
            return Err(Error::Empty { what: "laws of an average row", rows: 0, columns: 1 });
        }
        self.average_row.iter().try_for_each(ConstantLaw::check)
    }
}

/// A trained model as it is stored: preprocessing, networks with factors, and history. It holds no training data.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "File<'static>")]
pub struct SavedModel {
    /// From a table to numbers and back.
    pub preprocessing: Preprocessing,
    /// The networks, at least one, with weights relative to that of the first, which is the heaviest and has 1.
    pub members: Vec<Member>,
    /// Factor of all predicted standard deviations, where they were calibrated by held-out rows.
    pub std_factor: Option<f64>,
    /// A linear model of the same training rows, to compare with; none if there were too many features.
    pub linear: Option<Linear>,
    /// Its history.
    pub record: Record,
}

/// The form of the file, in which the first network has no weight.
#[derive(Serialize, Deserialize)]
struct File<'a> {
    preprocessing: Cow<'a, Preprocessing>,
    fitted: Cow<'a, Fitted>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coding: Option<Coding>,
    #[serde(default, skip_serializing_if = "is_empty")]
    warps: Cow<'a, [Warp]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indicators: Option<Cow<'a, Indicators>>,
    #[serde(default, skip_serializing_if = "is_empty")]
    others: Cow<'a, [Member]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    std_factor: Option<f64>,
    linear: Cow<'a, Option<Linear>>,
    record: Cow<'a, Record>,
}

#[allow(clippy::ptr_arg, reason = "serde calls it with what the field is")]
fn is_empty<T: Clone>(list: &Cow<'_, [T]>) -> bool {
    list.is_empty()
}

impl Serialize for SavedModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let Some((first, others)) = self.members.split_first() else {
            return Err(serde::ser::Error::custom("a model without a network"));
        };
        let file = File {
            preprocessing: Cow::Borrowed(&self.preprocessing),
            fitted: Cow::Borrowed(&first.fitted),
            coding: first.coding,
            warps: Cow::Borrowed(&first.warps),
            indicators: first.indicators.as_ref().map(Cow::Borrowed),
            others: Cow::Borrowed(others),
            std_factor: self.std_factor,
            linear: Cow::Borrowed(&self.linear),
            record: Cow::Borrowed(&self.record),
        };
        file.serialize(serializer)
    }
}

impl From<File<'_>> for SavedModel {
    fn from(file: File<'_>) -> Self {
        let first = Member {
            weight: 1.0,
            fitted: file.fitted.into_owned(),
            coding: file.coding,
            warps: file.warps.into_owned(),
            indicators: file.indicators.map(Cow::into_owned),
        };
        Self {
            preprocessing: file.preprocessing.into_owned(),
            members: [first].into_iter().chain(file.others.into_owned()).collect(),
            std_factor: file.std_factor,
            linear: file.linear.into_owned(),
            record: file.record.into_owned(),
        }
    }
}

impl SavedModel {
    /// A model of one network, or of several with weights.
    ///
    /// # Errors
    /// [`Error::Empty`] if there is none.
    pub fn new(
        preprocessing: Preprocessing,
        mut members: Vec<Member>,
        linear: Option<Linear>,
        record: Record,
    ) -> Result<Self> {
        members.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let Some(heaviest) = members.first().map(|member| member.weight) else {
            return Err(Error::Empty { what: "networks of a model", rows: 0, columns: 1 });
        };
        members.iter_mut().for_each(|member| member.weight /= heaviest);
        Ok(Self { preprocessing, members, std_factor: None, linear, record })
    }

    /// The heaviest network, in the form in which it takes inputs and targets.
    ///
    /// # Panics
    /// If there is none.
    pub fn heaviest(&self) -> &Member {
        &self.members[0]
    }

    /// The heaviest network.
    ///
    /// # Panics
    /// If there is none.
    pub fn network(&self) -> &DeepGp {
        &self.heaviest().fitted.network
    }

    /// Checks that the parts are sound and fit together.
    ///
    /// # Errors
    /// As [`Fitted::check`] and [`Preprocessing::check`], what the linear model says, and [`Error::Parameter`] for sizes
    /// beyond all reason.
    pub fn check(&self) -> Result<()> {
        size_limits::check_members(self.members.len())?;
        for (entry, member) in self.members.iter().enumerate() {
            check_member(member, &self.preprocessing)?;
            if !(member.weight > 0.0 && member.weight <= 1.0) {
                let (name, requirement) = ("weight of a network", "it must lie between 0 and 1");
                return Err(Error::Parameter {
                    name,
                    layer: None,
                    entry: Some(entry),
                    value: member.weight,
                    requirement,
                });
            }
        }
        match &self.linear {
            Some(linear) => {
                let Preprocessing { task, inputs, targets, .. } = &self.preprocessing;
                linear.check(*task, inputs.columns(), targets.columns())
            }
            None => Ok(()),
        }
    }

    /// The model, ready to predict.
    ///
    /// # Errors
    /// As [`SavedModel::check`] and [`Model::mixture`].
    pub fn model(&self) -> Result<Model> {
        self.check()?;
        let Preprocessing { task, inputs, targets, .. } = &self.preprocessing;
        let model = Model::mixture(*task, inputs.clone(), targets.clone(), self.members.clone())?;
        let model = model.with_average_row(self.preprocessing.average_row.clone());
        model.with_std_factor(self.std_factor.unwrap_or(1.0))
    }

    /// What the models to compare with say of raw rows: see [`Baselines`].
    ///
    /// # Errors
    /// As [`Baselines::predictive`].
    pub fn baselines<'a>(&self, rows: impl Into<Rows<'a>>) -> Result<Vec<(&'static str, Predictive)>> {
        let Preprocessing { task, inputs, targets, average_row, .. } = &self.preprocessing;
        let (average_row, linear) = (average_row.as_ref(), self.linear.as_ref());
        Baselines { task: *task, inputs, targets, average_row, linear }.predictive(rows)
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
pub(crate) fn check_member<T: Borrow<Fitted>>(member: &Member<T>, preprocessing: &Preprocessing) -> Result<()> {
    let fitted: &Fitted = member.fitted.borrow();
    fitted.check()?;
    let network = &fitted.network;
    size_limits::check(network)?;
    let n_indicators = member.indicators.as_ref().map_or(0, Indicators::count);
    preprocessing.check(network.dim_in().saturating_sub(n_indicators), network.n_targets())?;
    member.check(preprocessing.inputs.columns(), preprocessing.targets.columns())
}

/// What a check found, as an error of the file.
pub(crate) fn invalid(error: &Error) -> FormatError {
    FormatError::Invalid { what: error.to_string() }
}
