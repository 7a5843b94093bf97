//! Minibatches: a pure function of seed and step, so that training can resume anywhere.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Minibatches without replacement: every epoch is one permutation of the rows, drawn from the seed and the epoch's
/// number. A batch may straddle two epochs; each row is used equally often.
#[derive(Debug, Clone)]
pub struct Batches {
    n_data: usize,
    batch_size: usize,
    seed: u64,
    epoch: Option<u64>,
    order: Vec<usize>,
    batch: Vec<usize>,
}

impl Batches {
    /// Batches of `batch_size` (at most `n_data`, at least 1) of `n_data` rows.
    pub fn new(n_data: usize, batch_size: usize, seed: u64) -> Self {
        let batch_size = batch_size.clamp(1, n_data.max(1));
        Self { n_data, batch_size, seed, epoch: None, order: (0..n_data).collect(), batch: Vec::new() }
    }

    /// The rows of batch number `step`.
    pub fn at(&mut self, step: usize) -> &[usize] {
        self.batch.clear();
        if self.n_data == 0 {
            return &self.batch;
        }
        let first = step as u128 * self.batch_size as u128;
        let (mut epoch, mut offset) = ((first / self.n_data as u128) as u64, (first % self.n_data as u128) as usize);
        while self.batch.len() < self.batch_size {
            self.shuffle(epoch);
            let end = self.n_data.min(offset + self.batch_size - self.batch.len());
            self.batch.extend_from_slice(&self.order[offset..end]);
            (epoch, offset) = (epoch + 1, 0);
        }
        &self.batch
    }

    /// Makes `order` the permutation of the given epoch.
    fn shuffle(&mut self, epoch: u64) {
        if self.epoch == Some(epoch) {
            return;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(epoch);
        self.order.clear();
        self.order.extend(0..self.n_data);
        self.order.shuffle(&mut rng);
        self.epoch = Some(epoch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_once_an_epoch_and_any_step_by_itself() {
        let mut batches = Batches::new(10, 4, 7);
        let steps: Vec<Vec<usize>> = (0..5).map(|s| batches.at(s).to_vec()).collect();
        let mut first: Vec<usize> = steps.concat()[..10].to_vec();
        first.sort_unstable();
        assert_eq!(first, (0..10).collect::<Vec<_>>());
        assert_eq!(Batches::new(10, 4, 7).at(3), &steps[3][..]);
        assert_ne!(Batches::new(10, 4, 8).at(0), &steps[0][..]);
        assert_eq!(Batches::new(3, 100, 1).at(0).len(), 3);
    }
}
