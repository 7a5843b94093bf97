//! Questions about likelihoods: how clean rows become those that models learn from, and which models are compared.
//!
//! ```text
//! outliers   y_n + 10 s ε_n,  ε ~ N(0, 1), in 5 % of the training rows, s the deviation of their targets
//! noise      rows as they are, whose noise depends on their inputs
//! limit      y_n ≤ l is all that is known of training rows below l, the 30 % quantile of their targets
//! ```
//! Rows that models are scored on stay clean and are known exactly.

use crate::task::Parts;
use deepgp_numerics::linalg::Mat;
use deepgp_task::{LikelihoodChoice, Task};
use rand::seq::index::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// Share of the training rows that become outliers, and their deviation in units of the targets'.
const OUTLIERS: f64 = 0.05;
const OUTLIER_STD: f64 = 10.0;
/// Share of the training rows below the limit.
const BELOW: f64 = 0.3;

/// What a likelihood is to prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Student-t noise beats Gaussian noise if some training targets are gross outliers.
    Outliers,
    /// Noise that varies with the inputs beats constant noise.
    Noise,
    /// Censored targets beat leaving out rows below a limit and taking the limit for their value.
    Limit,
}

/// One of the models that a question compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A likelihood for all rows.
    With(LikelihoodChoice),
    /// Rows below the limit are known to lie below it.
    Censored,
    /// They are left out.
    LeftOut,
    /// They have the limit's value.
    AtLimit,
}

impl Question {
    /// Every question.
    pub const ALL: [Self; 3] = [Self::Outliers, Self::Noise, Self::Limit];

    /// Its name in records, behind that of the data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outliers => "outliers",
            Self::Noise => "noise",
            Self::Limit => "limit",
        }
    }

    /// What is compared; the first is to win.
    pub fn ways(self) -> &'static [Way] {
        match self {
            Self::Outliers => &[Way::With(LikelihoodChoice::StudentT), Way::With(LikelihoodChoice::Gaussian)],
            Self::Noise => &[Way::With(LikelihoodChoice::VaryingGaussian), Way::With(LikelihoodChoice::Gaussian)],
            Self::Limit => &[Way::Censored, Way::LeftOut, Way::AtLimit],
        }
    }

    /// Clean rows as a model learns from them and is scored on them; what is drawn at random depends on the seed alone.
    pub fn parts(self, way: Way, clean: Parts, seed: u64) -> Parts {
        let Parts { task, train: (x, mut y), test } = clean;
        match self {
            Self::Outliers => {
                spoil(&mut y, seed);
                Parts { task, train: (x, y), test }
            }
            Self::Noise => Parts { task, train: (x, y), test },
            Self::Limit => {
                let limit = quantile(&y, BELOW);
                let below = |y: f64| y < limit;
                match way {
                    Way::Censored => {
                        let bounds = Mat::from_fn(y.rows(), 2, |n, side| match y[(n, 0)] {
                            y if !below(y) => y,
                            _ if side == 0 => f64::NAN,
                            _ => limit,
                        });
                        let known = Mat::from_fn(test.1.rows(), 2, |n, _| test.1[(n, 0)]);
                        Parts { task: Task::Censored, train: (x, bounds), test: (test.0, known) }
                    }
                    Way::LeftOut => {
                        let seen: Vec<usize> = (0..y.rows()).filter(|&n| !below(y[(n, 0)])).collect();
                        Parts { task, train: (x.select_rows(&seen), y.select_rows(&seen)), test }
                    }
                    Way::AtLimit | Way::With(_) => {
                        y.as_mut_slice().iter_mut().for_each(|y| *y = y.max(limit));
                        Parts { task, train: (x, y), test }
                    }
                }
            }
        }
    }
}

impl Way {
    /// Its name in records, behind that of the network.
    pub fn name(self) -> String {
        match self {
            Self::With(likelihood) => likelihood.to_string(),
            Self::Censored => "censored".into(),
            Self::LeftOut => "left out".into(),
            Self::AtLimit => "at the limit".into(),
        }
    }

    /// The likelihood of its networks.
    pub fn likelihood(self) -> LikelihoodChoice {
        match self {
            Self::With(likelihood) => likelihood,
            Self::Censored => LikelihoodChoice::Censored,
            Self::LeftOut | Self::AtLimit => LikelihoodChoice::Gaussian,
        }
    }
}

/// Adds gross errors to some of the targets.
fn spoil(y: &mut Mat, seed: u64) {
    let rows = y.rows();
    let mean = y.as_slice().iter().sum::<f64>() / rows as f64;
    let std = (y.as_slice().iter().map(|y| (y - mean).powi(2)).sum::<f64>() / rows as f64).sqrt();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let count = (OUTLIERS * rows as f64).ceil() as usize;
    for row in sample(&mut rng, rows, count.min(rows)) {
        y[(row, 0)] += OUTLIER_STD * std * rng.sample::<f64, _>(StandardNormal);
    }
}

/// The value below which a share of the targets lies.
fn quantile(y: &Mat, share: f64) -> f64 {
    let mut sorted = y.as_slice().to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> Parts {
        let column = |n: usize| (Mat::from_fn(n, 1, |i, _| i as f64), Mat::from_fn(n, 1, |i, _| (7 * i % n) as f64));
        Parts { task: Task::Regression, train: column(100), test: column(10) }
    }

    #[test]
    fn five_in_a_hundred_targets_become_outliers() {
        let of = |seed| Question::Outliers.parts(Way::With(LikelihoodChoice::Gaussian), clean(), seed);
        let (before, parts) = (clean(), of(3));
        let changed = (0..100).filter(|&n| parts.train.1[(n, 0)] != before.train.1[(n, 0)]).count();
        assert_eq!((changed, parts.train.1 == of(3).train.1, parts.test.1), (5, true, before.test.1));
        assert_ne!(of(4).train.1, of(3).train.1);
    }

    #[test]
    fn a_limit_hides_thirty_in_a_hundred_targets_of_training_and_none_of_the_test() {
        let of = |way| Question::Limit.parts(way, clean(), 0);
        let censored = of(Way::Censored);
        let hidden: Vec<&[f64]> = censored.train.1.iter_rows().filter(|row| row[0].is_nan()).collect();
        assert!(hidden.len() == 30 && hidden.iter().all(|row| row[1] == 30.0));
        assert_eq!((censored.task, censored.test.1.column(0)), (Task::Censored, clean().test.1.column(0)));
        assert_eq!(censored.test.1.column(0), censored.test.1.column(1));
        assert_eq!(of(Way::LeftOut).train.0.rows(), 70);
        let at_limit = of(Way::AtLimit).train.1;
        assert_eq!((at_limit.rows(), at_limit.as_slice().iter().filter(|y| **y == 30.0).count()), (100, 31));
    }

    #[test]
    fn names_differ() {
        let names = |question: Question| question.ways().iter().map(|way| way.name()).collect::<Vec<String>>();
        assert_eq!(names(Question::Outliers), ["Student-t noise", "Gaussian noise"]);
        assert_eq!(names(Question::Noise), ["varying noise", "Gaussian noise"]);
        assert_eq!(names(Question::Limit), ["censored", "left out", "at the limit"]);
        assert_eq!(Question::ALL.map(Question::name), ["outliers", "noise", "limit"]);
    }
}
