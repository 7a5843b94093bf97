//! Which observation model a network has, with starting values from the targets that it is trained on.
//!
//! Laws whose latent functions are logarithms or odds start where their average row is: their last layer has a learned
//! constant c beside a GP with mean 0 and variance about v = 1.
//!
//! ```text
//! probit        P(+1) = Φ(c/√(1 + v))             c = √(1 + v) Φ⁻¹(p)
//! logit         P(+1) ≈ σ(c/√(1 + πv/8))          c = √(1 + πv/8) log(p/(1 − p))
//! softmax       c_k = log p_k
//! counts        E y = exp(c + v/2)                c = log(Σ y/Σ exposure) − v/2
//! beta          c = log(m/(1 − m)),  m the mean
//! ```
//! with frequencies (n_k + ½)/(N + K/2), so that what was never seen is not impossible. Numbers of rows are sums of
//! their weights.

use deepgp::likelihood::{
    Beta, Censored, Gamma, Gaussian, Likelihood, Logit, NegativeBinomial, Observation, Ordinal, Poisson, Probit,
    RobustMax, Softmax, StudentT, TiltedBar, VaryingGaussian, VaryingStudentT,
};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::optim::{golden_section, minimise};
use deepgp_numerics::special::normal_quantile;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};

/// An observation model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LikelihoodChoice {
    /// Gaussian noise, one variance per target.
    #[default]
    Gaussian,
    /// Student-t noise, for targets with outliers.
    StudentT,
    /// Gaussian noise whose size depends on the inputs.
    VaryingGaussian,
    /// Student-t noise whose size depends on the inputs.
    VaryingStudentT,
    /// Gaussian noise on targets of which some are known only to lie between bounds.
    Censored,
    /// Positive targets, by a gamma law.
    Gamma,
    /// Targets between 0 and 1, by a beta law.
    Beta,
    /// Two classes by the normal distribution function.
    Probit,
    /// Two classes by the logistic function.
    Logit,
    /// Several classes by the softmax.
    Softmax,
    /// Several classes by the largest function, some of the labels wrong.
    RobustMax,
    /// Ordered levels by the normal distribution function between cut points.
    Ordinal,
    /// Counts with the variance of their mean.
    Poisson,
    /// Counts that vary more.
    NegativeBinomial,
}

/// Noise variance at the start, in units of the target's variance.
const NOISE_VAR: f64 = 0.01;
/// The same where noise varies: its latent function starts with a variance of 1.
const VARYING_NOISE_VAR: f64 = 0.1;
/// The same where some targets are known only between bounds, which say little of the noise.
const CENSORED_NOISE_VAR: f64 = 0.3;
/// Degrees of freedom of Student-t noise at the start.
const DOF: f64 = 4.0;
/// Variance that a GP starts with.
const SIGNAL_VAR: f64 = 1.0;
/// ε of the largest function.
const WRONG_LABELS: f64 = 0.01;
/// Bounds of dispersions, shapes and precisions at the start.
const DISPERSIONS: [f64; 2] = [0.05, 5.0];
const SHAPES: [f64; 2] = [0.5, 50.0];
const PRECISIONS: [f64; 2] = [2.0, 200.0];
/// Bounds of the mean share at the start, from 0 and from 1.
const LEAST_SHARE: f64 = 1e-3;
/// Bounds of the log dispersion of counts without inputs, and golden sections between them.
const LOG_DISPERSIONS: [f64; 2] = [-9.0, 4.0];
const GOLDEN_SECTIONS: usize = 40;
/// Evaluations for the law of targets between bounds without inputs.
const CENSORED_EVALUATIONS: usize = 60;

/// A likelihood at a constant of each latent function: what a network starts with above its last GP, and the law that
/// rows have if nothing is known of their inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstantLaw {
    /// The likelihood.
    pub likelihood: Likelihood,
    /// The constant of each latent function; none where it is 0 and stays so.
    pub constant: Vec<f64>,
}

