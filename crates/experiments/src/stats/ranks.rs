//! Ranks, with equal values sharing the mean of the places they take.

use std::cmp::Ordering;

/// Ranks from 1, least first; equal items get the mean of their ranks.
pub fn mid_ranks<T>(items: &[T], compare: impl Fn(&T, &T) -> Ordering) -> Vec<f64> {
    let count = |item: &T, wanted: Ordering| items.iter().filter(|other| compare(other, item) == wanted).count() as f64;
    items.iter().map(|item| count(item, Ordering::Less) + 0.5 * (1.0 + count(item, Ordering::Equal))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_places() {
        let ranks = |values: &[f64]| mid_ranks(values, f64::total_cmp);
        assert_eq!(ranks(&[0.3, 0.1, 0.2]), [3.0, 1.0, 2.0]);
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 2.0]), [3.0, 1.0, 3.0, 3.0]);
        assert_eq!(ranks(&[]), Vec::<f64>::new());
    }
}
