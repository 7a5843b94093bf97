//! The exponentiated quadratic law with automatic relevance determination.
//!
//! ```text
//! k(x, x') = s² exp(−½ Σ_q (x_q − x'_q)²/ℓ_q²)
//! ψ₀   = s²
//! ψ₁ᵢ  = s² Π_q √(ℓ_q²/c_q) exp(−½ Σ_q d_iq²/c_q)                        c_q = ℓ_q² + v_q,  d_iq = z_iq − m_q
//! Ψ₂ᵢⱼ = s⁴ Π_q √(ℓ_q²/e_q) exp(−¼ Σ_q (z_iq − z_jq)²/ℓ_q² − ¼ Σ_q (d_iq + d_jq)²/e_q)     e_q = ℓ_q² + 2v_q
//! ξ_qi = ψ₁ᵢ d_iq v_q/c_q
//! ```

mod backward;
mod distances;
mod forward;
mod known;
mod levers;
pub(super) mod pack;
mod powers;
pub(super) mod sweep;
mod walk;

use super::{
    InputBar, KernelGrad, Law, Psi, PsiSums, PsiTables, Room, check_radial, row_len, visit_radial, visit_radial_mut,
};
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::product::{Left, Part, product};
use deepgp_numerics::linalg::transpose::{mirror, transpose_rows_into, weigh_symmetric};
use deepgp_numerics::linalg::{Mat, sum};
use deepgp_numerics::simd::{exp_in_place, run};
use distances::{Gram, PairDistances, add_squares, pull, see_from, weigh};
use known::known;
use serde::{Deserialize, Serialize};
use std::f64::consts::{LN_2, LOG2_E};

/// Exponentiated quadratic (Gaussian, RBF) covariance with one lengthscale per input dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Eq {
    /// ℓ_q, D numbers.
    pub lengthscale: Vec<f64>,
    /// s².
    pub signal_var: f64,
}

impl Eq {
    /// Equal lengthscales in all `dim_in` dimensions.
    pub fn isotropic(dim_in: usize, lengthscale: f64, signal_var: f64) -> Self {
        Self { lengthscale: vec![lengthscale; dim_in], signal_var }
    }
}

impl Parameters for Eq {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit_radial(&self.lengthscale, &self.signal_var, visit);
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit_radial_mut(&mut self.lengthscale, &mut self.signal_var, visit);
    }
}

impl Law for Eq {
    fn dim_in(&self) -> usize {
        self.lengthscale.len()
    }

    fn check(&self) -> Result<()> {
        check_radial(&self.lengthscale, self.signal_var)
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        let mut tables = PsiTables::default();
        self.prepare_known(z, &mut tables);
        self.cross_prepared(&tables, x, k);
    }

    /// A known input is a Gaussian one without variance, so this is ψ₁.
    fn cross_prepared(&self, tables: &PsiTables, x: &Mat, k: &mut Mat) {
        k.reshape(x.rows(), tables.z.rows());
        known(self, tables, x, k);
    }

    fn gram(&self, tables: &PsiTables, k: &mut Mat) {
        self.half_gram(tables, k);
        mirror(k, Part::Upper);
    }

    /// From the pair table T = −¼ r² + 2 log s²: k = exp(2T − 3 log s²). The table holds T/ln 2.
    fn half_gram(&self, tables: &PsiTables, k: &mut Mat) {
        let m = tables.z.rows();
        k.reshape(m, m);
        let job = Gram { m, pairs: &tables.pairs, constant: 3.0 * self.signal_var.log2(), out: k.as_mut_slice() };
        // SAFETY: there are M × M numbers, and rows of the table are padded.
        unsafe { run(job) };
    }

    /// With W = K̄∘K off the diagonal:   s̄² = Σ_ij W_ij/s² + tr K̄,   since on it distances are 0 and the kernel is s².
    fn gram_adjoint(&self, tables: &PsiTables, k: &Mat, k_bar: &mut Mat, grad: &mut KernelGrad) {
        let dim = self.dim_in();
        grad.params[dim] += k_bar.trace();
        weigh_symmetric(k_bar, k);
        let (weights, seen) = (Left::plain(k_bar, Part::Full), (&tables.seen, Part::Full));
        product(&mut grad.room.moment, false, weights, seen, Part::Full);
        grad.params[dim] += grad.room.moment.sum_of_last() / self.signal_var;
        self.distance_adjoint(tables, grad);
    }

