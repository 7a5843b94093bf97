//! The little statistics that figures and their sentences need.

/// Quantile of numbers in any order, by straight lines between neighbours; NaN of none.
pub fn quantile(values: &[f64], p: f64) -> f64 {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = p.clamp(0.0, 1.0) * last as f64;
    let (below, share) = (place.floor() as usize, place.fract());
    sorted[below] * (1.0 - share) + sorted[(below + 1).min(last)] * share
}

/// Mean and standard deviation, taken in units of the largest so that squares neither overflow nor vanish.
pub fn mean_std(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let largest = values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    if values.is_empty() || !largest.is_finite() {
        return (f64::NAN, f64::NAN);
    }
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let mean = values.iter().map(|v| v / unit).sum::<f64>() / n;
    let var = values.iter().map(|v| (v / unit - mean).powi(2)).sum::<f64>() / n;
    (unit * mean, unit * var.sqrt())
}

/// Root of the mean square.
pub fn root_mean_square(values: &[f64]) -> f64 {
    let (mean, std) = mean_std(values);
    mean.hypot(std)
}

/// Range in which the share of successes of `n` independent trials lies with probability 95 % or a little more.
pub fn binomial_range(n: usize, p: f64) -> (f64, f64) {
    if n == 0 {
        return (0.0, 1.0);
    }
    // Weights relative to the likeliest count, from which they only fall: nothing can overflow.
    let mode = (((n + 1) as f64 * p) as usize).min(n);
    let odds = p / (1.0 - p);
    let mut weight = vec![0.0; n + 1];
    weight[mode] = 1.0;
    for k in mode + 1..=n {
        weight[k] = weight[k - 1] * odds * (n - k + 1) as f64 / k as f64;
    }
    for k in (0..mode).rev() {
        weight[k] = weight[k + 1] / odds * (k + 1) as f64 / (n - k) as f64;
    }
    let tail = 0.025 * weight.iter().sum::<f64>();
    let reaches_tail = |sum: &mut f64, k: usize| {
        *sum += weight[k];
        Some((k, *sum > tail))
    };
    let low = (0..=n).scan(0.0, reaches_tail).find(|s| s.1);
    let high = (0..=n).rev().scan(0.0, reaches_tail).find(|s| s.1);
    let share = |found: Option<(usize, bool)>| found.map_or(mode, |s| s.0) as f64 / n as f64;
    (share(low), share(high))
}

/// A share in per cent with one digit after the point.
pub fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        assert_eq!(quantile(&[3.0, 1.0, f64::NAN, 2.0], 0.5), 2.0);
        assert_eq!(quantile(&[0.0, 10.0], 0.25), 2.5);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn moments_of_extreme_numbers() {
        assert_eq!(mean_std(&[1.0, 3.0]), (2.0, 1.0));
        let (mean, std) = mean_std(&[1e300, 3e300]);
        assert!((mean / 2e300 - 1.0).abs() < 1e-12 && (std / 1e300 - 1.0).abs() < 1e-12);
        assert!((root_mean_square(&[3.0, 4.0]) - 12.5_f64.sqrt()).abs() < 1e-12);
        assert!(mean_std(&[]).0.is_nan());
    }

    #[test]
    fn binomial_ranges_from_tables() {
        // P(X ≤ 1) = 0.0107, P(X ≤ 2) = 0.0547 for n = 10, p = ½.
        assert_eq!(binomial_range(10, 0.5), (0.2, 0.8));
        let (low, high) = binomial_range(1000, 0.95);
        assert!((low - 0.936).abs() < 1e-9 && (high - 0.963).abs() < 1e-9, "{low} {high}");
        let (low, high) = binomial_range(100_000, 0.95);
        assert!((low - 0.9486).abs() < 1e-4 && (high - 0.9514).abs() < 1e-4);
        assert_eq!(binomial_range(1, 0.95), (0.0, 1.0));
        assert_eq!(binomial_range(0, 0.95), (0.0, 1.0));
    }

    #[test]
    fn shares_in_words() {
        assert_eq!((percent(0.9213), percent(0.95), percent(1.0)), ("92.1 %".into(), "95 %".into(), "100 %".into()));
    }
}