impl ConstantLaw {
    /// Checks one that came from a file.
    ///
    /// # Errors
    /// What the likelihood says of its parameters, and [`Error::Shape`] for another number of constants.
    pub fn check(&self) -> Result<()> {
        self.likelihood.check()?;
        let (expected, found) = (self.likelihood.n_latent(), self.constant.len());
        if found != 0 && found != expected {
            return Err(Error::Shape { what: "constants of a law", expected, found });
        }
        match self.constant.iter().position(|c| !c.is_finite()) {
            None => Ok(()),
            Some(row) => {
                Err(Error::NotFinite { what: "constants of a law", row, column: 0, value: self.constant[row] })
            }
        }
    }

    /// The latent values.
    pub fn latent(&self) -> Vec<f64> {
        if self.constant.is_empty() { vec![0.0; self.likelihood.n_latent()] } else { self.constant.clone() }
    }
}

/// Targets that a law starts from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcomes<'a> {
    /// The targets (N × T), as a network sees them.
    pub y: &'a Mat,
    /// Number of labels, where there are labels.
    pub classes: usize,
    /// What counts are in proportion to; nothing if to nothing.
    pub exposure: &'a [f64],
    /// What each row counts for; nothing if each counts once.
    pub weight: &'a [f64],
}

impl<'a> Outcomes<'a> {
    /// Targets of which nothing else is known.
    pub fn of(y: &'a Mat, classes: usize) -> Self {
        Self { y, classes, exposure: &[], weight: &[] }
    }

    /// What row n counts for.
    fn weight(&self, n: usize) -> f64 {
        self.weight.get(n).copied().unwrap_or(1.0)
    }
}

impl LikelihoodChoice {
    /// Every choice.
    pub const ALL: [Self; 14] = [
        Self::Gaussian,
        Self::StudentT,
        Self::VaryingGaussian,
        Self::VaryingStudentT,
        Self::Censored,
        Self::Gamma,
        Self::Beta,
        Self::Probit,
        Self::Logit,
        Self::Softmax,
        Self::RobustMax,
        Self::Ordinal,
        Self::Poisson,
        Self::NegativeBinomial,
    ];

    /// Whether targets are real numbers with noise that is added to them.
    pub fn is_additive(self) -> bool {
        matches!(self, Self::Gaussian | Self::StudentT | Self::VaryingGaussian | Self::VaryingStudentT)
    }

    /// The most targets that one network can have.
    pub fn most_targets(self) -> usize {
        match self {
            Self::Gaussian | Self::StudentT => usize::MAX,
            _ => 1,
        }
    }

