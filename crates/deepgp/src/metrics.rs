//! How good predictions are: errors, scores and calibration, each with its unit and its better direction.

use crate::error::{Error, Result, expect_positive, expect_size};
use deepgp_numerics::special::phi;
use libm::{erf, erfc};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Root mean squared error, in the unit of the target; smaller is better.
///
/// # Errors
/// [`Error::Shape`] if the lengths differ, [`Error::Empty`] if there is nothing to average.
pub fn rmse(predicted: &[f64], observed: &[f64]) -> Result<f64> {
    check_rows(observed, &[predicted])?;
    let residuals = || predicted.iter().zip(observed).map(|(p, y)| p - y);
    // Squares are taken of residuals relative to the largest, so that they neither overflow nor vanish.
    let largest = residuals().fold(0.0_f64, |s, r| s.max(r.abs()));
    let scale = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
    let mean_square = residuals().map(|r| (r / scale).powi(2)).sum::<f64>() / observed.len() as f64;
    Ok(scale * mean_square.sqrt())
}

/// Mean absolute error, in the unit of the target; smaller is better.
///
/// # Errors
/// As [`rmse`].
pub fn mae(predicted: &[f64], observed: &[f64]) -> Result<f64> {
    check_rows(observed, &[predicted])?;
    let n = observed.len() as f64;
    Ok(predicted.iter().zip(observed).map(|(p, y)| (p - y).abs() / n).sum())
}

/// Mean of the rows' log predictive densities, in nats a row; larger is better.
///
/// The densities are with respect to the unit of the target: those of standardised targets must be converted first.
///
/// # Errors
/// [`Error::Empty`] if there is nothing to average.
pub fn mean_log_density(log_density: &[f64]) -> Result<f64> {
    check_rows(log_density, &[])?;
    Ok(log_density.iter().sum::<f64>() / log_density.len() as f64)
}

/// Continuous ranked probability score of the prediction N(mean, std²), in the unit of the target; smaller is better.
///
/// ```text
/// CRPS = ∫ (Φ((t − m)/s) − 1[t ≥ y])² dt = s (z (2Φ(z) − 1) + 2φ(z) − 1/√π)          z = (y − m)/s
/// ```
/// The limit s → 0 is |y − m|.  Reference: Gneiting & Raftery (2007), section 4.2.
pub fn crps_normal(mean: f64, std: f64, observed: f64) -> f64 {
    if std == 0.0 {
        return (observed - mean).abs();
    }
    let z = (observed - mean) / std;
    // z (2Φ(z) − 1) = z erf(z/√2),  2φ(z) = √(2/π) exp(−z²/2)
    let score = z * erf(z * FRAC_1_SQRT_2) + (2.0 / PI).sqrt() * (-0.5 * z * z).exp() - 1.0 / PI.sqrt();
    std * score
}

/// Mean of [`crps_normal`] over rows, in the unit of the target; smaller is better.
///
/// # Errors
/// As [`rmse`].
pub fn mean_crps_normal(mean: &[f64], std: &[f64], observed: &[f64]) -> Result<f64> {
    check_rows(observed, &[mean, std])?;
    let score = |n: usize| crps_normal(mean[n], std[n], observed[n]);
    Ok((0..observed.len()).map(score).sum::<f64>() / observed.len() as f64)
}

