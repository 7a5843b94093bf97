//! A first lengthscale: the median distance between rows.

use super::sample::sample_rows;
use crate::error::Result;
use deepgp_numerics::linalg::Mat;
use rand::Rng;

/// Rows whose pairs are measured.
const MAX_ROWS: usize = 500;

/// Median Euclidean distance between the rows of `x`, over all pairs of at most 500 of them; always positive.
///
/// ```text
/// median { |x_i − x_j| : i < j }
/// ```
/// If half the pairs or more coincide, the median of the positive distances; 1 if there is none.
/// Cost: O(min(N, 500)² · D).
///
/// # Errors
/// [`crate::Error::Empty`] or [`crate::Error::NotFinite`] from the data.
pub fn median_distance(x: &Mat, rng: &mut impl Rng) -> Result<f64> {
    x.check_data("inputs")?;
    let rows = sample_rows(x.rows(), MAX_ROWS, rng);
    let mut distances = Vec::with_capacity(rows.len() * (rows.len() - 1) / 2);
    for (a, &i) in rows.iter().enumerate() {
        for &j in &rows[a + 1..] {
            let d2: f64 = x.row(i).iter().zip(x.row(j)).map(|(p, q)| (p - q) * (p - q)).sum();
            distances.push(d2.sqrt());
        }
    }
    if let Some(m) = median(&mut distances).filter(|&m| m > 0.0) {
        return Ok(m);
    }
    distances.retain(|&d| d > 0.0);
    Ok(median(&mut distances).unwrap_or(1.0))
}

/// The middle value, or the mean of the two middle ones; `None` of nothing.
fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let (half, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if odd {
        return Some(upper);
    }
    below.iter().copied().reduce(f64::max).map(|lower| 0.5 * (lower + upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    fn median_of(rows: &[[f64; 2]]) -> Result<f64> {
        median_distance(&Mat::from_rows(rows)?, &mut ChaCha8Rng::seed_from_u64(0))
    }

    #[test]
    fn of_small_tables_by_hand() -> Result<()> {
        // Distances 3, 4, 5; then also 8, √73 and 12: the two middle ones are 5 and 8.
        assert_eq!(median_of(&[[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])?, 4.0);
        assert_eq!(median_of(&[[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [0.0, -8.0]])?, 6.5);
        Ok(())
    }

    #[test]
    fn is_positive_when_rows_coincide() -> Result<()> {
        assert_eq!(median_of(&[[1.0, 2.0]])?, 1.0);
        assert_eq!(median_of(&[[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])?, 1.0);
        // Six of ten distances are 0: the positive ones decide.
        assert_eq!(median_of(&[[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 2.0]])?, 2.0);
        Ok(())
    }

    #[test]
    fn refuses_empty_and_not_finite_data() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        assert!(median_distance(&Mat::zeros(0, 1), &mut rng).is_err());
        assert!(median_of(&[[f64::INFINITY, 0.0]]).is_err());
    }

    proptest! {
        #[test]
        fn scales_with_the_data(data in prop::collection::vec(-1.0..1.0_f64, 4..60), scale in 1e-3..1e3_f64) {
            let rows = data.len() / 2;
            let x = Mat::from_vec(rows, 2, data[..2 * rows].to_vec())?;
            let scaled = Mat::from_fn(rows, 2, |i, j| scale * x[(i, j)]);
            let plain = median_distance(&x, &mut ChaCha8Rng::seed_from_u64(0))?;
            let found = median_distance(&scaled, &mut ChaCha8Rng::seed_from_u64(0))?;
            prop_assert!((found - scale * plain).abs() <= 1e-12 * scale * plain);
        }
    }
}
