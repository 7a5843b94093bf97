//! The models to be beaten: a constant, and one that is linear in the inputs.

use crate::generalised_linear::GeneralisedLinear;
use crate::likelihood_choice::ConstantLaw;
use crate::linear_model::LinearModel;
use crate::predictive::Predictive;
use crate::row_info::Rows;
use crate::standardise::Standardiser;
use crate::standardised_data::StandardisedData;
use crate::task::Task;
use deepgp::{Error, Result};
use serde::{Deserialize, Serialize};

/// A model that is linear in the inputs, of whatever the targets are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Linear {
    /// Of labels or counts.
    Generalised(GeneralisedLinear),
    /// Of numbers.
    Plain(LinearModel),
}

impl Linear {
    /// Fits it to standardised data; nothing if there are more than a thousand features.
    ///
    /// # Errors
    /// As [`LinearModel::fit`] and [`GeneralisedLinear::fit`].
    pub fn fit(data: &StandardisedData) -> Result<Option<Self>> {
        if data.task() != Task::Regression {
            return Ok(GeneralisedLinear::fit(data)?.map(Self::Generalised));
        }
        Ok(LinearModel::fit(data)?.map(Self::Plain))
    }

    /// Checks one that came from a file.
    ///
    /// # Errors
    /// As [`LinearModel::check`].
    pub(crate) fn check(&self, task: Task, inputs: usize, targets: usize) -> Result<()> {
        match self {
            Self::Generalised(linear) if task != Task::Regression => linear.check(inputs),
            Self::Plain(linear) if task == Task::Regression => linear.check(inputs, targets),
            _ => Err(Error::Shape { what: "targets of the linear model", expected: targets, found: 0 }),
        }
    }
}

/// What models to compare with are made of.
#[derive(Debug, Clone, Copy)]
pub struct Baselines<'a> {
    /// What the targets are.
    pub task: Task,
    /// How inputs are standardised.
    pub inputs: &'a Standardiser,
    /// How targets are standardised.
    pub targets: &'a Standardiser,
    /// The law of the training targets, where they are no numbers of a regression.
    pub average_row: Option<&'a ConstantLaw>,
    /// The linear model, if there is one.
    pub linear: Option<&'a Linear>,
}

impl<'a> Baselines<'a> {
    /// Those of training data and a linear model of them.
    pub fn of(data: &'a StandardisedData, linear: Option<&'a Linear>) -> Self {
        let (task, inputs, targets, average_row) = (data.task(), data.inputs(), data.targets(), data.average_row());
        Self { task, inputs, targets, average_row, linear }
    }

    /// What they say of raw rows: "constant", which knows the training targets and no inputs, and "linear" where
    /// there is one.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub fn predictive<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Vec<(&'static str, Predictive)>> {
        let Self { task, inputs, targets, average_row, linear } = *self;
        let Rows { x, info } = rows.into();
        let mut all = vec![("constant", task.constant(targets, average_row, x.rows(), info))];
        if let Some(linear) = linear {
            let x = inputs.apply(x, "inputs")?;
            let predictive = match linear {
                Linear::Plain(linear) => Predictive::normal(targets.invert_moments(&linear.predict(&x)?)?),
                Linear::Generalised(linear) => linear.predictive(task, &x, targets, info)?,
            };
            all.push(("linear", predictive));
        }
        Ok(all)
    }
}
