//! The normal distribution function, its inverse, its logarithm and derivatives, accurate in both tails; log(1 + x);
//! and the gamma function with the incomplete gamma and beta functions.
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

/// log Γ(x) for x > 0.
pub fn log_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// ψ(x) = d log Γ(x)/dx for x > 0, to about 1e-14.
pub fn digamma(x: f64) -> f64 {
    statrs::function::gamma::digamma(x)
}

/// ψ'(x) for x > 0, to about 1e-14: by ψ'(x) = ψ'(x + 1) + 1/x² from its asymptotic series.
pub fn trigamma(x: f64) -> f64 {
    let (mut z, mut sum) = (x, 0.0);
    while z < 12.0 {
        sum += 1.0 / (z * z);
        z += 1.0;
    }
    let square = 1.0 / (z * z);
    let odd = 1.0 / 6.0 - (1.0 / 30.0 - (1.0 / 42.0 - (1.0 / 30.0 - 5.0 / 66.0 * square) * square) * square) * square;
    sum + 0.5 * square + (1.0 + odd * square) / z
}

/// log Γ(a + y) − log Γ(a) for a, y > 0 or y = 0, with its derivative in a; both stay exact where a is large.
pub fn log_gamma_rise(a: f64, y: f64) -> [f64; 2] {
    if a < 10.0 {
        return [log_gamma(a + y) - log_gamma(a), digamma(a + y) - digamma(a)];
    }
    let z = a + y;
    let growth = ln_1p(y / a);
    let value = (z - 0.5) * growth + y * (a.ln() - 1.0) + stirling_error(z) - stirling_error(a);
    // ψ(z) = log z − 1/(2z) − 1/(12z²) + 1/(120z⁴) − 1/(252z⁶) + 1/(240z⁸) − …
    let rest = |z: f64| {
        let square = 1.0 / (z * z);
        -0.5 / z - (1.0 / 12.0 - (1.0 / 120.0 - (1.0 / 252.0 - square / 240.0) * square) * square) * square
    };
    [value, growth + rest(z) - rest(a)]
}

/// x − log(1 + x) for x > −1, of which only the square is left near 0. With s = x/(2 + x), log(1 + x) = 2 artanh s.
pub fn log_excess(x: f64) -> f64 {
    if x.abs() > 0.1 {
        return x - x.ln_1p();
    }
    let s = x / (2.0 + x);
    let square = s * s;
    let series = (0..9).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 3));
    s * (x - 2.0 * square * series)
}

/// log Γ(a) − (a − ½) log a + a − ½ log 2π, by Stirling's series where a is large.
fn stirling_error(a: f64) -> f64 {
    if a < 10.0 {
        return log_gamma(a) - (a - 0.5) * a.ln() + a - 0.5 * LN_2PI;
    }
    let square = 1.0 / (a * a);
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - square / 1188.0) * square) * square) * square) / a
}

/// Above this incomplete gamma and beta functions are taken from their expansions around the normal distribution.
const LARGE: f64 = 1e6;

/// Most terms of a series or continued fraction.
const MOST_TERMS: u32 = 1_000_000;

/// Q(a, x) = Γ(a, x)/Γ(a) for a > 0, x ≥ 0: the probability that a gamma variable of shape a exceeds x, to about 1e-12.
pub fn upper_gamma(a: f64, x: f64) -> f64 {
    incomplete_gamma(a, x)[1]
}

/// P(a, x) = 1 − Q(a, x), to about 1e-12.
pub fn lower_gamma(a: f64, x: f64) -> f64 {
    incomplete_gamma(a, x)[0]
}

