//! What kind of thing a target is, and what follows from that.
//!
//! A [`Task`] is the one place where kinds of targets differ. It says
//!
//! - how a target column becomes numbers, and what undoes it ([`Task::encode`]),
//! - which observation models suit these numbers ([`Task::likelihoods`]), and how each sees them ([`Task::coding`]),
//! - what predictions are compared with ([`Task::constant`]),
//! - which scores suit ([`Task::measures`]).
//!
//! | task | outcomes | models of its own |
//! |---|---|---|
//! | regression | numbers, standardised | Gaussian, Student-t and varying noise; gamma, beta |
//! | classes | labels 0, 1, …, K − 1 | probit, logit for two; softmax, robust maximum |
//! | ordered levels | levels 0, 1, …, K − 1 | cumulative probit |
//! | counts | whole numbers from 0 on | Poisson, negative binomial |
//! | censored | numbers, some known only between bounds | Gaussian noise |
//!
//! Levels and counts are numbers as well: models with additive noise predict them by the probabilities of cells of
//! width 1 ([`Outcome::Cells`]), so that all models of a task are scored by the same probability. Names of labels
//! belong to the schema, which has those of inputs.

use crate::coding::{Coding, Outcome};
use crate::likelihood_choice::{ConstantLaw, LikelihoodChoice, Outcomes};
use crate::standardise::Standardiser;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// Most classes.
pub const MOST_CLASSES: usize = 100;

/// What targets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Numbers.
    #[default]
    Regression,
    /// Labels without an order.
    Classes {
        /// How many there are.
        count: usize,
    },
    /// Labels with an order.
    Ordinal {
        /// How many there are.
        count: usize,
    },
    /// Whole numbers of things or events.
    Counts,
    /// Numbers of which some are known only to lie between bounds: two columns, lower and upper, NaN where there is no
    /// bound and equal where the number was seen.
    Censored,
}

impl Task {
    /// Whether it is the one that files do not name.
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The number of labels, 0 where there are none.
    pub fn n_labels(self) -> usize {
        match self {
            Self::Regression | Self::Counts | Self::Censored => 0,
            Self::Classes { count } | Self::Ordinal { count } => count,
        }
    }

    /// Whether targets take separate values, which have probabilities and no densities.
    pub fn is_discrete(self) -> bool {
        !matches!(self, Self::Regression | Self::Censored)
    }

    /// Columns that its targets have, where `n` numbers are predicted.
    pub fn n_columns(self, n: usize) -> usize {
        if self == Self::Censored { 2 } else { n }
    }

