//! Propagation of known inputs through a layer, a block of points at a time, and its adjoint.
//!
//! ```text
//! t = L⁻¹ k_zx          m = tᵀμ + Wᵀx          v = k_xx + tᵀ(S − I) t + σ²
//! ```
//! on the whitened scale of N(μ, S), where nothing is amplified however close to singular K_zz is.

use super::{Inducing, Layer, LayerSums, Projection, Second, VARIANCE_FLOOR, Wanted};
use crate::kernel::Law;
use crate::linalg::product::{Left, Part, product};
use crate::linalg::{Mat, mix_rows, mul_vec, row_dots};

/// What the adjoint needs of a forward pass over a block of N points, and the output moments.
#[derive(Debug, Clone, Default)]
pub struct KnownTape {
    /// k_xz, N × M.
    k: Mat,
    /// tᵀ, N × M.
    t: Mat,
    /// tᵀ(S − I) per output, N × M; the adjoint leaves something else there.
    t_c: Vec<Mat>,
    /// A number per point: tᵀμ, then tᵀ(S − I) t.
    dots: Vec<f64>,
    /// Output means, N × D_out.
    pub mean: Mat,
    /// Output variances with noise, N × D_out.
    pub var: Mat,
    /// Which variances were held at the floor.
    floored: Vec<bool>,
    /// t̄, N × M.
    t_bar: Mat,
}

impl KnownTape {
    /// Output moments for the rows of `x` (N × D_in). Cost: O(N M (D_in + M D_out)).
    pub fn forward(&mut self, layer: &Layer, inducing: &Inducing, projection: &Projection, x: &Mat) {
        let (n_rows, d_out) = (x.rows(), layer.dim_out);
        layer.kernel.cross_prepared(&inducing.tables, x, &mut self.k);
        product(&mut self.t, false, Left::plain(&self.k, Part::Full), (&inducing.l_inv_t, Part::Upper), Part::Full);
        self.mean.reshape(n_rows, d_out);
        self.var.reshape(n_rows, d_out);
        self.floored.clear();
        self.floored.resize(n_rows * d_out, false);
        self.t_c.resize_with(d_out, Mat::default);
        self.dots.resize(n_rows, 0.0);
        for d in 0..d_out {
            // m = tᵀμ
            mul_vec(&self.t, Part::Full, projection.mean.row(d), &mut self.dots);
            self.dots.iter().enumerate().for_each(|(n, m)| self.mean[(n, d)] = *m);
            // v = k_xx + tᵀ(S − I) t
            let (t, t_c) = (&self.t, &mut self.t_c[d]);
            product(t_c, false, Left::plain(t, Part::Full), (&projection.excess[d], Part::Full), Part::Full);
            row_dots(t, t_c, &mut self.dots);
            for (n, excess) in self.dots.iter().enumerate() {
                let k_xx = layer.kernel.diag(x.row(n));
                let (v, floor) = (k_xx + excess, VARIANCE_FLOOR * k_xx);
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
    /// t̄ = Σ_d a_d μ_d + 2 b_d (S_d − I) t       k̄ = L⁻ᵀ t̄       LᵀL̄ = −Σ t̄ tᵀ
    /// g = a t       Σ P = Σ (a² − 2b) t tᵀ  or  S̄ = Σ b t tᵀ, whichever is wanted
    /// ```
    #[expect(clippy::too_many_arguments, reason = "the arguments of `forward`, its adjoint, and what receives it")]
    pub fn backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        x: &Mat,
        bar: (&Mat, &Mat),
        wanted: Wanted,
        sums: &mut LayerSums,
    ) {
        let (mean_bar, var_bar) = bar;
        let (n_rows, d_out) = (x.rows(), layer.dim_out);
        let (t, full) = (&self.t, Part::Full);
        // Σ g = Σ a t
        product(&mut sums.a, true, Left::transposed(mean_bar, full), (t, full), full);
        // t̄ = Σ_d a_d μ_d + 2 b_d (S_d − I) t
        let floored = &self.floored;
        let passed = |n: usize, d: usize| if floored[n * d_out + d] { 0.0 } else { var_bar[(n, d)] };
        mix_rows(mean_bar, &projection.mean, &self.t_c, |n, d| 2.0 * passed(n, d), &mut self.t_bar);
        // Nothing needs tᵀ(S − I) any more, and its memory is in the cache.
        let room = &mut self.t_c[0];
        let Second::Known { outer, wanted: found, cross } = &mut sums.second else {
            unreachable!("the sums of the first layer are those of known inputs");
        };
        *found = wanted;
        let add = !sums.fresh;
        sums.fresh = false;
        for d in 0..d_out {
            for n in 0..n_rows {
                sums.noise_var += var_bar[(n, d)];
                sums.floored += usize::from(floored[n * d_out + d]);
            }
            match wanted {
                Wanted::Sites => {
                    room.set_scaled_rows(t, |n| mean_bar[(n, d)] * mean_bar[(n, d)] - 2.0 * passed(n, d));
                }
                Wanted::Gradient => room.set_scaled_rows(t, |n| passed(n, d)),
            }
            product(&mut outer[d], add, Left::transposed(room, full), (t, full), Part::Lower);
        }
        product(cross, add, Left::transposed(&self.t_bar, full), (t, full), Part::Lower);
        product(room, false, Left::plain(&self.t_bar, full), (inducing.chol.l_inv(), Part::Lower), full);
        layer.kernel.cross_prepared_adjoint(&inducing.tables, x, &self.k, room, &mut sums.psi);
        for n in 0..n_rows {
            let diag_bar = (0..d_out).map(|d| passed(n, d)).sum();
            layer.kernel.diag_adjoint(x.row(n), diag_bar, None, &mut sums.psi.grad.params);
        }
    }
}
