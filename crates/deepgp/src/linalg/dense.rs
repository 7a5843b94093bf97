//! What faer does: matrix products, large Cholesky factors, eigenvectors.

use super::Mat;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// How a factor of a product is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// As it is.
    Id,
    /// Transposed.
    T,
}

/// A faer view of a row-major matrix.
pub(super) fn view(a: &Mat) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(a.as_slice(), a.rows(), a.cols())
}

/// A writable faer view of a row-major matrix.
pub(super) fn view_mut(a: &mut Mat) -> MatMut<'_, f64> {
    let (rows, cols) = (a.rows(), a.cols());
    MatMut::from_row_major_slice_mut(a.as_mut_slice(), rows, cols)
}

fn read(a: &Mat, op: Op) -> MatRef<'_, f64> {
    match op {
        Op::Id => view(a),
        Op::T => view(a).transpose(),
    }
}

/// `out = op(a) · op(b)`; `out` takes the product's shape.
///
/// # Panics
/// If the inner sizes differ.
pub fn mul(out: &mut Mat, a: &Mat, op_a: Op, b: &Mat, op_b: Op) {
    let (lhs, rhs) = (read(a, op_a), read(b, op_b));
    if (out.rows(), out.cols()) != (lhs.nrows(), rhs.ncols()) {
        out.reset(lhs.nrows(), rhs.ncols());
    }
    matmul(view_mut(out), Accum::Replace, lhs, rhs, 1.0, Par::Seq);
    end_vector_code();
}

/// `out (+)= op(a) · b`, for [`super::tile::product`].
pub(super) fn gemm(out: &mut Mat, add: bool, a: &Mat, transposed: bool, b: &Mat) {
    let accumulate = if add { Accum::Add } else { Accum::Replace };
    let lhs = read(a, if transposed { Op::T } else { Op::Id });
    matmul(view_mut(out), accumulate, lhs, view(b), 1.0, Par::Seq);
    end_vector_code();
}

/// A = UᵀU in place with 1/U_ii, for [`super::tile::cholesky_upper`].
pub(super) fn cholesky_upper(a: &mut Mat, inv_diag: &mut [f64]) -> Result<(), usize> {
    let m = a.rows();
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(m, Par::Seq, Default::default()));
    let stack = MemStack::new(&mut memory);
    // The lower triangle of the transposed view is the upper one of `a`.
    let view = view_mut(a).transpose_mut();
    let factored = cholesky_in_place(view, LltRegularization::default(), Par::Seq, stack, Default::default());
    end_vector_code();
    factored.map_err(|LltError::NonPositivePivot { index }| index)?;
    for (i, inv) in inv_diag.iter_mut().enumerate() {
        let pivot = a[(i, i)];
        // A factor of NaNs or of infinities is a failure too.
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(i);
        }
        *inv = 1.0 / pivot;
    }
    Ok(())
}

/// Clears the upper halves of the vector registers, which faer's assembly kernels leave dirty: without this every
/// later call of a scalar `exp` pays a register-merge penalty of some 200 ns (docs/DESIGN.md).
pub(super) fn end_vector_code() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX, and no vector value is live across a call.
        unsafe { std::arch::x86_64::_mm256_zeroupper() }
    }
}

/// Eigenvalues, ascending, and eigenvectors (columns) of a symmetric matrix; `None` if the iteration fails or if what it
/// gives is not finite.
pub fn symmetric_eigen(a: &Mat) -> Option<(Vec<f64>, Mat)> {
    let eigen = view(a).self_adjoint_eigen(faer::Side::Lower);
    end_vector_code();
    let eigen = eigen.ok()?;
    let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let vectors = Mat::from_fn(a.rows(), a.rows(), |i, j| eigen.U()[(i, j)]);
    values.iter().chain(vectors.as_slice()).all(|v| v.is_finite()).then_some((values, vectors))
}
