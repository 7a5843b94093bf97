//! Propagation of a few Gaussian inputs through a layer (probabilistic backpropagation), and its adjoint.
//!
//! ```text
//! f-part        m_f = ψ₁ A                v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
//! linear mean   m = m_f + Wᵀm'            v = v_f + Σ_q W_q² v'_q + 2 Σ_q W_q cov(h_q, f) + σ²,   cov(h_q, f) = ξ_q A
//! ```
//! by the laws of total expectation and variance; N(m', diag v') is the input, independent in its dimensions.

use super::{Inducing, Layer, LayerSums, Projection, VARIANCE_FLOOR};
use crate::kernel::eq_sweep::{EqSweep, GROUP};
use crate::kernel::{InputBar, Kernel, Law, Psi};
use crate::linalg::tile::{Left, Part, product};
use crate::linalg::{Mat, axpy, dot, tri};

/// What the adjoint needs of the forward pass of a group of points, the output moments, and ∂F/∂(output moments).
#[derive(Debug, Clone)]
pub struct RandomTape {
    /// Number of points in the group.
    n: usize,
    /// ψ₀, ψ₁, ξ per point; Ψ₂ too where the kernel has no sweep.
    psi: Vec<Psi>,
    psi_bar: Psi,
    /// Ψ₂ of exponentiated quadratic kernels.
    sweep: EqSweep,
    /// ⟨B, Ψ₂⟩ per point and output, and its coefficient in the adjoint.
    quadratic: Mat,
    /// m_f per point and output.
    gp_mean: Mat,
    floored: Vec<bool>,
    /// Ψ₂ A of one point and output.
    psi2_a: Vec<f64>,
    /// g̃ of the block's points so far, one matrix (points × M) per output.
    g: Vec<Mat>,
    /// Output means, points × D_out.
    pub mean: Mat,
    /// Output variances with noise, points × D_out.
    pub var: Mat,
    /// ∂F/∂(output means), to be set before [`RandomTape::backward`].
    pub mean_bar: Mat,
    /// ∂F/∂(output variances), to be set before [`RandomTape::backward`].
    pub var_bar: Mat,
}

impl RandomTape {
    /// Most points in a group.
    pub const GROUP: usize = GROUP;

    /// A tape for points of this layer.
    pub fn new(layer: &Layer) -> Self {
        let (m, d_in, d_out) = (layer.n_inducing(), layer.dim_in(), layer.dim_out);
        let want_xi = layer.mean.weights().is_some();
        let outputs = || Mat::zeros(GROUP, d_out);
        Self {
            n: 0,
            psi: vec![Psi::zeros(m, d_in, want_xi); GROUP],
            psi_bar: Psi::zeros(m, d_in, want_xi),
            sweep: EqSweep::default(),
            quadratic: outputs(),
            gp_mean: outputs(),
            floored: vec![false; GROUP * d_out],
            psi2_a: vec![0.0; m],
            g: vec![Mat::default(); d_out],
            mean: outputs(),
            var: outputs(),
            mean_bar: outputs(),
            var_bar: outputs(),
        }
    }

