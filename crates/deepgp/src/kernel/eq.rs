//! The exponentiated quadratic law with automatic relevance determination.
//!
//! ```text
//! k(x, x') = s² exp(−½ Σ_q (x_q − x'_q)²/ℓ_q²)
//! ψ₀   = s²
//! ψ₁ᵢ  = s² Π_q √(ℓ_q²/c_q) exp(−½ Σ_q d_iq²/c_q)                        c_q = ℓ_q² + v_q,  d_iq = z_iq − m_q
//! Ψ₂ᵢⱼ = s⁴ Π_q √(ℓ_q²/e_q) exp(−¼ Σ_q (z_iq − z_jq)²/ℓ_q² − ¼ Σ_q (d_iq + d_jq)²/e_q)     e_q = ℓ_q² + 2v_q
//! ξ_qi = ψ₁ᵢ d_iq v_q/c_q
//! ```

mod adjoint;
mod cross;
mod distances;
pub(super) mod fused;
mod moments;
mod pair_layout;
mod parameters;
pub(super) mod point_vectors;
mod psi1;
mod psi2;
mod psi2_by_products;
mod scratch;
mod sums;
mod symmetric_products;
mod tables;
mod to_matrices;

pub use parameters::Eq;

use super::law::Law;
use super::padded::row_len;
use super::psi::{GaussianInput, InputBar, KernelGrad, Psi, PsiGrad};
use super::radial;
use crate::error::Result;
use crate::param::Parameters;
use cross::cross;
use deepgp_numerics::linalg::product::{Left, Part, product};
use deepgp_numerics::linalg::transpose::{mirror, weigh_symmetric};
use deepgp_numerics::linalg::{Mat, sum};
use deepgp_numerics::simd::{exp_in_place, run};
use distances::Gram;
use moments::{PairMoment, add_squares, multiply_entries, relative_to};
use scratch::EqScratch;
use std::f64::consts::LN_2;
use sums::EqSums;
use tables::EqTables;

impl Law for Eq {
    type Tables = EqTables;
    type Sums = EqSums;
    type Scratch = EqScratch;

    fn dim_in(&self) -> usize {
        self.lengthscale.len()
    }

    fn check(&self) -> Result<()> {
        radial::check(&self.lengthscale, self.signal_var)
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        let mut tables = EqTables::default();
        self.prepare_exact(z, &mut tables);
        self.cross_from_tables(&tables, x, k, &mut EqScratch::default());
    }

    /// An exact input is a Gaussian one without variance, so this is ψ₁.
    fn cross_from_tables(&self, tables: &EqTables, x: &Mat, k: &mut Mat, scratch: &mut EqScratch) {
        k.reshape(x.rows(), tables.z.rows());
        cross(self, tables, x, k, &mut scratch.placed);
    }

    fn gram(&self, tables: &EqTables, k: &mut Mat) {
        self.half_gram(tables, k);
        mirror(k, Part::Upper);
    }

    /// From the pair table T = −¼ r² + 2 log s²: k = exp(2T − 3 log s²). The table holds T/ln 2.
    fn half_gram(&self, tables: &EqTables, k: &mut Mat) {
        let m = tables.z.rows();
        k.reshape(m, m);
        let job = Gram { m, pairs: &tables.pairs, constant: 3.0 * self.signal_var.log2(), out: k.as_mut_slice() };
        // SAFETY: there are M × M numbers, and rows of the table are padded.
        unsafe { run(job) };
    }

    /// With W = K̄∘K off the diagonal:   s̄² = Σ_ij W_ij/s² + tr K̄,   since on it distances are 0 and the kernel is
    /// s².
    fn gram_adjoint(
        &self,
        tables: &EqTables,
        k: &Mat,
        k_bar: &mut Mat,
        grad: &mut KernelGrad,
        scratch: &mut EqScratch,
    ) {
        let dim = self.dim_in();
        grad.params[dim] += k_bar.trace();
        weigh_symmetric(k_bar, k);
        let (weights, relative) = (Left::plain(k_bar, Part::Full), (&tables.relative, Part::Full));
        product(&mut scratch.moment, false, weights, relative, Part::Full);
        grad.params[dim] += scratch.moment.sum_of_last() / self.signal_var;
        self.distance_adjoint(tables, grad, scratch);
    }

