//! Wilcoxon's signed-rank test with its exact distribution.

use super::ranks::mid_ranks;

/// Two-sided p value of Wilcoxon's signed-rank test that differences are symmetric about 0.
///
/// Differences of exactly 0 are left out (Wilcoxon's own rule); equal sizes get the mean of their ranks. Given the
/// sizes, every pattern of signs is equally likely, and the sum W of the ranks of positive differences has the
/// generating function
///
/// ```text
/// Σ_w P(W = w) z^w = Π_i (1 + z^{r_i})/2      p = min(1, 2 min(P(W ≤ w), P(W ≥ w)))
/// ```
/// which is multiplied out; it is exact with ties too, where tables are not. No differences but 0 give 1. Reference:
/// Wilcoxon (1945); for the distribution given tied ranks, Hollander, Wolfe and Chicken (2014), section 3.1.
pub fn signed_rank(differences: &[f64]) -> f64 {
    let sizes: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    // Mean ranks are halves, so twice a rank is whole.
    let ranks: Vec<usize> =
        mid_ranks(&sizes, |a, b| a.abs().total_cmp(&b.abs())).into_iter().map(|r| (2.0 * r) as usize).collect();
    let total: usize = ranks.iter().sum();
    let mut probability = vec![0.0; total + 1];
    probability[0] = 1.0;
    let mut reached = 0;
    for &rank in &ranks {
        for w in (0..=reached).rev() {
            probability[w] *= 0.5;
            probability[w + rank] += probability[w];
        }
        reached += rank;
    }
    let positive: usize = sizes.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum();
    // The distribution is symmetric, so one tail is enough.
    let lower: f64 = probability[..=positive.min(total - positive)].iter().sum();
    (2.0 * lower).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The p value from all patterns of signs.
    fn by_enumeration(differences: &[f64]) -> f64 {
        let d: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        let ranks = mid_ranks(&d, |a, b| a.abs().total_cmp(&b.abs()));
        let sum = |signs: &dyn Fn(usize) -> bool| -> f64 {
            ranks.iter().enumerate().filter(|(i, _)| signs(*i)).map(|(_, r)| r).sum()
        };
        let seen = sum(&|i| d[i] > 0.0);
        let all: Vec<f64> = (0..1_u32 << d.len()).map(|pattern| sum(&|i| pattern >> i & 1 == 1)).collect();
        let share = |tail: &dyn Fn(f64) -> bool| all.iter().filter(|w| tail(**w)).count() as f64 / all.len() as f64;
        (2.0 * share(&|w| w <= seen).min(share(&|w| w >= seen))).min(1.0)
    }

    #[test]
    fn points_of_the_tables() {
        // n = 6, all of one sign: 2/2⁶. n = 10, W = 8: 25 of 1024 patterns on each side.
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 2.0 / 64.0);
        let ten = [1.0, -2.0, -3.0, -4.0, -5.0, -6.0, 7.0, -8.0, -9.0, -10.0];
        assert_eq!(signed_rank(&ten), 50.0 / 1024.0);
        assert_eq!((signed_rank(&[]), signed_rank(&[0.0, 0.0]), signed_rank(&[3.0])), (1.0, 1.0, 1.0));
        assert_eq!(signed_rank(&[1.0, -1.0, 2.0, -2.0]), 1.0);
    }

    proptest! {
        #[test]
        fn as_by_enumeration(small in prop::collection::vec(-4..5_i32, 0..12)) {
            // Whole numbers, so that ties and zeros are common.
            let d: Vec<f64> = small.into_iter().map(f64::from).collect();
            prop_assert!((signed_rank(&d) - by_enumeration(&d)).abs() < 1e-12);
            let mirrored: Vec<f64> = d.iter().map(|v| -v).collect();
            prop_assert_eq!(signed_rank(&d), signed_rank(&mirrored));
        }
    }
}