/// P and Q.
///
/// ```text
/// P = D/a (1 + x/(a+1) + x²/((a+1)(a+2)) + …)      Q = D/(x + 1 − a − 1(1 − a)/(x + 3 − a − …))      D = xᵃe^{−x}/Γ(a)
/// ```
/// and with μ = x/a − 1 and ½η² = μ − log(1 + μ), to the first order of the expansion in 1/a,
///
/// ```text
/// Q = Φ(−η√a) + e^{−½aη²}/√(2πa) (1/μ − 1/η)
/// ```
/// References: Abramowitz and Stegun (1964), 6.5; Temme (1979).
fn incomplete_gamma(a: f64, x: f64) -> [f64; 2] {
    if x.is_nan() || a.is_nan() {
        return [f64::NAN; 2];
    }
    if x <= 0.0 || a == f64::INFINITY {
        return [0.0, 1.0];
    }
    if x == f64::INFINITY {
        return [1.0, 0.0];
    }
    let mu = (x - a) / a;
    let half_square = if mu.abs() > 0.1 { mu - (x / a).ln() } else { log_excess(mu) };
    if a > LARGE {
        let eta = (2.0 * half_square).sqrt().copysign(mu);
        let odd = if mu.abs() < 0.003 {
            -1.0 / 3.0 + (1.0 / 12.0 - (2.0 / 135.0 - eta / 864.0) * eta) * eta
        } else {
            1.0 / mu - 1.0 / eta
        };
        let rest = (-a * half_square).exp() / (2.0 * PI * a).sqrt() * odd;
        let tail = ndtr(-eta.abs() * a.sqrt());
        return if mu > 0.0 { [1.0 - tail - rest, tail + rest] } else { [tail - rest, 1.0 - tail + rest] };
    }
    let density = (-a * half_square - stirling_error(a)).exp() * (a / (2.0 * PI)).sqrt();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..MOST_TERMS {
            term *= x / (a + f64::from(k));
            sum += term;
            if term <= 1e-17 * sum {
                break;
            }
        }
        let lower = (density * sum / a).min(1.0);
        return [lower, 1.0 - lower];
    }
    let b = |k: u32| x + 1.0 - a + 2.0 * f64::from(k);
    let upper = density * continued_fraction(b(0), |k| (-f64::from(k) * (f64::from(k) - a), b(k)));
    [1.0 - upper, upper]
}

/// 1/(b₀ + a₁/(b₁ + a₂/(b₂ + …))) by Lentz's method; `terms(k)` gives a_k and b_k.
fn continued_fraction(b: f64, terms: impl Fn(u32) -> (f64, f64)) -> f64 {
    let nonzero = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
    let (mut c, mut d) = (1e300, 1.0 / nonzero(b));
    let mut value = d;
    for k in 1..MOST_TERMS {
        let (a, b) = terms(k);
        d = 1.0 / nonzero(b + a * d);
        c = nonzero(b + a / c);
        value *= c * d;
        if (c * d - 1.0).abs() <= 4e-16 {
            break;
        }
    }
    value
}

/// I_x(a, b) for a, b > 0 and x in [0, 1] with its complement `y` = 1 − x: the distribution function of a beta
/// variable, to about 1e-12, and 1e-9 where a and b are above 1e6.
///
/// ```text
/// I = D/(b₀ + a₁/(b₁ + a₂/(b₂ + …)))                  D = xᵃyᵇ/B(a, b)
/// a_k = (a + k − 1)(a + b + k − 1) k (b − k) x²/(a + 2k − 1)²
/// b_k = k + k(b − k)x/(a + 2k − 1) + (a + k)(ay − bx + 1 + k(1 + y))/(a + 2k + 1)
/// ```
/// and 1 − I_y(b, a) beyond the mean. Where both are large, with s = a + b, x₀ = a/s, y₀ = b/s and
/// ½η² = −x₀ log(x/x₀) − y₀ log(y/y₀), to the first order of the expansion in 1/s,
///
/// ```text
/// I = Φ(η√s) + e^{−½sη²}/√(2πs) (1/η − √(x₀y₀)/(x − x₀))
/// ```
/// References: Didonato and Morris (1992); Temme (1982).
pub fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if [a, b, x, y].iter().any(|number| number.is_nan()) {
        return f64::NAN;
    }
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let s = a + b;
    let (x0, y0) = (a / s, b / s);
    if x0 < f64::MIN_POSITIVE || y0 < f64::MIN_POSITIVE {
        // All mass at one end.
        return if x0 < y0 { 1.0 } else { 0.0 };
    }
    // x₀ − x, from the smaller pair: x + y is 1 but for rounding, and x > x₀ need not mean y < y₀.
    let e = if x0 < y0 { x0 - x } else { y - y0 };
    if e < 0.0 { 1.0 - below_mean([b, a], [y, x], [y0, x0], -e) } else { below_mean([a, b], [x, y], [x0, y0], e) }
}

