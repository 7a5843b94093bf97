//! Propagation of one Gaussian input through a layer (probabilistic backpropagation), and its adjoint.
//!
//! ```text
//! f-part        m_f = ψ₁ A                v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
//! linear mean   m = m_f + Wᵀm'            v = v_f + Σ_q W_q² v'_q + 2 Σ_q W_q cov(h_q, f) + σ²,   cov(h_q, f) = ξ_q A
//! ```
//! by the laws of total expectation and variance; N(m', diag v') is the input, independent in its dimensions.

use super::{Inducing, Layer, LayerSums, Projection, VARIANCE_FLOOR};
use crate::kernel::{InputBar, Law, Psi};
use crate::linalg::{Mat, Op, dot, mul_add, tri};

/// What the adjoint needs of the forward pass of one point, the output moments, and ∂F/∂(output moments).
#[derive(Debug, Clone)]
pub struct RandomTape {
    psi: Psi,
    psi_bar: Psi,
    /// m_f per output.
    gp_mean: Vec<f64>,
    floored: Vec<bool>,
    /// Ψ₂ A of one output.
    psi2_a: Vec<f64>,
    /// g̃ of this and earlier points of the block, one matrix (points × M) per output.
    g: Vec<Mat>,
    /// Output means, D_out.
    pub mean: Vec<f64>,
    /// Output variances with noise, D_out.
    pub var: Vec<f64>,
    /// ∂F/∂(output means), to be set before [`RandomTape::backward`].
    pub mean_bar: Vec<f64>,
    /// ∂F/∂(output variances), to be set before [`RandomTape::backward`].
    pub var_bar: Vec<f64>,
}

impl RandomTape {
    /// A tape for points of this layer.
    pub fn new(layer: &Layer) -> Self {
        let (m, d_in, d_out) = (layer.n_inducing(), layer.dim_in(), layer.dim_out);
        let want_xi = layer.mean.weights().is_some();
        Self {
            psi: Psi::zeros(m, d_in, want_xi),
            psi_bar: Psi::zeros(m, d_in, want_xi),
            gp_mean: vec![0.0; d_out],
            floored: vec![false; d_out],
            psi2_a: vec![0.0; m],
            g: vec![Mat::default(); d_out],
            mean: vec![0.0; d_out],
            var: vec![0.0; d_out],
            mean_bar: vec![0.0; d_out],
            var_bar: vec![0.0; d_out],
        }
    }

    /// Output moments for one input N(mean, diag var). Cost: O(M² (D_in + D_out)), M²/2 of it exponentials.
    pub fn forward(&mut self, layer: &Layer, inducing: &Inducing, projection: &Projection, input: (&[f64], &[f64])) {
        let (mean, var) = input;
        layer.kernel.psi(&inducing.tables, mean, var, &mut self.psi);
        for d in 0..layer.dim_out {
            let a = projection.a.row(d);
            // m_f = ψ₁ A,   v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
            let m_f = dot(&self.psi.psi1, a);
            let mut v = self.psi.psi0 + dot(&projection.b[d], &self.psi.psi2) - m_f * m_f;
            let mut m = m_f;
            if let Some(w) = layer.mean.weights() {
                for q in 0..layer.dim_in() {
                    let w_q = w[(q, d)];
                    if w_q != 0.0 {
                        m += w_q * mean[q];
                        v += w_q * (w_q * var[q] + 2.0 * dot(self.psi.xi.row(q), a));
                    }
                }
            }
            let floor = VARIANCE_FLOOR * self.psi.psi0;
            // Written so that NaN stays NaN.
            self.floored[d] = v < floor;
            self.gp_mean[d] = m_f;
            self.mean[d] = m;
            self.var[d] = if self.floored[d] { floor } else { v } + layer.noise_var;
        }
    }

    /// Adjoint at the last forward pass: adds this point's share to `sums` and sets ∂F/∂(input moments).
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
        input: (&[f64], &[f64]),
        input_bar: InputBar<'_>,
        sums: &mut LayerSums,
    ) {
        let (mean, var) = input;
        let weights = layer.mean.weights();
        let Psi { psi0, psi1, psi2, xi, .. } = &mut self.psi_bar;
        *psi0 = 0.0;
        psi1.fill(0.0);
        psi2.fill(0.0);
        xi.fill_zero();
        input_bar.mean.fill(0.0);
        input_bar.var.fill(0.0);
        for d in 0..layer.dim_out {
            let a_row = projection.a.row(d);
            sums.noise_var += self.var_bar[d];
            sums.floored += usize::from(self.floored[d]);
            let b = if self.floored[d] { 0.0 } else { self.var_bar[d] };
            let pull = self.mean_bar[d] - 2.0 * b * self.gp_mean[d];
            *psi0 += b;
            axpy(pull, a_row, psi1);
            axpy(b, &projection.b[d], psi2);
            axpy(b, &self.psi.psi2, &mut sums.c[d]);

            tri::packed_mul(&self.psi.psi2, a_row, &mut self.psi2_a);
            let g = self.g[d].push_row(a_row.len());
            for ((g, psi1), psi2_a) in g.iter_mut().zip(&self.psi.psi1).zip(&self.psi2_a) {
                *g = pull * psi1 + 2.0 * b * psi2_a;
            }
            if let Some(w) = weights {
                for q in 0..layer.dim_in() {
                    let w_q = w[(q, d)];
                    if w_q != 0.0 {
                        axpy(2.0 * b * w_q, self.psi.xi.row(q), g);
                        axpy(2.0 * b * w_q, a_row, xi.row_mut(q));
                        input_bar.mean[q] += w_q * self.mean_bar[d];
                        input_bar.var[q] += w_q * w_q * b;
                    }
                }
            }
            axpy(1.0, g, sums.a.row_mut(d));
        }
        layer.kernel.psi_adjoint(&inducing.tables, mean, var, &mut self.psi, &self.psi_bar, input_bar, &mut sums.psi);
    }

    /// Adds Σ g̃ g̃ᵀ of the block's points and forgets them.
    pub fn end_block(&mut self, sums: &mut LayerSums) {
        for (g, outer) in self.g.iter_mut().zip(&mut sums.outer).filter(|(g, _)| g.rows() > 0) {
            mul_add(outer, 1.0, g, Op::T, g, Op::Id);
            g.reset(0, 0);
        }
    }
}

/// `y += s · x`.
fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += s * x;
    }
}
