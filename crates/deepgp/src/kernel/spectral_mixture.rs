//! The spectral mixture law: any stationary covariance as a sum of Gaussians in frequency.
//!
//! ```text
//! k(x, x') = Σ_c w_c exp(−½ Σ_q τ_q²/ℓ_cq²) cos(Σ_q ω_cq τ_q),    τ = x − x'
//! ```
//! Wilson & Adams (2013) write the same with means μ and variances v of the spectral density in cycles for each unit of
//! input: ω = 2πμ, ℓ = 1/(2π√v). In more than one dimension the phase is the inner product ω·τ, the transform of a pair
//! of Gaussians at ±μ; a product of one cosine for each dimension would be another law.
//! The expectations are those of `gaussian_cosine`.

use super::gaussian_cosine::{GaussianCosines, PairDimension, Places};
use super::law::{Law, Tables};
use super::psi::{GaussianInput, KernelGrad, Psi, PsiGrad};
use crate::error::{Error, Result, expect_positive, expect_size};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// Mixture of Q Gaussians in the spectral density.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpectralMixture {
    /// w_c, Q numbers.
    pub weight: Vec<f64>,
    /// ω_cq in radians for each unit of input, Q × D; any real numbers.
    pub frequency: Mat,
    /// ℓ_cq, Q × D.
    pub lengthscale: Mat,
}

/// What the expectations need that depends on Z and the parameters alone.
#[derive(Debug, Clone, Default)]
pub struct MixtureTables {
    z: Mat,
    terms: GaussianCosines,
}

impl Tables for MixtureTables {
    fn z(&self) -> &Mat {
        &self.z
    }
}

impl SpectralMixture {
    /// Adds the components to a list of terms; the parameters of this law begin at `start`.
    pub(super) fn push_terms(&self, start: usize, terms: &mut GaussianCosines) {
        let (n, dim) = (self.weight.len(), self.dim_in());
        for (c, &weight) in self.weight.iter().enumerate() {
            let places = Places {
                weight: start + c,
                frequency: Some(start + n + c * dim),
                lengthscale: start + n + (n + c) * dim,
            };
            terms.push(weight, self.lengthscale.row(c), self.frequency.row(c), places);
        }
    }

    /// exp(−½ Σ τ²/ℓ²) and Σ ω τ of component `c`.
    fn envelope_and_phase(&self, c: usize, x: &[f64], z: &[f64]) -> (f64, f64) {
        let (mut r2, mut phase) = (0.0, 0.0);
        for q in 0..x.len() {
            let tau = x[q] - z[q];
            r2 += (tau / self.lengthscale[(c, q)]).powi(2);
            phase += self.frequency[(c, q)] * tau;
        }
        ((-0.5 * r2).exp(), phase)
    }
}

impl Parameters for SpectralMixture {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "weight", domain: Domain::Positive, values: &self.weight });
        visit(Block { name: "frequency", domain: Domain::Real, values: self.frequency.as_slice() });
        visit(Block { name: "lengthscale", domain: Domain::Positive, values: self.lengthscale.as_slice() });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "weight", domain: Domain::Positive, values: &mut self.weight });
        visit(BlockMut { name: "frequency", domain: Domain::Real, values: self.frequency.as_mut_slice() });
        visit(BlockMut { name: "lengthscale", domain: Domain::Positive, values: self.lengthscale.as_mut_slice() });
    }
}

impl Law for SpectralMixture {
    type Tables = MixtureTables;
    type Sums = KernelGrad;
    type Scratch = Vec<PairDimension>;

    fn dim_in(&self) -> usize {
        self.lengthscale.cols()
    }