    /// Whether means, deviations and quantiles say something: there is an order.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Self::Classes { .. })
    }

    /// What the mean log probability of outcomes is called.
    pub fn log_score_name(self) -> &'static str {
        if self.is_discrete() { "log probability" } else { "log density" }
    }

    /// Checks that every raw target (N × P) is an outcome.
    ///
    /// # Errors
    /// [`Error::Target`] with row, column and value; [`Error::Shape`] for several targets where there may be one;
    /// [`Error::Parameter`] for a number of labels that cannot be.
    pub fn check(self, y: &Mat) -> Result<()> {
        if self == Self::Censored {
            return check_bounds(y);
        }
        if !self.is_discrete() {
            return Ok(());
        }
        if y.cols() != 1 {
            return Err(Error::Shape { what: "targets of one model", expected: 1, found: y.cols() });
        }
        let (labels, last) = match self {
            Self::Regression | Self::Counts | Self::Censored => (2, f64::INFINITY),
            Self::Classes { count } | Self::Ordinal { count } => (count, count as f64 - 1.0),
        };
        if !(2..=MOST_CLASSES).contains(&labels) {
            let requirement = "there must be at least 2 and at most 100";
            return Err(Error::Parameter {
                name: "labels",
                layer: None,
                entry: None,
                value: labels as f64,
                requirement,
            });
        }
        let is_outcome = |y: f64| y.fract() == 0.0 && (0.0..=last).contains(&y) && y.is_finite();
        match y.as_slice().iter().position(|y| !is_outcome(*y)) {
            None => Ok(()),
            Some(row) => {
                let requirement = if self == Self::Counts {
                    "it must be a whole number, at least 0"
                } else {
                    "it must be the number of a label"
                };
                Err(Error::Target { row, column: 0, value: y.as_slice()[row], requirement })
            }
        }
    }

    /// Learns from raw targets (N × P) how they become the numbers that models are compared on.
    ///
    /// # Errors
    /// As [`Standardiser::fit`] and [`Task::check`].
    pub fn encode(self, y: &Mat) -> Result<Standardiser> {
        self.encode_weighted(y, &[])
    }

    /// As [`Task::encode`], of rows that count as so many rows each; once without weights.
    ///
    /// # Errors
    /// As [`Task::encode`], and [`Error::Shape`] for another number of weights.
    pub fn encode_weighted(self, y: &Mat, weights: &[f64]) -> Result<Standardiser> {
        if self == Self::Censored {
            self.check(y)?;
            return Standardiser::fit_bounds(y, weights, "targets");
        }
        let standardised = Standardiser::fit_weighted(y, weights, "targets")?;
        if !self.is_discrete() {
            return Ok(standardised);
        }
        self.check(y)?;
        Ok(Standardiser::identity(y.cols()))
    }

    /// The observation model that a network has unless another is asked for.
    pub fn default_likelihood(self) -> LikelihoodChoice {
        match self {
            Self::Regression => LikelihoodChoice::Gaussian,
            Self::Classes { count: 2 } => LikelihoodChoice::Probit,
            Self::Classes { .. } => LikelihoodChoice::Softmax,
            Self::Ordinal { .. } => LikelihoodChoice::Ordinal,
            Self::Counts => LikelihoodChoice::NegativeBinomial,
            Self::Censored => LikelihoodChoice::Censored,
        }
    }

    /// The observation models that suit, the default first.
    pub fn likelihoods(self) -> &'static [LikelihoodChoice] {
        use LikelihoodChoice::{
            Beta, Censored, Gamma, Gaussian, Logit, NegativeBinomial, Ordinal, Poisson, Probit, RobustMax, Softmax,
            StudentT, VaryingGaussian, VaryingStudentT,
        };
        match self {
            Self::Regression => &[Gaussian, StudentT, VaryingGaussian, VaryingStudentT, Gamma, Beta],
            Self::Classes { count: 2 } => &[Probit, Logit, Softmax, RobustMax],
            Self::Classes { .. } => &[Softmax, RobustMax],
            Self::Ordinal { .. } => &[Ordinal, Softmax, Gaussian, StudentT, VaryingGaussian, VaryingStudentT],
            Self::Counts => &[NegativeBinomial, Poisson, Gaussian, StudentT, VaryingGaussian, VaryingStudentT],
            Self::Censored => &[Censored],
        }
    }

    /// How a model sees outcomes `u` (N × P, as they were encoded, with weights or none), which are y = unit (u − zero)
    /// in their own unit; nothing if it sees them as they are.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the model does not suit the task, [`Error::Target`] if it does not suit the targets;
    /// [`Error::Shape`] for several targets where it can have one.
    pub(crate) fn coding(
        self,
        model: LikelihoodChoice,
        (u, weights): (&Mat, &[f64]),
        (zero, unit): (f64, f64),
    ) -> Result<Option<Coding>> {
        if !self.likelihoods().contains(&model) {
            let (name, requirement) = ("likelihood", "it must suit what the targets are");
            return Err(Error::Parameter { name, layer: None, entry: None, value: f64::NAN, requirement });
        }
        if self != Self::Censored && u.cols() > model.most_targets() {
            return Err(Error::Shape { what: "targets of this likelihood", expected: 1, found: u.cols() });
        }
        let outside =
            |is_inside: &dyn Fn(f64) -> bool, requirement| match u.as_slice().iter().position(|u| !is_inside(*u)) {
                None => Ok(()),
                Some(row) => Err(Error::Target { row, column: 0, value: u.as_slice()[row], requirement }),
            };
        match (self, model) {
            (Self::Classes { .. }, LikelihoodChoice::Probit | LikelihoodChoice::Logit) => Ok(Some(Coding::SIGNS)),
            (Self::Regression, LikelihoodChoice::Gamma) => {
                outside(&|u| u > zero, "it must be positive")?;
                // The standardised mean is 0.
                Ok(Some(Coding { shift: zero, scale: -zero, outcome: Outcome::Density }))
            }
            (Self::Regression, LikelihoodChoice::Beta) => {
                let own = |u: f64| unit * (u - zero);
                outside(&|u| own(u) > 0.0 && own(u) < 1.0, "it must lie between 0 and 1")?;
                Ok(Some(Coding { shift: zero, scale: 1.0 / unit, outcome: Outcome::Density }))
            }
            (Self::Ordinal { .. } | Self::Counts, model) if model.is_additive() => {
                let moments = Standardiser::fit_weighted(u, weights, "targets")?;
                let count = (self != Self::Counts).then(|| self.n_labels());
                let (shift, scale) = (moments.mean()[0], moments.scale()[0]);
                Ok(Some(Coding { shift, scale, outcome: Outcome::Cells { count } }))
            }
            _ => Ok(None),
        }
    }

    /// What rows have if nothing is known of their inputs, from the training targets; nothing for numbers, of which the
    /// standardiser knows mean and deviation.
    pub(crate) fn average_row(self, outcomes: Outcomes<'_>) -> Option<ConstantLaw> {
        let choice = match self {
            Self::Regression => return None,
            Self::Classes { .. } | Self::Ordinal { .. } => LikelihoodChoice::Softmax,
            Self::Counts => LikelihoodChoice::NegativeBinomial,
            Self::Censored => LikelihoodChoice::Censored,
        };
        Some(choice.constant(outcomes))
    }
}

