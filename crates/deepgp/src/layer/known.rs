//! Propagation of known inputs through a layer, a block of points at a time, and its adjoint.
//!
//! ```text
//! m = k_xz A + Wᵀx          v = k_xx + k_xz C k_zx + σ²
//! ```

use super::{Inducing, Layer, LayerSums, Projection, VARIANCE_FLOOR};
use crate::kernel::Law;
use crate::linalg::{Mat, Op, dot, mul, mul_add, tri};

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
    /// Working matrices of the adjoint, N × M.
    k_bar: Mat,
    weighted: Mat,
    square: Mat,
}

impl KnownTape {
    /// Output moments for the rows of `x` (N × D_in). Cost: O(N M (D_in + M D_out)).
    pub fn forward(&mut self, layer: &Layer, inducing: &Inducing, projection: &Projection, x: &Mat) {
        let (n_rows, d_out) = (x.rows(), layer.dim_out);
        layer.kernel.cross(x, &inducing.tables.z, &mut self.k);
        // m = k_xz A
        mul(&mut self.mean, &self.k, Op::Id, &projection.a, Op::T);
        self.var.reset(n_rows, d_out);
        self.floored.clear();
        self.floored.resize(n_rows * d_out, false);
        self.k_c.resize_with(d_out, Mat::default);
        for (d, k_c) in self.k_c.iter_mut().enumerate() {
            mul(k_c, &self.k, Op::Id, &projection.c[d], Op::Id);
        }
        for n in 0..n_rows {
            let k_xx = layer.kernel.diag(x.row(n));
            for d in 0..d_out {
                // v = k_xx + k_xz C k_zx
                let v = k_xx + dot(self.k.row(n), self.k_c[d].row(n));
                let floor = VARIANCE_FLOOR * k_xx;
                // Written so that NaN stays NaN.
                let below = v < floor;
                self.floored[n * d_out + d] = below;
                self.var[(n, d)] = if below { floor } else { v } + layer.noise_var;
            }
        }
        if let Some(w) = layer.mean.weights() {
            mul_add(&mut self.mean, 1.0, x, Op::Id, w, Op::Id);
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
        let (n_rows, m, d_out) = (x.rows(), layer.n_inducing(), layer.dim_out);
        // k̄ = mean_bar · A, then 2 b C k
        mul(&mut self.k_bar, mean_bar, Op::Id, &projection.a, Op::Id);
        for d in 0..d_out {
            self.weighted.reset(n_rows, m);
            for n in 0..n_rows {
                sums.noise_var += var_bar[(n, d)];
                let held = self.floored[n * d_out + d];
                sums.floored += usize::from(held);
                let b = if held { 0.0 } else { var_bar[(n, d)] };
                let k_n = self.k.row(n);
                for (k_bar, k_c) in self.k_bar.row_mut(n).iter_mut().zip(self.k_c[d].row(n)) {
                    *k_bar += 2.0 * b * k_c;
                }
                for (w, k) in self.weighted.row_mut(n).iter_mut().zip(k_n) {
                    *w = b * k;
                }
            }
            // C̄ = Σ b k kᵀ
            mul(&mut self.square, &self.weighted, Op::T, &self.k, Op::Id);
            add_packed(&self.square, &mut sums.c[d]);
            // g̃ = a k, and the sums of g̃ and g̃ g̃ᵀ
            for n in 0..n_rows {
                let a = mean_bar[(n, d)];
                for ((w, k), sum) in self.weighted.row_mut(n).iter_mut().zip(self.k.row(n)).zip(sums.a.row_mut(d)) {
                    *w = a * k;
                    *sum += a * k;
                }
            }
            mul_add(&mut sums.outer[d], 1.0, &self.weighted, Op::T, &self.weighted, Op::Id);
        }
        let grad = &mut sums.psi.grad;
        layer.kernel.cross_adjoint(x, &inducing.tables.z, &self.k, &self.k_bar, None, grad);
        for n in 0..n_rows {
            let diag_bar = (0..d_out).map(|d| if self.floored[n * d_out + d] { 0.0 } else { var_bar[(n, d)] }).sum();
            layer.kernel.diag_adjoint(x.row(n), diag_bar, None, &mut grad.params);
        }
    }
}

/// Adds the upper triangle of a symmetric matrix to a packed one.
fn add_packed(full: &Mat, packed: &mut [f64]) {
    let m = full.rows();
    for i in 0..m {
        let start = tri::row_start(m, i);
        for (p, f) in packed[start..start + m - i].iter_mut().zip(&full.row(i)[i..]) {
            *p += f;
        }
    }
}
