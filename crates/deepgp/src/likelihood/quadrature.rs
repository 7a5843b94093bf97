//! Log integrals over the line by the trapezium rule.
//!
//! ```text
//! ∫ exp ℓ(t) dt ≈ h Σ_j exp ℓ(t_j)        t_j = lo + jh
//! ```
//! For an integrand that is analytic in the strip |Im t| < a and falls off at both ends, the rule errs by exp(−2πa/h):
//! with a step matched to the integrand it is exact to rounding. No table of nodes is needed, and the nodes can lie
//! where the mass is. Derivatives of the integral are averages under its normalised integrand, on the same nodes.
//! Reference: Trefethen and Weideman (2014), The exponentially convergent trapezoidal rule.

use super::Tilted;
use deepgp_numerics::special::log_phi;

/// No integral uses more nodes; beyond it the step grows. Reached only at parameters far outside use (α < 1e-5).
const MAX_NODES: f64 = 16384.0;

/// Terms smaller than the largest by exp(−CUTOFF) are left out.
const CUTOFF: f64 = 50.0;

/// log ∫ exp ℓ(t) dt over [lo, hi], and the averages of K statistics under the normalised exp ℓ.
///
/// `integrand(t)` gives ℓ(t) and the statistics at t. The sum is taken in one pass, relative to the largest term met so
/// far, so that it neither overflows nor underflows. All results are NaN if an end is not finite.
pub(super) fn log_integral<const K: usize>(
    lo: f64,
    hi: f64,
    step: f64,
    mut integrand: impl FnMut(f64) -> (f64, [f64; K]),
) -> (f64, [f64; K]) {
    let intervals = ((hi - lo) / step).ceil().clamp(1.0, MAX_NODES);
    let step = (hi - lo) / intervals;
    if !step.is_finite() {
        return (f64::NAN, [f64::NAN; K]);
    }
    let (mut largest, mut total, mut sums) = (f64::NEG_INFINITY, 0.0, [0.0; K]);
    for j in 0..=intervals as usize {
        let (l, statistics) = integrand(lo + step * j as f64);
        if l < largest - CUTOFF || l == f64::NEG_INFINITY {
            continue;
        }
        let mut weight = 1.0;
        if l > largest {
            // The new term becomes the unit.
            let shrink = (largest - l).exp();
            total *= shrink;
            sums.iter_mut().for_each(|s| *s *= shrink);
            largest = l;
        } else {
            weight = (l - largest).exp();
        }
        total += weight;
        for (s, x) in sums.iter_mut().zip(statistics) {
            *s += weight * x;
        }
    }
    (largest + (step * total).ln(), sums.map(|s| s / total))
}

/// How far from its mode, in standard deviations, an integrand at least as peaked as a normal density is summed.
pub(super) const REACH_SDS: f64 = 8.5;

/// Step, in standard deviations, at which the rule is exact to rounding for a normal density.
pub(super) const STEP_SDS: f64 = 0.5;

/// log ∫ N(f; m, v) p(f)^α df for any smooth law, in the variable x = (f − m)/√v; with ℓ = log p, its derivatives are
///
/// ```text
/// ∂/∂m = ⟨αℓ'⟩        ∂/∂v = ½⟨αℓ'' + (αℓ')²⟩        ∂/∂θ = ⟨α ∂ℓ/∂θ⟩
/// ```
/// ⟨·⟩ is the average under the tilted density. `law(f)` gives K ≥ 3 numbers: ℓ, ℓ', ℓ'', then a ∂ℓ/∂θ for each
/// parameter; the second result holds their ∂log Z/∂θ at the same places. `centre` is the mode of the integrand in x,
/// and `width` the distance in f over which p^α may be taken for smooth.
/// Converges to rounding when log p^α is concave with curvature at most 1/min(v, width²). v = 0 gives the law itself.
pub(super) fn gaussian_average<const K: usize>(
    (m, v): (f64, f64),
    alpha: f64,
    centre: f64,
    width: f64,
    law: impl Fn(f64) -> [f64; K],
) -> (Tilted, [f64; K]) {
    let sd = v.sqrt();
    let step = STEP_SDS * (width / sd).min(1.0);
    let (log_z, averages) = log_integral(centre - REACH_SDS, centre + REACH_SDS, step, |x| {
        let mut l = law(m + sd * x);
        let log_integrand = log_phi(x) + alpha * l[0];
        l.iter_mut().for_each(|s| *s *= alpha);
        l[2] += l[1] * l[1];
        (log_integrand, l)
    });
    (Tilted { log_z, mean: averages[1], var: 0.5 * averages[2] }, averages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::special::normal_log_density;
    use deepgp_oracle::{Tolerance, assert_all_close};

    #[test]
    fn a_gaussian_law_gives_the_closed_form() {
        let (y, s2) = (0.7, 1.8);
        for (m, v, alpha) in [(0.2, 0.9, 1.0), (-3.0, 1.7, 0.5), (0.4, 0.0, 0.3)] {
            let e = |f: f64| y - f;
            // With one parameter, s2.
            let law = |f: f64| {
                let score = 0.5 * (e(f) * e(f) / s2 - 1.0) / s2;
                [normal_log_density(y, f, s2), e(f) / s2, -1.0 / s2, score]
            };
            let c = s2 + alpha * v;
            let centre = alpha * v.sqrt() * e(m) / c;
            let (found, averages) = gaussian_average((m, v), alpha, centre, 1.0, law);
            let slope = alpha * e(m) / c;
            let log_z = alpha * normal_log_density(y, m, s2)
                - 0.5 * (alpha * v / s2).ln_1p()
                - 0.5 * alpha * e(m) * e(m) * (1.0 / c - 1.0 / s2);
            let var = 0.5 * (slope * slope - alpha / c);
            let theta = 0.5 * ((1.0 - alpha) / s2 - 1.0 / c + alpha * e(m) * e(m) / (c * c));
            assert_all_close(
                "tilted",
                &[found.log_z, found.mean, found.var, averages[3]],
                &[log_z, slope, var, theta],
                Tolerance::Rounding,
            );
        }
    }

    #[test]
    fn a_range_that_is_not_finite_gives_nan() {
        assert!(log_integral(f64::NAN, 1.0, 0.5, |t| (t, [])).0.is_nan());
        assert!(log_integral(0.0, f64::INFINITY, 0.5, |t| (t, [])).0.is_nan());
    }
}