    /// Sums of W = k̄∘k for `known_adjoint`, with u = W 1 and inputs as seen from the first inducing input:
    ///
    /// ```text
    /// moment += Wᵀ [X, 1]       squares += Σ_n u_n x_n²
    /// ```
    fn cross_prepared_adjoint(&self, tables: &PsiTables, x: &Mat, k: &Mat, k_bar: &mut Mat, sums: &mut PsiSums) {
        let dim = self.dim_in();
        sums.expect_known(tables.z.rows(), dim);
        let PsiSums { moment, squares, scratch: seen, row_sums, .. } = sums;
        see_from(tables.z.row(0), x, seen);
        weigh(k_bar, k, row_sums);
        product(moment, true, Left::transposed(k_bar, Part::Full), (seen, Part::Full), Part::Full);
        add_squares(seen, row_sums, squares);
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

    fn prepare(&self, z: &Mat, tables: &mut PsiTables) {
        self.tabulate(z, Part::Full, tables);
    }

    fn prepare_known(&self, z: &Mat, tables: &mut PsiTables) {
        self.tabulate(z, Part::Upper, tables);
    }

    fn psi(&self, tables: &PsiTables, mean: &[f64], var: &[f64], psi: &mut Psi) {
        let (z, m, dim) = (&tables.z, tables.z.rows(), self.dim_in());
        self.psi1(tables, mean, var, psi);

        // With w_q = d_q/√e_q: −¼ Σ (d_i + d_j)²/e = γ_i + γ_j − ½ Σ w_i w_j,  γ_i = −¼ Σ w_i².
        // Scratch: w as D rows of M, then γ.
        psi.scratch.resize((dim + 1) * m, 0.0);
        let (w, gamma) = psi.scratch.split_at_mut(dim * m);
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
        tables: &PsiTables,
        mean: &[f64],
        var: &[f64],
        psi: &mut Psi,
        bar: &Psi,
        input: InputBar<'_>,
        sums: &mut PsiSums,
    ) {
        let (z, m, dim) = (&tables.z, tables.z.rows(), self.dim_in());
        let InputBar { mean: mean_bar, var: var_bar } = input;
        self.psi1_adjoint(tables, mean, var, psi, bar, InputBar { mean: &mut *mean_bar, var: &mut *var_bar }, sums);
        let grad = &mut sums.grad;

        // Ψ₂. F = ∂F/∂log Ψ₂ spread over both triangles; r = F 1, u_q = r∘d_q + F d_q, t_q = r∘d_q − F d_q (see `eq/sweep.rs`).
        // Scratch: d as D rows of M, then r, then D rows of F d.
        psi.scratch.resize((2 * dim + 1) * m, 0.0);
        let (d, rest) = psi.scratch.split_at_mut(dim * m);
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

    fn finish(&self, tables: &PsiTables, sums: &PsiSums, grad: &mut KernelGrad) {
        grad.add(&sums.grad);
        if sums.moment.rows() > 0 {
            self.known_adjoint(tables, sums, grad);
        }
        // Sweeps leave −½ of the derivative.
        let dim = self.dim_in();
        for (q, points) in sums.points.chunks_exact(row_len(grad.z.rows())).enumerate() {
            let rows = grad.z.as_mut_slice().chunks_exact_mut(dim);
            rows.zip(points).for_each(|(row, half)| row[q] -= 2.0 * half);
        }
    }
}

impl Eq {
    /// The table of pairs is −¼ Σ_q (z_iq − z_jq)²/ℓ_q² + 2 log s², as a power of two; all of it or its upper triangle.
    fn tabulate(&self, z: &Mat, wanted: Part, tables: &mut PsiTables) {
        let (m, dim, row) = (z.rows(), z.cols(), row_len(z.rows()));
        tables.z.clone_from(z);
        see_from(z.row(0), z, &mut tables.seen);
        tables.points.resize(dim * row);
        transpose_rows_into(z, &mut tables.points, row);
        tables.ends.clear();
        if wanted == Part::Full {
            tables.ends.extend(tables.points.chunks_exact(row).map(|points| ends(&points[..m])));
            tables.offsets.resize(dim * row);
            let of_dimensions = tables.points.chunks_exact(row).zip(tables.offsets.chunks_exact_mut(row));
            for ((points, offsets), [low, high]) in of_dimensions.zip(&tables.ends) {
                let middle = low + 0.5 * (high - low);
                offsets.iter_mut().zip(points).for_each(|(o, z)| *o = z - middle);
            }
        }
        tables.scaled.resize((dim + 1) * row);
        tables.pairs.resize(m * row);
        let job = PairDistances {
            m,
            points: &tables.points,
            lengthscale: &self.lengthscale,
            unit: 2.0 / LOG2_E.sqrt(),
            constant: 2.0 * self.signal_var.log2(),
            wanted,
            scaled: &mut tables.scaled,
            out: &mut tables.pairs,
        };
        // SAFETY: points and pairs are rows of `row_len`.
        tables.near = unsafe { run(job) };
    }

    /// ψ₀, ψ₁ and, where it is wanted, ξ.
    fn psi1(&self, tables: &PsiTables, mean: &[f64], var: &[f64], psi: &mut Psi) {
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
                let d = tables.z[(i, q)] - mean[q];
                *exponent -= d * d * half_inv_c;
            }
        }
        exp_in_place(&mut psi.psi1);
        if psi.wants_xi() {
            for q in 0..self.dim_in() {
                let ratio = var[q] / (self.lengthscale[q] * self.lengthscale[q] + var[q]);
                for (i, (xi, psi1)) in psi.xi.row_mut(q).iter_mut().zip(&psi.psi1).enumerate() {
                    *xi = psi1 * (tables.z[(i, q)] - mean[q]) * ratio;
                }
            }
        }
    }

