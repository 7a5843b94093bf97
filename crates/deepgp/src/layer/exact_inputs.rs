//! Propagation of exact inputs through a layer, a block of points at a time, and its adjoint.
//!
//! ```text
//! t = L⁻¹ k_zx          m = tᵀμ + Wᵀx          v = k_xx + tᵀ(S − I) t + σ²
//! ```
//! on the whitened scale of N(μ, S), where nothing is amplified however close to singular K_zz is.

use super::{ExactSums, Inducing, Layer, LayerSums, Projection, VARIANCE_FLOOR, Wanted};
use crate::gauss::{DiagGaussian, FullGaussian};
use crate::kernel::{KernelScratch, Law, PointSums};
use deepgp_numerics::linalg::product::{Left, Part, negative_product, product};
use deepgp_numerics::linalg::transpose::transpose_into;
use deepgp_numerics::linalg::{Mat, axpy, column_dots, mix_columns, sum};
use deepgp_numerics::simd::PAD;

/// ∂ℒ/∂(outputs of a block of points), and what each point counts for.
#[derive(Debug, Clone, Copy)]
pub struct PointBars<'a> {
    /// N × D_out, times the points' weights.
    pub bar: &'a DiagGaussian,
    /// A positive number for each point, or none.
    pub weights: &'a [f64],
}

/// What the adjoint needs of a forward pass over a block of N points, and the output moments.
#[derive(Debug, Clone, Default)]
pub struct ExactTape {
    /// k_xz, N × M.
    k: Mat,
    /// tᵀ of every point, N × M, and t of every point, M × N', as all that is M × N': with as many columns of zeros as
    /// fill up a vector, so that rows begin at cache lines.
    t_rows: Mat,
    t: Mat,
    /// (S − I) t + share · t per output, M × N'; the adjoint leaves something else there.
    s_t: Vec<Mat>,
    share: f64,
    /// k_xx of every point, tᵀμ of every output and point (D_out × N'), and tᵀ(S − I) t of one output (N').
    k_xx: Vec<f64>,
    t_mu: Mat,
    excess: Vec<f64>,
    /// The outputs with noise, N × D_out.
    pub out: DiagGaussian,
    /// Which variances were held at the floor.
    floored: Vec<bool>,
    /// Weights of the adjoint's sums: see [`mix_columns`], and those of t in Σ g and then in Σ P μ, a row of N per
    /// output.
    weights: Mat,
    of_t: Mat,
    /// t̄, M × N'.
    t_bar: Mat,
    kernel_scratch: KernelScratch,
}

impl ExactTape {
    /// Output moments for the rows of `x` (N × D_in). Cost: O(N M (D_in + M D_out)).
    ///
    /// # Panics
    /// If the projection is not that of as many outputs.
    pub fn forward(&mut self, layer: &Layer, inducing: &Inducing, projection: &Projection, x: &Mat) {
        assert_eq!(projection.excess.len(), layer.dim_out, "S − I of every output");
        self.whiten_kernel_rows(layer, inducing, x);
        self.share = 0.0;
        for (s_t, excess) in self.s_t.iter_mut().zip(&projection.excess) {
            product(s_t, false, Left::plain(excess, Part::Full), (&self.t, Part::Full), Part::Full);
        }
        self.moments(layer, &projection.mean, x);
    }

    /// [`ExactTape::forward`] with Gaussians of which only the precision's factor is at hand. A point takes some more
    /// time, but S is never made: that is cheaper for a few M points or fewer.
    ///
    /// # Panics
    /// If there is not a Gaussian for every output.
    pub(crate) fn forward_solving(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        q: &[FullGaussian],
        x: &Mat,
    ) {
        assert_eq!(q.len(), layer.dim_out, "a Gaussian for every output");
        self.whiten_kernel_rows(layer, inducing, x);
        self.share = 1.0;
        for (s_t, q) in self.s_t.iter_mut().zip(q) {
            q.precision.factored().solve(&self.t, Part::Full, s_t);
        }
        self.moments(layer, &projection.mean, x);
    }

    /// k and t = L⁻¹k of the rows of `x`, and a matrix for each output.
    fn whiten_kernel_rows(&mut self, layer: &Layer, inducing: &Inducing, x: &Mat) {
        let (k, t) = (&mut self.k, &mut self.t_rows);
        layer.kernel.cross_from_tables(&inducing.tables, x, k, &mut self.kernel_scratch);
        product(t, false, Left::plain(k, Part::Full), (&inducing.l_inv_t, Part::Upper), Part::Full);
        // Points of zeros fill up the last vector, for the transpose only.
        let (n, m) = (t.rows(), t.cols());
        t.reshape(n.next_multiple_of(PAD), m);
        transpose_into(t, &mut self.t);
        t.reshape(n, m);
        self.s_t.resize_with(layer.dim_out, Mat::default);
    }

