//! Which rows are held out.

use deepgp_data::{Batch, Censored, RowColumns};
use deepgp_numerics::linalg::Mat;
use deepgp_task::{RowInfo, Task};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::{BTreeSet, HashSet};

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
    /// What else is known of them.
    pub info: RowInfo,
}

impl Rows {
    /// The rows of a table that were kept.
    pub fn of(task: Task, batch: Batch) -> Self {
        let y = targets(task, &batch);
        Self { x: batch.inputs, y, info: row_info(batch.columns) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.x.rows()
    }

    /// Takes about so many rows out: the latest ones where it is known when rows were observed, whole groups where
    /// there are groups, and any by chance, as a function of the seed.
    pub fn hold_out(&mut self, count: usize, seed: u64) -> Self {
        let chosen = match (self.info.time.is_empty(), self.info.group.is_empty()) {
            _ if count == 0 => Vec::new(),
            (false, _) => latest(&self.info.time, count),
            (true, false) => whole_groups(&self.info.group, count, seed),
            (true, true) => choose(self.len(), count, seed),
        };
        let mut is_chosen = vec![false; self.len()];
        chosen.iter().for_each(|row| is_chosen[*row] = true);
        let others: Vec<usize> = (0..self.len()).filter(|row| !is_chosen[*row]).collect();
        let info = self.info.of_rows(&chosen);
        self.info = self.info.of_rows(&others);
        Self { x: self.x.take_rows(&chosen), y: self.y.take_rows(&chosen), info }
    }

    fn of_rows(&self, rows: &[usize]) -> Self {
        Self { x: self.x.select_rows(rows), y: self.y.select_rows(rows), info: self.info.of_rows(rows) }
    }

    /// The first rows, at most so many.
    pub fn first(&self, most: usize) -> Self {
        self.of_rows(&(0..self.len().min(most)).collect::<Vec<usize>>())
    }

    /// Evenly spaced rows, few enough to be scored often.
    pub fn thinned(&self) -> Self {
        let stride = self.len().div_ceil(SCORED_IN_TRAINING).max(1);
        self.of_rows(&(0..self.len()).step_by(stride).collect::<Vec<usize>>())
    }
}

/// What the columns of a table say of rows besides inputs and targets.
pub fn row_info(columns: RowColumns) -> RowInfo {
    let RowColumns { weight, exposure, noise_std, group, time, .. } = columns;
    RowInfo { weight, exposure, noise_std, group, time }
}

/// The targets of rows as their task has them: numbers as they are, or lower and upper bounds.
pub fn targets(task: Task, batch: &Batch) -> Mat {
    let (y, columns) = (&batch.targets, &batch.columns);
    if task != Task::Censored || y.cols() != 1 {
        return y.clone();
    }
    let bounds = |n: usize| match columns.censored.get(n) {
        Some(Censored::Left) => [f64::NAN, y[(n, 0)]],
        Some(Censored::Right) => [y[(n, 0)], f64::NAN],
        Some(Censored::None) => [y[(n, 0)]; 2],
        None => {
            let bound = |bounds: &[f64]| bounds.get(n).copied().unwrap_or(f64::NAN);
            match (bound(&columns.lower), bound(&columns.upper)) {
                (lower, upper) if lower.is_nan() && upper.is_nan() => [y[(n, 0)]; 2],
                (lower, upper) => [lower, upper],
            }
        }
    };
    let all: Vec<[f64; 2]> = (0..y.rows()).map(bounds).collect();
    Mat::from_fn(y.rows(), 2, |n, side| all[n][side])
}

/// The latest rows, ascending; of those observed at the same time all or none, as far as any are left.
fn latest(time: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..time.len()).collect();
    order.sort_by(|a, b| time[*b].total_cmp(&time[*a]).then(b.cmp(a)));
    let last = time[order[count - 1]];
    let after = order.iter().filter(|row| time[**row] > last).count();
    // Without a row before it there is nothing to learn from.
    let with_last = order.iter().filter(|row| time[**row] >= last).count();
    let taken = if with_last < time.len() { with_last } else { after.max(count) };
    let mut chosen = order[..taken].to_vec();
    chosen.sort_unstable();
    chosen
}

/// Rows of groups taken by chance until there are so many rows, ascending; at least one group is left.
fn whole_groups(group: &[u64], count: usize, seed: u64) -> Vec<usize> {
    let mut groups: Vec<u64> = group.to_vec();
    groups.sort_unstable();
    groups.dedup();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    groups.shuffle(&mut rng);
    groups.pop();
    let (mut taken, mut rows) = (HashSet::new(), 0);
    for id in groups {
        if rows >= count {
            break;
        }
        rows += group.iter().filter(|other| **other == id).count();
        taken.insert(id);
    }
    (0..group.len()).filter(|row| taken.contains(&group[*row])).collect()
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
    fn the_latest_rows_and_whole_groups_are_held_out() {
        let time: Vec<f64> = (0..40).map(|i| f64::from((i * 7) % 40 / 2)).collect();
        let x = Mat::from_fn(40, 1, |i, _| time[i]);
        let mut rows = Rows { y: x.clone(), x, info: RowInfo { time, ..RowInfo::default() } };
        let held_out = rows.hold_out(5, 1);
        let first = held_out.x.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!((held_out.len(), rows.len(), held_out.info.time.len()), (6, 34, 6));
        assert!(rows.x.as_slice().iter().all(|t| *t < first) && rows.info.time.iter().all(|t| *t < first));
        let group: Vec<u64> = (0..60).map(|i| i % 12).collect();
        let x = Mat::from_fn(60, 1, |i, _| group[i] as f64);
        let mut rows = Rows { y: x.clone(), x, info: RowInfo { group, ..RowInfo::default() } };
        let held_out = rows.hold_out(7, 1);
        assert_eq!((held_out.len(), rows.len()), (10, 50));
        assert!(held_out.info.group.iter().all(|id| !rows.info.group.contains(id)));
        // Rows of a single time, or of a single group, are not all taken.
        assert_eq!((latest(&[1.0; 10], 2).len(), whole_groups(&[3; 10], 2, 0).len()), (2, 0));
    }

    #[test]
    fn scored_rows_are_spread_over_all() {
        let x = Mat::from_fn(2500, 1, |i, _| i as f64);
        let few = Rows { y: x.clone(), x, info: RowInfo::default() }.thinned();
        assert_eq!((few.len(), few.x[(1, 0)], few.x[(833, 0)]), (834, 3.0, 2499.0));
        assert_eq!(Rows::default().thinned().len(), 0);
    }
}
