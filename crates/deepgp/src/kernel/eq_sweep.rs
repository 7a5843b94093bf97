//! Ψ₂ of the exponentiated quadratic law for a few points at a time, fused with what a layer does to it.
//!
//! The plain form stands in `eq.rs`; this one gives the same numbers (a test compares them) several times faster: tables
//! and weights are loaded once for [`GROUP`] points, exponentials are taken in registers, and no Ψ₂ leaves the cache.
//!
//! ```text
//! forward    Ψ₂ᵢⱼ = exp(T_ij + γ_i + γ_j − Σ_q w_iq w_jq + const)      w = (z − m)/√(2e),  γ = −½ Σ w²,  e = ℓ² + 2v
//!            q_d = ⟨B_d, Ψ₂⟩
//! backward   F = ½ (Σ_d b_d B_d) ∘ Ψ₂       C̄_d += b_d Ψ₂       Σ_n F       y_d = Ψ₂ A_d       r = F 1,  F w_q
//! ```
//! B is packed with off-diagonal entries doubled, so F is the symmetric matrix ∂(Σ b q)/∂log Ψ₂.

use super::eq_jobs::{Dots, ExpSweep, Products, WeighAndMultiply, row_len};
use super::{Eq, InputBar, Law, PsiSums, PsiTables};
use crate::linalg::{Mat, sum, tri};
use crate::simd::{Aligned, PAD, run, wide};

/// Points per sweep.
pub const GROUP: usize = 4;
/// The working memory of a sweep.
#[derive(Debug, Clone, Default)]
pub struct EqSweep {
    m: usize,
    dim: usize,
    d_out: usize,
    /// 1 and w_q, per point D + 1 rows of [`row_len`], zero beyond M.
    w: Aligned,
    /// γ, per point a row of [`row_len`].
    gamma: Aligned,
    /// The constant of the exponent, per point.
    base: [f64; GROUP],
    /// 1/√(2e), per point D numbers.
    inv_sqrt_2e: Vec<f64>,
    /// Ψ₂, per point a packed triangle and PAD.
    psi2: Aligned,
    /// F, per point a packed triangle and PAD.
    f: Aligned,
    /// r and F w_q, per point D + 1 rows of [`row_len`].
    f_w: Aligned,
    /// Ψ₂ A_d, per point D_out rows of [`row_len`].
    y: Aligned,
    /// A, D_out rows of [`row_len`].
    a: Aligned,
    /// Coefficients of a group.
    coef: Vec<f64>,
}

impl EqSweep {
    /// Makes room for M inducing inputs, D input and D_out output dimensions.
    pub fn resize(&mut self, m: usize, dim: usize, d_out: usize) {
        if (self.m, self.dim, self.d_out) == (m, dim, d_out) && !self.psi2.is_empty() {
            return;
        }
        (self.m, self.dim, self.d_out) = (m, dim, d_out);
        let (row, packed) = (row_len(m), tri::packed_len(m) + PAD);
        let sized = |n: usize| Aligned::zeros(GROUP * n);
        (self.w, self.gamma) = (sized((dim + 1) * row), sized(row));
        self.inv_sqrt_2e = vec![0.0; GROUP * dim];
        for ones in self.w.chunks_exact_mut((dim + 1) * row) {
            ones[..m].fill(1.0);
        }
        (self.psi2, self.f) = (sized(packed), sized(packed));
        (self.f_w, self.y) = (sized((dim + 1) * row), sized(d_out * row));
        self.a = Aligned::zeros(d_out * row);
    }

    /// Ψ₂ of point `g` as a packed triangle.
    #[cfg(test)]
    fn psi2(&self, g: usize) -> &[f64] {
        let packed = tri::packed_len(self.m);
        &self.psi2[g * (packed + PAD)..][..packed]
    }

    /// Ψ₂ A_d of point `g`, after [`EqSweep::backward`].
    pub fn psi2_a(&self, g: usize, d: usize) -> &[f64] {
        &self.y[(g * self.d_out + d) * row_len(self.m)..][..self.m]
    }