    fn check(&self) -> Result<()> {
        let n = self.weight.len();
        if n == 0 {
            return Err(Error::Shape { what: "components of a spectral mixture", expected: 1, found: 0 });
        }
        expect_size("rows of frequency", n, self.frequency.rows())?;
        expect_size("rows of lengthscale", n, self.lengthscale.rows())?;
        expect_size("columns of frequency", self.dim_in(), self.frequency.cols())?;
        for (c, &w) in self.weight.iter().enumerate() {
            expect_positive("weight", Some(c), w)?;
        }
        for (p, &l) in self.lengthscale.as_slice().iter().enumerate() {
            expect_positive("lengthscale", Some(p), l)?;
        }
        match self.frequency.as_slice().iter().position(|omega| !omega.is_finite()) {
            None => Ok(()),
            Some(p) => Err(Error::Parameter {
                name: "frequency",
                layer: None,
                entry: Some(p),
                value: self.frequency.as_slice()[p],
                requirement: "it must be finite",
            }),
        }
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        k.reset(x.rows(), z.rows());
        for n in 0..x.rows() {
            for i in 0..z.rows() {
                for (c, w) in self.weight.iter().enumerate() {
                    let (envelope, phase) = self.envelope_and_phase(c, x.row(n), z.row(i));
                    k[(n, i)] += w * envelope * phase.cos();
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
        let (n_components, dim) = (self.weight.len(), self.dim_in());
        for n in 0..x.rows() {
            for i in 0..z.rows() {
                for (c, w) in self.weight.iter().enumerate() {
                    let (envelope, phase) = self.envelope_and_phase(c, x.row(n), z.row(i));
                    let size = k_bar[(n, i)] * envelope;
                    grad.params[c] += size * phase.cos();
                    // ∂ℒ/∂(exponent) and ∂ℒ/∂(phase)
                    let (cos, sin) = (size * w * phase.cos(), size * w * phase.sin());
                    for q in 0..dim {
                        let (l, omega, tau) = (self.lengthscale[(c, q)], self.frequency[(c, q)], x[(n, q)] - z[(i, q)]);
                        let slope = cos * tau / (l * l);
                        let at = n_components + c * dim + q;
                        grad.params[at] -= sin * tau;
                        grad.params[at + n_components * dim] += slope * tau / l;
                        let tau_bar = -slope - sin * omega;
                        grad.z[(i, q)] -= tau_bar;
                        if let Some(x_bar) = x_bar.as_deref_mut() {
                            x_bar[(n, q)] += tau_bar;
                        }
                    }
                }
            }
        }
    }

    fn diag(&self, _x: &[f64]) -> f64 {
        self.weight.iter().sum()
    }

    fn diag_adjoint(&self, _x: &[f64], diag_bar: f64, _x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        for p in &mut params[..self.weight.len()] {
            *p += diag_bar;
        }
    }

    fn zero_sums(&self, n_inducing: usize) -> KernelGrad {
        KernelGrad::zeros(n_inducing, self.dim_in(), self.n_params())
    }

    fn prepare(&self, z: &Mat, tables: &mut MixtureTables) {
        tables.z.clone_from(z);
        tables.terms.clear();
        self.push_terms(0, &mut tables.terms);
    }

    fn psi(&self, tables: &MixtureTables, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut Vec<PairDimension>) {
        let MixtureTables { z, terms } = tables;
        psi.psi0 = terms.psi0();
        let xi = psi.wants_xi().then_some(psi.xi.as_mut_slice());
        terms.psi1(z, input, &mut psi.psi1, xi);
        terms.psi2(z, input, &mut psi.psi2, scratch);
    }

    fn psi_adjoint(
        &self,
        tables: &MixtureTables,
        input: GaussianInput<'_>,
        _psi: &mut Psi,
        bar: &Psi,
        mut grad: PsiGrad<'_>,
        scratch: &mut Vec<PairDimension>,
    ) {
        let MixtureTables { z, terms } = tables;
        let xi_bar = bar.wants_xi().then_some(bar.xi.as_slice());
        terms.psi0_adjoint(bar.psi0, &mut grad.kernel.params);
        terms.psi1_adjoint(z, input, &bar.psi1, xi_bar, &mut grad);
        terms.psi2_adjoint(z, input, &bar.psi2, &mut grad, scratch);
    }
}
