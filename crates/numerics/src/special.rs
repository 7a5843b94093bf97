//! The normal distribution function, its inverse, its logarithm and derivatives, accurate in both tails; and log(1 +
//! x).
//!
//! ```text
//! φ(x) = exp(−½x²)/√(2π)      Φ(x) = ∫_{−∞}^x φ      r(x) = φ(x)/Φ(x) = d log Φ(x)/dx      r' = −r (x + r)
//! ```
//! Below `TAIL` the inverse Mills ratio r comes from its continued fraction, with t = −x > 0:
//!
//! ```text
//! r = t + κ      κ = 1/(t + 2/(t + 3/(t + …)))      log Φ = log φ − log r      r' = −r κ
//! ```
//! so that x + r = κ is never a difference of large numbers. Elsewhere Φ comes from the complementary error function.
//! Reference: Abramowitz and Stegun (1964), 26.2.14.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, PI};

/// log 2π.
pub const LN_2PI: f64 = 1.837_877_066_409_345_5;

/// Below this the continued fraction takes over; `TERMS` of it are then good to rounding.
const TAIL: f64 = -5.0;

/// Length of the continued fraction.
const TERMS: u32 = 30;

/// Steps of the iteration for quantiles; it needs about 6.
const MAX_NEWTON_STEPS: usize = 12;

