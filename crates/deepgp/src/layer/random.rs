//! Propagation of a few Gaussian inputs through a layer (probabilistic backpropagation), and its adjoint.
//!
//! ```text
//! f-part        m_f = ψ₁ A                v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
//! linear mean   m = m_f + Wᵀm'            v = v_f + Σ_q W_q² v'_q + 2 Σ_q W_q cov(h_q, f) + σ²,   cov(h_q, f) = ξ_q A
//! ```
//! by the laws of total expectation and variance; N(m', diag v') is the input, independent in its dimensions.

use super::{Inducing, Layer, LayerSums, Projection, Second, VARIANCE_FLOOR};
use crate::kernel::group::{Group, GroupBar, group_size};
use crate::linalg::product::{Left, Part, product};
use crate::linalg::{Mat, axpy, dot};
use crate::pass::BLOCK;
use crate::simd::wide;

/// What the adjoint needs of the forward pass of a group of points, the output moments, and ∂F/∂(output moments).
#[derive(Debug, Clone)]
pub struct RandomTape {
    /// Number of points in the group.
    n: usize,
    /// ψ₀, ψ₁, ξ, Ψ₂ of the points.
    group: Group,
    group_bar: GroupBar,
    /// ⟨B, Ψ₂⟩ per point and output, and its coefficient in the adjoint.
    quadratic: Mat,
    /// m_f per point and output.
    gp_mean: Mat,
    floored: Vec<bool>,
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
    /// How many points are best taken together through these layers.
    pub fn group_size(layers: &[Layer]) -> usize {
        layers.iter().map(|l| group_size(l.n_inducing())).min().unwrap_or(BLOCK).min(BLOCK)
    }

    /// A tape for up to `capacity` points of this layer.
    pub fn new(layer: &Layer, capacity: usize) -> Self {
        let (m, d_in, d_out) = (layer.n_inducing(), layer.dim_in(), layer.dim_out);
        let want_xi = layer.mean.weights().is_some();
        let outputs = || Mat::zeros(capacity, d_out);
        Self {
            n: 0,
            group: Group::new(&layer.kernel, capacity, m, d_out, want_xi),
            group_bar: GroupBar::zeros(capacity, m, d_in, want_xi),
            quadratic: outputs(),
            gp_mean: outputs(),
            floored: vec![false; capacity * d_out],
            g: vec![Mat::default(); d_out],
            mean: outputs(),
            var: outputs(),
            mean_bar: outputs(),
            var_bar: outputs(),
        }
    }