/// I_x(a, b) where x is not above the mean x₀, which is larger by e.
fn below_mean([a, b]: [f64; 2], [x, y]: [f64; 2], [x0, y0]: [f64; 2], e: f64) -> f64 {
    let s = a + b;
    let part = |share: f64, now: f64, change: f64| {
        if change.abs() > 0.1 { change - (now / share).ln() } else { log_excess(change) }
    };
    let half_square = x0 * part(x0, x, -e / x0) + y0 * part(y0, y, e / y0);
    if a.min(b) > LARGE {
        let (eta, root) = (-(2.0 * half_square).sqrt(), (x0 * y0).sqrt());
        // At the mean the bracket is (y₀ − x₀)/(3 √(x₀y₀)).
        let odd = if e < 1e-5 * x0.min(y0) { (y0 - x0) / (3.0 * root) } else { 1.0 / eta + root / e };
        return ndtr(eta * s.sqrt()) + (-s * half_square).exp() / (2.0 * PI * s).sqrt() * odd;
    }
    let log_density = -s * half_square + stirling_error(s) - stirling_error(a) - stirling_error(b);
    let density = log_density.exp() * (x0 * b / (2.0 * PI)).sqrt();
    // n is k; a y − b x = s (x₀ − x)
    let lead = s * e + 1.0;
    let below = |n: f64| {
        let first = if n == 0.0 { 0.0 } else { n + n * (b - n) * x / (a + 2.0 * n - 1.0) };
        first + (a + n) * (lead + n * (1.0 + y)) / (a + 2.0 * n + 1.0)
    };
    let fraction = continued_fraction(below(0.0), |k| {
        let n = f64::from(k);
        let odd = (a + n - 1.0) / (a + 2.0 * n - 1.0);
        (odd * (s + n - 1.0) * n * (b - n) * x * x / (a + 2.0 * n - 1.0), below(n))
    });
    (density * fraction).clamp(0.0, 1.0)
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
#[allow(clippy::excessive_precision, reason = "reference values have all digits that were computed")]
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

    /// To 40 digits by mpmath 1.3.0: its own functions, or where these give up the integral of the density.
    #[test]
    fn incomplete_gamma_functions_match_high_precision() {
        for (a, x, upper) in [
            (0.1, 1e-15, 0.9667601292779645),
            (0.5, 0.02, 0.8414805811217939),
            (1.0, 3.0, 0.049787068367863944),
            (2.5, 2.4, 0.440772968086663),
            (30.0, 12.0, 0.9999911298612009),
            (30.0, 70.0, 2.4328201698573227e-08),
            (1000.0, 1010.0, 0.3723210552630053),
            (100000.0, 99800.0, 0.736248857076021),
            (999999.0, 1001000.0, 0.15841340412692823),
            (2000000.0, 2000000.0, 0.49990596840248086),
            (2000000.0, 2001500.0, 0.1444288574665018),
            (2000000.0, 1990000.0, 0.9999999999992929),
            (1000000000000.0, 1000000500000.0, 0.30853745070965705),
            (1000000000000000.0, 999999970000000.0, 0.8286091441579077),
        ] {
            assert_close(&format!("Q({a}, {x})"), upper_gamma(a, x), upper, Tolerance::Limit(2e-12));
            assert_close(&format!("P({a}, {x})"), lower_gamma(a, x), 1.0 - upper, Tolerance::Limit(2e-12));
        }
        // Q(1, x) = e^{−x},   P(½, x) = erf √x
        for x in [1e-300, 1e-9, 0.3, 2.0, 30.0, 700.0] {
            assert_relative("Q(1, ·)", x, upper_gamma(1.0, x), (-x).exp(), 1e-13);
            assert_relative("P(½, ·)", x, lower_gamma(0.5, x), libm::erf(x.sqrt()), 1e-13);
        }
        assert_eq!([upper_gamma(2.0, 0.0), upper_gamma(2.0, f64::INFINITY), upper_gamma(2.0, 1e300)], [1.0, 0.0, 0.0]);
        assert!(upper_gamma(1.0, f64::NAN).is_nan());
    }

    /// Pairs whose sum is 1 but for rounding, just above or below both means.
    #[test]
    fn incomplete_beta_functions_take_rounded_pairs() {
        for (a, b) in [(1.0, 1.0), (0.2, 5e9), (5e9, 0.2), (2.0, 6e10), (3.0, 7.0), (4e8, 4e8)] {
            let mean = a / (a + b);
            let above: f64 = incomplete_beta(a, b, mean, 1.0 - mean);
            for by in [-2.0 * f64::EPSILON, -f64::EPSILON, f64::EPSILON, 2.0 * f64::EPSILON] {
                let found = incomplete_beta(a, b, mean * (1.0 + by), b / (a + b) * (1.0 + by));
                assert!((found - above).abs() < 1e-9 * (a + b).sqrt().max(1.0), "{a}, {b}, {by}: {found} {above}");
            }
        }
    }

    #[test]
    fn incomplete_beta_functions_match_high_precision() {
        for (a, b, x, lower) in [
            (0.3, 0.7, 1e-12, 0.00021561874661557982),
            (2.0, 3.0, 0.25, 0.26171875),
            (1.0, 40.0, 0.01, 0.3310282414303195),
            (50.0, 0.2, 0.9, 0.0002751312801016952),
            (200.0, 300.0, 0.41, 0.6776281647721789),
            (50000.0, 70000.0, 0.418, 0.825595961674542),
            (10000000000.0, 20.0, 0.9999999975, 0.13357483811182003),
            (2.5, 1000000000.0, 3e-09, 0.6937810829003302),
            (3000000.0, 5000000.0, 0.3749, 0.27954378953045667),
            (3000000.0, 5000000.0, 0.3752, 0.878687871503541),
            (3000000.0, 5000000.0, 0.375, 0.5000242788544729),
            (20000000.0, 9000000000.0, 0.0022176, 0.7310842089781493),
        ] {
            let found = incomplete_beta(a, b, x, 1.0 - x);
            assert_close(&format!("I_{x}({a}, {b})"), found, lower, Tolerance::Limit(2e-9));
        }
        // I_x(a, 1) = xᵃ,   I_x(1, b) = 1 − (1 − x)ᵇ
        for x in [1e-90, 1e-5, 0.3, 0.999] {
            assert_relative("I(3, 1)", x, incomplete_beta(3.0, 1.0, x, 1.0 - x), x * x * x, 1e-13);
            let expected = -(2.5 * (-x).ln_1p()).exp_m1();
            assert_relative("I(1, 2.5)", x, incomplete_beta(1.0, 2.5, x, 1.0 - x), expected, 1e-13);
        }
        assert_eq!([incomplete_beta(2.0, 3.0, 0.0, 1.0), incomplete_beta(2.0, 3.0, 1.0, 0.0)], [0.0, 1.0]);
    }

    #[test]
    fn the_slope_of_log_gamma_has_its_values() {
        // ψ(1) = −γ,   ψ(½) = −γ − 2 log 2,   ψ(x + 1) = ψ(x) + 1/x
        let euler = 0.577_215_664_901_532_9;
        assert_relative("ψ", 1.0, digamma(1.0), -euler, 1e-13);
        assert_relative("ψ", 0.5, digamma(0.5), -euler - 2.0 * LN_2, 1e-13);
        for x in [1e-8, 1e-3, 0.7, 11.9, 12.1, 1e3] {
            assert_relative("ψ(x + 1) − 1/x", x, digamma(x + 1.0) - 1.0 / x, digamma(x), 1e-13);
        }
        // ψ'(1) = π²/6,   ψ'(½) = π²/2
        assert_relative("ψ'", 1.0, trigamma(1.0), PI * PI / 6.0, 1e-13);
        assert_relative("ψ'", 0.5, trigamma(0.5), PI * PI / 2.0, 1e-13);
        assert_relative("ψ'", 1e5, trigamma(1e5), 1e-5 + 0.5e-10 + 1e-15 / 6.0, 1e-13);
        // log Γ(a + 3) − log Γ(a) = log(a (a + 1)(a + 2))
        for a in [1e-3, 2.0, 9.99, 10.0, 1e4, 1e9] {
            let [value, slope] = log_gamma_rise(a, 3.0);
            assert_relative("log Γ(a + 3) − log Γ(a)", a, value, a.ln() + (a + 1.0).ln() + (a + 2.0).ln(), 1e-13);
            assert_relative("its slope", a, slope, 1.0 / a + 1.0 / (a + 1.0) + 1.0 / (a + 2.0), 1e-11);
        }
        assert_relative("log Γ", 5.0, log_gamma(5.0), 24.0_f64.ln(), 1e-15);
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
