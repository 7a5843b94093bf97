//! Counts that vary more than a Poisson law allows: mean μ = e^f, variance μ + aμ².
//!
//! With r = 1/a, of which a Poisson law has infinitely many,
//!
//! ```text
//! ℓ = log Γ(y + r) − log Γ(r) − log y! + y log w + r log(1 − w)        w = μ/(μ + r) = aμ/(1 + aμ)
//! ∂ℓ/∂f = y (1 − w) − r w = y − (y + r) w        ∂²ℓ/∂f² = −(y + r) w (1 − w)
//! ∂ℓ/∂r = ψ(y + r) − ψ(r) + log(1 − w) + w − (y/r)(1 − w)        ∂ℓ/∂a = −r² ∂ℓ/∂r
//! ```
//! p is log-concave in f; log Z is integrated by the rule of `nested`, but for y = 0 and v > 4, where it is that of a
//! power αr of the logistic function.

use super::count::{average_cdf, log_mean_moments, most, poisson, rate};
use super::independent::quadrature;
use super::logit::{NARROW, log_logistic, logistic, wide};
use super::{Independent, Support, Tilted};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::{incomplete_beta, log_excess, log_gamma, log_gamma_rise};
use rand::Rng;
use rand_distr::{Distribution, Gamma};
use serde::{Deserialize, Serialize};

/// Counts 0, 1, 2, … whose log mean is a latent function, with a dispersion for each output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NegativeBinomial {
    /// a_d, D numbers; trained.
    pub dispersion: Vec<f64>,
}

impl NegativeBinomial {
    /// f + log a, of which w is the logistic function.
    fn log_odds(&self, d: usize, f: f64) -> f64 {
        f + self.dispersion[d].ln()
    }
}

impl Parameters for NegativeBinomial {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "dispersion", domain: Domain::Positive, values: &self.dispersion });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "dispersion", domain: Domain::Positive, values: &mut self.dispersion });
    }
}

impl Independent for NegativeBinomial {
    fn n_outputs(&self) -> usize {
        self.dispersion.len()
    }

    fn check(&self) -> Result<()> {
        self.dispersion.iter().enumerate().try_for_each(|(d, &a)| expect_positive("dispersion", Some(d), a))
    }

    fn support(&self, _d: usize) -> Support {
        Support::Whole
    }

    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        let (r, x) = (1.0 / self.dispersion[d], self.log_odds(d, f));
        let (w, rest, log_w, log_rest) = (logistic(x), logistic(-x), log_logistic(x), log_logistic(-x));
        let [rise, rise_slope] = log_gamma_rise(r, y);
        if let Some(params) = params {
            // log(1 − w) + w
            let excess = if w < 0.1 { -log_excess(-w) } else { log_rest + w };
            params[d] -= r * r * (rise_slope - y / r * rest + excess);
        }
        // 0 · (−∞) stands for its limit 0.
        let of_y = if y == 0.0 { 0.0 } else { y * log_w };
        [rise - log_gamma(y + 1.0) + of_y + r * log_rest, y * rest - r * w, -(y + r) * w * rest]
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        let mean = rate(f)[0];
        (mean, most(mean + self.dispersion[d] * mean * mean))
    }

    /// P(y ≤ k) = I_{1−w}(r, k + 1), the regularised incomplete beta function.
    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        if y < 0.0 {
            return 0.0;
        }
        let x = self.log_odds(d, f);
        incomplete_beta(1.0 / self.dispersion[d], y.floor() + 1.0, logistic(-x), logistic(x))
    }

    fn cdf(&self, d: usize, m: f64, v: f64, y: f64) -> f64 {
        average_cdf((m, v), y, self.dispersion[d], |f| self.cdf_given(d, f, y))
    }

    /// A Poisson law whose mean is drawn from a gamma law with mean μ and shape r.
    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let a = self.dispersion[d];
        let factor = Gamma::new(1.0 / a, a).map_or(1.0, |law| law.sample(rng));
        poisson(factor * rate(f)[0], rng)
    }

    /// For y = 0, p = σ(−x)^r with x = f + log a, and a is met twice: ∂x/∂a = 1/a, ∂(αr)/∂a = −α/a².
    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        if y == 0.0 && v > NARROW {
            let a = self.dispersion[d];
            let (tilted, by_power) = wide(-self.log_odds(d, m), v, alpha / a);
            if let Some(params) = params {
                params[d] -= (tilted.mean + alpha * by_power / a) / a;
            }
            return Tilted { mean: -tilted.mean, ..tilted };
        }
        quadrature(self, d, (m, v), y, alpha, params)
    }

    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        // E μ² = (E μ)² + var μ
        let (mean, excess) = log_mean_moments(m, v);
        (mean, most(mean + excess + self.dispersion[d] * (mean * mean + excess)))
    }
}