    /// Sums of W = k̄∘k for `exact_adjoint`, with u = W 1 and inputs relative to the first inducing input:
    ///
    /// ```text
    /// moment += Wᵀ [X, 1]       squares += Σ_n u_n x_n²
    /// ```
    fn cross_from_tables_adjoint(
        &self,
        tables: &EqTables,
        x: &Mat,
        k: &Mat,
        k_bar: &mut Mat,
        sums: &mut EqSums,
        scratch: &mut EqScratch,
    ) {
        let dim = self.dim_in();
        sums.expect_exact(tables.z.rows(), dim);
        let EqScratch { relative, row_sums, .. } = scratch;
        relative_to(tables.z.row(0), x, relative);
        multiply_entries(k_bar, k, row_sums);
        let weights = Left::transposed(k_bar, Part::Full);
        product(&mut sums.moment, true, weights, (relative, Part::Full), Part::Full);
        add_squares(relative, row_sums, &mut sums.squares);
    }

    fn cross_adjoint(
        &self,
        x: &Mat,
        z: &Mat,
        k: &Mat,
        k_bar: &Mat,
        mut x_bar: Option<&mut Mat>,
        grad: &mut KernelGrad,
    ) {
        let dim = self.dim_in();
        for n in 0..x.rows() {
            for i in 0..z.rows() {
                let weight = k_bar[(n, i)] * k[(n, i)];
                if weight == 0.0 {
                    continue;
                }
                for q in 0..dim {
                    let (l, diff) = (self.lengthscale[q], x[(n, q)] - z[(i, q)]);
                    // ∂k/∂z_q = k (x_q − z_q)/ℓ²,  ∂k/∂ℓ_q = k (x_q − z_q)²/ℓ³
                    let slope = weight * diff / (l * l);
                    grad.z[(i, q)] += slope;
                    grad.params[q] += slope * diff / l;
                    if let Some(x_bar) = x_bar.as_deref_mut() {
                        x_bar[(n, q)] -= slope;
                    }
                }
                grad.params[dim] += weight / self.signal_var;
            }
        }
    }

    fn diag(&self, _x: &[f64]) -> f64 {
        self.signal_var
    }

    fn diag_adjoint(&self, _x: &[f64], diag_bar: f64, _x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        params[self.dim_in()] += diag_bar;
    }

    /// The signal variance is that of all rows.
    fn diags_adjoint(&self, _x: &Mat, diags_bar: &[f64], params: &mut [f64]) {
        params[self.dim_in()] += sum(diags_bar);
    }

    fn zero_sums(&self, n_inducing: usize) -> EqSums {
        EqSums { grad: KernelGrad::zeros(n_inducing, self.dim_in(), self.n_params()), ..EqSums::default() }
    }

    fn prepare(&self, z: &Mat, tables: &mut EqTables) {
        tables.prepare(self, z, Part::Full);
    }

    fn prepare_exact(&self, z: &Mat, tables: &mut EqTables) {
        tables.prepare(self, z, Part::Upper);
    }

