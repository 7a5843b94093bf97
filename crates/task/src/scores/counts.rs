//! The deviance of predicted means of counts.

use serde::{Deserialize, Serialize};

/// Scores of counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountScores {
    /// Mean Poisson deviance of the predicted means; smaller is better.
    pub deviance: f64,
}

/// Sums over counts.
#[derive(Debug, Clone, Default)]
pub(super) struct CountTally {
    rows: usize,
    deviance: f64,
}

impl CountTally {
    /// Adds a count y with its predicted mean μ.
    ///
    /// ```text
    /// d = 2 (y log(y/μ) − y + μ)          y log y = 0 at y = 0
    /// ```
    pub fn add(&mut self, mean: f64, y: f64) {
        let mean = mean.max(f64::MIN_POSITIVE);
        let log_part = if y > 0.0 { y * (y / mean).ln() } else { 0.0 };
        self.rows += 1;
        self.deviance += 2.0 * (log_part - y + mean);
    }

    /// Adds the rows of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.deviance += other.deviance;
    }

    /// The scores.
    pub fn scores(&self) -> CountScores {
        CountScores { deviance: self.deviance / self.rows as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviance_is_that_of_the_definition() {
        let mut tally = CountTally::default();
        [(2.0, 2.0), (0.5, 0.0), (3.0, 6.0)].into_iter().for_each(|(mean, y)| tally.add(mean, y));
        let expected = (0.0 + 2.0 * 0.5 + 2.0 * (6.0 * 2.0_f64.ln() - 3.0)) / 3.0;
        assert!((tally.scores().deviance - expected).abs() < 1e-14);
    }
}
