//! Dense linear algebra: matrices, products, factorisations.

mod chol;
mod columns;
mod dense;
pub mod factor;
pub mod hermite;
mod mat;
pub mod product;
mod rows;
mod solve;
mod tile;
pub mod transpose;
pub mod tri;

pub use crate::simd::{axpy, dot, sum};
pub use chol::{Cholesky, Jitter};
pub use chol::{not_definite, sum_of_logs};
pub use columns::{column_dots, mix_columns};
pub use dense::{Op, mul, symmetric_eigen};
pub use hermite::GaussHermite;
pub use mat::Mat;
pub use rows::{add_rows, mul_lower_transposed, mul_symmetric, mul_vec};
pub use rows::{add_scaled_lower, combine_symmetric, less_outer_lower, sum_lower};

/// Matrices for the tests of products and factorisations.
#[cfg(test)]
mod test_matrices {
    use super::Mat;
    use super::product::Part;

    pub fn pseudo_random(rows: usize, cols: usize, seed: u64) -> Mat {
        let mut state = seed;
        Mat::from_fn(rows, cols, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
    }

    pub fn masked(a: &Mat, part: Part) -> Mat {
        Mat::from_fn(a.rows(), a.cols(), |i, j| match part {
            Part::Full => a[(i, j)],
            Part::Lower if j <= i => a[(i, j)],
            Part::Upper if j >= i => a[(i, j)],
            _ => 0.0,
        })
    }

    pub fn largest_difference(a: &Mat, b: &Mat) -> f64 {
        a.as_slice().iter().zip(b.as_slice()).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
    }
}
