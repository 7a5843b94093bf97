//! Inducing inputs as cluster centres: k-means++ seeding, then Lloyd's sweeps on a sample of the rows.
//!
//! ```text
//! seeding   P(next centre = x_n) ∝ min_k |x_n − c_k|²
//! sweep     c_k ← mean of {x_n : c_k is the centre nearest to x_n}
//! ```
//! References: Arthur & Vassilvitskii (2007), k-means++; Lloyd (1982).

use super::distinct::{RowKey, distinct_rows, first_occurrences};
use super::sample::sample_rows;
use crate::error::{Error, Result};
use deepgp_numerics::linalg::Mat;
use rand::{Rng, RngExt};
use std::collections::HashSet;

/// Rows the clusters are found on; more if more centres than this are asked for.
const MAX_ROWS: usize = 2000;
/// Lloyd's sweeps at most; fewer once no row changes its cluster.
const MAX_SWEEPS: usize = 25;

/// `n_centres` cluster centres of the rows of `x`, within the data's bounding box.
///
/// Two centres are equal only if `x` has fewer than `n_centres` distinct rows ([`super::distinct_rows`] tells).
/// A cluster that loses all its rows is moved to the row furthest from its centre. Distances are Euclidean, so the
/// columns should be on comparable scales.
///
/// Cost: O(min(N, 2000) · M · D) a sweep, at most 25 sweeps; O(N D) to take the sample.
///
/// # Errors
/// [`Error::Empty`] or [`Error::NotFinite`] from the data, [`Error::Parameter`] if no centre is asked for.
pub fn kmeans(x: &Mat, n_centres: usize, rng: &mut impl Rng) -> Result<Mat> {
    x.check_data("inputs")?;
    if n_centres == 0 {
        let requirement = "it must be at least 1";
        return Err(Error::Parameter { name: "n_centres", layer: None, entry: None, value: 0.0, requirement });
    }
    let rows = sample_with_distinct(x, n_centres, rng);
    let mut clusters = Clusters::seed(&rows, n_centres, rng);
    for _ in 0..MAX_SWEEPS {
        if !clusters.sweep() {
            break;
        }
    }
    clusters.separate();
    Ok(clusters.centres)
}

/// A sample of the rows of `x`; of its distinct rows, if a plain sample has fewer of them than `n_wanted`.
fn sample_with_distinct(x: &Mat, n_wanted: usize, rng: &mut impl Rng) -> Mat {
    let limit = MAX_ROWS.max(n_wanted);
    let sample = x.select_rows(&sample_rows(x.rows(), limit, rng));
    if sample.rows() == x.rows() || distinct_rows(&sample) >= n_wanted {
        return sample;
    }
    let distinct = first_occurrences(x, usize::MAX);
    let chosen: Vec<usize> = sample_rows(distinct.len(), limit, rng).into_iter().map(|i| distinct[i]).collect();
    x.select_rows(&chosen)
}

/// Centres, and for each row its nearest centre and squared distance from it.
struct Clusters<'a> {
    rows: &'a Mat,
    centres: Mat,
    nearest: Vec<usize>,
    distance2: Vec<f64>,
}

impl<'a> Clusters<'a> {
    /// k-means++ seeding; every row is assigned afterwards.
    fn seed(rows: &'a Mat, n_centres: usize, rng: &mut impl Rng) -> Self {
        let n = rows.rows();
        let centres = Mat::zeros(n_centres, rows.cols());
        let mut clusters = Self { rows, centres, nearest: vec![0; n], distance2: vec![f64::INFINITY; n] };
        clusters.place(0, rng.random_range(0..n));
        for k in 1..n_centres {
            let row = clusters.draw_far_row(rng);
            clusters.place(k, row);
        }
        clusters
    }

