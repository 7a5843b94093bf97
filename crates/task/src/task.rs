//! What kind of thing a target is, and what follows from that.
//!
//! A [`Task`] is the one place where kinds of targets differ. It says
//!
//! - how a target column becomes numbers that a network is trained on, and what undoes it ([`Task::encode`]),
//! - which likelihood these numbers have, with which starting values ([`Task::likelihood`]),
//! - what predictions are compared with ([`Task::constant`]),
//! - which scores suit ([`Task::measures`]).
//!
//! The predictive law of a row follows from the likelihood and needs no word of the task: laws answer the same
//! questions whatever they are. A task for classes, counts or ordered levels is another variant: numbers of levels or
//! counts as they are ([`Standardiser::identity`]), the likelihood of such numbers, the frequencies of the training
//! targets for a constant, and scores of probabilities. Names of levels belong to the schema, which has those of
//! inputs.

use crate::config::Noise;
use crate::measures::{self, Measure};
use crate::predictive::Predictive;
use crate::standardise::Standardiser;
use deepgp::Result;
use deepgp::gauss::DiagGaussian;
use deepgp::likelihood::Likelihood;
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// What targets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Numbers: standardised, with additive noise.
    #[default]
    Regression,
}

impl Task {
    /// Whether it is the one that files do not name.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Learns from raw targets (N × P) how they become the numbers that a network is trained on.
    ///
    /// # Errors
    /// As [`Standardiser::fit`].
    pub fn encode(self, y: &Mat) -> Result<Standardiser> {
        match self {
            Self::Regression => Standardiser::fit(y, "targets"),
        }
    }

    /// The likelihood of encoded targets at its starting values.
    pub fn likelihood(self, noise: Noise, n_targets: usize) -> Likelihood {
        match self {
            Self::Regression => noise.likelihood(n_targets),
        }
    }

    /// The laws that so many rows have if nothing is known of their inputs.
    pub fn constant(self, targets: &Standardiser, n_rows: usize) -> Predictive {
        match self {
            // The normal distribution of the training targets.
            Self::Regression => {
                let fill = |of: &dyn Fn(usize) -> f64| Mat::from_fn(n_rows, targets.columns(), |_, p| of(p));
                let (mean, var) = (fill(&|p| targets.mean()[p]), fill(&|p| targets.scale()[p].powi(2)));
                Predictive::normal(DiagGaussian { mean, var })
            }
        }
    }

    /// The scores that suit, in the order in which they are shown.
    pub fn measures(self) -> &'static [Measure] {
        match self {
            Self::Regression => &measures::OF_NUMBERS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::ScoreTally;

    #[test]
    fn the_constant_model_is_the_distribution_of_the_training_targets() -> Result<()> {
        let y = Mat::from_fn(40, 2, |i, j| 3.0 + (i * (j + 1)) as f64);
        let targets = Task::Regression.encode(&y)?;
        let constant = Task::Regression.constant(&targets, 40);
        let moments = constant.moments()?;
        assert_eq!((moments.mean.row(7), moments.var[(7, 1)].sqrt()), (targets.mean(), targets.scale()[1]));
        let mut tally = ScoreTally::new();
        tally.add(&constant, &y)?;
        let spread = (0.5 * (targets.scale()[0].powi(2) + targets.scale()[1].powi(2))).sqrt();
        assert!((tally.scores()?.rmse / spread - 1.0).abs() < 1e-12);
        Ok(())
    }

    #[test]
    fn every_measure_has_a_name_of_its_own() {
        let mut names: Vec<&str> = Task::Regression.measures().iter().map(|measure| measure.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Task::Regression.measures().len());
        assert_eq!(serde_json::to_string(&Task::Regression).expect("JSON"), "\"regression\"");
    }
}