    fn psi(&self, tables: &EqTables, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut EqScratch) {
        let (z, m, dim) = (&tables.z, tables.z.rows(), self.dim_in());
        let (GaussianInput { mean, var }, numbers) = (input, &mut scratch.point);
        self.psi1(z, input, psi);

        // With w_q = d_q/√e_q: −¼ Σ (d_i + d_j)²/e = γ_i + γ_j − ½ Σ w_i w_j,  γ_i = −¼ Σ w_i².
        // Scratch: w as D rows of M, then γ.
        numbers.resize((dim + 1) * m, 0.0);
        let (w, gamma) = numbers.split_at_mut(dim * m);
        gamma.fill(0.0);
        let mut log_scale = 0.0;
        for q in 0..dim {
            let l2 = self.lengthscale[q] * self.lengthscale[q];
            let inv_sqrt_e = 1.0 / (l2 + 2.0 * var[q]).sqrt();
            log_scale -= 0.5 * (2.0 * var[q] / l2).ln_1p();
            for i in 0..m {
                let w_i = (z[(i, q)] - mean[q]) * inv_sqrt_e;
                w[q * m + i] = w_i;
                gamma[i] -= 0.25 * w_i * w_i;
            }
        }
        let mut p = 0;
        for i in 0..m {
            let row = &mut psi.psi2[p..p + m - i];
            let table = &tables.pairs[i * row_len(m) + i..][..m - i];
            let base = log_scale + gamma[i];
            for ((out, t), g_j) in row.iter_mut().zip(table).zip(&gamma[i..]) {
                *out = base + LN_2 * t + g_j;
            }
            for q in 0..dim {
                let half_w_i = 0.5 * w[q * m + i];
                for (out, w_j) in row.iter_mut().zip(&w[q * m + i..(q + 1) * m]) {
                    *out -= half_w_i * w_j;
                }
            }
            p += m - i;
        }
        exp_in_place(&mut psi.psi2);
    }

    fn psi_adjoint(
        &self,
        tables: &EqTables,
        input: GaussianInput<'_>,
        psi: &mut Psi,
        bar: &Psi,
        mut grad: PsiGrad<'_>,
        scratch: &mut EqScratch,
    ) {
        let (z, m, dim) = (&tables.z, tables.z.rows(), self.dim_in());
        self.psi1_adjoint(z, input, psi, bar, &mut grad);
        let (GaussianInput { mean, var }, numbers) = (input, &mut scratch.point);
        let PsiGrad { input: InputBar { mean: mean_bar, var: var_bar }, kernel: grad } = grad;

        // Ψ₂. F = ∂ℒ/∂log Ψ₂, spread over both triangles; r = F 1, u_q = r∘d_q + F d_q, t_q = r∘d_q − F d_q (see
        // `eq/fused/mod.rs`). Scratch: d as D rows of M, then r, then D rows of F d.
        numbers.resize((2 * dim + 1) * m, 0.0);
        let (d, rest) = numbers.split_at_mut(dim * m);
        let (r, f_d) = rest.split_at_mut(m);
        r.fill(0.0);
        f_d.fill(0.0);
        for q in 0..dim {
            for i in 0..m {
                d[q * m + i] = z[(i, q)] - mean[q];
            }
        }
        let mut p = 0;
        for i in 0..m {
            let len = m - i;
            // psi2 is not needed any more: it holds F from here on.
            let row = &mut psi.psi2[p..p + len];
            for (f, b) in row.iter_mut().zip(&bar.psi2[p..p + len]) {
                *f *= 0.5 * b;
            }
            row[0] *= 2.0;
            let mut total = row[0];
            for (f, r_j) in row[1..].iter().zip(&mut r[i + 1..]) {
                total += f;
                *r_j += f;
            }
            r[i] += total;
            for q in 0..dim {
                let (d_q, fd_q) = (&d[q * m..(q + 1) * m], &mut f_d[q * m..(q + 1) * m]);
                let (d_i, mut dot) = (d_q[i], row[0] * d_q[i]);
                for ((f, d_j), out) in row[1..].iter().zip(&d_q[i + 1..]).zip(&mut fd_q[i + 1..]) {
                    dot += f * d_j;
                    *out += f * d_i;
                }
                fd_q[i] += dot;
            }
            p += len;
        }
        let total: f64 = r.iter().sum();
        for q in 0..dim {
            let l = self.lengthscale[q];
            let e = l * l + 2.0 * var[q];
            // Σ u = ∂/∂m · e,   ½ Σ d u = Σ F ¼(d_i + d_j)²,   ½ Σ d t = Σ F ¼(d_i − d_j)²
            let (mut sum_u, mut sum_du, mut sum_dt) = (0.0, 0.0, 0.0);
            for i in 0..m {
                let d_i = d[q * m + i];
                let (u, t) = (r[i] * d_i + f_d[q * m + i], r[i] * d_i - f_d[q * m + i]);
                sum_u += u;
                sum_du += d_i * u;
                sum_dt += d_i * t;
                grad.z[(i, q)] -= u / e + t / (l * l);
            }
            let spread = 0.5 * sum_du / (e * e);
            mean_bar[q] += sum_u / e;
            var_bar[q] += 2.0 * spread - total / e;
            grad.params[q] += 2.0 * l * spread + total * 2.0 * var[q] / (l * e) + sum_dt / (l * l * l);
        }
        grad.params[dim] += 2.0 * total / self.signal_var;
    }