    /// A row with probability ∝ its squared distance from the centres; any row, if all coincide with one.
    fn draw_far_row(&self, rng: &mut impl Rng) -> usize {
        let total: f64 = self.distance2.iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return rng.random_range(0..self.distance2.len());
        }
        let (mut left, mut last) = (total * rng.random::<f64>(), 0);
        for (n, &d2) in self.distance2.iter().enumerate() {
            if d2 > 0.0 {
                if left < d2 {
                    return n;
                }
                left -= d2;
                last = n;
            }
        }
        last
    }

    /// Centre `k` becomes row `n` and takes the rows that are nearer to it than to their own centre.
    fn place(&mut self, k: usize, n: usize) {
        self.centres.row_mut(k).copy_from_slice(self.rows.row(n));
        self.claim(k);
    }

    /// Gives centre `k` the rows that are nearer to it than to their own centre.
    fn claim(&mut self, k: usize) {
        let centre = self.centres.row(k);
        for (n, (own, own_d2)) in self.nearest.iter_mut().zip(&mut self.distance2).enumerate() {
            let d2: f64 = self.rows.row(n).iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum();
            if d2 < *own_d2 {
                (*own, *own_d2) = (k, d2);
            }
        }
    }

    /// One sweep of Lloyd's; whether any row changed its cluster.
    fn sweep(&mut self) -> bool {
        self.move_to_means();
        let before = self.nearest.clone();
        self.distance2.fill(f64::INFINITY);
        for k in 0..self.centres.rows() {
            self.claim(k);
        }
        self.reseed_empty();
        self.nearest != before
    }

    /// c ← c + (x_n − c)/n over the rows of the cluster: a running mean cannot leave their bounding box by rounding.
    fn move_to_means(&mut self) {
        let mut sizes = vec![0_usize; self.centres.rows()];
        for (n, &k) in self.nearest.iter().enumerate() {
            sizes[k] += 1;
            let (row, centre) = (self.rows.row(n), self.centres.row_mut(k));
            if sizes[k] == 1 {
                centre.copy_from_slice(row);
            } else {
                let weight = sizes[k] as f64;
                centre.iter_mut().zip(row).for_each(|(c, x)| *c += (x - *c) / weight);
            }
        }
    }

    /// Moves each centre without rows to the row furthest from its own centre.
    fn reseed_empty(&mut self) {
        let mut occupied = vec![false; self.centres.rows()];
        self.nearest.iter().for_each(|&k| occupied[k] = true);
        for k in (0..occupied.len()).filter(|&k| !occupied[k]) {
            let mut furthest = 0;
            for (n, &d2) in self.distance2.iter().enumerate() {
                if d2 > self.distance2[furthest] {
                    furthest = n;
                }
            }
            if self.distance2[furthest] == 0.0 {
                break;
            }
            self.place(k, furthest);
        }
    }

    /// Replaces a centre that equals an earlier one by a row that is no centre, as long as there is such a row.
    fn separate(&mut self) {
        let found = self.centres.clone();
        let mut seen = HashSet::new();
        let repeats: Vec<usize> = (0..found.rows()).filter(|&k| !seen.insert(RowKey(found.row(k)))).collect();
        let spare = (0..self.rows.rows()).filter(|&n| seen.insert(RowKey(self.rows.row(n))));
        for (k, n) in repeats.into_iter().zip(spare) {
            self.centres.row_mut(k).copy_from_slice(self.rows.row(n));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn rng(seed: u64) -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(seed)
    }

    fn random(rows: usize, cols: usize, seed: u64) -> Mat {
        let mut rng = rng(seed);
        Mat::from_fn(rows, cols, |_, _| rng.random_range(-1.0..1.0))
    }

    #[test]
    fn finds_well_separated_clusters() -> Result<()> {
        // Four blobs of radius 0.1 around the corners of a square of side 10.
        let noise = random(400, 2, 3);
        let x = Mat::from_fn(400, 2, |i, j| 0.1 * noise[(i, j)] + if (i >> j) & 1 == 1 { 10.0 } else { 0.0 });
        for seed in 0..5 {
            let centres = kmeans(&x, 4, &mut rng(seed))?;
            for corner in [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]] {
                let near = |c: &[f64]| (c[0] - corner[0]).hypot(c[1] - corner[1]) < 0.05;
                assert_eq!((0..4).filter(|&k| near(centres.row(k))).count(), 1, "seed {seed}, {centres:?}");
            }
        }
        Ok(())
    }

    #[test]
    fn is_determined_by_the_generator() -> Result<()> {
        let x = random(5000, 3, 4);
        assert_eq!(kmeans(&x, 20, &mut rng(7))?, kmeans(&x, 20, &mut rng(7))?);
        assert_ne!(kmeans(&x, 20, &mut rng(7))?, kmeans(&x, 20, &mut rng(8))?);
        Ok(())
    }

    #[test]
    fn as_many_centres_as_rows_are_the_rows() -> Result<()> {
        let x = random(30, 2, 5);
        let centres = kmeans(&x, 30, &mut rng(0))?;
        assert!((0..30).all(|i| (0..30).any(|k| centres.row(k) == x.row(i))));
        Ok(())
    }

    #[test]
    fn repeats_centres_only_for_want_of_distinct_rows() -> Result<()> {
        let x = Mat::from_fn(50, 1, |i, _| (i % 3) as f64);
        let centres = kmeans(&x, 5, &mut rng(0))?;
        assert_eq!((centres.rows(), distinct_rows(&centres)), (5, 3));
        Ok(())
    }

    #[test]
    fn finds_rare_rows_that_a_plain_sample_misses() -> Result<()> {
        // 40 distinct rows among 20000: 2000 sampled rows hold far fewer.
        let x = Mat::from_fn(20_000, 1, |i, _| if i % 500 == 0 { i as f64 } else { 0.0 });
        assert_eq!(distinct_rows(&kmeans(&x, 40, &mut rng(1))?), 40);
        Ok(())
    }

    #[test]
    fn tells_rows_apart_whose_squared_distance_underflows() -> Result<()> {
        let x = Mat::from_fn(10, 1, |i, _| 1e-200 * i as f64);
        assert_eq!(distinct_rows(&kmeans(&x, 10, &mut rng(1))?), 10);
        Ok(())
    }

    #[test]
    fn moves_an_empty_cluster_to_the_furthest_row() -> Result<()> {
        let rows = Mat::from_vec(4, 1, vec![0.0, 1.0, 2.0, 9.0])?;
        let centres = Mat::from_vec(2, 1, vec![1.0, 100.0])?;
        let mut clusters = Clusters { rows: &rows, centres, nearest: vec![0; 4], distance2: vec![1.0, 0.0, 1.0, 64.0] };
        clusters.reseed_empty();
        assert_eq!(clusters.centres.column(0), [1.0, 9.0]);
        assert_eq!(clusters.nearest, [0, 0, 0, 1]);
        Ok(())
    }

    #[test]
    fn refuses_what_it_cannot_cluster() {
        assert!(matches!(kmeans(&Mat::zeros(0, 2), 1, &mut rng(0)), Err(Error::Empty { .. })));
        assert!(matches!(kmeans(&Mat::zeros(2, 2), 0, &mut rng(0)), Err(Error::Parameter { name: "n_centres", .. })));
        let mut x = Mat::zeros(3, 2);
        x[(2, 1)] = f64::NAN;
        assert!(matches!(kmeans(&x, 1, &mut rng(0)), Err(Error::NotFinite { row: 2, column: 1, .. })));
    }

    proptest! {
        #[test]
        fn centres_lie_in_the_bounding_box_and_differ(
            data in prop::collection::vec(prop_oneof![Just(0.1), -1.0..1.0_f64, 0.0..1e6_f64], 2..120),
            cols in 1_usize..3,
            n_centres in 1_usize..12,
            seed: u64,
        ) {
            let rows = data.len() / cols;
            let x = Mat::from_vec(rows, cols, data[..rows * cols].to_vec())?;
            let centres = kmeans(&x, n_centres, &mut rng(seed))?;
            prop_assert_eq!((centres.rows(), centres.cols()), (n_centres, cols));
            prop_assert_eq!(distinct_rows(&centres), n_centres.min(distinct_rows(&x)));
            for j in 0..cols {
                let column = x.column(j);
                let low = column.iter().copied().fold(f64::INFINITY, f64::min);
                let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert!(centres.column(j).iter().all(|c| (low..=high).contains(c)));
            }
        }
    }
}