    /// m = tᵀμ + Wᵀx,   v = k_xx + tᵀ(S − I) t + σ².
    fn moments(&mut self, layer: &Layer, mean: &Mat, x: &Mat) {
        let (n_rows, d_out) = (x.rows(), layer.dim_out);
        self.out.reshape(n_rows, d_out);
        self.floored.clear();
        self.floored.resize(n_rows * d_out, false);
        let Self { t, s_t, k_xx, t_mu, excess, .. } = self;
        k_xx.resize(n_rows, 0.0);
        excess.resize(t.cols(), 0.0);
        t_mu.reshape(d_out, t.cols());
        layer.kernel.diags(x, k_xx);
        for (d, s_t) in s_t.iter().enumerate() {
            let means = t_mu.row_mut(d);
            column_dots(t, mean.row(d), (s_t, self.share), means, excess);
            let out = self
                .out
                .mean
                .as_mut_slice()
                .chunks_exact_mut(d_out)
                .zip(self.out.var.as_mut_slice().chunks_exact_mut(d_out));
            let out = out.zip(self.floored.chunks_exact_mut(d_out));
            for (((m, excess), k_xx), ((mean, var), held)) in means.iter().zip(&*excess).zip(&*k_xx).zip(out) {
                let (v, floor) = (k_xx + *excess, VARIANCE_FLOOR * k_xx);
                // Written so that NaN stays NaN.
                let below = v < floor;
                (mean[d], held[d]) = (*m, below);
                var[d] = if below { floor } else { v } + layer.noise_var;
            }
        }
        if let Some(w) = layer.mean.weights() {
            product(&mut self.out.mean, true, Left::plain(x, Part::Full), (w, Part::Full), Part::Full);
        }
    }

    /// Adjoint: adds this block's share to `sums`, given ∂ℒ/∂(m, v) (N × D_out).
    ///
    /// ```text
    /// t̄ = Σ_d a_d μ_d + 2 b_d (S_d − I) t       k̄ = L⁻ᵀ t̄       LᵀL̄ = −Σ t̄ tᵀ
    /// g = a t       Σ P = Σ (a² − 2b) t tᵀ and Σ P μ  or  S̄ = Σ b t tᵀ, whichever is wanted
    /// ```
    /// Of a point with weight w, a and b are w times those of one of its copies, and P is w times (a²/w² − 2b/w) t tᵀ.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `forward`, its adjoint, and what receives it")]
    pub fn backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        x: &Mat,
        PointBars { bar, weights: of_points }: PointBars<'_>,
        wanted: Wanted,
        sums: &mut LayerSums,
    ) {
        let DiagGaussian { mean: mean_bar, var: var_bar } = bar;
        let (n_rows, n_cols, d_out) = (x.rows(), self.t.cols(), layer.dim_out);
        let (t_rows, full) = (&self.t_rows, Part::Full);
        sums.noise_var += sum(var_bar.as_slice());
        sums.floored += self.floored.iter().filter(|held| **held).count();
        // t̄ = Σ_d a_d μ_d + 2 b_d (S_d − I) t, and in the place of (S_d − I) t, which nothing needs any more,
        // multiples of t.
        let (s_t, weights) = (&mut self.s_t, &mut self.weights);
        weights.reset(3 * d_out, n_cols);
        self.of_t.reshape(2 * d_out, n_rows);
        for (d, of_output) in weights.as_mut_slice().chunks_exact_mut(3 * n_cols).enumerate() {
            let (of_mean, rest) = of_output.split_at_mut(n_cols);
            let (of_s_t, of_t) = rest.split_at_mut(n_cols);
            let bars = mean_bar.as_slice().chunks_exact(d_out).zip(var_bar.as_slice().chunks_exact(d_out));
            let out = of_mean.iter_mut().zip(&mut *of_s_t).zip(&mut *of_t);
            for (((a, b), held), ((of_mean, of_s_t), of_t)) in bars.zip(self.floored.chunks_exact(d_out)).zip(out) {
                let (a, b) = (a[d], if held[d] { 0.0 } else { b[d] });
                (*of_mean, *of_s_t) = (a, 2.0 * b);
                *of_t = if wanted == Wanted::Sites { a * a - 2.0 * b } else { b };
            }
            if wanted == Wanted::Sites {
                let weighted = of_t.iter_mut().zip(&*of_mean).zip(&*of_s_t).zip(of_points);
                weighted.for_each(|(((of_t, a), two_b), w)| *of_t = a * a / w - two_b);
            }
            // Σ g = Σ a t,   Σ P μ = Σ (a² − 2b) (tᵀμ) t
            self.of_t.row_mut(d).copy_from_slice(&of_mean[..n_rows]);
            let of_p_mu = self.of_t.row_mut(d_out + d).iter_mut().zip(&*of_t).zip(self.t_mu.row(d));
            of_p_mu.for_each(|((out, of_t), t_mu)| *out = of_t * t_mu);
        }
        product(&mut sums.sum_g, true, Left::plain(&self.of_t, full), (t_rows, full), full);
        mix_columns(&projection.mean, &self.t, weights, (s_t, self.share), &mut self.t_bar);
        let ExactSums { p_or_cov_bar, wanted: found, phi } = sums.second.exact_mut();
        *found = wanted;
        let add = !sums.fresh;
        sums.fresh = false;
        for (sum, scaled) in p_or_cov_bar.iter_mut().zip(&*s_t) {
            product(sum, add, Left::plain(scaled, full).first(n_rows), (t_rows, full), Part::Lower);
        }
        negative_product(phi, add, Left::plain(&self.t_bar, full).first(n_rows), (t_rows, full), Part::Lower);
        // k̄ takes the place of tᵀ.
        let k_bar = &mut self.t_rows;
        let t_bar = Left::transposed(&self.t_bar, full).first(n_rows);
        product(k_bar, false, t_bar, (inducing.chol.l_inv(), Part::Lower), full);
        let scratch = &mut self.kernel_scratch;
        layer.kernel.cross_from_tables_adjoint(&inducing.tables, x, &self.k, k_bar, &mut sums.psi, scratch);
        let k_xx_bar = &mut self.excess;
        k_xx_bar.fill(0.0);
        (0..d_out).for_each(|d| axpy(0.5, weights.row(3 * d + 1), k_xx_bar));
        layer.kernel.diags_adjoint(x, &k_xx_bar[..n_rows], &mut sums.psi.grad_mut().params);
    }
}
