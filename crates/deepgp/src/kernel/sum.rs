//! Sums of laws.
//!
//! The expectations of a sum need those of each product of two parts. The parts that are Gaussian times cosine
//! (exponentiated quadratic, spectral mixture) form one list of terms (`gaussian_cosine`), the linear parts add up to
//! one linear law with variances a_q, and between these terms (superscript A) and the linear law (L)
//!
//! ```text
//! E kᴬ(h, zᵢ) kᴸ(h, zⱼ) = Σ_q a_q z_jq y_qi,    y_qi = E h_q kᴬ(h, zᵢ) = m_q ψ₁ᵢᴬ + ξᴬ_qi
//! Ψ₂ = Ψ₂ᴬ + Ψ₂ᴸ + X + Xᵀ,                     X_ij = Σ_q y_qi a_q z_jq
//! ```
//! If a part has no closed form (Matérn), the whole sum is taken by `quadrature`.

use super::Kernel;
use super::gaussian_cosine::{GaussianCosines, PairDimension, Places};
use super::law::{Law, Tables};
use super::linear::{self, LinearGrad};
use super::psi::{GaussianInput, KernelGrad, Psi, PsiGrad};
use super::quadrature::{self, QuadratureScratch, QuadratureTables};
use crate::error::{Error, Result, expect_size};
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::{Mat, dot, tri};
use serde::{Deserialize, Serialize};

/// Sum of covariances over the same inputs; its parameters are those of its parts in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// At least one; none is itself a sum.
    pub parts: Vec<Kernel>,
}

/// What the expectations need that depends on Z and the parameters alone.
#[derive(Debug, Clone)]
pub enum SumTables {
    /// Every part has expectations in closed form.
    Closed(ClosedTables),
    /// One has not.
    Quadrature(QuadratureTables),
}

/// The tables of a sum whose parts all have expectations in closed form.
#[derive(Debug, Clone, Default)]
pub struct ClosedTables {
    z: Mat,
    terms: GaussianCosines,
    /// Variances of the linear parts, added up; empty if there are none.
    slopes: Vec<f64>,
}

impl Default for SumTables {
    fn default() -> Self {
        Self::Closed(ClosedTables::default())
    }
}

impl Tables for SumTables {
    fn z(&self) -> &Mat {
        match self {
            Self::Closed(tables) => &tables.z,
            Self::Quadrature(tables) => tables.z(),
        }
    }
}

/// Working memory of the expectations.
#[derive(Debug, Clone, Default)]
pub struct SumScratch {
    numbers: Vec<f64>,
    pair: Vec<PairDimension>,
    quadrature: QuadratureScratch,
}

impl Sum {
    /// The sum of these parts; the parts of sums among them take their place.
    pub fn new(parts: impl IntoIterator<Item = Kernel>) -> Self {
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Kernel::Sum(sum) => flat.extend(Sum::new(sum.parts).parts),
                law => flat.push(law),
            }
        }
        Self { parts: flat }
    }

    /// Whether every part has expectations in closed form.
    fn is_closed(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Kernel::Eq(_) | Kernel::Linear(_) | Kernel::SpectralMixture(_) => true,
            Kernel::Matern(_) | Kernel::Sum(_) => false,
        })
    }

    /// The tables of a sum whose parts all have expectations in closed form.
    fn prepare_closed(&self, z: &Mat, tables: &mut ClosedTables) {
        tables.z.clone_from(z);
        tables.terms.clear();
        tables.slopes.clear();
        for (start, part) in self.placed() {
            match part {
                Kernel::Eq(eq) => {
                    let places = Places { lengthscale: start, weight: start + eq.dim_in(), frequency: None };
                    tables.terms.push(eq.signal_var, &eq.lengthscale, &[], places);
                }
                Kernel::SpectralMixture(mixture) => mixture.push_terms(start, &mut tables.terms),
                Kernel::Linear(linear) => {
                    tables.slopes.resize(linear.dim_in(), 0.0);
                    for (total, a) in tables.slopes.iter_mut().zip(&linear.variance) {
                        *total += a;
                    }
                }
                Kernel::Matern(_) | Kernel::Sum(_) => {}
            }
        }
    }

    /// Each part with the place where its parameters begin.
    fn placed(&self) -> impl Iterator<Item = (usize, &Kernel)> {
        self.parts.iter().scan(0, |next, part| {
            let start = *next;
            *next += part.n_params();
            Some((start, part))
        })
    }
}

