//! Covariance functions and their expectations under a Gaussian input.
//!
//! A *law* k(x, x') knows its values on points and, for h ~ N(m, diag v) and inducing inputs z_1 … z_M,
//!
//! ```text
//! ψ₀   = E k(h, h)
//! ψ₁ᵢ  = E k(h, zᵢ)
//! Ψ₂ᵢⱼ = E k(h, zᵢ) k(h, zⱼ)
//! ξ_qi = cov(h_q, k(h, zᵢ))              needed by layers with a linear mean
//! ```
//! and the adjoint of each. Laws with closed forms stand in files of their own; the others take
//! their expectations by `quadrature`. All gradients are with respect to natural parameter values, in the
//! order of [`Parameters::visit`].

mod atoms;
mod eq;
pub(crate) mod group;
mod linear;
mod matern;
mod quadrature;
mod spectral_mixture;
mod sum;

pub use eq::Eq;
pub use linear::Linear;
pub use matern::{Matern, Smoothness};
pub use spectral_mixture::SpectralMixture;
pub use sum::Sum;

use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::{Mat, axpy, tri};
use deepgp_numerics::simd::{Aligned, PAD};
use serde::{Deserialize, Serialize};

/// ∂F/∂Z (M × D) and ∂F/∂(natural parameters) of one kernel.
#[derive(Debug, Clone, Default)]
pub struct KernelGrad {
    /// With respect to the inducing inputs.
    pub z: Mat,
    /// With respect to the kernel's parameters.
    pub params: Vec<f64>,
    /// Working memory of the adjoints that add to it.
    pub(crate) room: Room,
}

/// Working memory that a law keeps from one adjoint to the next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    /// Sums over pairs of inducing inputs, M × (D + 1).
    moment: Mat,
    /// A number per dimension.
    numbers: Vec<f64>,
    /// 1/ℓ.
    inverse: Vec<f64>,
}

impl KernelGrad {
    /// Zeros of the right shape.
    pub fn zeros(n_inducing: usize, dim_in: usize, n_params: usize) -> Self {
        Self { z: Mat::zeros(n_inducing, dim_in), params: vec![0.0; n_params], room: Room::default() }
    }

    /// Adds another gradient of the same shape.
    pub fn add(&mut self, other: &KernelGrad) {
        self.z.add_scaled(1.0, &other.z);
        for (a, b) in self.params.iter_mut().zip(&other.params) {
            *a += b;
        }
    }
}

/// What the expectations need that depends on Z and the parameters alone; built once per step.
#[derive(Debug, Clone, Default)]
pub struct PsiTables {
    /// The inducing inputs, M × D.
    pub z: Mat,
    /// Their transpose, D rows of [`row_len`].
    pub(crate) points: Aligned,
    /// The least and the largest of them in each dimension, and all as seen from the middle of these, D rows of [`row_len`]; none where
    /// inputs are known.
    pub(crate) ends: Vec<[f64; 2]>,
    pub(crate) offsets: Aligned,
    /// The inducing inputs as seen from the first, and a column of ones, M × (D + 1).
    pub(crate) seen: Mat,
    /// A law's own numbers for each pair, a symmetric matrix with rows of [`row_len`], zero beyond M; its upper triangle where inputs
    /// are known.
    pub(crate) pairs: Aligned,
    /// The inducing inputs as seen from the first in a law's own units, D rows of [`row_len`], then a row of −½ of their squares; and
    /// whether these are all so small that they may stand for differences.
    pub(crate) scaled: Aligned,
    pub(crate) near: bool,
    /// The atoms of a law that consists of them.
    pub(crate) atoms: atoms::Atoms,
    /// Variances of the linear parts of a sum, added up; empty if there are none.
    pub(crate) slopes: Vec<f64>,
    /// The rule of a law without closed forms.
    pub(crate) nodes: std::sync::Arc<quadrature::Nodes>,
}

/// The expectations for one point, or the adjoint of each.
#[derive(Debug, Clone, Default)]
pub struct Psi {
    /// ψ₀.
    pub psi0: f64,
    /// ψ₁, M numbers.
    pub psi1: Vec<f64>,
    /// Ψ₂, packed upper triangle ([`tri`]); as an adjoint, a packed gradient.
    pub psi2: Vec<f64>,
    /// ξ, D × M, or 0 × 0 when it is not wanted.
    pub xi: Mat,
    /// Working numbers of a law.
    pub(crate) scratch: Vec<f64>,
    /// Working numbers of a pair of atoms.
    pub(crate) joint: Vec<atoms::Joint>,
    /// Working matrices of the quadrature.
    pub(crate) work: quadrature::Scratch,
}