    /// Output moments for the first `n` rows of the input moments, as many as there is room for or fewer.
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
        if !self.group.fits(&layer.kernel) {
            *self = Self::new(layer, self.mean.rows());
        }
        self.n = n;
        self.group.forward(&layer.kernel, &inducing.tables, &projection.b, (mean, var, n), &mut self.quadratic);
        for g in 0..n {
            self.moments(layer, projection, (mean.row(g), var.row(g)), g);
        }
    }

    /// The output moments of point `g` from its expectations.
    fn moments(&mut self, layer: &Layer, projection: &Projection, input: (&[f64], &[f64]), g: usize) {
        let ((mean, var), psi0) = (input, self.group.psi0(&layer.kernel, g));
        for d in 0..layer.dim_out {
            let a = projection.a.row(d);
            // m_f = ψ₁ A,   v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
            let m_f = dot(self.group.psi1(g), a);
            let mut v = psi0 + self.quadratic[(g, d)] - m_f * m_f;
            let mut m = m_f;
            if let Some(w) = layer.mean.weights() {
                for q in 0..layer.dim_in() {
                    let w_q = w[(q, d)];
                    if w_q != 0.0 {
                        m += w_q * mean[q];
                        v += w_q * (w_q * var[q] + 2.0 * dot(self.group.xi(g, q), a));
                    }
                }
            }
            let floor = VARIANCE_FLOOR * psi0;
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
    /// The sums are complete after [`RandomTape::end_block`].
    pub fn backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        input: (&Mat, &Mat),
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut LayerSums,
    ) {
        let (n, d_out) = (self.n, layer.dim_out);
        let Second::Random { c, .. } = &mut sums.second else {
            unreachable!("the sums of a layer above the first are those of random inputs");
        };
        self.group_bar.clear(n);
        for bar in [&mut *input_bar.0, &mut *input_bar.1] {
            let cols = bar.cols();
            bar.as_mut_slice()[..n * cols].fill(0.0);
        }
        for g in 0..n {
            for d in 0..d_out {
                let (held, b) = (self.floored[g * d_out + d], self.var_bar[(g, d)]);
                sums.noise_var += b;
                sums.floored += usize::from(held);
                let b = if held { 0.0 } else { b };
                self.quadratic[(g, d)] = b;
                self.group_bar.psi0[g] += b;
                axpy(self.pull(g, d), projection.a.row(d), self.group_bar.psi1(g));
            }
        }
        if let Some(w) = layer.mean.weights() {
            self.mean_backward(w, projection, (&mut *input_bar.0, &mut *input_bar.1));
        }
        self.group.backward(
            &layer.kernel,
            &inducing.tables,
            (&projection.a, &projection.b),
            (input.0, input.1, n),
            (&self.group_bar, &self.quadratic),
            c,
            input_bar,
            &mut sums.psi,
        );
        for g in 0..n {
            for d in 0..d_out {
                let (pull, twice_b) = (self.pull(g, d), 2.0 * self.quadratic[(g, d)]);
                let g_row = self.g[d].push_row(layer.n_inducing());
                let terms = g_row.iter_mut().zip(self.group.psi1(g).iter().zip(self.group.psi2_a(g, d)));
                wide(|| terms.for_each(|(g, (psi1, psi2_a))| *g = pull * psi1 + twice_b * psi2_a));
                if let Some(w) = layer.mean.weights() {
                    for q in 0..layer.dim_in() {
                        axpy(twice_b * w[(q, d)], self.group.xi(g, q), g_row);
                    }
                }
                axpy(1.0, g_row, sums.a.row_mut(d));
            }
        }
    }

    /// a − 2 b m_f of a point and output.
    fn pull(&self, g: usize, d: usize) -> f64 {
        self.mean_bar[(g, d)] - 2.0 * self.quadratic[(g, d)] * self.gp_mean[(g, d)]
    }

    /// The adjoint through a linear mean: ξ̄_q = Σ_d 2 b W_q A, and the mean's own share of ∂F/∂(input moments).
    fn mean_backward(&mut self, w: &Mat, projection: &Projection, input_bar: (&mut Mat, &mut Mat)) {
        for g in 0..self.n {
            for d in 0..w.cols() {
                let (a, b) = (self.mean_bar[(g, d)], self.quadratic[(g, d)]);
                for q in 0..w.rows() {
                    let w_q = w[(q, d)];
                    if w_q != 0.0 {
                        axpy(2.0 * b * w_q, projection.a.row(d), self.group_bar.xi_mut(g, q));
                        input_bar.0[(g, q)] += w_q * a;
                        input_bar.1[(g, q)] += w_q * w_q * b;
                    }
                }
            }
        }
    }

    /// Adds what is taken once for all points of a block, Σ g̃ g̃ᵀ (lower triangle) and the sums over pairs, and forgets them.
    pub fn end_block(&mut self, inducing: &Inducing, projection: &Projection, sums: &mut LayerSums) {
        let Second::Random { outer, c } = &mut sums.second else {
            unreachable!("the sums of a layer above the first are those of random inputs");
        };
        self.group.end_block(&inducing.tables, &projection.b, c, &mut sums.psi);
        let add = !sums.fresh;
        sums.fresh = false;
        for (g, outer) in self.g.iter_mut().zip(outer).filter(|(g, _)| g.rows() > 0) {
            product(outer, add, Left::transposed(g, Part::Full), (g, Part::Full), Part::Lower);
            g.reset(0, 0);
        }
    }
}