impl Parameters for Sum {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        for part in &self.parts {
            part.visit(visit);
        }
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        for part in &mut self.parts {
            part.visit_mut(visit);
        }
    }
}

impl Law for Sum {
    type Tables = SumTables;
    type Sums = KernelGrad;
    type Scratch = SumScratch;

    fn dim_in(&self) -> usize {
        self.parts.first().map_or(0, Law::dim_in)
    }

    fn check(&self) -> Result<()> {
        if self.parts.is_empty() {
            return Err(Error::Shape { what: "parts of a sum", expected: 1, found: 0 });
        }
        for (index, part) in self.parts.iter().enumerate() {
            if let Kernel::Sum(inner) = part {
                return Err(Error::Parameter {
                    name: "parts of an inner sum",
                    layer: None,
                    entry: Some(index),
                    value: inner.parts.len() as f64,
                    requirement: "a part of a sum must not be a sum; Sum::new flattens it",
                });
            }
            expect_size("input dimensions of a part", self.dim_in(), part.dim_in())?;
            part.check()?;
        }
        Ok(())
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        k.reset(x.rows(), z.rows());
        let mut term = Mat::default();
        for part in &self.parts {
            part.cross(x, z, &mut term);
            k.add_scaled(1.0, &term);
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
        let mut term = Mat::default();
        for (start, part) in self.placed() {
            part.cross(x, z, &mut term);
            // The part adds to the same Z̄ and to parameters of its own.
            let mut own = KernelGrad::zeros(0, 0, part.n_params());
            std::mem::swap(&mut own.z, &mut grad.z);
            part.cross_adjoint(x, z, &term, k_bar, x_bar.as_deref_mut(), &mut own);
            grad.z = own.z;
            for (g, o) in grad.params[start..].iter_mut().zip(&own.params) {
                *g += o;
            }
        }
    }

    fn diag(&self, x: &[f64]) -> f64 {
        self.parts.iter().map(|part| part.diag(x)).sum()
    }

    fn diag_adjoint(&self, x: &[f64], diag_bar: f64, mut x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        for (start, part) in self.placed() {
            part.diag_adjoint(x, diag_bar, x_bar.as_deref_mut(), &mut params[start..]);
        }
    }

    fn zero_sums(&self, n_inducing: usize) -> KernelGrad {
        KernelGrad::zeros(n_inducing, self.dim_in(), self.n_params())
    }

    fn prepare(&self, z: &Mat, tables: &mut SumTables) {
        match (self.is_closed(), &mut *tables) {
            (true, SumTables::Closed(tables)) => self.prepare_closed(z, tables),
            (false, SumTables::Quadrature(tables)) => tables.prepare(z),
            (is_closed, _) => {
                *tables = match is_closed {
                    true => SumTables::default(),
                    false => SumTables::Quadrature(QuadratureTables::default()),
                };
                self.prepare(z, tables);
            }
        }
    }

    fn psi(&self, tables: &SumTables, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut SumScratch) {
        let ClosedTables { z, terms, slopes } = match tables {
            SumTables::Closed(tables) => tables,
            SumTables::Quadrature(tables) => {
                return quadrature::psi(self, tables, input, psi, &mut scratch.quadrature);
            }
        };
        let (m, dim, SumScratch { numbers, pair, .. }) = (z.rows(), z.cols(), scratch);
        numbers.resize(dim * m, 0.0);
        psi.psi0 = terms.psi0();
        terms.psi1(z, input, &mut psi.psi1, Some(numbers));
        terms.psi2(z, input, &mut psi.psi2, pair);
        if psi.wants_xi() {
            psi.xi.as_mut_slice().copy_from_slice(numbers);
        }
        if slopes.is_empty() {
            return;
        }

        // From ξᴬ to y, and X + Xᵀ into Ψ₂
        add_mean(input.mean, &psi.psi1, numbers);
        let y = &*numbers;
        let mut p = 0;
        for i in 0..m {
            for j in i..m {
                for (q, a) in slopes.iter().enumerate() {
                    psi.psi2[p] += a * (y[q * m + i] * z[(j, q)] + y[q * m + j] * z[(i, q)]);
                }
                p += 1;
            }
        }
        linear::add_psi(slopes, z, input, psi, numbers);
    }

    fn psi_adjoint(
        &self,
        tables: &SumTables,
        input: GaussianInput<'_>,
        _psi: &mut Psi,
        bar: &Psi,
        mut grad: PsiGrad<'_>,
        scratch: &mut SumScratch,
    ) {
        let ClosedTables { z, terms, slopes } = match tables {
            SumTables::Closed(tables) => tables,
            SumTables::Quadrature(tables) => {
                return quadrature::psi_adjoint(self, tables, input, bar, grad, &mut scratch.quadrature);
            }
        };
        let SumScratch { numbers, pair, .. } = scratch;
        terms.psi0_adjoint(bar.psi0, &mut grad.kernel.params);
        terms.psi2_adjoint(z, input, &bar.psi2, &mut grad, pair);
        if slopes.is_empty() {
            let xi_bar = bar.wants_xi().then_some(bar.xi.as_slice());
            return terms.psi1_adjoint(z, input, &bar.psi1, xi_bar, &mut grad);
        }

        // Scratch: ψ₁ᴬ, y and their adjoints (ψ̄₁ᴬ, ξ̄ᴬ), ∂ℒ/∂a, and two vectors of M.
        let (m, dim) = (z.rows(), z.cols());
        numbers.resize(2 * (dim + 1) * m + dim + 2 * m, 0.0);
        let (psi1, rest) = numbers.split_at_mut(m);
        let (y, rest) = rest.split_at_mut(dim * m);
        let (psi1_bar, rest) = rest.split_at_mut(m);
        let (xi_bar, rest) = rest.split_at_mut(dim * m);
        let (slopes_bar, vectors) = rest.split_at_mut(dim);
        terms.psi1(z, input, psi1, Some(y));
        add_mean(input.mean, psi1, y);
        psi1_bar.copy_from_slice(&bar.psi1);
        xi_bar.fill(0.0);
        if bar.wants_xi() {
            xi_bar.copy_from_slice(bar.xi.as_slice());
        }
        slopes_bar.fill(0.0);

        // F = Σ_ij W_ij X_ij with W the symmetric matrix of `tri::gradient_mul`: ȳ_q = W (a_q z_q), and a_q z_q has W
        // y_q.
        for (q, a) in slopes.iter().enumerate() {
            let (column, product) = vectors.split_at_mut(m);
            for i in 0..m {
                column[i] = a * z[(i, q)];
            }
            tri::gradient_mul(&bar.psi2, column, product);
            grad.input.mean[q] += dot(psi1, product);
            for i in 0..m {
                psi1_bar[i] += input.mean[q] * product[i];
                xi_bar[q * m + i] += product[i];
            }
            tri::gradient_mul(&bar.psi2, &y[q * m..(q + 1) * m], product);
            for i in 0..m {
                grad.kernel.z[(i, q)] += a * product[i];
                slopes_bar[q] += z[(i, q)] * product[i];
            }
        }
        terms.psi1_adjoint(z, input, psi1_bar, Some(xi_bar), &mut grad);
        let PsiGrad { input: input_bar, kernel: grad } = &mut grad;
        let out = LinearGrad { input: input_bar, z: &mut grad.z, variance: slopes_bar };
        linear::add_psi_adjoint(slopes, z, input, bar, out, vectors);
        for (start, part) in self.placed() {
            if matches!(part, Kernel::Linear(_)) {
                for (g, s) in grad.params[start..].iter_mut().zip(slopes_bar.iter()) {
                    *g += s;
                }
            }
        }
    }
}

/// y_qi = m_q ψ₁ᵢ + ξ_qi, in place of ξ (D rows of M).
fn add_mean(mean: &[f64], psi1: &[f64], xi: &mut [f64]) {
    for (m_q, row) in mean.iter().zip(xi.chunks_exact_mut(psi1.len())) {
        for (out, psi1_i) in row.iter_mut().zip(psi1) {
            *out += m_q * psi1_i;
        }
    }
}
