//! Which rows are held out.

use deepgp_numerics::linalg::Mat;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// Most held-out rows that are scored while training.
const SCORED_IN_TRAINING: usize = 1000;
/// Stream of random numbers for the choice of held-out rows; minibatches count up from 0.
const STREAM: u64 = u64::MAX - 2;

/// Rows in their own units.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// Inputs.
    pub x: Mat,
    /// Targets.
    pub y: Mat,
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Takes so many rows out, by chance: a function of the seed.
    pub fn hold_out(&mut self, count: usize, seed: u64) -> Self {
        let chosen = choose(self.len(), count, seed);
        Self { x: self.x.take_rows(&chosen), y: self.y.take_rows(&chosen) }
    }

    /// The first rows, at most so many.
    pub fn first(&self, most: usize) -> (Mat, Mat) {
        let rows: Vec<usize> = (0..self.len().min(most)).collect();
        (self.x.select_rows(&rows), self.y.select_rows(&rows))
    }

    /// Evenly spaced rows, few enough to be scored often.
    pub fn thinned(&self) -> Self {
        let stride = self.len().div_ceil(SCORED_IN_TRAINING).max(1);
        let rows: Vec<usize> = (0..self.len()).step_by(stride).collect();
        Self { x: self.x.select_rows(&rows), y: self.y.select_rows(&rows) }
    }
}

/// `count` of `n` rows, ascending: a function of the seed. After R. W. Floyd.
fn choose(n: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let mut chosen = BTreeSet::new();
    for last in n - count..n {
        let row = rng.random_range(0..=last);
        chosen.insert(if chosen.contains(&row) { last } else { row });
    }
    chosen.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_a_function_of_the_seed() {
        let chosen = choose(1000, 100, 3);
        assert_eq!((chosen.len(), &chosen), (100, &choose(1000, 100, 3)));
        assert!(chosen.is_sorted_by(|a, b| a < b) && chosen.iter().all(|&row| row < 1000));
        assert_ne!(chosen, choose(1000, 100, 4));
        assert_eq!((choose(5, 5, 0), choose(5, 0, 0)), (vec![0, 1, 2, 3, 4], vec![]));
        // Every row is equally likely: its count over 2000 seeds is 200 ± 5 deviations.
        let mut counts = [0_i32; 50];
        (0..2000).flat_map(|seed| choose(50, 5, seed)).for_each(|row| counts[row] += 1);
        assert!(counts.iter().all(|&c| (c - 200).abs() < 67), "{counts:?}");
    }

    #[test]
    fn scored_rows_are_spread_over_all() {
        let x = Mat::from_fn(2500, 1, |i, _| i as f64);
        let few = Rows { y: x.clone(), x }.thinned();
        assert_eq!((few.len(), few.x[(1, 0)], few.x[(833, 0)]), (834, 3.0, 2499.0));
        assert_eq!(Rows::default().thinned().len(), 0);
    }
}