    fn finish(&self, tables: &EqTables, sums: &EqSums, grad: &mut KernelGrad, scratch: &mut EqScratch) {
        grad.add(&sums.grad);
        if sums.moment.rows() > 0 {
            self.exact_adjoint(tables, sums, grad, scratch);
        }
        let dim = self.dim_in();
        for (q, half_z) in sums.half_z.chunks_exact(row_len(grad.z.rows())).enumerate() {
            let rows = grad.z.as_mut_slice().chunks_exact_mut(dim);
            rows.zip(half_z).for_each(|(row, half)| row[q] -= 2.0 * half);
        }
    }
}

impl Eq {
    /// ψ₀, ψ₁ and, where it is wanted, ξ.
    fn psi1(&self, z: &Mat, input: GaussianInput<'_>, psi: &mut Psi) {
        let GaussianInput { mean, var } = input;
        psi.psi0 = self.signal_var;
        // ψ₁ᵢ = exp(log s² + ½ Σ log(ℓ²/c) − ½ Σ d²/c)
        let mut log_scale = self.signal_var.ln();
        for (v, l) in var.iter().zip(&self.lengthscale) {
            log_scale -= 0.5 * (v / (l * l)).ln_1p();
        }
        psi.psi1.fill(log_scale);
        for q in 0..self.dim_in() {
            let half_inv_c = 0.5 / (self.lengthscale[q] * self.lengthscale[q] + var[q]);
            for (i, exponent) in psi.psi1.iter_mut().enumerate() {
                let d = z[(i, q)] - mean[q];
                *exponent -= d * d * half_inv_c;
            }
        }
        exp_in_place(&mut psi.psi1);
        if psi.wants_xi() {
            for q in 0..self.dim_in() {
                let ratio = var[q] / (self.lengthscale[q] * self.lengthscale[q] + var[q]);
                for (i, (xi, psi1)) in psi.xi.row_mut(q).iter_mut().zip(&psi.psi1).enumerate() {
                    *xi = psi1 * (z[(i, q)] - mean[q]) * ratio;
                }
            }
        }
    }

