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
//! and the adjoint of each ([`Law`]). Laws with closed forms have files of their own; the others take
//! their expectations by `quadrature`. All gradients are with respect to natural parameter values, in the
//! order of [`Parameters::visit`]. [`Kernel`] is one of the laws; its tables, sums and scratch are those of that law.

mod eq;
mod gaussian_cosine;
pub(crate) mod group;
mod law;
mod linear;
mod matern;
mod padded;
pub(crate) mod products;
mod psi;
mod quadrature;
mod radial;
mod spectral_mixture;
mod sum;

pub use eq::Eq;
pub use law::{Law, PointSums, Tables};
pub use linear::Linear;
pub use matern::{Matern, Smoothness};
pub(crate) use padded::row_len;
pub use psi::{GaussianInput, InputBar, KernelGrad, Psi, PsiGrad};
pub use spectral_mixture::SpectralMixture;
pub use sum::Sum;

use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

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

/// Declares an enum over the laws, whose variants hold an associated type of each.
macro_rules! of_law {
    ($(#[$doc:meta])* $name:ident, $what:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        #[allow(clippy::large_enum_variant, reason = "there are only a few, and no list of them")]
        pub enum $name {
            /// For the exponentiated quadratic law.
            Eq(<Eq as Law>::$what),
            /// For the linear law.
            Linear(<Linear as Law>::$what),
            /// For the spectral mixture law.
            SpectralMixture(<SpectralMixture as Law>::$what),
            /// For the Matérn laws.
            Matern(<Matern as Law>::$what),
            /// For a sum.
            Sum(<Sum as Law>::$what),
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Eq(Default::default())
            }
        }
    };
}

of_law! {
    /// What a kernel's law needs that depends on Z and the parameters alone; built once per step.
    KernelTables, Tables
}

of_law! {
    /// What the adjoints of a kernel's law sum over points.
    KernelSums, Sums
}

of_law! {
    /// Working memory of a kernel's law.
    KernelScratch, Scratch
}

/// Lets what belongs to another law be replaced by what is empty and belongs to this one.
macro_rules! replaceable {
    ($name:ident) => {
        impl $name {
            fn make_fit(&mut self, kernel: &Kernel) {
                *self = match (kernel, &*self) {
                    (Kernel::Eq(_), Self::Eq(_))
                    | (Kernel::Linear(_), Self::Linear(_))
                    | (Kernel::SpectralMixture(_), Self::SpectralMixture(_))
                    | (Kernel::Matern(_), Self::Matern(_))
                    | (Kernel::Sum(_), Self::Sum(_)) => return,
                    (Kernel::Eq(_), _) => Self::Eq(Default::default()),
                    (Kernel::Linear(_), _) => Self::Linear(Default::default()),
                    (Kernel::SpectralMixture(_), _) => Self::SpectralMixture(Default::default()),
                    (Kernel::Matern(_), _) => Self::Matern(Default::default()),
                    (Kernel::Sum(_), _) => Self::Sum(Default::default()),
                };
            }
        }
    };
}

replaceable!(KernelTables);
replaceable!(KernelScratch);

/// Dispatches to the law of a kernel.
macro_rules! on_law {
    ($kernel:expr, $law:ident => $call:expr) => {
        match $kernel {
            Kernel::Eq($law) => $call,
            Kernel::Linear($law) => $call,
            Kernel::SpectralMixture($law) => $call,
            Kernel::Matern($law) => $call,
            Kernel::Sum($law) => $call,
        }
    };
}

/// Dispatches to the law of a kernel together with its associated types, one or several of `Enum(value) => name`.
macro_rules! on_law_with {
    ($kernel:expr, $($of:ident($value:expr) => $own:ident),+; $law:ident => $call:expr) => {
        match ($kernel, $($value),+) {
            (Kernel::Eq($law), $($of::Eq($own)),+) => $call,
            (Kernel::Linear($law), $($of::Linear($own)),+) => $call,
            (Kernel::SpectralMixture($law), $($of::SpectralMixture($own)),+) => $call,
            (Kernel::Matern($law), $($of::Matern($own)),+) => $call,
            (Kernel::Sum($law), $($of::Sum($own)),+) => $call,
            _ => unreachable!("tables and sums were made for this kernel"),
        }
    };
}

/// Dispatches to the variant's associated type.
macro_rules! on_own {
    ($of:ident($value:expr), $own:ident => $call:expr) => {
        match $value {
            $of::Eq($own) => $call,
            $of::Linear($own) => $call,
            $of::SpectralMixture($own) => $call,
            $of::Matern($own) => $call,
            $of::Sum($own) => $call,
        }
    };
}

impl Tables for KernelTables {
    fn z(&self) -> &Mat {
        on_own!(KernelTables(self), own => own.z())
    }
}

impl PointSums for KernelSums {
    fn grad(&self) -> &KernelGrad {
        on_own!(KernelSums(self), own => own.grad())
    }