    /// Ψ₂ of the first `n` rows of the input, and ⟨B_d, Ψ₂⟩ into `dots` (points × outputs).
    pub fn forward(
        &mut self,
        law: &Eq,
        tables: &PsiTables,
        b: &[Vec<f64>],
        input: (&Mat, &Mat, usize),
        dots: &mut Mat,
    ) {
        let (mean, var, n) = input;
        let (m, dim) = (self.m, self.dim);
        let row = row_len(m);
        assert!(n <= GROUP && m > 0 && dim > 0 && self.d_out > 0, "room was made for {GROUP} points");
        assert_eq!((law.dim_in(), b.len()), (dim, self.d_out), "one lengthscale per input, one triangle per output");
        for g in 0..n {
            let mut log_scale = 0.0;
            let gamma = &mut self.gamma[g * row..][..m];
            gamma.fill(0.0);
            for q in 0..dim {
                let l2 = law.lengthscale[q] * law.lengthscale[q];
                let inv = 1.0 / (2.0 * (l2 + 2.0 * var[(g, q)])).sqrt();
                // ½ log(ℓ²/e)
                log_scale += (std::f64::consts::SQRT_2 * law.lengthscale[q] * inv).ln();
                self.inv_sqrt_2e[g * dim + q] = inv;
                let w = &mut self.w[(g * (dim + 1) + q + 1) * row..][..m];
                let (at, terms) = (mean[(g, q)], w.iter_mut().zip(gamma.iter_mut()).zip(tables.z_t.row(q)));
                wide(|| {
                    terms.for_each(|((w, gamma), z)| {
                        *w = (z - at) * inv;
                        *gamma -= 0.5 * *w * *w;
                    })
                });
            }
            self.base[g] = log_scale;
        }
        assert!(tables.pairs.len() >= tri::packed_len(m) + PAD, "the pair table is padded");
        let packed = tri::packed_len(m) + PAD;
        for (g, count) in groups(n) {
            let job = ExpSweep {
                m,
                dim,
                pairs: tables.pairs.as_ptr(),
                w: self.w[g * (dim + 1) * row..].as_ptr(),
                gamma: self.gamma[g * row..].as_ptr(),
                base: &self.base[g..g + count],
                psi2: self.psi2[g * packed..].as_mut_ptr(),
            };
            // SAFETY: `resize` gave every point its rows of `row_len` and its triangle of M(M+1)/2 + PAD.
            unsafe { run(job) };
            for (d, b) in b.iter().enumerate() {
                assert!(b.len() >= packed, "weights are padded");
                let job = Dots {
                    len: packed - PAD,
                    b: b.as_ptr(),
                    psi2: self.psi2[g * packed..].as_ptr(),
                    count,
                    stride: packed,
                };
                // SAFETY: as above; the weights have room for whole vectors.
                let sums = unsafe { run(job) };
                for (i, sum) in sums.iter().enumerate().take(count) {
                    dots[(g + i, d)] = *sum;
                }
            }
        }
    }

    /// The adjoint for coefficients `coef` (points × outputs) of the ⟨B_d, Ψ₂⟩: adds Σ_n b Ψ₂ to `c`, everything of the
    /// kernel to `sums`, ∂/∂(input moments) to `input_bar`, and leaves Ψ₂ A behind.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `forward`, its adjoint, and what receives it")]
    pub fn backward(
        &mut self,
        law: &Eq,
        (a, b): (&Mat, &[Vec<f64>]),
        var: &Mat,
        n: usize,
        coef: &Mat,
        c: &mut [Vec<f64>],
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
    ) {
        let (m, dim, d_out) = (self.m, self.dim, self.d_out);
        let (row, packed) = (row_len(m), tri::packed_len(m) + PAD);
        assert_eq!((b.len(), c.len(), a.rows(), coef.cols()), (d_out, d_out, d_out, d_out), "one of each per output");
        assert_eq!((law.dim_in(), sums.z_t.rows()), (dim, dim), "one of each per input");
        assert!(n <= GROUP && coef.rows() >= n, "a group has at most {GROUP} points");
        assert!(sums.pairs.len() >= packed && c.iter().chain(b).all(|v| v.len() >= packed), "triangles are padded");
        for d in 0..d_out {
            self.a[d * row..][..m].copy_from_slice(a.row(d));
        }
        self.f_w[..n * (dim + 1) * row].fill(0.0);
        self.y[..n * d_out * row].fill(0.0);
        for (g, count) in groups(n) {
            // ½ b per output and point, side by side.
            self.coef.clear();
            self.coef.extend((0..d_out).flat_map(|d| (g..g + count).map(move |g| 0.5 * coef[(g, d)])));
            let job = WeighAndMultiply {
                m,
                count,
                half_coef: &self.coef,
                b,
                c,
                pairs: sums.pairs.as_mut_ptr(),
                f: Products {
                    matrix: self.f[g * packed..].as_mut_ptr(),
                    count: dim + 1,
                    vectors: self.w[g * (dim + 1) * row..].as_ptr(),
                    out: self.f_w[g * (dim + 1) * row..].as_mut_ptr(),
                },
                psi2: Products {
                    matrix: self.psi2[g * packed..].as_mut_ptr(),
                    count: d_out,
                    vectors: self.a.as_ptr(),
                    out: self.y[g * d_out * row..].as_mut_ptr(),
                },
            };
            // SAFETY: triangles have room for whole vectors, as just checked; rows have `row_len` numbers, zero beyond M
            // where they are factors.
            unsafe { run(job) };
        }
        for g in 0..n {
            // Row and column sweep count the diagonal twice.
            for d in 0..d_out {
                let (y, a) = (&mut self.y[(g * d_out + d) * row..][..m], &self.a[d * row..][..m]);
                let mut at = g * packed;
                for (i, (y, a)) in y.iter_mut().zip(a).enumerate() {
                    *y -= self.psi2[at] * a;
                    at += m - i;
                }
            }
            let input = InputBar { mean: input_bar.0.row_mut(g), var: input_bar.1.row_mut(g) };
            wide(|| self.finish_point(law, g, var.row(g), input, sums));
        }
    }

