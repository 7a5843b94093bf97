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
    /// What the rows count for.
    total_weight: f64,
    deviance: f64,
}

impl CountTally {
    /// Adds a count y with its predicted mean μ; it counts for `weight` rows.
    ///
    /// ```text
    /// d = 2 (y log(y/μ) − y + μ)          y log y = 0 at y = 0
    /// ```
    pub fn add(&mut self, mean: f64, y: f64, weight: f64) {
        let mean = mean.max(f64::MIN_POSITIVE);
        let log_part = if y > 0.0 { y * (y / mean).ln() } else { 0.0 };
        self.total_weight += weight;
        self.deviance += weight * (2.0 * (log_part - y + mean));
    }

    /// Adds the rows of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.total_weight += other.total_weight;
        self.deviance += other.deviance;
    }

    /// The scores.
    pub fn scores(&self) -> CountScores {
        CountScores { deviance: self.deviance / self.total_weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviance_is_that_of_the_definition() {
        let mut tally = CountTally::default();
        [(2.0, 2.0), (0.5, 0.0), (3.0, 6.0)].into_iter().for_each(|(mean, y)| tally.add(mean, y, 1.0));
        let expected = (0.0 + 2.0 * 0.5 + 2.0 * (6.0 * 2.0_f64.ln() - 3.0)) / 3.0;
        assert!((tally.scores().deviance - expected).abs() < 1e-14);
    }
}
