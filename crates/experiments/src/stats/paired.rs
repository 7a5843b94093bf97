//! Two variants on the same splits: the mean difference, and whether it is more than chance.

use super::student::two_sided;
use super::summary::Summary;
use super::wilcoxon::signed_rank;
use serde::Serialize;

/// Level of the tests.
pub const SIGNIFICANCE: f64 = 0.05;

/// A comparison over common splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Paired {
    /// Splits that both have a score for.
    pub n: usize,
    /// Mean difference, the first minus the second.
    pub difference: f64,
    /// Standard error of the mean difference, s_d/√n; none of fewer than two splits.
    pub se: Option<f64>,
    /// p value of the corrected resampled t-test, two-sided; none of fewer than two splits.
    pub p_corrected: Option<f64>,
    /// p value of Wilcoxon's signed-rank test, two-sided and exact; it takes splits as independent.
    pub p_wilcoxon: f64,
}

/// Which of two is ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The first is better by more than one standard error of the paired difference.
    Win,
    /// The difference is no larger than that.
    Tie,
    /// The second is better by more than that.
    Loss,
}

impl Paired {
    /// The comparison of pairs of scores, one pair for each split, whose test and training parts have sizes in this
    /// ratio; none of no pairs.
    ///
    /// ```text
    /// d̄ = Σ dᵢ/n      s_d² = Σ (dᵢ − d̄)²/(n − 1)      t = d̄/√((1/n + n_test/n_train) s_d²)
    /// ```
    /// t is compared with Student's distribution of n − 1 degrees of freedom. Training parts of different splits
    /// overlap, so differences are correlated and 1/n alone would find too much; n_test/n_train is the correction of
    /// Nadeau and Bengio (2003), eq. 9, "Inference for the generalization error", Machine Learning 52.
    pub fn of(pairs: &[(f64, f64)], test_to_train: f64) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().map(|(a, b)| a - b).collect();
        let summary = Summary::of(&differences)?;
        let n = summary.n as f64;
        let p_corrected = summary.sd.map(|sd| {
            let spread = ((1.0 / n + test_to_train) * sd * sd).sqrt();
            // Without any spread a difference is certain, and none is none.
            let t = if summary.mean == 0.0 { 0.0 } else { summary.mean / spread };
            two_sided(t, n - 1.0)
        });
        let p_wilcoxon = signed_rank(&differences);
        Some(Self { n: summary.n, difference: summary.mean, se: summary.se, p_corrected, p_wilcoxon })
    }

    /// Whether the corrected test rejects at [`SIGNIFICANCE`].
    pub fn is_significant(&self) -> bool {
        self.p_corrected.is_some_and(|p| p < SIGNIFICANCE)
    }

    /// Win, tie or loss of the first; a tie is |d̄| ≤ s_d/√n. With one split there is no standard error, and only equal
    /// scores tie.
    pub fn verdict(&self, larger_is_better: bool) -> Verdict {
        let gain = if larger_is_better { self.difference } else { -self.difference };
        match gain {
            gain if gain.abs() <= self.se.unwrap_or(0.0) => Verdict::Tie,
            gain if gain > 0.0 => Verdict::Win,
            _ => Verdict::Loss,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correction_widens_the_error() {
        // Differences 1, 2, 3, 4, 5: mean 3, variance 2.5.
        let pairs: Vec<(f64, f64)> = (1..=5).map(|i| (2.0 * f64::from(i), f64::from(i))).collect();
        let plain = Paired::of(&pairs, 0.0).expect("pairs");
        assert_eq!((plain.n, plain.difference), (5, 3.0));
        assert!((plain.se.expect("five") - 0.5_f64.sqrt()).abs() < 1e-15);
        let p = |t: f64| two_sided(t, 4.0);
        assert!((plain.p_corrected.expect("five") - p(3.0 / 0.5_f64.sqrt())).abs() < 1e-15);
        let corrected = Paired::of(&pairs, 1.0 / 9.0).expect("pairs");
        let t = 3.0 / ((0.2 + 1.0 / 9.0) * 2.5_f64).sqrt();
        assert!((corrected.p_corrected.expect("five") - p(t)).abs() < 1e-15);
        assert_eq!(corrected.p_wilcoxon, 2.0 / 32.0);
        assert!(corrected.is_significant());
    }

    #[test]
    fn without_spread_or_splits() {
        assert_eq!(Paired::of(&[], 0.1), None);
        let one = Paired::of(&[(2.0, 1.0)], 0.1).expect("a pair");
        assert_eq!((one.se, one.p_corrected, one.is_significant()), (None, None, false));
        assert_eq!((one.verdict(true), one.verdict(false)), (Verdict::Win, Verdict::Loss));
        let equal = Paired::of(&[(1.0, 1.0), (2.0, 2.0)], 0.1).expect("pairs");
        assert_eq!((equal.p_corrected, equal.p_wilcoxon, equal.verdict(true)), (Some(1.0), 1.0, Verdict::Tie));
        let certain = Paired::of(&[(2.0, 1.0), (3.0, 2.0)], 0.1).expect("pairs");
        assert_eq!(certain.p_corrected, Some(0.0));
    }

    #[test]
    fn a_tie_is_within_one_standard_error() {
        // Differences −1 and 3: mean 1, standard error 2.
        let tie = Paired::of(&[(0.0, 1.0), (4.0, 1.0)], 0.1).expect("pairs");
        assert_eq!((tie.se, tie.verdict(true)), (Some(2.0), Verdict::Tie));
        // Differences 2 and 6: mean 4, standard error 2.
        let win = Paired::of(&[(3.0, 1.0), (7.0, 1.0)], 0.1).expect("pairs");
        assert_eq!((win.verdict(true), win.verdict(false)), (Verdict::Win, Verdict::Loss));
    }
}