    /// Starting values for some targets; `latent_var` is what a latent function varies about its constant.
    pub(crate) fn start(self, outcomes: Outcomes<'_>, latent_var: f64) -> ConstantLaw {
        let Outcomes { y, classes, .. } = outcomes;
        let n_targets = y.cols();
        let plain = |likelihood| ConstantLaw { likelihood, constant: Vec::new() };
        let with = |likelihood, constant: f64| ConstantLaw { likelihood, constant: vec![constant] };
        match self {
            Self::Gaussian => plain(Likelihood::Gaussian(Gaussian { noise_var: vec![NOISE_VAR; n_targets] })),
            Self::StudentT => {
                plain(Likelihood::StudentT(StudentT { scale: vec![NOISE_VAR.sqrt(); n_targets], dof: DOF }))
            }
            Self::VaryingGaussian => ConstantLaw {
                likelihood: Likelihood::VaryingGaussian(VaryingGaussian { scale: VARYING_NOISE_VAR.sqrt() }),
                constant: vec![0.0, 0.0],
            },
            Self::VaryingStudentT => ConstantLaw {
                likelihood: Likelihood::VaryingStudentT(VaryingStudentT {
                    scale: VARYING_NOISE_VAR.sqrt(),
                    dof_above_two: DOF - 2.0,
                }),
                constant: vec![0.0, 0.0],
            },
            Self::Censored => with(Likelihood::Censored(Censored { noise_var: CENSORED_NOISE_VAR }), 0.0),
            Self::Probit => {
                let p = frequencies(&[-1.0, 1.0], outcomes)[1];
                with(Likelihood::Probit(Probit { dim_out: 1 }), (1.0 + latent_var).sqrt() * normal_quantile(p))
            }
            Self::Logit => {
                let p = frequencies(&[-1.0, 1.0], outcomes)[1];
                let growth = (1.0 + std::f64::consts::PI * latent_var / 8.0).sqrt();
                with(Likelihood::Logit(Logit { dim_out: 1 }), growth * (p / (1.0 - p)).ln())
            }
            Self::Softmax => {
                let constant = label_frequencies(outcomes).iter().map(|p| p.ln()).collect::<Vec<f64>>();
                ConstantLaw { likelihood: Likelihood::Softmax(Softmax { n_classes: classes }), constant }
            }
            Self::RobustMax => {
                let law = RobustMax { n_classes: classes, error: WRONG_LABELS };
                let constant = label_frequencies(outcomes).iter().map(|p| p.ln()).collect::<Vec<f64>>();
                ConstantLaw { likelihood: Likelihood::RobustMax(law), constant }
            }
            Self::Ordinal => {
                // The first cut point is the constant.
                let law = Ordinal::from_frequencies(&label_frequencies(outcomes), latent_var);
                plain(Likelihood::Ordinal(law))
            }
            Self::Poisson => {
                let (mean, _) = positive_moments(outcomes);
                let constant = mean.ln() - mean_exposure(outcomes).ln() - 0.5 * latent_var;
                with(Likelihood::Poisson(Poisson { dim_out: 1 }), constant)
            }
            Self::NegativeBinomial => {
                let (mean, var) = positive_moments(outcomes);
                let dispersion = ((var - mean) / (mean * mean)).clamp(DISPERSIONS[0], DISPERSIONS[1]);
                let law = NegativeBinomial { dispersion: vec![dispersion] };
                let constant = mean.ln() - mean_exposure(outcomes).ln() - 0.5 * latent_var;
                with(Likelihood::NegativeBinomial(law), constant)
            }
            Self::Gamma => {
                let (mean, var) = positive_moments(outcomes);
                let shape = (mean * mean / var).clamp(SHAPES[0], SHAPES[1]);
                with(Likelihood::Gamma(Gamma { shape: vec![shape] }), mean.ln() - 0.5 * latent_var)
            }
            Self::Beta => {
                let (mean, var) = positive_moments(outcomes);
                let mean = mean.clamp(LEAST_SHARE, 1.0 - LEAST_SHARE);
                let precision = (mean * (1.0 - mean) / var - 1.0).clamp(PRECISIONS[0], PRECISIONS[1]);
                with(Likelihood::Beta(Beta { precision: vec![precision] }), (mean / (1.0 - mean)).ln())
            }
        }
    }

    /// Starting values of a network whose last layer is a GP.
    pub(crate) fn start_of_network(self, outcomes: Outcomes<'_>) -> ConstantLaw {
        self.start(outcomes, SIGNAL_VAR)
    }

    /// The law that rows have if nothing is known of their inputs.
    pub(crate) fn constant(self, outcomes: Outcomes<'_>) -> ConstantLaw {
        let mut law = self.start(outcomes, 0.0);
        match &mut law.likelihood {
            Likelihood::NegativeBinomial(counts) => {
                counts.dispersion[0] = likeliest_dispersion(law.constant[0], outcomes);
            }
            Likelihood::Censored(_) => law = likeliest_censored(outcomes),
            _ => {}
        }
        law
    }
}

/// The mean exposure; 1 if there are none.
fn mean_exposure(outcomes: Outcomes<'_>) -> f64 {
    let exposure = outcomes.exposure;
    if exposure.is_empty() {
        return 1.0;
    }
    let total: f64 = (0..exposure.len()).map(|n| outcomes.weight(n)).sum();
    exposure.iter().enumerate().map(|(n, e)| outcomes.weight(n) * e / total).sum()
}

