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

use super::law::Law;
use super::psi::{GaussianInput, KernelGrad, Psi, PsiGrad};
use super::quadrature::{self, QuadratureScratch, QuadratureTables};
use super::radial;
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::{Mat, dot, sum};
use deepgp_numerics::simd::{exp_in_place, wide};
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

    /// The columns of `z` in lengthscales, D × M.
    fn scaled_columns(&self, z: &Mat) -> Mat {
        Mat::from_fn(z.cols(), z.rows(), |q, i| z[(i, q)] / self.lengthscale[q])
    }

    /// k/s² and, where it is wanted, ∂(k/s²)/∂r² of one input and all inducing inputs, whose scaled columns are given.
    fn shape(&self, x: &[f64], columns: &Mat, value: &mut [f64], slope: Option<&mut [f64]>, decay: &mut [f64]) {
        wide(|| {
            value.fill(0.0);
            for (q, (x_q, l)) in x.iter().zip(&self.lengthscale).enumerate() {
                let at = x_q / l;
                value.iter_mut().zip(columns.row(q)).for_each(|(r2, z)| *r2 += (at - z) * (at - z));
            }
            let twice_nu = match self.smoothness {
                Smoothness::ThreeHalves => 3.0,
                Smoothness::FiveHalves => 5.0,
            };
            for (value, decay) in value.iter_mut().zip(decay.iter_mut()) {
                // From here on it is √(2ν) r.
                *value = (twice_nu * *value).sqrt();
                *decay = -*value;
            }
        });
        exp_in_place(decay);
        wide(|| {
            let polynomial = |s: f64| match self.smoothness {
                Smoothness::ThreeHalves => (1.0 + s, -1.5),
                Smoothness::FiveHalves => (1.0 + s + s * s / 3.0, -5.0 / 6.0 * (1.0 + s)),
            };
            if let Some(slope) = slope {
                let entries = slope.iter_mut().zip(value.iter().zip(&*decay));
                entries.for_each(|(slope, (s, decay))| *slope = polynomial(*s).1 * decay);
            }
            value.iter_mut().zip(&*decay).for_each(|(value, decay)| *value = polynomial(*value).0 * decay);
        });
    }
}

impl Parameters for Matern {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        radial::visit(&self.lengthscale, &self.signal_var, visit);
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        radial::visit_mut(&mut self.lengthscale, &mut self.signal_var, visit);
    }
}

impl Law for Matern {
    type Tables = QuadratureTables;
    type Sums = KernelGrad;
    type Scratch = QuadratureScratch;

    fn dim_in(&self) -> usize {
        self.lengthscale.len()
    }

    fn check(&self) -> Result<()> {
        radial::check(&self.lengthscale, self.signal_var)
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        k.reset(x.rows(), z.rows());
        let (columns, mut decay) = (self.scaled_columns(z), vec![0.0; z.rows()]);
        for n in 0..x.rows() {
            let row = k.row_mut(n);
            self.shape(x.row(n), &columns, row, None, &mut decay);
            wide(|| row.iter_mut().for_each(|k| *k *= self.signal_var));
        }
    }

    /// With g_ni = 2 k̄_ni s² ∂(k/s²)/∂r² and differences δ in lengthscales:
    ///
    /// ```text
    /// x̄_nq = Σ_i g δ/ℓ_q       z̄_iq = −Σ_n g δ/ℓ_q       ℓ̄_q = −Σ_ni g δ²/ℓ_q       s̄² = Σ_ni k̄ k/s²
    /// ```
    fn cross_adjoint(
        &self,
        x: &Mat,
        z: &Mat,
        _k: &Mat,
        k_bar: &Mat,
        mut x_bar: Option<&mut Mat>,
        grad: &mut KernelGrad,
    ) {
        let (dim, m) = (self.dim_in(), z.rows());
        let columns = self.scaled_columns(z);
        let mut z_bar = Mat::zeros(dim, m);
        let [mut value, mut weight, mut decay] = [(); 3].map(|()| vec![0.0; m]);
        for n in 0..x.rows() {
            let bars = k_bar.row(n);
            self.shape(x.row(n), &columns, &mut value, Some(&mut weight), &mut decay);
            grad.params[dim] += dot(bars, &value);
            wide(|| weight.iter_mut().zip(bars).for_each(|(weight, bar)| *weight *= 2.0 * self.signal_var * bar));
            for q in 0..dim {
                let (l, bars) = (self.lengthscale[q], z_bar.row_mut(q));
                let at = x[(n, q)] / l;
                // Values and decays have been used: here are δ and g δ.
                let (delta, moment) = (&mut value, &mut decay);
                wide(|| {
                    let entries =
                        delta.iter_mut().zip(moment.iter_mut()).zip(bars).zip(columns.row(q).iter().zip(&weight));
                    entries.for_each(|(((delta, moment), bar), (z, weight))| {
                        *delta = at - z;
                        *moment = weight * *delta;
                        *bar -= *moment;
                    });
                });
                grad.params[q] -= dot(moment, delta) / l;
                if let Some(x_bar) = x_bar.as_deref_mut() {
                    x_bar[(n, q)] += sum(moment) / l;
                }
            }
        }
        for i in 0..m {
            for (q, l) in self.lengthscale.iter().enumerate() {
                grad.z[(i, q)] += z_bar[(q, i)] / l;
            }
        }
    }

    fn diag(&self, _x: &[f64]) -> f64 {
        self.signal_var
    }

    fn diag_adjoint(&self, _x: &[f64], diag_bar: f64, _x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        params[self.dim_in()] += diag_bar;
    }

    fn zero_sums(&self, n_inducing: usize) -> KernelGrad {
        KernelGrad::zeros(n_inducing, self.dim_in(), self.n_params())
    }

    fn prepare(&self, z: &Mat, tables: &mut QuadratureTables) {
        tables.prepare(z);
    }

    fn psi(&self, tables: &QuadratureTables, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut QuadratureScratch) {
        quadrature::psi(self, tables, input, psi, scratch);
    }

    fn psi_adjoint(
        &self,
        tables: &QuadratureTables,
        input: GaussianInput<'_>,
        _psi: &mut Psi,
        bar: &Psi,
        grad: PsiGrad<'_>,
        scratch: &mut QuadratureScratch,
    ) {
        quadrature::psi_adjoint(self, tables, input, bar, grad, scratch);
    }
}