    /// From r and F w of a point to the derivatives in its input moments, Z and the parameters.
    ///
    /// With u_q = r∘w_q + F w_q and κ = 1/√(2e), so that 1/e = 2κ²:
    ///
    /// ```text
    /// m̄ = 2κ Σ u      v̄ = (2 Σ w u − Σ r)/e      z̄ = −2κ u      ℓ̄ = 2ℓ Σ w u/e + 2v Σ r/(ℓ e)
    /// ```
    #[inline(always)]
    fn finish_point(&self, law: &Eq, g: usize, var: &[f64], input: InputBar<'_>, sums: &mut PsiSums) {
        let (m, dim, row) = (self.m, self.dim, row_len(self.m));
        let f_w = &self.f_w[g * (dim + 1) * row..][..(dim + 1) * row];
        let r = &f_w[..m];
        let total = sum(r);
        for q in 0..dim {
            let (w, f_w) = (&self.w[(g * (dim + 1) + q + 1) * row..][..m], &f_w[(q + 1) * row..][..m]);
            let kappa = self.inv_sqrt_2e[g * dim + q];
            let (l, inv_e) = (law.lengthscale[q], 2.0 * kappa * kappa);
            let (mut sum_u, mut sum_wu) = ([0.0; 8], [0.0; 8]);
            let terms = w.iter().zip(r).zip(f_w).zip(sums.z_t.row_mut(q));
            for (i, (((w, r), f_w), z)) in terms.enumerate() {
                let u = r * w + f_w;
                *z -= 2.0 * kappa * u;
                sum_u[i % 8] += u;
                sum_wu[i % 8] += w * u;
            }
            let (sum_u, sum_wu): (f64, f64) = (sum_u.iter().sum(), sum_wu.iter().sum());
            input.mean[q] += 2.0 * kappa * sum_u;
            input.var[q] += inv_e * (2.0 * sum_wu - total);
            sums.grad.params[q] += 2.0 * inv_e * (l * sum_wu + total * var[q] / l);
        }
        sums.grad.params[law.dim_in()] += 2.0 * total / law.signal_var;
    }
}

