//! What laws with a log link share.

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
