//! Positive targets with a constant coefficient of variation: a gamma law with mean e^f and shape k.
//!
//! ```text
//! ℓ = k log k − log Γ(k) + (k − 1) log y − k (f + x)        x = y e^{−f}
//! ∂ℓ/∂f = k (x − 1)        ∂²ℓ/∂f² = −k x        ∂ℓ/∂k = log k + 1 − ψ(k) + log y − f − x
//! E y = μ,  var y = var e^f + E e^{2f}/k        μ = E e^f
//! ```
//! p is log-concave in f; log Z is integrated by the rule of `nested`.

use super::count::{log_mean_moments, most, rate};
use super::{Independent, Support};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::{digamma, log_gamma, lower_gamma};
use rand::Rng;
use rand_distr::{Distribution, Gamma as Shape};
use serde::{Deserialize, Serialize};

/// Positive targets whose log mean is a latent function, with a shape for each output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gamma {
    /// k_d, D numbers; trained. The coefficient of variation given f is 1/√k.
    pub shape: Vec<f64>,
}

impl Parameters for Gamma {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "shape", domain: Domain::Positive, values: &self.shape });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "shape", domain: Domain::Positive, values: &mut self.shape });
    }
}

impl Independent for Gamma {
    fn n_outputs(&self) -> usize {
        self.shape.len()
    }

    fn check(&self) -> Result<()> {
        self.shape.iter().enumerate().try_for_each(|(d, &k)| expect_positive("shape", Some(d), k))
    }

    fn support(&self, _d: usize) -> Support {
        Support::Positive
    }

    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        let (k, log_y) = (self.shape[d], y.ln());
        let [x, slope, curvature] = rate(-f).map(|rate| y * rate);
        if let Some(params) = params {
            params[d] += k.ln() - digamma(k) + (1.0 + log_y - f - x);
        }
        [k * (k.ln() + log_y - f - x) - log_gamma(k) - log_y, k * (slope - 1.0), -k * curvature]
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        let mean = rate(f)[0];
        (mean, mean * mean / self.shape[d])
    }

    /// P(y ≤ t) = P(k, k t e^{−f}), the regularised lower incomplete gamma function.
    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        if y <= 0.0 { 0.0 } else { lower_gamma(self.shape[d], self.shape[d] * y * rate(-f)[0]) }
    }

    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let k = self.shape[d];
        let factor = Shape::new(k, 1.0 / k).map_or(1.0, |law| law.sample(rng));
        (factor * rate(f)[0]).max(f64::MIN_POSITIVE)
    }

    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        let (mean, excess) = log_mean_moments(m, v);
        let var = excess + (mean * mean + excess) / self.shape[d];
        (mean, most(var))
    }
}