/// The dispersion at which counts with a given log rate are likeliest, by golden sections of its logarithm.
fn likeliest_dispersion(log_rate: f64, outcomes: Outcomes<'_>) -> f64 {
    let log_mean = |n: usize| log_rate + outcomes.exposure.get(n).map_or(0.0, |e| e.ln());
    let log_likelihood = |log_dispersion: f64| {
        let law = NegativeBinomial { dispersion: vec![log_dispersion.exp()] };
        let of_row =
            |(n, y): (usize, &f64)| outcomes.weight(n) * Observation::log_likelihood(&law, 0, &[log_mean(n)], *y, None);
        outcomes.y.as_slice().iter().enumerate().map(of_row).sum::<f64>()
    };
    golden_section(LOG_DISPERSIONS[0], LOG_DISPERSIONS[1], GOLDEN_SECTIONS, log_likelihood).exp()
}

/// The normal law under which targets between bounds are likeliest, by L-BFGS over its mean and log variance; the
/// starting one where none is found.
fn likeliest_censored(outcomes: Outcomes<'_>) -> ConstantLaw {
    let at = |theta: &[f64]| ConstantLaw {
        likelihood: Likelihood::Censored(Censored { noise_var: theta[1].clamp(-20.0, 20.0).exp() }),
        constant: vec![theta[0]],
    };
    let objective = |theta: &[f64]| {
        let ConstantLaw { likelihood, constant } = at(theta);
        let (mut value, mut gradient) = (0.0, vec![0.0; 2]);
        for (n, y) in outcomes.y.iter_rows().enumerate() {
            let weight = outcomes.weight(n);
            let (mut mean, mut var, mut params) = ([0.0], [0.0], [0.0]);
            let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut params };
            value -= weight * likelihood.log_z(&constant, &[0.0], y, 1.0, bar);
            gradient[0] -= weight * mean[0];
            gradient[1] -= weight * (params[0] * theta[1].exp());
        }
        // One row at the standard normal, so that bounds alone have a likeliest law.
        value += 0.5 * (theta[0] * theta[0] + theta[1] * theta[1]);
        gradient[0] += theta[0];
        gradient[1] += theta[1];
        (value.is_finite() && gradient.iter().all(|g| g.is_finite())).then_some((value, gradient))
    };
    let start = vec![0.0, 0.0];
    minimise(start.clone(), CENSORED_EVALUATIONS, 1e-6, objective).map_or_else(|| at(&start), |found| at(&found.theta))
}

/// Shares of some values among all of them, with half a row more for each.
fn frequencies(values: &[f64], outcomes: Outcomes<'_>) -> Vec<f64> {
    let mut counts = vec![0.5; values.len()];
    for (n, y) in outcomes.y.as_slice().iter().enumerate() {
        if let Some(place) = values.iter().position(|value| value == y) {
            counts[place] += outcomes.weight(n);
        }
    }
    let total: f64 = counts.iter().sum();
    counts.iter().map(|count| count / total).collect()
}

fn label_frequencies(outcomes: Outcomes<'_>) -> Vec<f64> {
    frequencies(&(0..outcomes.classes).map(|k| k as f64).collect::<Vec<f64>>(), outcomes)
}

/// Mean and variance of numbers that are not negative; neither is 0.
fn positive_moments(outcomes: Outcomes<'_>) -> (f64, f64) {
    let all = || {
        let weighted = outcomes.y.as_slice().iter().enumerate().map(|(n, y)| (outcomes.weight(n), y));
        weighted.filter(|(_, y)| !y.is_nan())
    };
    let n = match all().map(|(weight, _)| weight).sum::<f64>() {
        total if total > 0.0 => total,
        _ => 1.0,
    };
    // Half a unit in one more row, if there are nothing but zeros.
    let mean = all().map(|(weight, y)| weight * y / n).sum::<f64>().max(0.5 / (n + 1.0)).min(f64::MAX);
    let var = all().map(|(weight, y)| weight * ((y - mean) / n * (y - mean))).sum::<f64>();
    (mean, var.clamp(f64::MIN_POSITIVE, f64::MAX))
}