    /// Adjoint of [`Eq::psi1`]. With ω = ∂F/∂log ψ₁ (through ψ₁ and through ξ = ψ₁ d v/c) and δ = ξ̄ ψ₁:
    ///
    /// ```text
    /// m̄ = Σ ω d/c − δ v/c       v̄ = ½ (Σ ω d²/c² − Σ ω/c) + Σ δ d ℓ²/c²       z̄ = −ω d/c + δ v/c
    /// ℓ̄ = Σ ω (ℓ d²/c² + v/(ℓ c)) − 2 δ d v ℓ/c²                              s̄² = Σ ω/s²
    /// ```
    #[expect(clippy::too_many_arguments, reason = "the arguments of `psi1`, its adjoint, and what receives it")]
    fn psi1_adjoint(
        &self,
        tables: &PsiTables,
        mean: &[f64],
        var: &[f64],
        psi: &mut Psi,
        bar: &Psi,
        input: InputBar<'_>,
        sums: &mut PsiSums,
    ) {
        let (z, m, dim, wants_xi) = (&tables.z, tables.z.rows(), self.dim_in(), psi.wants_xi());
        let grad = &mut sums.grad;
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

    /// Adjoint of Σ_ij w_ij (−½ r²_ij) for a symmetric W, whose moment W [Z, 1], with Z as seen from the first inducing input,
    /// stands in the room of `grad`.
    ///
    /// ```text
    /// z̄_i = 2 ((W Z)_i − w_i z_i)/ℓ²      ℓ̄ = 2 (Σ_i w_i z_i² − Σ_i z_i (W Z)_i)/ℓ³       w = W 1
    /// ```
    fn distance_adjoint(&self, tables: &PsiTables, grad: &mut KernelGrad) {
        let KernelGrad { z: z_bar, params, room: Room { moment, numbers, inverse } } = grad;
        inverses(&self.lengthscale, inverse);
        numbers.clear();
        numbers.resize(self.dim_in(), 0.0);
        pull(&tables.seen, moment, (2.0, 1.0), inverse, z_bar, numbers);
        let terms = numbers.iter().zip(&*inverse);
        params.iter_mut().zip(terms).for_each(|(l_bar, (sum, inv_l))| *l_bar += 2.0 * sum * inv_l * inv_l * inv_l);
    }

    /// The sums of [`Law::cross_prepared_adjoint`] as gradients, with w = Wᵀ 1:
    ///
    /// ```text
    /// z̄_i = ((WᵀX)_i − w_i z_i)/ℓ²      ℓ̄ = (Σ_n u_n x_n² − 2 Σ_i z_i (WᵀX)_i + Σ_i w_i z_i²)/ℓ³      s̄² = Σ_i w_i/s²
    /// ```
    fn known_adjoint(&self, tables: &PsiTables, sums: &PsiSums, grad: &mut KernelGrad) {
        let (moment, dim) = (&sums.moment, self.dim_in());
        let KernelGrad { z: z_bar, params, room: Room { numbers, inverse, .. } } = grad;
        inverses(&self.lengthscale, inverse);
        numbers.clone_from(&sums.squares);
        pull(&tables.seen, moment, (1.0, 2.0), inverse, z_bar, numbers);
        let terms = numbers.iter().zip(&*inverse);
        params.iter_mut().zip(terms).for_each(|(l_bar, (sum, inv_l))| *l_bar += sum * inv_l * inv_l * inv_l);
        params[dim] += moment.sum_of_last() / self.signal_var;
    }
}

/// 1/ℓ, in the given memory.
fn inverses(lengthscale: &[f64], room: &mut Vec<f64>) {
    room.clear();
    room.extend(lengthscale.iter().map(|l| 1.0 / l));
}

/// The least and the largest of some numbers; whatever is NaN among them is passed over.
fn ends(numbers: &[f64]) -> [f64; 2] {
    numbers.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[least, largest], &x| {
        [if x < least { x } else { least }, if x > largest { x } else { largest }]
    })
}
