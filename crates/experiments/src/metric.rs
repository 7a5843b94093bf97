//! What runs are compared by.

use crate::error::{Error, Result};
use crate::record::Run;
use deepgp_task::Scores;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A number of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Root mean squared error on the test part, in the target's unit.
    Rmse,
    /// Mean log predictive density of the test part, in nats.
    MeanLogDensity,
    /// Share of the test targets inside the central 95 % interval.
    Coverage95,
    /// Seconds of training.
    Seconds,
}

impl Metric {
    /// All metrics.
    pub const ALL: [Self; 4] = [Self::Rmse, Self::MeanLogDensity, Self::Coverage95, Self::Seconds];

    /// Its name in templates and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rmse => "rmse",
            Self::MeanLogDensity => "mean_log_density",
            Self::Coverage95 => "coverage_95",
            Self::Seconds => "seconds",
        }
    }

    /// Its name in a sentence, with its unit.
    pub fn title(self) -> &'static str {
        match self {
            Self::Rmse => "test RMSE, in the units of the target",
            Self::MeanLogDensity => "mean test log density, in nats",
            Self::Coverage95 => "share of test targets inside the 95 % interval",
            Self::Seconds => "seconds of training",
        }
    }

    /// Whether larger values are better; none where neither direction is: coverage has a place to be at, and time is
    /// the price of the others.
    pub fn larger_is_better(self) -> Option<bool> {
        match self {
            Self::Rmse => Some(false),
            Self::MeanLogDensity => Some(true),
            Self::Coverage95 | Self::Seconds => None,
        }
    }

    /// Its value in a run; none where the run has no finite scores.
    pub fn of(self, run: &Run) -> Option<f64> {
        let scores = run.result.scores.as_ref();
        match self {
            Self::Rmse => scores.and_then(Scores::rmse),
            Self::MeanLogDensity => scores.map(|s| s.mean_log_density),
            Self::Coverage95 => scores.and_then(Scores::coverage_95),
            Self::Seconds => Some(run.seconds),
        }
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| Error::Unknown {
            what: "metric",
            name: text.into(),
            known: Self::ALL.map(|metric| metric.name().to_owned()).to_vec(),
        })
    }
}

impl Display for Metric {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