impl Psi {
    /// Zeros for M inducing inputs and D input dimensions, with ξ only if it is wanted.
    pub fn zeros(n_inducing: usize, dim_in: usize, want_xi: bool) -> Self {
        Self {
            psi0: 0.0,
            psi1: vec![0.0; n_inducing],
            psi2: vec![0.0; tri::packed_len(n_inducing)],
            xi: if want_xi { Mat::zeros(dim_in, n_inducing) } else { Mat::default() },
            ..Self::default()
        }
    }

    /// Whether ξ is wanted.
    pub fn wants_xi(&self) -> bool {
        self.xi.rows() > 0
    }
}

/// Sums over points of what the adjoint of the expectations needs; blocks of points add up.
#[derive(Debug, Clone, Default)]
pub struct PsiSums {
    /// Gradient contributions that are complete.
    pub grad: KernelGrad,
    /// A law's own sums over points for Zᵀ, D rows of [`row_len`], turned into gradients by [`Law::finish`].
    pub(crate) points: Aligned,
    /// A law's own sums over known inputs, M × (D + 1), turned into gradients by [`Law::finish`]; 0 × 0 before the first.
    pub(crate) moment: Mat,
    /// The same for each dimension.
    pub(crate) squares: Vec<f64>,
    /// Working matrix.
    pub(crate) scratch: Mat,
    /// Working numbers, one a row.
    pub(crate) row_sums: Vec<f64>,
}

impl PsiSums {
    /// Zeros of the right shape.
    pub fn zeros(n_inducing: usize, dim_in: usize, n_params: usize) -> Self {
        Self {
            grad: KernelGrad::zeros(n_inducing, dim_in, n_params),
            points: Aligned::zeros(dim_in * row_len(n_inducing)),
            ..Self::default()
        }
    }

    /// The same for a layer whose inputs are known, which has no Ψ₂.
    pub fn without_pairs(n_inducing: usize, dim_in: usize, n_params: usize) -> Self {
        Self { grad: KernelGrad::zeros(n_inducing, dim_in, n_params), ..Self::default() }
    }

    /// Room for sums over known inputs, if there is to be any.
    pub(crate) fn expect_known(&mut self, n_inducing: usize, dim_in: usize) {
        if self.moment.rows() < n_inducing {
            self.moment.reset(n_inducing, dim_in + 1);
            self.squares.resize(dim_in, 0.0);
        }
    }

    /// Sets everything to zero, keeping the allocations.
    pub fn clear(&mut self) {
        self.grad.z.fill_zero();
        self.grad.params.fill(0.0);
        self.points.fill(0.0);
        self.moment.fill_zero();
        self.squares.fill(0.0);
    }

    /// Adds another block's sums.
    pub fn add(&mut self, other: &PsiSums) {
        self.grad.add(&other.grad);
        axpy(1.0, &other.points, &mut self.points);
        self.expect_known(other.moment.rows(), other.squares.len());
        axpy(1.0, other.moment.as_slice(), self.moment.as_mut_slice());
        axpy(1.0, &other.squares, &mut self.squares);
    }
}

/// ∂F/∂m and ∂F/∂v of one point's input, D numbers each; contributions are added.
#[derive(Debug)]
pub struct InputBar<'a> {
    /// With respect to the mean.
    pub mean: &'a mut [f64],
    /// With respect to the variance.
    pub var: &'a mut [f64],
}

/// A covariance law: values on points, expectations under a Gaussian input, and the adjoint of each.
///
/// Every `*_adjoint` *adds* to what it is given. Shapes: `x` N × D, `z` M × D, `k` N × M.
pub trait Law: Parameters {
    /// Number of input dimensions D.
    fn dim_in(&self) -> usize;

    /// Checks that every parameter is inside its domain.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] with name, entry and value.
    fn check(&self) -> Result<()>;

