//! Counts with the variance of their mean: y ~ Poisson(e^f).
//!
//! ```text
//! ℓ = y f − e^f − log y!        ∂ℓ/∂f = y − e^f        ∂²ℓ/∂f² = −e^f
//! E y = e^{m + v/2}             var y = E y + (E y)² (e^v − 1)             for f ~ N(m, v)
//! ```
//! p is log-concave in f; log Z is integrated by the rule of `nested`, but for y = 0 and v > 4, where p is a step under
//! a wide Gaussian and log Z is the L(−log α; m, v) of `gumbel`.

use super::count::{average_cdf, log_mean_moments, most, poisson, rate};
use super::independent::quadrature;
use super::{Independent, Support, Tilted, gumbel};
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::special::{log_gamma, upper_gamma};
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Counts 0, 1, 2, … whose log mean is a latent function. It has no parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Poisson {
    /// D.
    pub dim_out: usize,
}

impl Parameters for Poisson {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {}

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {}
}

impl Independent for Poisson {
    fn n_outputs(&self) -> usize {
        self.dim_out
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn support(&self, _d: usize) -> Support {
        Support::Whole
    }

    fn log_likelihood(&self, _d: usize, f: f64, y: f64, _params: Option<&mut [f64]>) -> [f64; 3] {
        let [rate, slope, curvature] = rate(f);
        [y * f - rate - log_gamma(y + 1.0), y - slope, -curvature]
    }

    fn moments_given(&self, _d: usize, f: f64) -> (f64, f64) {
        (rate(f)[0], rate(f)[0])
    }

    /// P(y ≤ k) = Q(k + 1, e^f), the regularised upper incomplete gamma function.
    fn cdf_given(&self, _d: usize, f: f64, y: f64) -> f64 {
        if y < 0.0 { 0.0 } else { upper_gamma(y.floor() + 1.0, rate(f)[0]) }
    }

    fn cdf(&self, d: usize, m: f64, v: f64, y: f64) -> f64 {
        average_cdf((m, v), y, 0.0, |f| self.cdf_given(d, f, y))
    }

    fn draw(&self, _d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        poisson(rate(f)[0], rng)
    }

    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        if y == 0.0 && v > gumbel::WIDE {
            let [log_z, mean, var] = gumbel::wide(-alpha.ln() - m, v);
            return Tilted { log_z, mean, var };
        }
        quadrature(self, d, (m, v), y, alpha, params)
    }

    fn moments(&self, _d: usize, m: f64, v: f64) -> (f64, f64) {
        let (mean, excess) = log_mean_moments(m, v);
        (mean, most(mean + excess))
    }
}