/// Checks rows of lower and upper bounds.
fn check_bounds(y: &Mat) -> Result<()> {
    if y.cols() != 2 {
        return Err(Error::Shape { what: "bounds of a target", expected: 2, found: y.cols() });
    }
    let is_unsound = |row: &[f64]| row[0] > row[1] || row.iter().any(|bound| bound.is_infinite());
    match y.iter_rows().position(is_unsound) {
        None => Ok(()),
        Some(row) => {
            let requirement = "it must be a bound, the lower one not above the upper one";
            Err(Error::Target { row, column: 0, value: y[(row, 0)], requirement })
        }
    }
}

impl Display for Task {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regression => f.write_str("numbers"),
            Self::Classes { count: 2 } => f.write_str("two classes"),
            Self::Classes { count } => write!(f, "{count} classes"),
            Self::Ordinal { count } => write!(f, "{count} ordered levels"),
            Self::Counts => f.write_str("counts"),
            Self::Censored => f.write_str("numbers, some of them known within bounds"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::ScoreTally;

    const ALL: [Task; 6] = [
        Task::Regression,
        Task::Classes { count: 2 },
        Task::Classes { count: 4 },
        Task::Ordinal { count: 5 },
        Task::Counts,
        Task::Censored,
    ];

    #[test]
    fn the_constant_model_is_the_distribution_of_the_training_targets() -> Result<()> {
        let y = Mat::from_fn(40, 2, |i, j| 3.0 + (i * (j + 1)) as f64);
        let targets = Task::Regression.encode(&y)?;
        let constant = Task::Regression.constant(&targets, None, 40, None);
        let moments = constant.moments()?;
        assert_eq!((moments.mean.row(7), moments.var[(7, 1)].sqrt()), (targets.mean(), targets.scale()[1]));
        let mut tally = ScoreTally::new();
        tally.add(&constant, &y)?;
        let spread = (0.5 * (targets.scale()[0].powi(2) + targets.scale()[1].powi(2))).sqrt();
        assert!((tally.scores()?.rmse().expect("numbers") / spread - 1.0).abs() < 1e-12);
        Ok(())
    }

    #[test]
    fn the_constant_model_of_labels_has_their_frequencies() -> Result<()> {
        for task in [Task::Classes { count: 3 }, Task::Ordinal { count: 3 }] {
            let y = Mat::from_fn(60, 1, |i, _| [0.0, 1.0, 1.0, 2.0, 1.0, 0.0][i % 6]);
            let constant = task.constant(&task.encode(&y)?, task.average_row(Outcomes::of(&y, 3)).as_ref(), 4, None);
            let p = constant.probabilities();
            for (k, count) in [20.5, 30.5, 10.5].into_iter().enumerate() {
                assert!((p[(3, k)] - count / 61.5).abs() < 1e-9, "{task}: {}", p[(3, k)]);
            }
        }
        Ok(())
    }

    #[test]
    fn every_task_has_measures_with_names_of_their_own_and_models_that_suit() {
        for task in ALL {
            let mut names: Vec<&str> = task.measures().iter().map(|measure| measure.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), task.measures().len());
            assert_eq!(task.likelihoods()[0], task.default_likelihood(), "{task}");
        }
        assert_eq!(serde_json::to_string(&Task::Regression).expect("JSON"), "\"regression\"");
    }

    #[test]
    fn what_is_no_outcome_is_refused() {
        let column = |values: &[f64]| Mat::from_fn(values.len(), 1, |i, _| values[i]);
        let classes = Task::Classes { count: 3 };
        assert_eq!(classes.check(&column(&[0.0, 2.0])), Ok(()));
        for bad in [3.0, -1.0, 0.5, f64::INFINITY] {
            assert!(matches!(classes.check(&column(&[0.0, bad])), Err(Error::Target { row: 1, .. })), "{bad}");
        }
        assert!(matches!(Task::Counts.check(&column(&[-1.0])), Err(Error::Target { row: 0, .. })));
        assert!(matches!(Task::Counts.check(&Mat::zeros(3, 2)), Err(Error::Shape { .. })));
        assert!(matches!(Task::Classes { count: 1 }.check(&column(&[0.0])), Err(Error::Parameter { .. })));
        assert!(matches!(Task::Classes { count: 101 }.check(&column(&[0.0])), Err(Error::Parameter { .. })));
    }
}
