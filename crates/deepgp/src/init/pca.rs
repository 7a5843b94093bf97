//! A first linear map to fewer dimensions: the principal directions of the inputs.

use crate::error::{Error, Result};
use deepgp_numerics::linalg::{Mat, Op, mul, symmetric_eigen};

/// The `dim_out` directions of largest variance of the rows of `x`, as orthonormal columns, largest first.
///
/// ```text
/// C = (X − 1 x̄ᵀ)ᵀ(X − 1 x̄ᵀ)/N = V Λ Vᵀ          result: the columns of V with the largest λ
/// ```
/// The sign is fixed: the entry of largest magnitude of each column is positive (the first, of equal ones).
/// Directions without variance complete the frame, so the columns are orthonormal for any data.
///
/// Shapes: `x` N×D, result D×`dim_out`.  Cost: O(N D² + D³).
///
/// # Errors
/// [`Error::Empty`] or [`Error::NotFinite`] from the data, [`Error::Parameter`] if `dim_out` is not in 1..=D,
/// [`Error::NotConverged`] if the eigenvalue iteration fails.
pub fn principal_directions(x: &Mat, dim_out: usize) -> Result<Mat> {
    x.check_data("inputs")?;
    let dim_in = x.cols();
    if dim_out == 0 || dim_out > dim_in {
        let requirement = "it must be at least 1 and at most the number of input columns";
        return Err(Error::Parameter { name: "dim_out", layer: None, entry: None, value: dim_out as f64, requirement });
    }
    let centred = centred(x);
    let mut cov = Mat::default();
    mul(&mut cov, &centred, Op::T, &centred, Op::Id);
    let (_, vectors) = symmetric_eigen(&cov).ok_or(Error::NotConverged { what: "principal directions" })?;
    // Eigenvalues ascend: the last column is the first direction.
    let mut directions = Mat::from_fn(dim_in, dim_out, |i, j| vectors[(i, dim_in - 1 - j)]);
    for j in 0..dim_out {
        fix_sign(&mut directions, j);
    }
    Ok(directions)
}

/// (X − 1 x̄ᵀ)/(√N · largest entry): neither the scale nor N moves the directions, and nothing overflows.
fn centred(x: &Mat) -> Mat {
    let mut mean = vec![0.0; x.cols()];
    for n in 0..x.rows() {
        let weight = (n + 1) as f64;
        mean.iter_mut().zip(x.row(n)).for_each(|(m, v)| *m += v / weight - *m / weight);
    }
    // Halves, since a difference of two finite numbers may overflow.
    let mut out = Mat::from_fn(x.rows(), x.cols(), |i, j| 0.5 * x[(i, j)] - 0.5 * mean[j]);
    let largest = out.as_slice().iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    if largest > 0.0 {
        let root_n = (x.rows() as f64).sqrt();
        out.as_mut_slice().iter_mut().for_each(|v| *v = *v / largest / root_n);
    }
    out
}

/// Flips column `j` if its entry of largest magnitude is negative; entries equal up to rounding count as equal.
fn fix_sign(a: &mut Mat, j: usize) {
    let column = a.column(j);
    let largest = column.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    if column.iter().find(|v| v.abs() >= (1.0 - 1e-8) * largest).is_some_and(|&v| v < 0.0) {
        (0..a.rows()).for_each(|i| a[(i, j)] = -a[(i, j)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_all_close};
    use proptest::prelude::*;

    #[test]
    fn of_points_on_a_line() -> Result<()> {
        // Variance along (3, 4)/5 only.
        let x = Mat::from_fn(7, 2, |i, j| 100.0 + i as f64 * [-3.0, -4.0][j]);
        let w = principal_directions(&x, 2)?;
        assert_all_close("first", &w.column(0), &[0.6, 0.8], Tolerance::Rounding);
        assert_all_close("second", &w.column(1), &[0.8, -0.6], Tolerance::Rounding);
        Ok(())
    }

    #[test]
    fn the_first_of_equal_entries_is_positive() -> Result<()> {
        let x = Mat::from_fn(5, 2, |i, j| i as f64 * [-1.0, 1.0][j]);
        assert_all_close(
            "w",
            &principal_directions(&x, 1)?.column(0),
            &[0.5_f64.sqrt(), -0.5_f64.sqrt()],
            Tolerance::Rounding,
        );
        Ok(())
    }

    #[test]
    fn orders_directions_by_variance_at_any_scale() -> Result<()> {
        for scale in [1e-300, 1.0, 1e300] {
            // Two orthogonal contrasts with amplitudes 1 and 10, and a constant column.
            let x = Mat::from_fn(4, 3, |i, j| {
                let (a, b) = ([1.0, 1.0, -1.0, -1.0][i], [1.0, -1.0, 1.0, -1.0][i]);
                scale * [a, 10.0 * b, 7.0][j]
            });
            let w = principal_directions(&x, 3)?;
            assert_all_close("w", w.as_slice(), &[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0], Tolerance::Rounding);
        }
        Ok(())
    }

    #[test]
    fn refuses_widths_that_do_not_fit() {
        let x = Mat::zeros(3, 2);
        for dim_out in [0, 3] {
            assert!(matches!(principal_directions(&x, dim_out), Err(Error::Parameter { name: "dim_out", .. })));
        }
        assert!(matches!(principal_directions(&Mat::zeros(0, 2), 1), Err(Error::Empty { .. })));
    }

    proptest! {
        #[test]
        fn columns_are_orthonormal_with_fixed_signs_and_falling_variance(
            data in prop::collection::vec(prop_oneof![Just(0.0), -1.0..1.0_f64], 1..80),
            cols in 1_usize..6,
            cut in 0_usize..5,
        ) {
            let rows = data.len() / cols;
            prop_assume!(rows > 0);
            let x = Mat::from_vec(rows, cols, data[..rows * cols].to_vec())?;
            let dim_out = cols - cut % cols;
            let w = principal_directions(&x, dim_out)?;
            let (mut gram, mut projected) = (Mat::default(), Mat::default());
            mul(&mut gram, &w, Op::T, &w, Op::Id);
            assert_all_close("WᵀW", gram.as_slice(), Mat::identity(dim_out, dim_out).as_slice(), Tolerance::Rounding);
            mul(&mut projected, &x, Op::Id, &w, Op::Id);
            let variance = |j: usize| {
                let column = projected.column(j);
                let mean = column.iter().sum::<f64>() / rows as f64;
                column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / rows as f64
            };
            for j in 1..dim_out {
                prop_assert!(variance(j) <= variance(j - 1) + 1e-12);
            }
            for j in 0..dim_out {
                let column = w.column(j);
                let largest = column.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
                prop_assert!(column.iter().any(|&v| v >= (1.0 - 1e-8) * largest));
            }
        }
    }
}
