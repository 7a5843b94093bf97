//! What a model can be expected to show on new rows, from rows that it was validated on.

use serde::{Deserialize, Serialize};

/// Standard errors below the expectation at which rows are surprising: rows like those of training are so in one case
/// of 44.
const SURPRISING: f64 = 2.0;

/// Log density of the rows that a model was validated on before it was trained on them, in nats per row of the targets'
/// own units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExpectedDensity {
    /// How many there were.
    pub rows: usize,
    /// The mean.
    pub mean_log_density: f64,
    /// Its standard deviation from row to row.
    pub std: f64,
}

impl ExpectedDensity {
    /// The expectation from these log densities; nothing if there are fewer than two, or one is not finite.
    pub fn of(log_densities: &[f64]) -> Option<Self> {
        let n = log_densities.len() as f64;
        let mean = log_densities.iter().sum::<f64>() / n;
        let std = (log_densities.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        (n > 1.0 && std.is_finite()).then_some(Self { rows: log_densities.len(), mean_log_density: mean, std })
    }

    /// Standard error of the mean log density of so many new rows around what is expected of them.
    ///
    /// ```text
    /// s √(1/n + 1/m)         n new rows, m that it was validated on
    /// ```
    pub fn error(&self, rows: usize) -> f64 {
        self.std * (1.0 / rows as f64 + 1.0 / self.rows as f64).sqrt()
    }

    /// Standard error of the mean itself: s/√m.
    pub fn own_error(&self) -> f64 {
        self.std / (self.rows as f64).sqrt()
    }

    /// How many of these standard errors the mean log density of so many new rows is below what is expected of them.
    pub fn standard_errors_below(&self, rows: usize, mean_log_density: f64) -> f64 {
        (self.mean_log_density - mean_log_density) / self.error(rows)
    }

    /// Whether so many new rows with this mean log density are less likely than they should be.
    pub fn is_surprised(&self, rows: usize, mean_log_density: f64) -> bool {
        self.standard_errors_below(rows, mean_log_density) > SURPRISING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_fit_worse_than_expected_surprise() {
        let expected = ExpectedDensity::of(&[-1.0, -2.0, -3.0, -2.0]).expect("four values");
        assert_eq!((expected.rows, expected.mean_log_density), (4, -2.0));
        assert!((expected.std - (2.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        // s √(1/12 + 1/4) = s/√3 = √2/3
        assert!((expected.error(12) - 2.0_f64.sqrt() / 3.0).abs() < 1e-15);
        assert!(
            expected.is_surprised(12, -2.95) && !expected.is_surprised(12, -2.93) && !expected.is_surprised(12, 5.0)
        );
        // With more rows it takes less.
        assert!(expected.is_surprised(10_000, -2.85) && !expected.is_surprised(10_000, -2.8));
        for none in [&[][..], &[1.0], &[1.0, f64::NEG_INFINITY], &[f64::NAN, 1.0]] {
            assert_eq!(ExpectedDensity::of(none), None);
        }
    }
}