    fn grad_mut(&mut self) -> &mut KernelGrad {
        on_own!(KernelSums(self), own => own.grad_mut())
    }

    fn clear(&mut self) {
        on_own!(KernelSums(self), own => own.clear());
    }

    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Eq(mine), Self::Eq(theirs)) => mine.add(theirs),
            (Self::Linear(mine), Self::Linear(theirs))
            | (Self::SpectralMixture(mine), Self::SpectralMixture(theirs))
            | (Self::Matern(mine), Self::Matern(theirs))
            | (Self::Sum(mine), Self::Sum(theirs)) => mine.add(theirs),
            _ => unreachable!("blocks of one layer have one kernel"),
        }
    }
}

impl Parameters for Kernel {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        on_law!(self, law => law.visit(visit))
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        on_law!(self, law => law.visit_mut(visit))
    }
}

/// Every method is that of the law. Tables to be built and scratch may have been another law's; other tables and sums
/// may not.
impl Law for Kernel {
    type Tables = KernelTables;
    type Sums = KernelSums;
    type Scratch = KernelScratch;

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

    fn zero_sums(&self, n_inducing: usize) -> KernelSums {
        match self {
            Kernel::Eq(law) => KernelSums::Eq(law.zero_sums(n_inducing)),
            Kernel::Linear(law) => KernelSums::Linear(law.zero_sums(n_inducing)),
            Kernel::SpectralMixture(law) => KernelSums::SpectralMixture(law.zero_sums(n_inducing)),
            Kernel::Matern(law) => KernelSums::Matern(law.zero_sums(n_inducing)),
            Kernel::Sum(law) => KernelSums::Sum(law.zero_sums(n_inducing)),
        }
    }

    fn prepare(&self, z: &Mat, tables: &mut KernelTables) {
        tables.make_fit(self);
        on_law_with!(self, KernelTables(tables) => tables; law => law.prepare(z, tables))
    }

    fn prepare_exact(&self, z: &Mat, tables: &mut KernelTables) {
        tables.make_fit(self);
        on_law_with!(self, KernelTables(tables) => tables; law => law.prepare_exact(z, tables))
    }

    fn psi(&self, tables: &KernelTables, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut KernelScratch) {
        scratch.make_fit(self);
        on_law_with!(
            self, KernelTables(tables) => tables, KernelScratch(scratch) => scratch;
            law => law.psi(tables, input, psi, scratch)
        )
    }

    fn psi_adjoint(
        &self,
        tables: &KernelTables,
        input: GaussianInput<'_>,
        psi: &mut Psi,
        bar: &Psi,
        grad: PsiGrad<'_>,
        scratch: &mut KernelScratch,
    ) {
        scratch.make_fit(self);
        on_law_with!(
            self, KernelTables(tables) => tables, KernelScratch(scratch) => scratch;
            law => law.psi_adjoint(tables, input, psi, bar, grad, scratch)
        )
    }

    fn gram(&self, tables: &KernelTables, k: &mut Mat) {
        on_law_with!(self, KernelTables(tables) => tables; law => law.gram(tables, k))
    }

    fn half_gram(&self, tables: &KernelTables, k: &mut Mat) {
        on_law_with!(self, KernelTables(tables) => tables; law => law.half_gram(tables, k))
    }

    fn gram_adjoint(
        &self,
        tables: &KernelTables,
        k: &Mat,
        k_bar: &mut Mat,
        grad: &mut KernelGrad,
        scratch: &mut KernelScratch,
    ) {
        scratch.make_fit(self);
        on_law_with!(
            self, KernelTables(tables) => tables, KernelScratch(scratch) => scratch;
            law => law.gram_adjoint(tables, k, k_bar, grad, scratch)
        )
    }

    fn cross_from_tables(&self, tables: &KernelTables, x: &Mat, k: &mut Mat, scratch: &mut KernelScratch) {
        scratch.make_fit(self);
        on_law_with!(
            self, KernelTables(tables) => tables, KernelScratch(scratch) => scratch;
            law => law.cross_from_tables(tables, x, k, scratch)
        )
    }

    fn cross_from_tables_adjoint(
        &self,
        tables: &KernelTables,
        x: &Mat,
        k: &Mat,
        k_bar: &mut Mat,
        sums: &mut KernelSums,
        scratch: &mut KernelScratch,
    ) {
        scratch.make_fit(self);
        on_law_with!(
            self, KernelTables(tables) => tables, KernelSums(sums) => sums, KernelScratch(scratch) => scratch;
            law => law.cross_from_tables_adjoint(tables, x, k, k_bar, sums, scratch)
        )
    }

    fn finish(&self, tables: &KernelTables, sums: &KernelSums, grad: &mut KernelGrad, scratch: &mut KernelScratch) {
        scratch.make_fit(self);
        on_law_with!(
            self, KernelTables(tables) => tables, KernelSums(sums) => sums, KernelScratch(scratch) => scratch;
            law => law.finish(tables, sums, grad, scratch)
        )
    }
}
