//! Products and eigenvectors of whole matrices, for code whose time does not matter.

use super::Mat;
use super::product::{Left, Part, product};

/// How a factor of a product is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// As it is.
    Id,
    /// Transposed.
    T,
}

/// `out = op(a) · op(b)`; `out` takes the product's shape.
///
/// # Panics
/// If the inner sizes differ.
pub fn mul(out: &mut Mat, a: &Mat, op_a: Op, b: &Mat, op_b: Op) {
    let left = match op_a {
        Op::Id => Left::plain(a, Part::Full),
        Op::T => Left::transposed(a, Part::Full),
    };
    match op_b {
        Op::Id => product(out, false, left, (b, Part::Full), Part::Full),
        Op::T => product(out, false, left, (&b.transpose(), Part::Full), Part::Full),
    }
}

/// Most iterations of the eigenvalue algorithm, per row: far more than it takes.
const ITERATIONS: usize = 1000;

/// Eigenvalues, ascending, and eigenvectors (columns) of a symmetric matrix; `None` if the iteration fails or if what
/// it gives is not finite.
pub fn symmetric_eigen(a: &Mat) -> Option<(Vec<f64>, Mat)> {
    let n = a.rows();
    if !crate::simd::all_finite(a.as_slice()) {
        return None;
    }
    let matrix = nalgebra::DMatrix::from_row_slice(n, n, a.as_slice());
    let eigen = nalgebra::linalg::SymmetricEigen::try_new(matrix, f64::EPSILON, ITERATIONS * n.max(1))?;
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| eigen.eigenvalues[i].total_cmp(&eigen.eigenvalues[j]));
    let values: Vec<f64> = order.iter().map(|&i| eigen.eigenvalues[i]).collect();
    let vectors = Mat::from_fn(n, n, |i, j| eigen.eigenvectors[(i, order[j])]);
    values.iter().chain(vectors.as_slice()).all(|v| v.is_finite()).then_some((values, vectors))
}
