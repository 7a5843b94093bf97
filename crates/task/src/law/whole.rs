//! What is asked of laws of whole numbers: their quantiles are whole, and sums take the place of integrals.

use super::{Level, PredictiveLaw};

/// A probability that is reached but for this is reached: F is a sum that is rounded.
const ROUNDING: f64 = 1e-12;
/// The probability beyond the ends of sums, on either side.
const TAIL: f64 = 1e-9;
/// Most terms of a sum; of more, every so-manieth stands for its neighbours.
const MOST_TERMS: f64 = 200.0;

/// The least whole number y with F(y) ≥ p, between bounds for it.
pub(super) fn quantile((low, high): (f64, f64), p: f64, cdf: impl Fn(f64) -> f64) -> f64 {
    let is_reached = |y: f64| cdf(y) >= p - ROUNDING;
    let (mut low, mut high) = (low.floor() - 1.0, high.ceil());
    if !is_reached(high) {
        // Bounds come from moments, which may be rounded.
        high += 1.0;
    }
    while high - low > 1.0 {
        let middle = (0.5 * low + 0.5 * high).floor();
        // Beyond 2⁵³ numbers are further apart than 1.
        if middle <= low || middle >= high {
            break;
        }
        if is_reached(middle) { high = middle } else { low = middle }
    }
    high
}

/// Whether a number lies between the quantiles of a central interval, from F just below it and at it.
pub(super) fn is_inside(below: f64, up_to: f64, probability: f64) -> bool {
    let tail = 0.5 * (1.0 - probability);
    up_to >= tail - ROUNDING && below < 1.0 - tail - ROUNDING
}

/// The ranked probability score:
///
/// ```text
/// RPS = Σ_k (F(k) − 1[k ≥ y])²
/// ```
/// Reference: Epstein (1969); it is the CRPS of a law of whole numbers.
pub(super) fn ranked_score<L: PredictiveLaw + ?Sized>(law: &L, y: f64) -> f64 {
    if y.is_nan() {
        return y;
    }
    let [low, high] = [TAIL, 1.0 - TAIL].map(|p| law.quantile(Level::new(p)));
    let (low, high) = (low.min(y), high.max(y));
    let step = ((high - low) / MOST_TERMS).ceil().max(1.0);
    // On either side of y by itself, where the terms jump.
    let sum = |from: f64, to: f64, reached: f64| {
        let terms = ((to - from) / step).ceil().max(0.0) as usize;
        let term = |i: usize| {
            let start = from + step * i as f64;
            let end = (start + step).min(to);
            (end - start) * (law.cdf((0.5 * (start + end - 1.0)).floor()) - reached).powi(2)
        };
        (0..terms).map(term).sum::<f64>()
    };
    sum(low, y, 0.0) + sum(y, high + 1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Interval;
    use rand::Rng;

    /// Numbers 0, 1, 2 … with these probabilities.
    struct Listed(Vec<f64>);

    impl PredictiveLaw for Listed {
        fn moments(&self) -> (f64, f64) {
            let average =
                |of: &dyn Fn(f64) -> f64| self.0.iter().enumerate().map(|(k, p)| p * of(k as f64)).sum::<f64>();
            let mean = average(&|k| k);
            (mean, average(&|k| (k - mean).powi(2)))
        }

        fn cdf(&self, y: f64) -> f64 {
            self.0.iter().enumerate().filter(|(k, _)| *k as f64 <= y).map(|(_, p)| p).sum()
        }

        fn log_prob(&self, y: f64) -> f64 {
            self.0.get(y as usize).map_or(f64::NEG_INFINITY, |p| p.ln())
        }

        fn draw(&self, _rng: &mut dyn Rng) -> f64 {
            0.0
        }

        fn landmarks(&self) -> Vec<f64> {
            Vec::new()
        }

        fn is_whole(&self) -> bool {
            true
        }
    }

    #[test]
    fn quantiles_are_the_least_numbers_that_reach_a_probability() {
        let law = Listed(vec![0.1, 0.0, 0.5, 0.2, 0.2]);
        for (p, expected) in [(0.05, 0.0), (0.1, 0.0), (0.11, 2.0), (0.6, 2.0), (0.61, 3.0), (0.8, 3.0), (0.99, 4.0)] {
            assert_eq!(law.quantile(Level::new(p)), expected, "{p}");
        }
        assert_eq!(Listed(vec![1.0]).quantile(Level::new(0.5)), 0.0);
    }

    #[test]
    fn intervals_reach_from_quantile_to_quantile() {
        let law = Listed(vec![0.02, 0.1, 0.38, 0.38, 0.1, 0.02]);
        for probability in [0.5, 0.8, 0.9, 0.95, 0.99] {
            let tail = 0.5 * (1.0 - probability);
            let [low, high] = [tail, 1.0 - tail].map(|p| law.quantile(Level::new(p)));
            for y in 0..6 {
                let y = f64::from(y);
                assert_eq!(
                    law.is_inside(y, [Interval::central(probability)]),
                    [low <= y && y <= high],
                    "{y}, {probability}"
                );
            }
        }
    }

    #[test]
    fn the_ranked_score_is_that_of_its_definition() {
        let law = Listed(vec![0.1, 0.2, 0.3, 0.4]);
        // E|Y − y| − ½ E|Y − Y′|
        for y in 0..6 {
            let distance = |a: f64| law.0.iter().enumerate().map(|(k, p)| p * (k as f64 - a).abs()).sum::<f64>();
            let own: f64 = law.0.iter().enumerate().map(|(k, p)| p * distance(k as f64)).sum();
            let expected = distance(f64::from(y)) - 0.5 * own;
            assert!((law.crps(f64::from(y)) - expected).abs() < 1e-12, "{y}");
        }
        // Very many numbers: within a thousandth of the sum of all terms.
        let n = 40_000;
        let wide = Listed(vec![1.0 / f64::from(n); n as usize]);
        let expected = f64::from(n) / 12.0;
        assert!((wide.crps(f64::from(n / 2)) / expected - 1.0).abs() < 1e-3);
    }
}
