//! The exponentiated quadratic law with automatic relevance determination.
//!
//! ```text
//! k(x, x') = s² exp(−½ Σ_q (x_q − x'_q)²/ℓ_q²)
//! ψ₀   = s²
//! ψ₁ᵢ  = s² Π_q √(ℓ_q²/c_q) exp(−½ Σ_q d_iq²/c_q)                        c_q = ℓ_q² + v_q,  d_iq = z_iq − m_q
//! Ψ₂ᵢⱼ = s⁴ Π_q √(ℓ_q²/e_q) exp(−¼ Σ_q (z_iq − z_jq)²/ℓ_q² − ¼ Σ_q (d_iq + d_jq)²/e_q)     e_q = ℓ_q² + 2v_q
//! ξ_qi = ψ₁ᵢ d_iq v_q/c_q
//! ```

use super::{InputBar, KernelGrad, Law, Psi, PsiSums, PsiTables};
use crate::error::{Result, expect_positive};
use crate::linalg::{Mat, tri};
use crate::param::{Block, BlockMut, Domain, Parameters};
use serde::{Deserialize, Serialize};

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
        visit(Block { name: "lengthscale", domain: Domain::Positive, values: &self.lengthscale });
        visit(Block { name: "signal_var", domain: Domain::Positive, values: std::slice::from_ref(&self.signal_var) });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "lengthscale", domain: Domain::Positive, values: &mut self.lengthscale });
        visit(BlockMut {
            name: "signal_var",
            domain: Domain::Positive,
            values: std::slice::from_mut(&mut self.signal_var),
        });
    }
}

impl Law for Eq {
    fn dim_in(&self) -> usize {
        self.lengthscale.len()
    }