    /// k(x_n, z_i) for all pairs; `k` takes the shape N × M.
    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat);

    /// Adjoint of [`Law::cross`] at its value `k`. `x_bar` (N × D) is added to where it is given.
    fn cross_adjoint(&self, x: &Mat, z: &Mat, k: &Mat, k_bar: &Mat, x_bar: Option<&mut Mat>, grad: &mut KernelGrad);

    /// k(x, x) of one point.
    fn diag(&self, x: &[f64]) -> f64;

    /// Adjoint of [`Law::diag`]: adds `diag_bar` · ∂k(x, x)/∂(parameters) to `params` and, where given, ∂/∂x to `x_bar`.
    fn diag_adjoint(&self, x: &[f64], diag_bar: f64, x_bar: Option<&mut [f64]>, params: &mut [f64]);

    /// [`Law::diag`] of every row of `x`, as many numbers as there is room for in `out`.
    fn diags(&self, x: &Mat, out: &mut [f64]) {
        x.iter_rows().zip(out).for_each(|(x, out)| *out = self.diag(x));
    }

    /// Adjoint of [`Law::diags`] in the parameters.
    fn diags_adjoint(&self, x: &Mat, diags_bar: &[f64], params: &mut [f64]) {
        x.iter_rows().zip(diags_bar).for_each(|(x, bar)| self.diag_adjoint(x, *bar, None, params));
    }

    /// Builds the tables for inducing inputs `z`.
    fn prepare(&self, z: &Mat, tables: &mut PsiTables);

    /// Builds at least what [`Law::gram`] and [`Law::cross_prepared`] need of them: enough where all inputs are known.
    fn prepare_known(&self, z: &Mat, tables: &mut PsiTables) {
        self.prepare(z, tables);
    }

    /// The expectations for one point.
    fn psi(&self, tables: &PsiTables, mean: &[f64], var: &[f64], psi: &mut Psi);

    /// Adjoint of [`Law::psi`] at its value `psi`.
    #[expect(clippy::too_many_arguments, reason = "the arguments of `psi`, its adjoint, and what receives it")]
    fn psi_adjoint(
        &self,
        tables: &PsiTables,
        mean: &[f64],
        var: &[f64],
        psi: &mut Psi,
        bar: &Psi,
        input: InputBar<'_>,
        sums: &mut PsiSums,
    );

    /// K = k(Z, Z) for the inducing inputs of the tables.
    fn gram(&self, tables: &PsiTables, k: &mut Mat) {
        self.cross(&tables.z, &tables.z, k);
    }

    /// As much of [`Law::gram`] as [`Law::gram_adjoint`] of the law reads, its upper triangle at least.
    fn half_gram(&self, tables: &PsiTables, k: &mut Mat) {
        self.gram(tables, k);
    }

    /// Adjoint of [`Law::gram`] for `k_bar`, which is destroyed and of which only the symmetric part matters: each inducing input
    /// appears on both sides.
    fn gram_adjoint(&self, tables: &PsiTables, k: &Mat, k_bar: &mut Mat, grad: &mut KernelGrad) {
        let mut left = Mat::zeros(tables.z.rows(), tables.z.cols());
        self.cross_adjoint(&tables.z, &tables.z, k, k_bar, Some(&mut left), grad);
        grad.z.add_scaled(1.0, &left);
    }

    /// k(x_n, z_i) for the inducing inputs of the tables.
    fn cross_prepared(&self, tables: &PsiTables, x: &Mat, k: &mut Mat) {
        self.cross(x, &tables.z, k);
    }

    /// Adjoint of [`Law::cross_prepared`] for known `x`; `k_bar` is destroyed.
    fn cross_prepared_adjoint(&self, tables: &PsiTables, x: &Mat, k: &Mat, k_bar: &mut Mat, sums: &mut PsiSums) {
        self.cross_adjoint(x, &tables.z, k, k_bar, None, &mut sums.grad);
    }

    /// Turns the law's own sums of [`PsiSums`] into gradients and adds everything to `grad`. A law that keeps none has nothing
    /// to turn.
    fn finish(&self, _tables: &PsiTables, sums: &PsiSums, grad: &mut KernelGrad) {
        grad.add(&sums.grad);
    }
}

/// A kernel: one of the laws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kernel {
    /// Exponentiated quadratic with one lengthscale per input dimension.
    Eq(Eq),
    /// Linear with one variance per input dimension.
    Linear(Linear),
    /// Mixture of Gaussians in the spectral density.
    SpectralMixture(SpectralMixture),
    /// Matérn of smoothness 3/2 or 5/2.
    Matern(Matern),
    /// Sum of the laws above.
    Sum(Sum),
}

/// Calls the same method on whichever law this is.
macro_rules! on_law {
    ($self:expr, $law:ident => $call:expr) => {
        match $self {
            Kernel::Eq($law) => $call,
            Kernel::Linear($law) => $call,
            Kernel::SpectralMixture($law) => $call,
            Kernel::Matern($law) => $call,
            Kernel::Sum($law) => $call,
        }
    };
}

impl Parameters for Kernel {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        on_law!(self, law => law.visit(visit))
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        on_law!(self, law => law.visit_mut(visit))
    }
}