    /// Adjoint of [`Eq::psi1`]. With ω = ∂ℒ/∂log ψ₁ (through ψ₁ and through ξ = ψ₁ d v/c) and δ = ξ̄ ψ₁:
    ///
    /// ```text
    /// m̄ = Σ ω d/c − δ v/c       v̄ = ½ (Σ ω d²/c² − Σ ω/c) + Σ δ d ℓ²/c²       z̄ = −ω d/c + δ v/c
    /// ℓ̄ = Σ ω (ℓ d²/c² + v/(ℓ c)) − 2 δ d v ℓ/c²                              s̄² = Σ ω/s²
    /// ```
    fn psi1_adjoint(&self, z: &Mat, at: GaussianInput<'_>, psi: &Psi, bar: &Psi, grad: &mut PsiGrad<'_>) {
        let (GaussianInput { mean, var }, PsiGrad { input, kernel: grad }) = (at, grad);
        let (m, dim, wants_xi) = (z.rows(), self.dim_in(), psi.wants_xi());
        for i in 0..m {
            let mut omega = psi.psi1[i] * bar.psi1[i];
            if wants_xi {
                omega += (0..dim).map(|q| psi.xi[(q, i)] * bar.xi[(q, i)]).sum::<f64>();
            }
            grad.params[dim] += omega / self.signal_var;
            for q in 0..dim {
                let (l, v, d) = (self.lengthscale[q], var[q], z[(i, q)] - mean[q]);
                let c = l * l + v;
                let delta = if wants_xi { bar.xi[(q, i)] * psi.psi1[i] } else { 0.0 };
                input.mean[q] += (omega * d - delta * v) / c;
                input.var[q] += 0.5 * omega * (d * d / c - 1.0) / c + delta * d * l * l / (c * c);
                grad.z[(i, q)] -= (omega * d - delta * v) / c;
                grad.params[q] += omega * (l * d * d / c + v / l) / c - 2.0 * delta * d * v * l / (c * c);
            }
        }
        grad.params[dim] += bar.psi0;
    }

    /// Adjoint of Σ_ij w_ij (−½ r²_ij) for a symmetric W, whose moment W [Z, 1], with Z relative to the first inducing
    /// input, is in the scratch.
    ///
    /// ```text
    /// z̄_i = 2 ((W Z)_i − w_i z_i)/ℓ²      ℓ̄ = 2 (Σ_i w_i z_i² − Σ_i z_i (W Z)_i)/ℓ³       w = W 1
    /// ```
    fn distance_adjoint(&self, tables: &EqTables, grad: &mut KernelGrad, scratch: &mut EqScratch) {
        let EqScratch { moment, numbers, inverse, .. } = scratch;
        inverses(&self.lengthscale, inverse);
        numbers.clear();
        numbers.resize(self.dim_in(), 0.0);
        PairMoment { relative: &tables.relative, moment, inverse, scale: 2.0, share: 1.0 }.add_to(&mut grad.z, numbers);
        let terms = numbers.iter().zip(&*inverse);
        grad.params.iter_mut().zip(terms).for_each(|(l_bar, (sum, inv_l))| *l_bar += 2.0 * sum * inv_l * inv_l * inv_l);
    }

    /// The sums of [`Law::cross_from_tables_adjoint`] as gradients, with w = Wᵀ 1:
    ///
    /// ```text
    /// z̄_i = ((WᵀX)_i − w_i z_i)/ℓ²   ℓ̄ = (Σ_n u_n x_n² − 2 Σ_i z_i (WᵀX)_i + Σ_i w_i z_i²)/ℓ³      s̄² = Σ_i w_i/s²
    /// ```
    fn exact_adjoint(&self, tables: &EqTables, sums: &EqSums, grad: &mut KernelGrad, scratch: &mut EqScratch) {
        let (moment, EqScratch { numbers, inverse, .. }) = (&sums.moment, scratch);
        inverses(&self.lengthscale, inverse);
        numbers.clone_from(&sums.squares);
        PairMoment { relative: &tables.relative, moment, inverse, scale: 1.0, share: 2.0 }.add_to(&mut grad.z, numbers);
        let terms = numbers.iter().zip(&*inverse);
        grad.params.iter_mut().zip(terms).for_each(|(l_bar, (sum, inv_l))| *l_bar += sum * inv_l * inv_l * inv_l);
        grad.params[self.dim_in()] += moment.sum_of_last() / self.signal_var;
    }
}

/// 1/ℓ, in the given memory.
fn inverses(lengthscale: &[f64], out: &mut Vec<f64>) {
    out.clear();
    out.extend(lengthscale.iter().map(|l| 1.0 / l));
}
