//! What laws with a log link share.

use super::expectation::expectation;
use deepgp_numerics::special::phi;

/// Beyond this the exponential is continued by its Taylor polynomial of second degree, so that its square is a number
/// for every latent value; e^200 is far from all data.
const LARGEST: f64 = 200.0;

/// e^f with its first two derivatives.
pub(super) fn rate(f: f64) -> [f64; 3] {
    let e = f.min(LARGEST).exp();
    // NaN passes.
    if f > LARGEST {
        let beyond = f - LARGEST;
        return [e * (1.0 + beyond + 0.5 * beyond * beyond), e * (1.0 + beyond), e];
    }
    let e = if f.is_nan() { f } else { e };
    [e, e, e]
}

/// x, at most the largest number; NaN stays.
pub(super) fn most(x: f64) -> f64 {
    if x == f64::INFINITY { f64::MAX } else { x }
}

/// Mean and variance of e^f for f ~ N(m, v), at most the largest number:
///
/// ```text
/// E e^f = e^{m + v/2}        var e^f = (E e^f)² (e^v − 1)
/// ```
pub(super) fn log_mean_moments(m: f64, v: f64) -> (f64, f64) {
    let log_growth = if v < 1.0 { v.exp_m1().ln() } else { v + (-(-v).exp()).ln_1p() };
    (most((m + 0.5 * v).exp()), most((2.0 * m + v + log_growth).exp()))
}

/// A count from a Poisson law; beyond 1e18 the deviation is below the spacing of numbers, and the mean is taken.
pub(super) fn poisson(mean: f64, rng: &mut dyn rand::Rng) -> f64 {
    use rand_distr::{Distribution, Poisson};
    Poisson::new(mean).map_or(if mean < 1.0 { 0.0 } else { mean.floor() }, |law| law.sample(rng))
}

/// Where the Gaussian of z ends.
const END: f64 = 8.5;
/// Steps of the trapezium rule, in units of the width of what is integrated, and the most nodes on either side.
const STEP: f64 = 0.7;
const MOST_NODES: f64 = 200.0;
/// Probabilities that are as good as 0.
const NEGLIGIBLE: f64 = 1e-16;
/// The largest step in f: at Im f = ±π/2 distribution functions begin to grow, which leaves an error of exp(−π²/0.25).
const MOST_STEP: f64 = 0.25;

/// P(count ≤ y) for f ~ N(m, v), where `cdf` is P(count ≤ y | f) and a count with mean μ has variance μ + aμ².
///
/// ```text
/// Σ_i h φ(z_i) P(count ≤ y | m + √v z_i),   z_i = i h,   h = 0.7 s/√(1 + s²),   s² = (1/(y + 1) + a)/v
/// ```
/// P(count ≤ y | f) falls from 1 to 0 over a width of s in z, so that the error of the trapezium rule, exp(−2π²s²/(h²(1 +
/// s²))) for a normal distribution function, is far below rounding. A narrower step is left to the adaptive rule.
pub(super) fn average_cdf((m, v): (f64, f64), y: f64, a: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    if v == 0.0 {
        return cdf(m);
    }
    let (deviation, width2) = (v.sqrt(), (1.0 / (y.floor().max(0.0) + 1.0) + a) / v);
    // P falls with f: where it is 1 or 0 at an end, it is so everywhere.
    if m.is_finite() && deviation.is_finite() {
        if cdf(m + END * deviation) >= 1.0 - NEGLIGIBLE {
            return 1.0;
        }
        if cdf(m - END * deviation) <= NEGLIGIBLE {
            return 0.0;
        }
    }
    let step = (STEP * (width2 / (1.0 + width2)).sqrt()).min(MOST_STEP / deviation);
    let nodes = (END / step).ceil();
    // Also where a moment is not finite.
    if !(nodes <= MOST_NODES && m.is_finite() && m + END * deviation < LARGEST) {
        return expectation(&[m], &[v], &mut |f| cdf(f[0])).clamp(0.0, 1.0);
    }
    let nodes = nodes as i32;
    let at = |i: i32| cdf(m + deviation * step * f64::from(i));
    // Beyond a node where it is 1 it need not be asked for.
    let (mut sum, mut is_one) = (0.0, false);
    for i in (-nodes..=nodes).rev() {
        let p = if is_one { 1.0 } else { at(i) };
        is_one |= p >= 1.0 - NEGLIGIBLE;
        sum += phi(step * f64::from(i)) * p;
    }
    (step * sum).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::super::{Independent, NegativeBinomial, Poisson};
    use super::*;

    #[test]
    fn distribution_functions_are_those_of_the_adaptive_rule() {
        let mut laws: Vec<(Box<dyn Independent>, f64)> = vec![(Box::new(Poisson { dim_out: 1 }), 0.0)];
        for a in [1e-4, 0.05, 1.0, 20.0] {
            laws.push((Box::new(NegativeBinomial { dispersion: vec![a] }), a));
        }
        for (law, a) in &laws {
            for m in [-3.0, 0.5, 4.0, 9.0] {
                for v in [1e-12, 1e-4, 0.03, 0.5, 3.0, 30.0] {
                    for y in [0.0, 1.0, 7.0, 60.0, 3e3, 1e5, 1e8] {
                        let given = |f: f64| law.cdf_given(0, f, y);
                        let expected = expectation(&[m], &[v], &mut |f| given(f[0])).clamp(0.0, 1.0);
                        let found = average_cdf((m, v), y, *a, given);
                        assert!(
                            (found - expected).abs() < 2e-11,
                            "a {a}, m {m}, v {v}, y {y}: {found} is not {expected}"
                        );
                    }
                }
            }
        }
    }
}
