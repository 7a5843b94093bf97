//! The Matérn laws of smoothness 3/2 and 5/2 with automatic relevance determination.
//!
//! ```text
//! r² = Σ_q (x_q − x'_q)²/ℓ_q²
//! 3/2:   k = s² (1 + √3 r) e^{−√3 r}                 ∂k/∂r² = −(3/2) s² e^{−√3 r}
//! 5/2:   k = s² (1 + √5 r + 5r²/3) e^{−√5 r}         ∂k/∂r² = −(5/6) s² (1 + √5 r) e^{−√5 r}
//! ```
//! Derivatives go through r², where both laws are smooth enough that nothing is divided by r. There is no closed form
//! for the expectations in more than one dimension: they are taken by `quadrature`.
//! Reference: Rasmussen & Williams (2006), eq. 4.17.

use super::{
    InputBar, KernelGrad, Law, Psi, PsiSums, PsiTables, check_radial, quadrature, visit_radial, visit_radial_mut,
};
use crate::error::Result;
use crate::linalg::Mat;
use crate::param::{Block, BlockMut, Parameters};
use serde::{Deserialize, Serialize};

/// How smooth the functions of a Matérn law are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Smoothness {
    /// Once differentiable.
    ThreeHalves,
    /// Twice differentiable.
    FiveHalves,
}

/// Matérn covariance with one lengthscale per input dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Matern {
    /// 3/2 or 5/2.
    pub smoothness: Smoothness,
    /// ℓ_q, D numbers.
    pub lengthscale: Vec<f64>,
    /// s².
    pub signal_var: f64,
}

impl Matern {
    /// Equal lengthscales in all `dim_in` dimensions.
    pub fn isotropic(smoothness: Smoothness, dim_in: usize, lengthscale: f64, signal_var: f64) -> Self {
        Self { smoothness, lengthscale: vec![lengthscale; dim_in], signal_var }
    }

    /// k/s² and its derivative with respect to r² at the scaled distance r between `x` and `z`.
    fn shape(&self, x: &[f64], z: &[f64]) -> (f64, f64) {
        let mut r2 = 0.0;
        for ((x_q, z_q), l) in x.iter().zip(z).zip(&self.lengthscale) {
            r2 += ((x_q - z_q) / l).powi(2);
        }
        match self.smoothness {
            Smoothness::ThreeHalves => {
                let s = (3.0 * r2).sqrt();
                let decay = (-s).exp();
                ((1.0 + s) * decay, -1.5 * decay)
            }
            Smoothness::FiveHalves => {
                let s = (5.0 * r2).sqrt();
                let decay = (-s).exp();
                ((1.0 + s + s * s / 3.0) * decay, -5.0 / 6.0 * (1.0 + s) * decay)
            }
        }
    }
}

impl Parameters for Matern {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit_radial(&self.lengthscale, &self.signal_var, visit);
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit_radial_mut(&mut self.lengthscale, &mut self.signal_var, visit);
    }
}

impl Law for Matern {
    fn dim_in(&self) -> usize {
        self.lengthscale.len()
    }

    fn check(&self) -> Result<()> {
        check_radial(&self.lengthscale, self.signal_var)
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        k.reset(x.rows(), z.rows());
        for n in 0..x.rows() {
            for (i, k_ni) in k.row_mut(n).iter_mut().enumerate() {
                *k_ni = self.signal_var * self.shape(x.row(n), z.row(i)).0;
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
        let dim = self.dim_in();
        for n in 0..x.rows() {
            for i in 0..z.rows() {
                let (value, r2_slope) = self.shape(x.row(n), z.row(i));
                let r2_bar = k_bar[(n, i)] * self.signal_var * r2_slope;
                for q in 0..dim {
                    let (l, diff) = (self.lengthscale[q], x[(n, q)] - z[(i, q)]);
                    // ∂r²/∂x_q = 2 (x_q − z_q)/ℓ²,  ∂r²/∂ℓ_q = −2 (x_q − z_q)²/ℓ³
                    let slope = 2.0 * r2_bar * diff / (l * l);
                    grad.z[(i, q)] -= slope;
                    grad.params[q] -= slope * diff / l;
                    if let Some(x_bar) = x_bar.as_deref_mut() {
                        x_bar[(n, q)] += slope;
                    }
                }
                grad.params[dim] += k_bar[(n, i)] * value;
            }
        }
    }

    fn diag(&self, _x: &[f64]) -> f64 {
        self.signal_var
    }

    fn diag_adjoint(&self, _x: &[f64], diag_bar: f64, _x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        params[self.dim_in()] += diag_bar;
    }

    fn prepare(&self, z: &Mat, tables: &mut PsiTables) {
        quadrature::prepare(z, tables);
    }

    fn psi(&self, tables: &PsiTables, mean: &[f64], var: &[f64], psi: &mut Psi) {
        quadrature::psi(self, tables, mean, var, psi);
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
        quadrature::psi_adjoint(self, tables, (mean, var), psi, bar, input, sums);
    }
}