/// Share of rows inside the central interval of the given probability under N(mean, std²); best at `probability`.
///
/// ```text
/// |y − m| ≤ s Φ⁻¹((1 + p)/2)
/// ```
///
/// # Errors
/// As [`rmse`], and [`Error::Parameter`] if `probability` is not strictly between 0 and 1.
pub fn central_coverage_normal(mean: &[f64], std: &[f64], observed: &[f64], probability: f64) -> Result<f64> {
    check_rows(observed, &[mean, std])?;
    expect_positive("probability", None, probability)?;
    expect_positive("1 - probability", None, 1.0 - probability)?;
    let half_width = -normal_quantile(0.5 * (1.0 - probability));
    let inside = (0..observed.len()).filter(|&n| (observed[n] - mean[n]).abs() <= half_width * std[n]).count();
    Ok(inside as f64 / observed.len() as f64)
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
        let cdf = 0.5 * erfc(-x * FRAC_1_SQRT_2);
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

/// The iteration needs about 6 steps.
const MAX_NEWTON_STEPS: usize = 12;

/// At least one row, and as many predictions as observations.
fn check_rows(observed: &[f64], predicted: &[&[f64]]) -> Result<()> {
    for p in predicted {
        expect_size("predictions", observed.len(), p.len())?;
    }
    if observed.is_empty() { Err(Error::Empty { what: "observations", rows: 0, columns: 1 }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_close};
    use proptest::prelude::*;

    #[test]
    fn errors_by_hand() -> Result<()> {
        let (predicted, observed) = ([1.0, 2.0, 3.0], [1.0, 4.0, 0.0]);
        assert_close("rmse", rmse(&predicted, &observed)?, (13.0_f64 / 3.0).sqrt(), Tolerance::Rounding);
        assert_close("mae", mae(&predicted, &observed)?, 5.0 / 3.0, Tolerance::Rounding);
        assert_eq!(rmse(&observed, &observed)?, 0.0);
        assert_close("mean_log_density", mean_log_density(&[-1.0, 0.5])?, -0.25, Tolerance::Rounding);
        Ok(())
    }

    #[test]
    fn errors_of_extreme_size_stay_finite() -> Result<()> {
        for scale in [1e-300, 1e300] {
            assert_close(
                "rmse",
                rmse(&[3.0 * scale, 0.0], &[0.0, 4.0 * scale])? / scale,
                12.5_f64.sqrt(),
                Tolerance::Rounding,
            );
            assert_close("mae", mae(&[3.0 * scale, 0.0], &[0.0, 4.0 * scale])? / scale, 3.5, Tolerance::Rounding);
        }
        Ok(())
    }

    #[test]
    fn not_a_number_never_passes_silently() -> Result<()> {
        assert!(rmse(&[f64::NAN, 0.0], &[0.0, 0.0])?.is_nan() && mae(&[0.0], &[f64::NAN])?.is_nan());
        assert_eq!(rmse(&[f64::INFINITY, 0.0], &[0.0, 0.0])?, f64::INFINITY);
        assert!(mean_log_density(&[f64::NAN])?.is_nan() && crps_normal(0.0, 1.0, f64::NAN).is_nan());
        assert!(normal_quantile(f64::NAN).is_nan() && normal_quantile(-0.1).is_nan() && normal_quantile(1.1).is_nan());
        Ok(())
    }

    #[test]
    fn refuses_shapes_and_probabilities_that_make_no_sense() {
        assert!(matches!(rmse(&[1.0], &[1.0, 2.0]), Err(Error::Shape { expected: 2, found: 1, .. })));
        assert!(matches!(mae(&[], &[]), Err(Error::Empty { .. })));
        assert!(matches!(mean_log_density(&[]), Err(Error::Empty { .. })));
        assert!(matches!(mean_crps_normal(&[0.0], &[1.0, 1.0], &[0.0]), Err(Error::Shape { .. })));
        for p in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            assert!(matches!(central_coverage_normal(&[0.0], &[1.0], &[0.0], p), Err(Error::Parameter { .. })));
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
    }

    #[test]
    fn quantiles_reach_into_the_last_tail() {
        for p in [1e-300, 1e-307, 1e-310, 5e-324] {
            let x = normal_quantile(p);
            assert!((-38.6..-37.0).contains(&x), "{p}: {x}");
        }
    }

    #[test]
    fn crps_is_the_integral_that_defines_it() {
        let (mean, std) = (0.3, 0.7);
        for y in [-2.0, 0.3, 0.9, 4.0] {
            // Midpoint rule on either side of the jump.
            let side = |from: f64, to: f64, jump: f64| {
                let step = (to - from) / 4000.0;
                let term = |i: usize| {
                    let t = from + (i as f64 + 0.5) * step;
                    (0.5 * erfc((mean - t) / std * FRAC_1_SQRT_2) - jump).powi(2)
                };
                step * (0..4000).map(term).sum::<f64>()
            };
            let integral = side(mean - 9.0 * std, y, 0.0) + side(y, mean + 9.0 * std, 1.0);
            assert_close("CRPS", crps_normal(mean, std, y), integral, Tolerance::Limit(1e-6));
        }
    }

    #[test]
    fn crps_of_certainty_is_the_absolute_error() -> Result<()> {
        assert_eq!(crps_normal(1.0, 0.0, -2.0), 3.0);
        assert_close("small std", crps_normal(1.0, 1e-9, -2.0), 3.0, Tolerance::Limit(1e-9));
        assert_close("mean", mean_crps_normal(&[0.0, 0.0], &[0.0, 0.0], &[1.0, -3.0])?, 2.0, Tolerance::Rounding);
        Ok(())
    }

    #[test]
    fn coverage_of_evenly_spread_quantiles_is_the_probability() -> Result<()> {
        let n = 1000;
        let y: Vec<f64> = (0..n).map(|i| 2.0 + 3.0 * normal_quantile((i as f64 + 0.5) / n as f64)).collect();
        for probability in [0.1, 0.5, 0.9, 0.95, 0.99] {
            let found = central_coverage_normal(&vec![2.0; n], &vec![3.0; n], &y, probability)?;
            assert_close("coverage", found, probability, Tolerance::Limit(1.01e-3));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn quantile_inverts_the_distribution_function(x in -37.0..0.0_f64) {
            let p = 0.5 * erfc(-x * FRAC_1_SQRT_2);
            // p carries a relative error ε, which moves x by ε Φ/φ.
            prop_assert!((normal_quantile(p) - x).abs() <= 1e-12, "{} {}", x, normal_quantile(p));
            let upper = normal_quantile(1.0 - p);
            prop_assert_eq!(upper, -normal_quantile(1.0 - (1.0 - p)));
        }
    }
}
