//! What several classes need of one: L_α = E x^α e^{−x}, x = e^{f − t}, f ~ N(m, v), and λ = log L_α, at τ = t − m.
//! L_0 is the distribution function at t of f with Gumbel noise.
//!
//! ```text
//! narrow   L_α = ∫ N(z; 0, v) x^α e^{−x} dz,  x = e^{z − τ}       ∂λ/∂m = ⟨α − x⟩,      ∂λ/∂v = ½⟨(α − x)² − x⟩
//! wide     L_α = ∫ e^{αu − e^u} N(z; 0, v) du,  z = τ + u          ∂λ/∂m = ⟨z⟩/v,        ∂λ/∂v = ½⟨z² − v⟩/v²
//!          L_0 = ∫ e^{−u − e^{−u}} Φ(w) du,  w = (τ − u)/√v        ∂λ/∂m = −⟨r(w)⟩/√v,   ∂λ/∂v = −½⟨r(w) w⟩/v
//! ```
//! All integrands are log-concave and analytic, and the trapezium rule is exact to about 1e-12.

use super::quadrature::{REACH_SDS, log_integral};
use deepgp_numerics::special::{LN_2PI, inverse_mills, log_ndtr_slopes};

/// Above this variance the wide form is taken.
pub(super) const WIDE: f64 = 4.0;

/// λ roughly, by Laplace's approximation, and log q, q = x where its integrand in f is largest, so that ∂λ/∂m ≈ α − q:
///
/// ```text
/// log q + v q = αv − τ        λ ≈ α log q − q − ½v (α − q)² − ½ log(1 + v q)
/// ```
pub(super) fn laplace(tau: f64, v: f64, alpha: f64) -> (f64, f64) {
    // s = log q is the zero of s + v e^s − b, which rises and is convex: Newton from its right.
    let b = alpha * v - tau;
    let mut s = if v > 0.0 { b.min(((1.0 + b.abs() + v.ln_1p()) / v).ln()) } else { b };
    for _ in 0..60 {
        let grown = v * s.exp();
        let step = (s + grown - b) / (1.0 + grown);
        s -= step;
        if step.abs() < 1e-3 {
            break;
        }
    }
    let q = s.exp();
    let pull = alpha - q;
    (alpha * s - q - 0.5 * v * pull * pull - 0.5 * (v * q).ln_1p(), s)
}

/// λ, ∂λ/∂m and ∂λ/∂v; where q is not above some tens.
pub(super) fn smoothed(tau: f64, v: f64, alpha: f64) -> [f64; 3] {
    let sd = v.sqrt();
    if v <= WIDE {
        // The maximum is at z = v (α − q), with the curvature (1 + v q)/v.
        let q = laplace(tau, v, alpha).1.exp();
        let (centre, width) = (sd * (alpha - q), 1.0 / (1.0 + v * q).sqrt());
        let (log_l, [first, second]) = log_integral(centre - REACH_SDS, centre + REACH_SDS, 0.4 * width, |z| {
            let log_x = sd * z - tau;
            let x = log_x.exp();
            let pull = alpha - x;
            (alpha * log_x - 0.5 * (z * z + LN_2PI) - x, [pull, 0.5 * (pull * pull - x)])
        });
        return [log_l, first, second];
    }
    if alpha == 0.0 {
        return wide(tau, v);
    }
    // e^{αu} moves the Gaussian there.
    let centre = alpha * v - tau;
    if centre < -9.0 * sd - 40.0 {
        return [alpha * (0.5 * alpha * v - tau), alpha, 0.5 * alpha * alpha];
    }
    // u = sinh s, dense where e^{−e^u} falls
    let (left, right) = (10.0 * sd - centre.min(0.0), 6.0_f64);
    let (log_l, [first, second]) = log_integral(-left.asinh(), right.asinh(), 1.0 / 16.0, |s| {
        let u = s.sinh();
        let z = tau + u;
        let log_density = -0.5 * (z * z / v + LN_2PI + v.ln());
        (alpha * u - u.exp() + log_density + s.cosh().ln(), [z / v, 0.5 * (z * z / v - 1.0) / v])
    });
    [log_l, first, second]
}

/// The wide form, for every τ. With A = 1 + r(w)/√v, which changes little, the integrand is about e^{−Au − e^{−u}}: its
/// maximum is at e^{−u} = A, and its width A^{−½}.
pub(super) fn wide(tau: f64, v: f64) -> [f64; 3] {
    let sd = v.sqrt();
    let mut top = 0.0;
    for _ in 0..3 {
        top = -(inverse_mills((tau - top) / sd) / sd).ln_1p();
    }
    let a = (-top).exp();
    let (low, high) = (-(a + 9.0 * a.sqrt() + 45.0).ln(), top + 42.0 / a + (84.0 / a).sqrt());
    let (log_l, [first, second]) = log_integral(low, high, 0.25 / a.sqrt(), |u| {
        let w = (tau - u) / sd;
        let [log_cdf, r, _] = log_ndtr_slopes(w);
        (-u - (-u).exp() + log_cdf, [-r, -0.5 * r * w])
    });
    [log_l, first / sd, second / v]
}
