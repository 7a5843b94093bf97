//! The law of an observation by any likelihood, where latent values are normal.
//!
//! ```text
//! p(y) = ∫ p(y | f) N(f; m, diag v) df
//! ```

use super::PredictiveLaw;
use deepgp::likelihood::{Likelihood, Observation};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// Distances of the landmarks from the mean, in standard deviations: for a body of whatever width, and for heavy tails.
const LANDMARKS: [f64; 8] = [0.25, 0.6, 1.2, 2.5, 5.0, 12.0, 40.0, 200.0];

/// Targets of one row, which may share latent values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObservedRow<'a> {
    /// p(y | f).
    pub likelihood: &'a Likelihood,
    /// Means and variances of f, a number for each latent value.
    pub latent: (&'a [f64], &'a [f64]),
}

impl ObservedRow<'_> {
    /// Draws all targets.
    pub fn draw(&self, rng: &mut dyn Rng) -> Vec<f64> {
        let (mean, var) = self.latent;
        let normal = |(m, v): (&f64, &f64)| {
            let z: f64 = StandardNormal.sample(rng);
            m + v.sqrt() * z
        };
        let f: Vec<f64> = mean.iter().zip(var).map(normal).collect();
        let mut y = vec![0.0; self.likelihood.n_targets()];
        self.likelihood.sample(&f, rng, &mut y);
        y
    }
}

/// Deviations from a centre that are multiplied by a factor: y becomes c + k (y − c).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widening {
    /// c.
    pub centre: f64,
    /// k.
    pub factor: f64,
}

impl Widening {
    /// c + k (y − c).
    pub fn forward(self, y: f64) -> f64 {
        if self.factor == 1.0 { y } else { self.centre + self.factor * (y - self.centre) }
    }

    /// The y that becomes this number.
    pub fn inverse(self, wide: f64) -> f64 {
        if self.factor == 1.0 { wide } else { self.centre + (wide - self.centre) / self.factor }
    }
}

/// One target of a row, widened about its mean.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'a> {
    /// The row.
    pub row: ObservedRow<'a>,
    /// Number of the target.
    pub target: usize,
    /// Variance before it is widened.
    pub var: f64,
    /// About the mean; by 1 where values have gaps between them.
    pub widening: Widening,
}

impl PredictiveLaw for Observed<'_> {
    fn moments(&self) -> (f64, f64) {
        let Widening { centre, factor } = self.widening;
        (centre, self.var * factor * factor)
    }

    fn cdf(&self, y: f64) -> f64 {
        let ObservedRow { likelihood, latent: (mean, var) } = self.row;
        likelihood.cdf(self.target, mean, var, self.widening.inverse(y))
    }

    fn log_prob(&self, y: f64) -> f64 {
        let ObservedRow { likelihood, latent: (mean, var) } = self.row;
        likelihood.log_density_of(self.target, mean, var, self.widening.inverse(y)) - self.widening.factor.ln()
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        self.widening.forward(self.row.draw(rng)[self.target])
    }

    fn is_whole(&self) -> bool {
        self.row.likelihood.support(self.target).is_discrete()
    }

    fn landmarks(&self) -> Vec<f64> {
        let (mean, var) = self.moments();
        let std = var.sqrt();
        LANDMARKS.iter().flat_map(|z| [mean - std * z, mean + std * z]).chain([mean]).collect()
    }
}
