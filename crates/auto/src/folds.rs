//! Which rows are trained on and which are judged by.

use deepgp::Result;
use deepgp::linalg::Mat;
use deepgp_model::Prepared;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// With fewer rows every row is judged by once (cross-validation); with more, a part of them is enough.
const FEW_ROWS: usize = 2000;
/// Folds of a cross-validation.
const FOLDS: usize = 4;
/// Share of the rows that is judged by where there are many, and the most.
const SHARE: f64 = 0.15;
const MOST_JUDGES: usize = 4000;
/// With fewer rows there is nothing to be judged by.
pub(crate) const LEAST_ROWS: usize = 12;

/// A division of the rows.
#[derive(Debug)]
pub(crate) struct Fold {
    /// Its number.
    pub index: usize,
    /// Rows to train on, standardised by themselves: what the judges are like must not be known.
    pub train: Prepared,
    /// Rows to judge by, in the units of what was divided.
    pub judge: (Mat, Mat),
}

/// Divisions such that no row is judged by twice, a function of the seed; none for very few rows.
///
/// # Errors
/// As [`Prepared::part`].
pub(crate) fn folds(data: &Prepared, seed: u64) -> Result<Vec<Fold>> {
    let rows = data.x().rows();
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let (count, size) = match rows {
        0..LEAST_ROWS => return Ok(Vec::new()),
        LEAST_ROWS..=FEW_ROWS => (FOLDS, rows.div_ceil(FOLDS)),
        _ => (1, ((SHARE * rows as f64) as usize).min(MOST_JUDGES)),
    };
    let divide = |(index, judges): (usize, &[usize])| {
        let mut is_judge = vec![false; rows];
        judges.iter().for_each(|&row| is_judge[row] = true);
        let (judges, train): (Vec<usize>, Vec<usize>) = (0..rows).partition(|&row| is_judge[row]);
        let judge = (data.x().select_rows(&judges), data.y().select_rows(&judges));
        Ok(Fold { index, train: data.part(&train)?, judge })
    };
    order.chunks(size).take(count).enumerate().map(divide).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_all_judged_by_and_many_in_part() -> Result<()> {
        for (rows, count, judges) in
            [(3, 0, 0), (12, 4, 12), (103, 4, 103), (2000, 4, 2000), (5000, 1, 750), (90_000, 1, 4000)]
        {
            let x = Mat::from_fn(rows, 1, |i, _| i as f64);
            let all = folds(&Prepared::new(x.clone(), x)?, 1)?;
            let mut seen: Vec<f64> = all.iter().flat_map(|fold| fold.judge.0.column(0)).collect();
            seen.sort_by(f64::total_cmp);
            seen.dedup();
            assert_eq!((all.len(), seen.len()), (count, judges), "{rows} rows");
            for fold in &all {
                assert_eq!(fold.train.x().rows() + fold.judge.0.rows(), rows);
                assert!(fold.train.x().rows() > 0);
            }
        }
        Ok(())
    }
}