/// φ(x).
pub fn phi(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Φ(x).
pub fn ndtr(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// log Φ(x), finite for x > −1e154. Relative error at most 5e-14.
pub fn log_ndtr(x: f64) -> f64 {
    if x < TAIL {
        log_phi(x) - (kappa(-x) - x).ln()
    } else if x > 0.0 {
        // Φ(x) = 1 − Φ(−x)
        (-ndtr(-x)).ln_1p()
    } else {
        libm::erfc(-x * FRAC_1_SQRT_2).ln() - LN_2
    }
}

/// r(x) = φ(x)/Φ(x), the derivative of [`log_ndtr`]; the inverse Mills ratio of −x.
pub fn inverse_mills(x: f64) -> f64 {
    if x < TAIL { kappa(-x) - x } else { log_phi(x).exp() / ndtr(x) }
}

/// log Φ(x) with its first and second derivatives: r(x) and −r(x)(x + r(x)).
pub fn log_ndtr_slopes(x: f64) -> [f64; 3] {
    if x < TAIL {
        let kappa = kappa(-x);
        let r = kappa - x;
        return [log_phi(x) - r.ln(), r, -r * kappa];
    }
    // Φ of the nearer tail, so that one evaluation serves both the logarithm and the ratio.
    let small = ndtr(-x.abs());
    let (log, cdf) = if x > 0.0 { ((-small).ln_1p(), 1.0 - small) } else { (small.ln(), small) };
    let r = log_phi(x).exp() / cdf;
    [log, r, -r * (x + r)]
}

/// Quantile of the standard normal, Φ⁻¹(p), to about 1e-15 of max(1, |Φ⁻¹(p)|); −∞ at 0, ∞ at 1, NaN outside [0, 1].
///
/// ```text
/// x ← x + (log p − log Φ(x)) Φ(x)/φ(x)          from x = −√(−2 log 2p),  p ≤ ½
/// ```
/// Newton's iteration on log Φ, which is concave: as Φ(x) ≤ ½ exp(−x²/2) for x ≤ 0 puts the start to the left of the
/// root, the iterates climb to it without a miss. Upper quantiles are Φ⁻¹(p) = −Φ⁻¹(1 − p).
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p == 0.0 {
        return f64::NEG_INFINITY;
    }
    // −√(−2 log 2p); the root of 0 is +0 at the median.
    let mut x = -(-2.0 * (2.0 * p).ln()).max(0.0).sqrt();
    for _ in 0..MAX_NEWTON_STEPS {
        let cdf = ndtr(x);
        let step = (p / cdf).ln() * cdf / phi(x);
        // Rounding decides the sign of the last step, and tails beyond the smallest normal number give none.
        if !step.is_finite() {
            break;
        }
        x += step;
        if step.abs() <= 1e-15 * x.abs() {
            break;
        }
    }
    x + 0.0
}

/// log(1 + x) to rounding for x > −1:
///
/// ```text
/// log(1 + x) = log u + (x − (u − 1))/u,   u = 1 + x as rounded
/// ```
pub fn ln_1p(x: f64) -> f64 {
    let u = 1.0 + x;
    if u < f64::INFINITY { u.ln() + (x - (u - 1.0)) / u } else { u }
}

/// log N(x; mean, var).
pub fn normal_log_density(x: f64, mean: f64, var: f64) -> f64 {
    let e = x - mean;
    -0.5 * (LN_2PI + var.ln() + e * e / var)
}

/// log φ(x).
pub fn log_phi(x: f64) -> f64 {
    -0.5 * (LN_2PI + x * x)
}

/// κ(t) = r(−t) − t by its continued fraction, for t ≥ −TAIL.
fn kappa(t: f64) -> f64 {
    let mut tail = 0.0;
    for k in (2..=TERMS).rev() {
        tail = f64::from(k) / (t + tail);
    }
    1.0 / (t + tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_close};
    use proptest::prelude::*;

    #[test]
    fn logarithms_near_one_agree_with_the_standard_library() {
        for x in (-340..=300).map(|k| 1.07 * 10.0_f64.powi(k)).flat_map(|x| [x, 0.3 * x, (-0.9_f64).max(-x)]) {
            let (found, expected) = (ln_1p(x), x.ln_1p());
            assert!((found - expected).abs() <= 3.0 * f64::EPSILON * expected.abs(), "{x}: {found} {expected}");
        }
        assert_eq!(ln_1p(0.0), 0.0);
        assert_eq!(ln_1p(f64::INFINITY), f64::INFINITY);
        assert!(ln_1p(f64::NAN).is_nan());
    }

    /// (x, log Φ(x), r(x)) from mpmath 1.3.0 with 40 digits, rounded: log(erfc(−x/√2)/2) and φ/Φ; at −1e8 by three
    /// terms of the asymptotic series of Mills' ratio.
    const REFERENCE: [(f64, f64, f64); 18] = [
        (-1e8, -5000000000000019.3396, 100000000.00000001),
        (-1e4, -50000010.12927891, 10000.000099999997),
        (-300.0, -45006.62273211866, 300.0033332592634),
        (-38.5, -745.695270290411, 38.52593909685449),
        (-20.0, -203.91715537109727, 20.04975306852785),
        (-10.0, -53.23128515051247, 10.098093233962512),
        (-5.5, -17.77937635262526, 5.671410313897305),
        (-4.5, -12.59241973571308, 4.704319844827732),
        (-3.0, -6.607726221510349, 3.2830986549304364),
        (-1.0, -1.8410216450092636, 1.525135276160981),
        (-0.1, -0.7761545927302733, 0.8626174715309362),
        (0.0, -LN_2, 0.7978845608028654),
        (0.5, -0.3689464152886564, 0.5091604338370335),
        (1.0, -0.17275377902344988, 0.2875999709391784),
        (3.0, -0.0013508099647481938, 0.004437839042125664),
        (6.0, -9.865876455243758e-10, 6.075882855817676e-09),
        (9.0, -1.1285884059538405e-19, 1.0279773571668915e-18),
        (20.0, -2.7536241186062337e-89, 5.520948362159764e-88),
    ];

    /// Relative, not absolute: small numbers must be right too.
    #[track_caller]
    fn assert_relative(what: &str, x: f64, found: f64, expected: f64, bound: f64) {
        let error = ((found - expected) / expected).abs();
        assert!(error <= bound, "{what}({x}): found {found:e}, expected {expected:e}, relative error {error:.1e}");
    }

    #[test]
    fn log_ndtr_and_its_slope_match_high_precision() {
        for (x, log, r) in REFERENCE {
            assert_relative("log_ndtr", x, log_ndtr(x), log, 1e-13);
            assert_relative("inverse_mills", x, inverse_mills(x), r, 1e-13);
            let slopes = log_ndtr_slopes(x);
            assert_relative("log_ndtr_slopes[0]", x, slopes[0], log, 1e-13);
            assert_relative("log_ndtr_slopes[1]", x, slopes[1], r, 1e-13);
        }
    }

    #[test]
    fn ndtr_matches_high_precision() {
        // mpmath 1.3.0, 40 digits.
        let reference = [
            (-30.0, 4.906713927148187e-198),
            (-8.0, 6.220960574271784e-16),
            (-1.5, 0.06680720126885807),
            (0.3, 0.6179114221889527),
            (4.0, 0.9999683287581669),
        ];
        for (x, expected) in reference {
            assert_relative("ndtr", x, ndtr(x), expected, 2e-13);
        }
    }

    #[test]
    fn second_derivative_is_the_difference_of_the_first() {
        for x in [-1e4, -50.0, -7.0, -5.0, -4.9, -1.0, 0.2, 3.0] {
            let h = 1e-4 * f64::max(1.0, f64::abs(x));
            let difference = (inverse_mills(x + h) - inverse_mills(x - h)) / (2.0 * h);
            assert_relative("r'", x, log_ndtr_slopes(x)[2], difference, 1e-7);
        }
    }

    #[test]
    fn quantiles_of_known_probabilities() {
        // Computed with 60 digits from the Taylor series of Φ.
        for (p, x) in [
            (1e-15, -7.941345326170997),
            (1e-10, -6.361340902404057),
            (0.0001, -3.7190164854556804),
            (0.025, -1.9599639845400543),
            (0.3, -0.5244005127080408),
            (0.499, -0.002506630899571766),
            (0.75, 0.6744897501960817),
            (0.975, 1.9599639845400538),
            (0.9999, 3.7190164854557084),
        ] {
            assert_close("Φ⁻¹(p)", normal_quantile(p), x, Tolerance::Limit(2e-15));
        }
        assert_eq!(normal_quantile(0.5).to_bits(), 0.0_f64.to_bits());
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(normal_quantile(f64::NAN).is_nan() && normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan());
    }

    #[test]
    fn quantiles_reach_into_the_last_tail() {
        for p in [1e-300, 1e-307, 1e-310, 5e-324] {
            let x = normal_quantile(p);
            assert!((-38.6..-37.0).contains(&x), "{p}: {x}");
        }
    }

    #[test]
    fn both_sides_of_the_tail_agree() {
        let below = f64::from_bits(TAIL.to_bits() + 1);
        for i in 0..3 {
            assert_relative("slopes", TAIL, log_ndtr_slopes(below)[i], log_ndtr_slopes(TAIL)[i], 1e-13);
        }
    }

    #[test]
    fn normal_log_density_is_the_formula() {
        // N(1.5; 0.5, 4) = exp(−1/8)/√(8π)
        let expected = -0.125 - 0.5 * (8.0 * std::f64::consts::PI).ln();
        assert_relative("log N", 1.5, normal_log_density(1.5, 0.5, 4.0), expected, 1e-15);
    }

    proptest! {
        #[test]
        fn quantile_inverts_the_distribution_function(x in -37.0..0.0_f64) {
            let p = ndtr(x);
            // p carries a relative error ε, which moves x by ε Φ/φ.
            prop_assert!((normal_quantile(p) - x).abs() <= 1e-12, "{} {}", x, normal_quantile(p));
            let upper = normal_quantile(1.0 - p);
            prop_assert_eq!(upper, -normal_quantile(1.0 - (1.0 - p)));
        }
    }
}