impl Law for Kernel {
    fn dim_in(&self) -> usize {
        on_law!(self, law => law.dim_in())
    }

    fn check(&self) -> Result<()> {
        on_law!(self, law => law.check())
    }

    fn cross(&self, x: &Mat, z: &Mat, k: &mut Mat) {
        on_law!(self, law => law.cross(x, z, k))
    }

    fn cross_adjoint(&self, x: &Mat, z: &Mat, k: &Mat, k_bar: &Mat, x_bar: Option<&mut Mat>, grad: &mut KernelGrad) {
        on_law!(self, law => law.cross_adjoint(x, z, k, k_bar, x_bar, grad))
    }

    fn diag(&self, x: &[f64]) -> f64 {
        on_law!(self, law => law.diag(x))
    }

    fn diag_adjoint(&self, x: &[f64], diag_bar: f64, x_bar: Option<&mut [f64]>, params: &mut [f64]) {
        on_law!(self, law => law.diag_adjoint(x, diag_bar, x_bar, params))
    }

    fn diags(&self, x: &Mat, out: &mut [f64]) {
        on_law!(self, law => law.diags(x, out))
    }

    fn diags_adjoint(&self, x: &Mat, diags_bar: &[f64], params: &mut [f64]) {
        on_law!(self, law => law.diags_adjoint(x, diags_bar, params))
    }

    fn prepare(&self, z: &Mat, tables: &mut PsiTables) {
        on_law!(self, law => law.prepare(z, tables))
    }

    fn prepare_known(&self, z: &Mat, tables: &mut PsiTables) {
        on_law!(self, law => law.prepare_known(z, tables))
    }

    fn psi(&self, tables: &PsiTables, mean: &[f64], var: &[f64], psi: &mut Psi) {
        on_law!(self, law => law.psi(tables, mean, var, psi))
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
        on_law!(self, law => law.psi_adjoint(tables, mean, var, psi, bar, input, sums))
    }

    fn gram(&self, tables: &PsiTables, k: &mut Mat) {
        on_law!(self, law => law.gram(tables, k))
    }

    fn half_gram(&self, tables: &PsiTables, k: &mut Mat) {
        on_law!(self, law => law.half_gram(tables, k))
    }

    fn gram_adjoint(&self, tables: &PsiTables, k: &Mat, k_bar: &mut Mat, grad: &mut KernelGrad) {
        on_law!(self, law => law.gram_adjoint(tables, k, k_bar, grad))
    }

    fn cross_prepared(&self, tables: &PsiTables, x: &Mat, k: &mut Mat) {
        on_law!(self, law => law.cross_prepared(tables, x, k))
    }

    fn cross_prepared_adjoint(&self, tables: &PsiTables, x: &Mat, k: &Mat, k_bar: &mut Mat, sums: &mut PsiSums) {
        on_law!(self, law => law.cross_prepared_adjoint(tables, x, k, k_bar, sums))
    }

    fn finish(&self, tables: &PsiTables, sums: &PsiSums, grad: &mut KernelGrad) {
        on_law!(self, law => law.finish(tables, sums, grad))
    }
}

/// Length of a row of M numbers in a table: whole vectors, and room for one more.
pub(crate) fn row_len(m: usize) -> usize {
    m.next_multiple_of(PAD) + PAD
}

/// The blocks of a law of Σ_q (x_q − x'_q)²/ℓ_q² and a signal variance: lengthscales, then the variance.
fn visit_radial(lengthscale: &[f64], signal_var: &f64, visit: &mut dyn FnMut(Block<'_>)) {
    visit(Block { name: "lengthscale", domain: Domain::Positive, values: lengthscale });
    visit(Block { name: "signal_var", domain: Domain::Positive, values: std::slice::from_ref(signal_var) });
}

/// The same, writable.
fn visit_radial_mut(lengthscale: &mut [f64], signal_var: &mut f64, visit: &mut dyn FnMut(BlockMut<'_>)) {
    visit(BlockMut { name: "lengthscale", domain: Domain::Positive, values: lengthscale });
    visit(BlockMut { name: "signal_var", domain: Domain::Positive, values: std::slice::from_mut(signal_var) });
}

/// Checks the parameters of such a law.
fn check_radial(lengthscale: &[f64], signal_var: f64) -> Result<()> {
    for (q, &l) in lengthscale.iter().enumerate() {
        expect_positive("lengthscale", Some(q), l)?;
    }
    expect_positive("signal_var", None, signal_var)
}
