//! The likelihood of a network: one of the laws of this crate, or one from outside.

use super::custom::{Custom, CustomLaw, refuse};
use super::{
    Beta, Censored, Gamma, Gaussian, Logit, NegativeBinomial, Observation, Ordinal, Poisson, Probit, RobustMax, Slopes,
    Softmax, StudentT, Support, TiltedBar, VaryingGaussian, VaryingStudentT,
};
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::Mat;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// A likelihood: one of the observation models. Whatever is asked of it, it asks of its law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likelihood {
    /// Real targets with Gaussian noise.
    Gaussian(Gaussian),
    /// Targets −1 and +1.
    Probit(Probit),
    /// Real targets with outliers.
    StudentT(StudentT),
    /// Targets −1 and +1 by the logistic function.
    Logit(Logit),
    /// Ordered levels.
    Ordinal(Ordinal),
    /// Counts with the variance of their mean.
    Poisson(Poisson),
    /// Counts that vary more.
    NegativeBinomial(NegativeBinomial),
    /// Several classes.
    Softmax(Softmax),
    /// Several classes, some of the labels wrong.
    RobustMax(RobustMax),
    /// Real targets with Gaussian noise whose size is a second latent function.
    VaryingGaussian(VaryingGaussian),
    /// Positive targets.
    Gamma(Gamma),
    /// Targets between 0 and 1.
    Beta(Beta),
    /// Real targets with Gaussian noise, some of them known only to lie in an interval.
    Censored(Censored),
    /// Real targets with outliers whose size is a second latent function.
    VaryingStudentT(VaryingStudentT),
    /// A law from outside the crate. It trains and predicts like the others, but cannot be written to a file.
    #[serde(skip_deserializing, serialize_with = "refuse")]
    Custom(Custom),
}

impl Likelihood {
    /// A law from outside the crate.
    pub fn custom(law: impl CustomLaw) -> Self {
        Self::Custom(Custom::new(law))
    }
}

/// Calls the same method on whichever law this is.
macro_rules! on_law {
    ($self:expr, $law:ident => $call:expr) => {
        match $self {
            Likelihood::Gaussian($law) => $call,
            Likelihood::Probit($law) => $call,
            Likelihood::StudentT($law) => $call,
            Likelihood::Logit($law) => $call,
            Likelihood::Ordinal($law) => $call,
            Likelihood::Poisson($law) => $call,
            Likelihood::NegativeBinomial($law) => $call,
            Likelihood::Softmax($law) => $call,
            Likelihood::RobustMax($law) => $call,
            Likelihood::VaryingGaussian($law) => $call,
            Likelihood::Gamma($law) => $call,
            Likelihood::Beta($law) => $call,
            Likelihood::Censored($law) => $call,
            Likelihood::VaryingStudentT($law) => $call,
            Likelihood::Custom($law) => $call,
        }
    };
}

impl Parameters for Likelihood {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        on_law!(self, law => law.visit(visit))
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        on_law!(self, law => law.visit_mut(visit))
    }
}

/// Every method, those with defaults too, so that a law's own forms are used; a test compares this list with the
/// trait's.
impl Observation for Likelihood {
    fn n_latent(&self) -> usize {
        on_law!(self, law => law.n_latent())
    }

    fn n_targets(&self) -> usize {
        on_law!(self, law => law.n_targets())
    }

    fn n_columns(&self) -> usize {
        on_law!(self, law => law.n_columns())
    }

    fn check(&self) -> Result<()> {
        on_law!(self, law => law.check())
    }

    fn support(&self, target: usize) -> Support {
        on_law!(self, law => law.support(target))
    }

    fn log_likelihood(&self, target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        on_law!(self, law => law.log_likelihood(target, f, y, slopes))
    }

    fn moments_given(&self, target: usize, f: &[f64]) -> (f64, f64) {
        on_law!(self, law => law.moments_given(target, f))
    }

    fn cdf_given(&self, target: usize, f: &[f64], y: f64) -> f64 {
        on_law!(self, law => law.cdf_given(target, f, y))
    }

    fn draw(&self, target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        on_law!(self, law => law.draw(target, f, rng))
    }

    fn check_targets(&self, y: &Mat) -> Result<()> {
        on_law!(self, law => law.check_targets(y))
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        on_law!(self, law => law.log_z(mean, var, y, alpha, bar))
    }

    fn log_z_sum(
        &self,
        moments: (&Mat, &Mat),
        targets: (&Mat, &[usize]),
        alpha: f64,
        bars: (&mut Mat, &mut Mat),
        params: &mut [f64],
    ) -> f64 {
        on_law!(self, law => law.log_z_sum(moments, targets, alpha, bars, params))
    }

    fn log_density(&self, mean: &[f64], var: &[f64], y: &[f64]) -> f64 {
        on_law!(self, law => law.log_density(mean, var, y))
    }

    fn log_density_of(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        on_law!(self, law => law.log_density_of(target, mean, var, y))
    }

    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        on_law!(self, law => law.cdf(target, mean, var, y))
    }

    fn probabilities(&self, target: usize, mean: &[f64], var: &[f64], out: &mut [f64]) {
        on_law!(self, law => law.probabilities(target, mean, var, out))
    }

    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        on_law!(self, law => law.observe(mean, var, y_mean, y_var))
    }

    fn sample(&self, f: &[f64], rng: &mut dyn Rng, y: &mut [f64]) {
        on_law!(self, law => law.sample(f, rng, y))
    }
}