    /// Output moments for the first `n` ≤ [`RandomTape::GROUP`] rows of the input moments.
    ///
    /// Cost: O(M² (D_in + D_out)) a point, M²/2 of it exponentials.
    pub fn forward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        input: (&Mat, &Mat),
        n: usize,
    ) {
        let (mean, var) = input;
        self.n = n;
        match &layer.kernel {
            Kernel::Eq(law) => {
                self.sweep.resize(layer.n_inducing(), layer.dim_in(), layer.dim_out);
                self.sweep.forward(law, &inducing.tables, &projection.b, (mean, var, n), &mut self.quadratic);
                for (g, psi) in self.psi[..n].iter_mut().enumerate() {
                    law.psi1(&inducing.tables, mean.row(g), var.row(g), psi);
                }
            }
            kernel => {
                for (g, psi) in self.psi[..n].iter_mut().enumerate() {
                    kernel.psi(&inducing.tables, mean.row(g), var.row(g), psi);
                    for (d, b) in projection.b.iter().enumerate() {
                        self.quadratic[(g, d)] = dot(&b[..psi.psi2.len()], &psi.psi2);
                    }
                }
            }
        }
        for g in 0..n {
            self.moments(layer, projection, (mean.row(g), var.row(g)), g);
        }
    }

    /// The output moments of point `g` from its expectations.
    fn moments(&mut self, layer: &Layer, projection: &Projection, input: (&[f64], &[f64]), g: usize) {
        let (psi, (mean, var)) = (&self.psi[g], input);
        for d in 0..layer.dim_out {
            let a = projection.a.row(d);
            // m_f = ψ₁ A,   v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
            let m_f = dot(&psi.psi1, a);
            let mut v = psi.psi0 + self.quadratic[(g, d)] - m_f * m_f;
            let mut m = m_f;
            if let Some(w) = layer.mean.weights() {
                for q in 0..layer.dim_in() {
                    let w_q = w[(q, d)];
                    if w_q != 0.0 {
                        m += w_q * mean[q];
                        v += w_q * (w_q * var[q] + 2.0 * dot(psi.xi.row(q), a));
                    }
                }
            }
            let floor = VARIANCE_FLOOR * psi.psi0;
            // Written so that NaN stays NaN.
            let below = v < floor;
            self.floored[g * layer.dim_out + d] = below;
            self.gp_mean[(g, d)] = m_f;
            self.mean[(g, d)] = m;
            self.var[(g, d)] = if below { floor } else { v } + layer.noise_var;
        }
    }

    /// Adjoint at the last forward pass: adds the group's share to `sums` and sets ∂F/∂(input moments).
    ///
    /// ```text
    /// ψ̄₁ = Σ_d (a − 2 b m_f) A      Ψ̄₂ = Σ_d b B      ξ̄_q = Σ_d 2 b W_q A
    /// g̃ = (a − 2 b m_f) ψ₁ + 2 b Ψ₂A + 2 b Σ_q W_q ξ_q          C̄ = b Ψ₂
    /// ```
    /// Σ g̃ g̃ᵀ is taken once a block, by [`RandomTape::end_block`].
    pub fn backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        input: (&Mat, &Mat),
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut LayerSums,
    ) {
        let (mean_in, var_in) = input;
        let (mean_in_bar, var_in_bar) = input_bar;
        let (n, d_out) = (self.n, layer.dim_out);
        for g in 0..n {
            mean_in_bar.row_mut(g).fill(0.0);
            var_in_bar.row_mut(g).fill(0.0);
            for d in 0..d_out {
                let (held, b) = (self.floored[g * d_out + d], self.var_bar[(g, d)]);
                sums.noise_var += b;
                sums.floored += usize::from(held);
                self.quadratic[(g, d)] = if held { 0.0 } else { b };
            }
        }
        if let Kernel::Eq(law) = &layer.kernel {
            let weights = (&projection.a, &projection.b[..]);
            let bars = (&mut *mean_in_bar, &mut *var_in_bar);
            self.sweep.backward(law, weights, var_in, n, &self.quadratic, &mut sums.c, bars, &mut sums.psi);
        }
        for g in 0..n {
            let (mean, var) = (mean_in.row(g), var_in.row(g));
            let input_bar = InputBar { mean: mean_in_bar.row_mut(g), var: var_in_bar.row_mut(g) };
            self.point_backward(layer, inducing, projection, (mean, var), input_bar, g, sums);
        }
    }

    /// All of the adjoint of point `g` that a sweep does not do.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `backward` for one point")]
    fn point_backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        (mean, var): (&[f64], &[f64]),
        input_bar: InputBar<'_>,
        g: usize,
        sums: &mut LayerSums,
    ) {
        let swept = matches!(layer.kernel, Kernel::Eq(_));
        let psi = &mut self.psi[g];
        let bar = &mut self.psi_bar;
        bar.psi0 = 0.0;
        bar.psi1.fill(0.0);
        bar.xi.fill_zero();
        if !swept {
            bar.psi2.fill(0.0);
        }
        for d in 0..layer.dim_out {
            let (a_row, a, b) = (projection.a.row(d), self.mean_bar[(g, d)], self.quadratic[(g, d)]);
            let pull = a - 2.0 * b * self.gp_mean[(g, d)];
            bar.psi0 += b;
            axpy(pull, a_row, &mut bar.psi1);
            let psi2_a = if swept {
                self.sweep.psi2_a(g, d)
            } else {
                axpy(b, &projection.b[d], &mut bar.psi2);
                axpy(b, &psi.psi2, &mut sums.c[d]);
                tri::packed_mul(&psi.psi2, a_row, &mut self.psi2_a);
                &self.psi2_a
            };
            let g_row = self.g[d].push_row(a_row.len());
            for ((g, psi1), psi2_a) in g_row.iter_mut().zip(&psi.psi1).zip(psi2_a) {
                *g = pull * psi1 + 2.0 * b * psi2_a;
            }
            if let Some(w) = layer.mean.weights() {
                for q in 0..layer.dim_in() {
                    let w_q = w[(q, d)];
                    if w_q != 0.0 {
                        axpy(2.0 * b * w_q, psi.xi.row(q), g_row);
                        axpy(2.0 * b * w_q, a_row, bar.xi.row_mut(q));
                        input_bar.mean[q] += w_q * a;
                        input_bar.var[q] += w_q * w_q * b;
                    }
                }
            }
            axpy(1.0, g_row, sums.a.row_mut(d));
        }
        match &layer.kernel {
            Kernel::Eq(law) => law.psi1_adjoint(&inducing.tables, mean, var, psi, bar, input_bar, &mut sums.psi),
            kernel => kernel.psi_adjoint(&inducing.tables, mean, var, psi, bar, input_bar, &mut sums.psi),
        }
    }

    /// Adds Σ g̃ g̃ᵀ of the block's points (upper triangle) and forgets them.
    pub fn end_block(&mut self, sums: &mut LayerSums) {
        for (g, outer) in self.g.iter_mut().zip(&mut sums.outer).filter(|(g, _)| g.rows() > 0) {
            product(outer, true, Left::transposed(g, Part::Full), (g, Part::Full), Part::Upper);
            g.reset(0, 0);
        }
    }
}
