//! Mean, spread and median of a sample.

use serde::Serialize;

/// What is said of one score over repeated runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many values there are.
    pub n: usize,
    /// Their mean x̄.
    pub mean: f64,
    /// Sample standard deviation; none of fewer than two values.
    pub sd: Option<f64>,
    /// Standard error of the mean, s/√n; none of fewer than two values.
    pub se: Option<f64>,
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
}

impl Summary {
    /// The summary of some values; none if there are no values.
    ///
    /// ```text
    /// x̄ = Σ xᵢ/n      s² = Σ (xᵢ − x̄)²/(n − 1)      standard error = s/√n
    /// ```
    /// The standard error takes runs as independent. Splits share training rows, so it understates how far x̄ is from
    /// what other data would give; see [`crate::stats::Paired`] for a test that allows for it.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let sd = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        Some(Self { n, mean, sd, se: sd.map(|s| s / (n as f64).sqrt()), median: median(values) })
    }
}

/// The median absolute deviation from the median, med |xᵢ − med x|: a spread that outliers do not widen. None of no
/// values.
pub fn median_deviation(values: &[f64]) -> Option<f64> {
    let centre = Summary::of(values)?.median;
    Some(median(&values.iter().map(|value| (value - centre).abs()).collect::<Vec<f64>>()))
}

/// The middle of at least one value, or the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    let (n, mut sorted) = (values.len(), values.to_vec());
    sorted.sort_unstable_by(f64::total_cmp);
    0.5 * (sorted[(n - 1) / 2] + sorted[n / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let four = Summary::of(&[5.0, 1.0, 2.0, 4.0]).expect("values");
        assert_eq!((four.n, four.mean, four.median), (4, 3.0, 3.0));
        // (4 + 4 + 1 + 1)/3
        assert!((four.sd.expect("four") - (10.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!((four.se.expect("four") - (10.0_f64 / 12.0).sqrt()).abs() < 1e-15);
        let one = Summary::of(&[7.0]).expect("a value");
        assert_eq!((one.mean, one.median, one.sd, one.se), (7.0, 7.0, None, None));
        assert_eq!(Summary::of(&[]), None);
        // From the median 3: 2, 2, 1, 1; an outlier changes it little.
        assert_eq!(median_deviation(&[5.0, 1.0, 2.0, 4.0]), Some(1.5));
        assert_eq!(median_deviation(&[5.0, 1.0, 2.0, 4.0, 1e9]), Some(2.0));
        assert_eq!(median_deviation(&[]), None);
    }
}
