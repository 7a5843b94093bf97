//! The linear law with one variance per input dimension.
//!
//! ```text
//! k(x, x') = Σ_q a_q x_q x'_q
//! ψ₀   = Σ_q a_q (m_q² + v_q)
//! ψ₁ᵢ  = Σ_q a_q m_q z_iq
//! Ψ₂ᵢⱼ = ψ₁ᵢ ψ₁ⱼ + Σ_q a_q² v_q z_iq z_jq
//! ξ_qi = a_q v_q z_iq
//! ```

use super::law::Law;
use super::psi::{GaussianInput, InputBar, KernelGrad, Psi, PsiGrad};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::{Mat, tri};
use serde::{Deserialize, Serialize};

/// Linear covariance: functions a·x with independent normal slopes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    /// a_q, D numbers.
    pub variance: Vec<f64>,
}

impl Linear {
    /// Equal variances in all `dim_in` dimensions.
    pub fn isotropic(dim_in: usize, variance: f64) -> Self {
        Self { variance: vec![variance; dim_in] }
    }
}

impl Parameters for Linear {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "variance", domain: Domain::Positive, values: &self.variance });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "variance", domain: Domain::Positive, values: &mut self.variance });
    }
}

impl Law for Linear {
    type Tables = Mat;
    type Sums = KernelGrad;
    type Scratch = Vec<f64>;

    fn dim_in(&self) -> usize {
        self.variance.len()
    }

    fn check(&self) -> Result<()> {
        for (q, &a) in self.variance.iter().enumerate() {
            expect_positive("variance", Some(q), a)?;
        }
        Ok(())
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        k.reset(x.rows(), z.rows());
        for n in 0..x.rows() {
            for (i, k_ni) in k.row_mut(n).iter_mut().enumerate() {
                for ((x_q, z_q), a) in x.row(n).iter().zip(z.row(i)).zip(&self.variance) {
                    *k_ni += a * x_q * z_q;
                }
            }
        }
    }

    fn cross_adjoint(
        &self,
        x: &Mat,
        z: &Mat,
        _k: &Mat,
        k_bar: &Mat,
        mut x_bar: Option<&mut Mat>,
        grad: &mut KernelGrad,
    ) {
        for n in 0..x.rows() {
            for i in 0..z.rows() {
                let weight = k_bar[(n, i)];
                for (q, a) in self.variance.iter().enumerate() {
                    let (x_q, z_q) = (x[(n, q)], z[(i, q)]);
                    grad.z[(i, q)] += weight * a * x_q;
                    grad.params[q] += weight * x_q * z_q;
                    if let Some(x_bar) = x_bar.as_deref_mut() {
                        x_bar[(n, q)] += weight * a * z_q;
                    }
                }
            }
        }
    }

    fn diag(&self, x: &[f64]) -> f64 {
        self.variance.iter().zip(x).map(|(a, x)| a * x * x).sum()
    }

    fn diag_adjoint(&self, x: &[f64], diag_bar: f64, x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        for (p, x) in params.iter_mut().zip(x) {
            *p += diag_bar * x * x;
        }
        if let Some(x_bar) = x_bar {
            for ((b, a), x) in x_bar.iter_mut().zip(&self.variance).zip(x) {
                *b += 2.0 * diag_bar * a * x;
            }
        }
    }

    fn zero_sums(&self, n_inducing: usize) -> KernelGrad {
        KernelGrad::zeros(n_inducing, self.dim_in(), self.n_params())
    }

    fn prepare(&self, z: &Mat, tables: &mut Mat) {
        tables.clone_from(z);
    }

    fn psi(&self, z: &Mat, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut Vec<f64>) {
        psi.psi0 = 0.0;
        psi.psi1.fill(0.0);
        psi.psi2.fill(0.0);
        psi.xi.fill_zero();
        add_psi(&self.variance, z, input, psi, scratch);
    }

    fn psi_adjoint(
        &self,
        z: &Mat,
        input: GaussianInput<'_>,
        _psi: &mut Psi,
        bar: &Psi,
        grad: PsiGrad<'_>,
        scratch: &mut Vec<f64>,
    ) {
        let PsiGrad { input: mut input_bar, kernel: KernelGrad { z: z_bar, params } } = grad;
        let out = LinearGrad { input: &mut input_bar, z: z_bar, variance: params };
        scratch.resize(2 * z.rows(), 0.0);
        add_psi_adjoint(&self.variance, z, input, bar, out, scratch);
    }
}

