//! Binary targets by the logit link: p(y | f) = σ(yf), y = ±1, σ(x) = 1/(1 + e^{−x}).
//!
//! ```text
//! ℓ = log σ(yf)        ∂ℓ/∂f = y σ(−yf)        ∂²ℓ/∂f² = −σ(f) σ(−f)
//! ```
//! As with the probit, powers of σ are distribution functions themselves, and with μ = ym
//!
//! ```text
//! v ≤ 4     Z = ∫ N(f; μ, v) σ(f)^α df
//! v > 4     Z = ∫ ασ(u)^α σ(−u) Φ(w) du        w = (μ − u)/√v        ∂/∂μ = ⟨r(w)⟩/√v    ∂/∂v = −½⟨r(w) w⟩/v
//! ```
//! Both integrands are log-concave and analytic for |Im| < π; the trapezium rule is exact to about 1e-12 in either.

use super::quadrature::{gaussian_average, log_integral};
use super::{Independent, Support, Tilted};
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::special::log_ndtr_slopes;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// Binary targets, coded −1 and +1, by the logit link. It has no parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Logit {
    /// D.
    pub dim_out: usize,
}

/// σ(x), without overflow.
pub(super) fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// log σ(x) = −log(1 + e^{−x}), without overflow or cancellation.
pub(super) fn log_logistic(x: f64) -> f64 {
    if x >= 0.0 { -(-x).exp().ln_1p() } else { x - x.exp().ln_1p() }
}

/// Largest variance for nodes in f.
pub(super) const NARROW: f64 = 4.0;

/// log ∫ N(f; μ, v) σ(f)^p df with its derivatives, for v ≤ 4 and p ≤ 1.
fn narrow(mu: f64, v: f64, p: f64) -> Tilted {
    let sd = v.sqrt();
    // The slope of log σ is in (0, 1), so that the maximum lies in (μ, μ + pv); two steps towards it are enough.
    let mut x = 0.0;
    for _ in 0..2 {
        let q = logistic(-(mu + sd * x));
        x -= (x - p * sd * q) / (1.0 + p * v * q * (1.0 - q));
    }
    gaussian_average((mu, v), p, x, 1.0, |f| [log_logistic(f), logistic(-f), -logistic(f) * logistic(-f)]).0
}

/// The same for v > 4 and every power p > 0, and ∂log Z/∂p = 1/p + ⟨log σ(u)⟩; with nodes u = c + sinh t around the
/// place c where σ^p bends. Far to the left of it σ(f)^p is e^{pf}, and log Z = pμ + ½p²v.
pub(super) fn wide(mu: f64, v: f64, p: f64) -> (Tilted, f64) {
    let (sd, bend) = (v.sqrt(), p.max(1.0).ln());
    let centre = mu + p * v;
    if centre < -9.0 * sd - 40.0 - bend {
        return (Tilted { log_z: p * (mu + 0.5 * p * v), mean: p, var: 0.5 * p * p }, centre);
    }
    let (left, right) = (bend - centre.min(0.0) + 10.0 * sd + 45.0 / p, 45.0_f64);
    let (log_integral, [slope, product, power]) = log_integral(-left.asinh(), right.asinh(), 1.0 / 14.0, |t| {
        let u = bend + t.sinh();
        let w = (mu - u) / sd;
        let [log_cdf, r, _] = log_ndtr_slopes(w);
        let log_sigma = log_logistic(u);
        (p * log_sigma + log_logistic(-u) + log_cdf + t.cosh().ln(), [r, r * w, log_sigma])
    });
    (Tilted { log_z: p.ln() + log_integral, mean: slope / sd, var: -0.5 * product / v }, 1.0 / p + power)
}

/// log ∫ N(f; μ, v) σ(f)^α df and its derivatives.
pub(super) fn of_sign(mu: f64, v: f64, alpha: f64) -> Tilted {
    if v <= NARROW { narrow(mu, v, alpha) } else { wide(mu, v, alpha).0 }
}

impl Parameters for Logit {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {}

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {}
}

impl Independent for Logit {
    fn n_outputs(&self) -> usize {
        self.dim_out
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn support(&self, _d: usize) -> Support {
        Support::Signs
    }

    fn log_likelihood(&self, _d: usize, f: f64, y: f64, _params: Option<&mut [f64]>) -> [f64; 3] {
        [log_logistic(y * f), y * logistic(-y * f), -logistic(f) * logistic(-f)]
    }

    /// E y = 2σ(f) − 1 = tanh(f/2), var y = 4σ(f)σ(−f).
    fn moments_given(&self, _d: usize, f: f64) -> (f64, f64) {
        ((0.5 * f).tanh(), 4.0 * logistic(f) * logistic(-f))
    }

    fn cdf_given(&self, _d: usize, f: f64, y: f64) -> f64 {
        if y < -1.0 {
            0.0
        } else if y < 1.0 {
            logistic(-f)
        } else {
            1.0
        }
    }

    fn tilt(&self, _d: usize, m: f64, v: f64, y: f64, alpha: f64, _params: Option<&mut [f64]>) -> Tilted {
        let tilted = of_sign(y * m, v, alpha);
        // ∂μ/∂m = y
        Tilted { mean: y * tilted.mean, ..tilted }
    }

    fn draw(&self, _d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        if rng.random::<f64>() < logistic(f) { 1.0 } else { -1.0 }
    }
}