impl Display for LikelihoodChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gaussian => "Gaussian noise",
            Self::StudentT => "Student-t noise",
            Self::VaryingGaussian => "varying noise",
            Self::VaryingStudentT => "varying Student-t noise",
            Self::Censored => "censored",
            Self::Gamma => "gamma",
            Self::Beta => "beta",
            Self::Probit => "probit",
            Self::Logit => "logit",
            Self::Softmax => "softmax",
            Self::RobustMax => "robust maximum",
            Self::Ordinal => "ordered levels",
            Self::Poisson => "Poisson",
            Self::NegativeBinomial => "negative binomial",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::param::Parameters;

    fn column(values: &[f64]) -> Mat {
        Mat::from_fn(values.len(), 1, |i, _| values[i])
    }

    /// Every law, at its constant and without uncertainty, predicts the mean of what it starts from.
    #[test]
    fn laws_start_at_the_mean_of_their_targets() {
        let labels = column(&[0.0, 1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 0.0, 1.0]);
        let signs = column(&[-1.0, 1.0, 1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0]);
        let counts = column(&[0.0, 3.0, 5.0, 11.0, 2.0, 7.0, 1.0, 4.0, 0.0, 6.0]);
        let shares = column(&[0.1, 0.3, 0.5, 0.7, 0.2, 0.25, 0.4, 0.35, 0.6, 0.15]);
        for choice in LikelihoodChoice::ALL {
            let (y, close) = match choice {
                LikelihoodChoice::Probit | LikelihoodChoice::Logit => (&signs, 0.1),
                LikelihoodChoice::Softmax | LikelihoodChoice::Ordinal => (&labels, 0.1),
                LikelihoodChoice::Beta => (&shares, 1e-9),
                LikelihoodChoice::Poisson | LikelihoodChoice::NegativeBinomial | LikelihoodChoice::Gamma => {
                    (&counts, 1e-9)
                }
                _ => continue,
            };
            let ConstantLaw { likelihood, constant } = choice.start(Outcomes::of(y, 3), 0.0);
            let mean = y.as_slice().iter().sum::<f64>() / 10.0;
            let f = if constant.is_empty() { vec![0.0; likelihood.n_latent()] } else { constant };
            let (mut of_law, mut var) = ([0.0], [0.0]);
            likelihood.observe(&f, &vec![0.0; f.len()], &mut of_law, &mut var);
            assert!((of_law[0] - mean).abs() < close, "{choice}: {} for {mean}", of_law[0]);
            assert!(likelihood.check().is_ok() && var[0] > 0.0, "{choice}");
        }
    }

    #[test]
    fn a_weight_is_as_many_rows() {
        let (labels, weight) = ([0.0, 1.0, 2.0, 1.0], [3.0, 1.0, 2.0, 4.0]);
        let (counts, exposure) = ([4.0, 0.0, 11.0, 2.0], [1.0, 2.0, 5.0, 0.5]);
        let repeat = |values: [f64; 4]| {
            values.iter().zip(weight).flat_map(|(v, w)| std::iter::repeat_n(*v, w as usize)).collect::<Vec<f64>>()
        };
        let long_exposure = repeat(exposure);
        for (choice, values) in [
            (LikelihoodChoice::Softmax, labels),
            (LikelihoodChoice::Ordinal, labels),
            (LikelihoodChoice::Poisson, counts),
            (LikelihoodChoice::NegativeBinomial, counts),
        ] {
            let (short, long) = (column(&values), column(&repeat(values)));
            let one = choice.constant(Outcomes { y: &short, classes: 3, exposure: &exposure, weight: &weight });
            let other = choice.constant(Outcomes { y: &long, classes: 3, exposure: &long_exposure, weight: &[] });
            let (mut a, mut b) = (one.latent(), other.latent());
            one.likelihood.read_free(&mut a);
            other.likelihood.read_free(&mut b);
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6), "{choice}: {a:?} {b:?}");
        }
    }

    #[test]
    fn what_was_never_seen_is_not_impossible() {
        for choice in LikelihoodChoice::ALL {
            let ConstantLaw { likelihood, constant } = choice.start(Outcomes::of(&column(&[1.0; 8]), 3), 1.0);
            assert!(constant.iter().all(|c| c.is_finite()), "{choice}: {constant:?}");
            assert!(likelihood.check().is_ok(), "{choice}");
        }
        let zeros = LikelihoodChoice::Poisson.start(Outcomes::of(&column(&[0.0; 8]), 0), 1.0);
        assert!(zeros.constant[0].is_finite());
    }
}