/// Adds the expectations of the linear law with these variances.
pub(super) fn add_psi(variance: &[f64], z: &Mat, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut Vec<f64>) {
    let (GaussianInput { mean, var }, m) = (input, z.rows());
    let with_xi = psi.wants_xi();
    scratch.resize(m, 0.0);
    let psi1 = &mut scratch[..m];
    psi1.fill(0.0);
    for (q, a) in variance.iter().enumerate() {
        psi.psi0 += a * (mean[q] * mean[q] + var[q]);
        for i in 0..m {
            psi1[i] += a * mean[q] * z[(i, q)];
            if with_xi {
                psi.xi[(q, i)] += a * var[q] * z[(i, q)];
            }
        }
    }
    let mut p = 0;
    for i in 0..m {
        psi.psi1[i] += psi1[i];
        for j in i..m {
            let mut product = psi1[i] * psi1[j];
            for (q, a) in variance.iter().enumerate() {
                product += a * a * var[q] * z[(i, q)] * z[(j, q)];
            }
            psi.psi2[p] += product;
            p += 1;
        }
    }
}

/// What [`add_psi_adjoint`] adds to.
pub(super) struct LinearGrad<'a, 'b> {
    /// ∂ℒ/∂m and ∂ℒ/∂v.
    pub input: &'a mut InputBar<'b>,
    /// ∂ℒ/∂Z, M × D.
    pub z: &'a mut Mat,
    /// ∂ℒ/∂a, D numbers.
    pub variance: &'a mut [f64],
}

/// Adjoint of [`add_psi`]. Scratch: 2M numbers.
pub(super) fn add_psi_adjoint(
    variance: &[f64],
    z: &Mat,
    at: GaussianInput<'_>,
    bar: &Psi,
    out: LinearGrad<'_, '_>,
    scratch: &mut [f64],
) {
    let (GaussianInput { mean, var }, m) = (at, z.rows());
    let LinearGrad { input, z: z_bar, variance: variance_bar } = out;
    let (column, product) = scratch[..2 * m].split_at_mut(m);

    // ψ₁ and the part ψ₁ψ₁ᵀ of Ψ₂: `product` becomes ∂ℒ/∂ψ₁ = ψ̄₁ + W ψ₁
    for i in 0..m {
        column[i] = variance.iter().enumerate().map(|(q, a)| a * mean[q] * z[(i, q)]).sum();
    }
    tri::gradient_mul(&bar.psi2, column, product);
    for i in 0..m {
        let psi1_bar = product[i] + bar.psi1[i];
        for (q, a) in variance.iter().enumerate() {
            input.mean[q] += psi1_bar * a * z[(i, q)];
            z_bar[(i, q)] += psi1_bar * a * mean[q];
            variance_bar[q] += psi1_bar * mean[q] * z[(i, q)];
        }
    }

    for (q, a) in variance.iter().enumerate() {
        // ψ₀
        input.mean[q] += 2.0 * bar.psi0 * a * mean[q];
        input.var[q] += bar.psi0 * a;
        variance_bar[q] += bar.psi0 * (mean[q] * mean[q] + var[q]);

        // The part b z zᵀ of Ψ₂, b = a² v
        for i in 0..m {
            column[i] = z[(i, q)];
        }
        tri::gradient_mul(&bar.psi2, column, product);
        let mut b_bar = 0.0;
        for i in 0..m {
            b_bar += 0.5 * column[i] * product[i];
            z_bar[(i, q)] += a * a * var[q] * product[i];
        }
        input.var[q] += b_bar * a * a;
        variance_bar[q] += b_bar * 2.0 * a * var[q];

        if bar.wants_xi() {
            for i in 0..m {
                let xi_bar = bar.xi[(q, i)];
                input.var[q] += xi_bar * a * z[(i, q)];
                z_bar[(i, q)] += xi_bar * a * var[q];
                variance_bar[q] += xi_bar * var[q] * z[(i, q)];
            }
        }
    }
}
