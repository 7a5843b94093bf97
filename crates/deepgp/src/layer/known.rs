//! Propagation of known inputs through a layer, a block of points at a time, and its adjoint.
//!
//! ```text
//! t = L⁻¹ k_zx          m = tᵀμ + Wᵀx          v = k_xx + tᵀ(S − I) t + σ²
//! ```
//! on the whitened scale of N(μ, S), where nothing is amplified however close to singular K_zz is.

use super::{Inducing, Layer, LayerSums, Projection, Second, VARIANCE_FLOOR, Wanted};
use crate::kernel::Law;
use crate::linalg::product::{Left, Part, product};
use crate::linalg::{Mat, mix_rows, row_dots, sum};

/// What the adjoint needs of a forward pass over a block of N points, and the output moments.
#[derive(Debug, Clone, Default)]
pub struct KnownTape {
    /// k_xz, N × M.
    k: Mat,
    /// tᵀ, N × M.
    t: Mat,
    /// tᵀ(S − I) per output, N × M; the adjoint leaves something else there.
    t_c: Vec<Mat>,
    /// Numbers per point: k_xx, and of one output tᵀμ and tᵀ(S − I) t.
    k_xx: Vec<f64>,
    dots: [Vec<f64>; 2],
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
        let Self { t, t_c, k_xx, dots, .. } = self;
        dots.iter_mut().chain([&mut *k_xx]).for_each(|numbers| numbers.resize(n_rows, 0.0));
        layer.kernel.diags(x, k_xx);
        for (d, t_c) in t_c.iter_mut().enumerate() {
            product(t_c, false, Left::plain(t, Part::Full), (&projection.excess[d], Part::Full), Part::Full);
            // m = tᵀμ,   v = k_xx + tᵀ(S − I) t
            let [means, excesses] = dots;
            row_dots(t, projection.mean.row(d), t_c, means, excesses);
            for (n, ((m, excess), k_xx)) in means.iter().zip(excesses).zip(&*k_xx).enumerate() {
                let (v, floor) = (k_xx + *excess, VARIANCE_FLOOR * k_xx);
                // Written so that NaN stays NaN.
                let below = v < floor;
                self.floored[n * d_out + d] = below;
                self.mean[(n, d)] = *m;
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
        let d_out = layer.dim_out;
        let (t, full) = (&self.t, Part::Full);
        // Σ g = Σ a t
        product(&mut sums.a, true, Left::transposed(mean_bar, full), (t, full), full);
        sums.noise_var += sum(var_bar.as_slice());
        sums.floored += self.floored.iter().filter(|held| **held).count();
        // t̄ = Σ_d a_d μ_d + 2 b_d (S_d − I) t, and in the place of tᵀ(S_d − I), which nothing needs any more, multiples of t.
        let (floored, t_c) = (&self.floored, &mut self.t_c);
        let passed = |n: usize, d: usize| if floored[n * d_out + d] { 0.0 } else { var_bar[(n, d)] };
        let weights = |n: usize, d: usize| {
            let (a, b) = (mean_bar[(n, d)], passed(n, d));
            (a, 2.0 * b, if wanted == Wanted::Sites { a * a - 2.0 * b } else { b })
        };
        mix_rows(&projection.mean, t, weights, t_c, &mut self.t_bar);
        let Second::Known { outer, wanted: found, cross } = &mut sums.second else {
            unreachable!("the sums of the first layer are those of known inputs");
        };
        *found = wanted;
        let add = !sums.fresh;
        sums.fresh = false;
        for (outer, scaled) in outer.iter_mut().zip(&*t_c) {
            product(outer, add, Left::transposed(scaled, full), (t, full), Part::Lower);
        }
        product(cross, add, Left::transposed(&self.t_bar, full), (t, full), Part::Lower);
        let room = &mut t_c[0];
        product(room, false, Left::plain(&self.t_bar, full), (inducing.chol.l_inv(), Part::Lower), full);
        layer.kernel.cross_prepared_adjoint(&inducing.tables, x, &self.k, room, &mut sums.psi);
        let k_xx_bar = &mut self.dots[0];
        k_xx_bar.iter_mut().enumerate().for_each(|(n, bar)| *bar = (0..d_out).map(|d| passed(n, d)).sum());
        layer.kernel.diags_adjoint(x, k_xx_bar, &mut sums.psi.grad.params);
    }
}
