//! A random subset of the rows of a table.

use rand::{Rng, RngExt};

/// At most `limit` of the rows `0..n_rows`, ascending, every subset of that size equally likely.
///
/// ```text
/// P(take row i) = (still wanted)/(still left)          selection sampling, Knuth, TAOCP 2, §3.4.2, algorithm S
/// ```
/// All rows, without a draw, if there are no more than `limit`.  Cost: O(`n_rows`), no memory beyond the result.
pub fn sample_rows(n_rows: usize, limit: usize, rng: &mut impl Rng) -> Vec<usize> {
    if n_rows <= limit {
        return (0..n_rows).collect();
    }
    let mut taken = Vec::with_capacity(limit);
    for i in 0..n_rows {
        if taken.len() == limit {
            break;
        }
        if rng.random_range(0..n_rows - i) < limit - taken.len() {
            taken.push(i);
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn takes_everything_when_there_is_room() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        assert_eq!(sample_rows(4, 4, &mut rng), [0, 1, 2, 3]);
        assert_eq!(sample_rows(0, 4, &mut rng), [0_usize; 0]);
        assert_eq!(sample_rows(4, 0, &mut rng), [0_usize; 0]);
    }

    #[test]
    fn takes_the_right_number_of_ascending_rows() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for limit in [1, 10, 99] {
            let rows = sample_rows(100, limit, &mut rng);
            assert_eq!(rows.len(), limit);
            assert!(rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|&i| i < 100));
        }
    }

    #[test]
    fn every_row_is_equally_likely() {
        let (mut rng, mut hits) = (ChaCha8Rng::seed_from_u64(2), [0.0_f64; 10]);
        for _ in 0..20_000 {
            for i in sample_rows(10, 3, &mut rng) {
                hits[i] += 1.0;
            }
        }
        // Each count is binomial(20000, 0.3): standard deviation 64.8.
        assert!(hits.iter().all(|h| (h - 6000.0).abs() < 4.5 * 64.8), "{hits:?}");
    }
}
