//! Propagation of known inputs through a layer, a block of points at a time, and its adjoint.
//!
//! ```text
//! m = k_xz A + Wᵀx          v = k_xx + k_xz C k_zx + σ²
//! ```

use super::{Inducing, Layer, LayerSums, Projection, VARIANCE_FLOOR};
use crate::kernel::Law;
use crate::linalg::tile::{Left, Part, product};
use crate::linalg::{Mat, axpy, dot, tri};
use crate::simd::wide;

/// What the adjoint needs of a forward pass over a block of N points, and the output moments.
#[derive(Debug, Clone, Default)]
pub struct KnownTape {
    /// k_xz, N × M.
    k: Mat,
    /// k_xz C per output, N × M.
    k_c: Vec<Mat>,
    /// Output means, N × D_out.
    pub mean: Mat,
    /// Output variances with noise, N × D_out.
    pub var: Mat,
    /// Which variances were held at the floor.
    floored: Vec<bool>,
    /// Working matrices of the adjoint, N × M, N × M and M × M.
    k_bar: Mat,
    weighted: Mat,
    square: Mat,
}

impl KnownTape {
    /// Output moments for the rows of `x` (N × D_in). Cost: O(N M (D_in + M D_out)).
    pub fn forward(&mut self, layer: &Layer, inducing: &Inducing, projection: &Projection, x: &Mat) {
        let (n_rows, d_out) = (x.rows(), layer.dim_out);
        layer.kernel.cross_prepared(&inducing.tables, x, &mut self.k);
        self.mean.reshape(n_rows, d_out);
        self.var.reshape(n_rows, d_out);
        self.floored.clear();
        self.floored.resize(n_rows * d_out, false);
        self.k_c.resize_with(d_out, Mat::default);
        for (k_c, c) in self.k_c.iter_mut().zip(&projection.c) {
            product(k_c, false, Left::plain(&self.k, Part::Full), (c, Part::Full), Part::Full);
        }
        for n in 0..n_rows {
            let (k, k_xx) = (self.k.row(n), layer.kernel.diag(x.row(n)));
            for d in 0..d_out {
                // m = k_xz A,   v = k_xx + k_xz C k_zx
                self.mean[(n, d)] = dot(k, projection.a.row(d));
                let v = k_xx + dot(k, self.k_c[d].row(n));
                let floor = VARIANCE_FLOOR * k_xx;
                // Written so that NaN stays NaN.
                let below = v < floor;
                self.floored[n * d_out + d] = below;
                self.var[(n, d)] = if below { floor } else { v } + layer.noise_var;
            }
        }
        if let Some(w) = layer.mean.weights() {
            product(&mut self.mean, true, Left::plain(x, Part::Full), (w, Part::Full), Part::Full);
        }
    }

    /// Adjoint: adds this block's share to `sums`, given ∂F/∂m and ∂F/∂v (N × D_out each).
    ///
    /// ```text
    /// k̄ = Σ_d a_d A_d + 2 b_d C_d k       g̃ = a k       C̄ = b k kᵀ
    /// ```
    pub fn backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        x: &Mat,
        bar: (&Mat, &Mat),
        sums: &mut LayerSums,
    ) {
        let (mean_bar, var_bar) = bar;
        let (n_rows, d_out) = (x.rows(), layer.dim_out);
        // k̄ = mean_bar · A, then 2 b C k
        product(&mut self.k_bar, false, Left::plain(mean_bar, Part::Full), (&projection.a, Part::Full), Part::Full);
        // Σ g̃ = Σ a k
        product(&mut sums.a, true, Left::transposed(mean_bar, Part::Full), (&self.k, Part::Full), Part::Full);
        for d in 0..d_out {
            for n in 0..n_rows {
                sums.noise_var += var_bar[(n, d)];
                sums.floored += usize::from(self.floored[n * d_out + d]);
                axpy(2.0 * self.passed(var_bar, n, d), self.k_c[d].row(n), self.k_bar.row_mut(n));
            }
            // C̄ = Σ b k kᵀ
            let floored = &self.floored;
            weigh(&mut self.weighted, &self.k, |n| if floored[n * d_out + d] { 0.0 } else { var_bar[(n, d)] });
            let left = Left::transposed(&self.weighted, Part::Full);
            product(&mut self.square, false, left, (&self.k, Part::Full), Part::Upper);
            add_packed(&self.square, &mut sums.c[d]);
            // Σ g̃ g̃ᵀ = Σ a² k kᵀ
            weigh(&mut self.weighted, &self.k, |n| mean_bar[(n, d)] * mean_bar[(n, d)]);
            let left = Left::transposed(&self.weighted, Part::Full);
            product(&mut sums.outer[d], true, left, (&self.k, Part::Full), Part::Upper);
        }
        layer.kernel.cross_prepared_adjoint(&inducing.tables, x, &self.k, &mut self.k_bar, &mut sums.psi);
        for n in 0..n_rows {
            let diag_bar = (0..d_out).map(|d| self.passed(var_bar, n, d)).sum();
            layer.kernel.diag_adjoint(x.row(n), diag_bar, None, &mut sums.psi.grad.params);
        }
    }

    /// ∂F/∂v of a point and output, or 0 where the variance was held at the floor.
    fn passed(&self, var_bar: &Mat, n: usize, d: usize) -> f64 {
        if self.floored[n * var_bar.cols() + d] { 0.0 } else { var_bar[(n, d)] }
    }
}

/// The rows of `k`, each times its weight.
fn weigh(out: &mut Mat, k: &Mat, weight: impl Fn(usize) -> f64) {
    out.reshape(k.rows(), k.cols());
    for n in 0..k.rows() {
        let (w, entries) = (weight(n), out.row_mut(n).iter_mut().zip(k.row(n)));
        wide(|| entries.for_each(|(out, k)| *out = w * k));
    }
}

/// Adds the upper triangle of a symmetric matrix to a packed one.
fn add_packed(full: &Mat, packed: &mut [f64]) {
    let m = full.rows();
    for i in 0..m {
        let start = tri::row_start(m, i);
        axpy(1.0, &full.row(i)[i..], &mut packed[start..start + m - i]);
    }
}