    fn check(&self) -> Result<()> {
        for (q, &l) in self.lengthscale.iter().enumerate() {
            expect_positive("lengthscale", Some(q), l)?;
        }
        expect_positive("signal_var", None, self.signal_var)
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        k.reset(x.rows(), z.rows());
        for n in 0..x.rows() {
            let x_n = x.row(n);
            for (i, k_ni) in k.row_mut(n).iter_mut().enumerate() {
                let mut r2 = 0.0;
                for ((x_q, z_q), l) in x_n.iter().zip(z.row(i)).zip(&self.lengthscale) {
                    let r = (x_q - z_q) / l;
                    r2 += r * r;
                }
                *k_ni = self.signal_var * (-0.5 * r2).exp();
            }
        }
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

    /// The pair table is −¼ Σ_q (z_iq − z_jq)²/ℓ_q² + 2 log s².
    fn prepare(&self, z: &Mat, tables: &mut PsiTables) {
        tables.z.clone_from(z);
        tables.pairs.clear();
        for i in 0..z.rows() {
            for j in i..z.rows() {
                let mut r2 = 0.0;
                for ((a, b), l) in z.row(i).iter().zip(z.row(j)).zip(&self.lengthscale) {
                    r2 += ((a - b) / l).powi(2);
                }
                tables.pairs.push(-0.25 * r2 + 2.0 * self.signal_var.ln());
            }
        }
    }

    fn psi(&self, tables: &PsiTables, mean: &[f64], var: &[f64], psi: &mut Psi) {
        let (z, m, dim) = (&tables.z, tables.z.rows(), self.dim_in());
        psi.psi0 = self.signal_var;

        // ψ₁ᵢ = exp(log s² + ½ Σ log(ℓ²/c) − ½ Σ d²/c)
        let mut log_scale = self.signal_var.ln();
        for q in 0..dim {
            log_scale -= 0.5 * (var[q] / (self.lengthscale[q] * self.lengthscale[q])).ln_1p();
        }
        for i in 0..m {
            let mut exponent = log_scale;
            for q in 0..dim {
                let (l, d) = (self.lengthscale[q], z[(i, q)] - mean[q]);
                exponent -= 0.5 * d * d / (l * l + var[q]);
            }
            psi.psi1[i] = exponent.exp();
        }
        if psi.wants_xi() {
            for q in 0..dim {
                let ratio = var[q] / (self.lengthscale[q] * self.lengthscale[q] + var[q]);
                for (i, xi) in psi.xi.row_mut(q).iter_mut().enumerate() {
                    *xi = psi.psi1[i] * (z[(i, q)] - mean[q]) * ratio;
                }
            }
        }

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
            let table = &tables.pairs[p..p + m - i];
            let base = log_scale + gamma[i];
            for ((out, t), g_j) in row.iter_mut().zip(table).zip(&gamma[i..]) {
                *out = base + t + g_j;
            }
            for q in 0..dim {
                let half_w_i = 0.5 * w[q * m + i];
                for (out, w_j) in row.iter_mut().zip(&w[q * m + i..(q + 1) * m]) {
                    *out -= half_w_i * w_j;
                }
            }
            p += m - i;
        }
        for out in &mut psi.psi2 {
            *out = out.exp();
        }
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
        let PsiSums { grad, pairs } = sums;
        grad.params[dim] += bar.psi0;

        // ψ₁ and ξ = ψ₁ d v/c. weight_i = ∂F/∂log ψ₁ᵢ
        for i in 0..m {
            let mut weight = bar.psi1[i] * psi.psi1[i];
            if psi.wants_xi() {
                for q in 0..dim {
                    weight += bar.xi[(q, i)] * psi.xi[(q, i)];
                }
            }
            for q in 0..dim {
                let (l, d) = (self.lengthscale[q], z[(i, q)] - mean[q]);
                let c = l * l + var[q];
                let (pull, spread) = (weight * d / c, weight * d * d / (c * c));
                input.mean[q] += pull;
                grad.z[(i, q)] -= pull;
                input.var[q] += 0.5 * (spread - weight / c);
                grad.params[q] += l * spread + weight * var[q] / (l * c);
                if psi.wants_xi() {
                    let direct = bar.xi[(q, i)] * psi.psi1[i];
                    input.mean[q] -= direct * var[q] / c;
                    grad.z[(i, q)] += direct * var[q] / c;
                    input.var[q] += direct * d * l * l / (c * c);
                    grad.params[q] -= 2.0 * direct * d * var[q] * l / (c * c);
                }
            }
            grad.params[dim] += weight / self.signal_var;
        }

        // Ψ₂. F = ∂F/∂log Ψ₂ spread over both triangles; r = F 1, u_q = r∘d_q + F d_q.
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
            for (sum, f) in pairs[p..p + len].iter_mut().zip(row.iter()) {
                *sum += f;
            }
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
            // Σ u = ∂/∂m · e,   ½ Σ d u = Σ F ¼(d_i + d_j)²
            let (mut sum_u, mut sum_du) = (0.0, 0.0);
            for i in 0..m {
                let d_i = d[q * m + i];
                let u = r[i] * d_i + f_d[q * m + i];
                sum_u += u;
                sum_du += d_i * u;
                grad.z[(i, q)] -= u / e;
            }
            let spread = 0.5 * sum_du / (e * e);
            input.mean[q] += sum_u / e;
            input.var[q] += 2.0 * spread - total / e;
            grad.params[q] += 2.0 * l * spread + total * 2.0 * var[q] / (l * e);
        }
        grad.params[dim] += 2.0 * total / self.signal_var;
    }

    /// The pair sums are Σ_n F; they reach Z and ℓ through the table −¼ (z_i − z_j)²/ℓ².
    fn finish(&self, tables: &PsiTables, sums: &PsiSums, grad: &mut KernelGrad) {
        let (z, m) = (&tables.z, tables.z.rows());
        grad.z.add_scaled(1.0, &sums.grad.z);
        for (g, s) in grad.params.iter_mut().zip(&sums.grad.params) {
            *g += s;
        }
        for i in 0..m {
            for j in i + 1..m {
                let f = 2.0 * sums.pairs[tri::row_start(m, i) + j - i];
                for (q, &l) in self.lengthscale.iter().enumerate() {
                    let diff = z[(i, q)] - z[(j, q)];
                    let slope = 0.5 * f * diff / (l * l);
                    grad.z[(i, q)] -= slope;
                    grad.z[(j, q)] += slope;
                    grad.params[q] += slope * diff / l;
                }
            }
        }
    }
}
