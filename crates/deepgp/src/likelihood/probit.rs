//! Binary targets by the probit link: p(y | f) = Φ(yf), y = ±1.
//!
//! With μ = ym and r = φ/Φ ([`deepgp_numerics::special`]):
//!
//! ```text
//! α = 1     log Z = log Φ(z)        z = μ/√(1 + v)
//! αv ≤ 4    log Z = log ∫ N(f; μ, v) Φ(f)^α df                                 narrow moments
//! αv > 4    log Z = log ∫ αΦ(u)^{α−1}φ(u) Φ((μ − u)/√v) du                     wide moments
//! ```
//! The third form is the second one integrated by parts, Φ^α being a distribution function itself. Both integrands are
//! log-concave,
//!
//! ```text
//! narrow    1/v ≤ curvature ≤ 1/v + α           wide    α ≤ curvature ≤ 1 + 1/v
//! ```
//! so a trapezium rule around the mode is exact to rounding in either form, for every m and v: the lower bound says how
//! far to go, the upper one how finely. The cost grows as √v and as 1/√α; the cheaper form is taken.

use super::quadrature::{REACH_SDS, STEP_SDS, gaussian_average, log_integral};
use super::{Independent, Support, Tilted};
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::special::{inverse_mills, log_ndtr, log_ndtr_slopes, log_phi, ndtr};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Binary targets, coded −1 and +1, by the probit link. It has no parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probit {
    /// D.
    pub dim_out: usize,
}

/// Largest αv of the narrow form; either is accurate on both sides, and here they need about as much work.
const NARROW: f64 = 4.0;

/// Most Newton steps towards a mode; the start is close and two or three are usual.
const NEWTON_STEPS: usize = 30;

/// The nodes need the mode only roughly: this fraction of the integrand's width.
const MODE_TOLERANCE: f64 = 0.05;

/// Root of an increasing function that is convex or concave, by Newton's method; `f` gives value and slope.
fn newton(mut x: f64, tolerance: f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    for _ in 0..NEWTON_STEPS {
        let (value, slope) = f(x);
        let step = value / slope;
        x -= step;
        if step.abs() <= tolerance {
            break;
        }
    }
    x
}

/// log ∫ N(f; μ, v) Φ(f)^α df and its derivatives, for αv ≤ 4.
fn narrow(mu: f64, v: f64, alpha: f64) -> Tilted {
    let sd = v.sqrt();
    // Mode in x = (f − μ)/√v:  x − α√v r(μ + √v x) = 0, increasing and concave
    let mode = newton(0.0, MODE_TOLERANCE, |x| {
        let [_, r, r_slope] = log_ndtr_slopes(mu + sd * x);
        (x - alpha * sd * r, 1.0 - alpha * v * r_slope)
    });
    gaussian_average((mu, v), alpha, mode, 1.0, log_ndtr_slopes).0
}

/// log ∫ αΦ(u)^{α−1}φ(u) Φ(w) du, w = (μ − u)/√v, and its derivatives, for αv > 4.
///
/// ```text
/// ∂/∂μ = ⟨r(w)⟩/√v        ∂/∂v = −½⟨r(w) w⟩/v
/// ```
fn wide(mu: f64, v: f64, alpha: f64) -> Tilted {
    let (sd, reach) = (v.sqrt(), REACH_SDS / alpha.sqrt());
    // Mode:  u + (1 − α) r(u) + r(w)/√v = 0, increasing and convex; where r(u) ≈ −u it is μ/(1 + αv)
    let start = (mu / (1.0 + alpha * v)).min(0.0);
    let mode = newton(start, MODE_TOLERANCE / alpha.sqrt(), |u| {
        let [_, r, r_slope] = log_ndtr_slopes(u);
        let [_, s, s_slope] = log_ndtr_slopes((mu - u) / sd);
        (u + (1.0 - alpha) * r + s / sd, 1.0 + (1.0 - alpha) * r_slope - s_slope / v)
    });
    let (log_integral, [slope, product]) = log_integral(mode - reach, mode + reach, STEP_SDS, |u| {
        let w = (mu - u) / sd;
        let [log_cdf, r, _] = log_ndtr_slopes(w);
        ((alpha - 1.0) * log_ndtr(u) + log_phi(u) + log_cdf, [r, r * w])
    });
    Tilted { log_z: alpha.ln() + log_integral, mean: slope / sd, var: -0.5 * product / v }
}

/// log ∫ N(f; μ, v) Φ(f)^α df and its derivatives.
pub(super) fn of_sign(mu: f64, v: f64, alpha: f64) -> Tilted {
    if alpha == 1.0 {
        // ∂/∂μ = r/√(1 + v),   ∂/∂v = −½ r z/(1 + v)
        let scale = (1.0 + v).sqrt();
        let z = mu / scale;
        let r = inverse_mills(z);
        Tilted { log_z: log_ndtr(z), mean: r / scale, var: -0.5 * r * z / (1.0 + v) }
    } else if alpha * v <= NARROW {
        narrow(mu, v, alpha)
    } else {
        wide(mu, v, alpha)
    }
}

impl Parameters for Probit {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {}

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {}
}

impl Independent for Probit {
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
        let [log_p, slope, curvature] = log_ndtr_slopes(y * f);
        // y² = 1
        [log_p, y * slope, curvature]
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        self.moments(d, f, 0.0)
    }

    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        self.cdf(d, f, 0.0, y)
    }

    /// y = sign(f + ε), ε ~ N(0, 1).
    fn draw(&self, _d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        if f + z > 0.0 { 1.0 } else { -1.0 }
    }

    fn tilt(&self, _d: usize, m: f64, v: f64, y: f64, alpha: f64, _params: Option<&mut [f64]>) -> Tilted {
        let tilted = of_sign(y * m, v, alpha);
        // ∂μ/∂m = y
        Tilted { mean: y * tilted.mean, ..tilted }
    }

    /// E y = 2Φ(z) − 1, var y = 4Φ(z)Φ(−z), z = m/√(1 + v).
    fn moments(&self, _d: usize, m: f64, v: f64) -> (f64, f64) {
        let z = m / (1.0 + v).sqrt();
        (libm::erf(z * std::f64::consts::FRAC_1_SQRT_2), 4.0 * ndtr(z) * ndtr(-z))
    }

    /// 0 below −1, P(y = −1) = Φ(−z) between the labels, 1 from +1.
    fn cdf(&self, _d: usize, m: f64, v: f64, y: f64) -> f64 {
        if y < -1.0 {
            0.0
        } else if y < 1.0 {
            ndtr(-m / (1.0 + v).sqrt())
        } else {
            1.0
        }
    }
}