/// `n` points as groups: first point and how many, all [`GROUP`] or 1.
fn groups(n: usize) -> impl Iterator<Item = (usize, usize)> {
    let whole = n / GROUP * GROUP;
    (0..whole).step_by(GROUP).map(|g| (g, GROUP)).chain((whole..n).map(|g| (g, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{KernelGrad, Psi};
    use deepgp_oracle::{Tolerance, assert_all_close};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn random(rows: usize, cols: usize, rng: &mut ChaCha8Rng) -> Mat {
        Mat::from_fn(rows, cols, |_, _| 2.0 * rng.random::<f64>() - 1.0)
    }

    /// Sweeps give what the plain law gives, for sizes on both sides of every vector and group length.
    #[test]
    fn a_sweep_equals_the_plain_law() {
        crate::simd::forced::on_each(|_| compare_with_the_plain_law());
    }

    fn compare_with_the_plain_law() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (m, dim, d_out, n) in [
            (1, 1, 1, 1),
            (5, 2, 1, 4),
            (8, 1, 2, 3),
            (9, 3, 1, 2),
            (9, 1, 3, 3),
            (9, 4, 1, 3),
            (17, 2, 3, 4),
            (50, 2, 1, 4),
        ] {
            let law = Eq { lengthscale: (0..dim).map(|_| 0.5 + rng.random::<f64>()).collect(), signal_var: 1.3 };
            let (z, mean) = (random(m, dim, &mut rng), random(n, dim, &mut rng));
            let var = Mat::from_fn(n, dim, |_, _| 0.1 + rng.random::<f64>());
            let (a, coef) = (random(d_out, m, &mut rng), random(n, d_out, &mut rng));
            let packed = tri::packed_len(m);
            let b: Vec<Vec<f64>> = (0..d_out)
                .map(|_| random(1, packed, &mut rng).as_slice().iter().copied().chain([0.0; PAD]).collect())
                .collect();
            let mut tables = PsiTables::default();
            law.prepare(&z, &mut tables);

            let mut sweep = EqSweep::default();
            sweep.resize(m, dim, d_out);
            let mut dots = Mat::zeros(n, d_out);
            sweep.forward(&law, &tables, &b, (&mean, &var, n), &mut dots);
            let mut c = vec![vec![0.0; packed + PAD]; d_out];
            let (mut mean_bar, mut var_bar) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
            let mut sums = PsiSums::zeros(m, dim, dim + 1);
            let bars = (&mut mean_bar, &mut var_bar);
            sweep.backward(&law, (&a, &b), &var, n, &coef, &mut c, bars, &mut sums);

            let mut plain_c = vec![vec![0.0; packed + PAD]; d_out];
            let (mut plain_mean, mut plain_var) = (Mat::zeros(n, dim), Mat::zeros(n, dim));
            let mut plain_sums = PsiSums::zeros(m, dim, dim + 1);
            for g in 0..n {
                let (mut psi, mut bar) = (Psi::zeros(m, dim, false), Psi::zeros(m, dim, false));
                law.psi(&tables, mean.row(g), var.row(g), &mut psi);
                assert_all_close("Ψ₂", sweep.psi2(g), &psi.psi2, Tolerance::Rounding);
                for d in 0..d_out {
                    let dot: f64 = b[d].iter().zip(&psi.psi2).map(|(b, p)| b * p).sum();
                    assert_all_close("⟨B, Ψ₂⟩", &[dots[(g, d)]], &[dot], Tolerance::Rounding);
                    let mut y = vec![0.0; m];
                    tri::packed_mul(&psi.psi2, a.row(d), &mut y);
                    assert_all_close("Ψ₂ A", sweep.psi2_a(g, d), &y, Tolerance::Rounding);
                    for p in 0..packed {
                        plain_c[d][p] += coef[(g, d)] * psi.psi2[p];
                        bar.psi2[p] += coef[(g, d)] * b[d][p];
                    }
                }
                let input = InputBar { mean: plain_mean.row_mut(g), var: plain_var.row_mut(g) };
                law.psi_adjoint(&tables, mean.row(g), var.row(g), &mut psi, &bar, input, &mut plain_sums);
            }
            assert_all_close("C̄", &c.concat(), &plain_c.concat(), Tolerance::Rounding);
            assert_all_close("m̄", mean_bar.as_slice(), plain_mean.as_slice(), Tolerance::Rounding);
            assert_all_close("v̄", var_bar.as_slice(), plain_var.as_slice(), Tolerance::Rounding);
            let (mut grad, mut plain) = (KernelGrad::zeros(m, dim, dim + 1), KernelGrad::zeros(m, dim, dim + 1));
            law.finish(&tables, &sums, &mut grad);
            law.finish(&tables, &plain_sums, &mut plain);
            assert_all_close("z̄", grad.z.as_slice(), plain.z.as_slice(), Tolerance::Rounding);
            assert_all_close("parameters", &grad.params, &plain.params, Tolerance::Rounding);
        }
    }
}
