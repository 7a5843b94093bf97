//! What every covariance law provides: values on points, expectations under a Gaussian input, and the adjoint of each.

use super::psi::{GaussianInput, KernelGrad, Psi, PsiGrad};
use crate::error::Result;
use crate::param::Parameters;
use deepgp_numerics::linalg::Mat;

/// Tables that a law builds from its inducing inputs.
pub trait Tables: Default {
    /// The inducing inputs, M × D.
    fn z(&self) -> &Mat;
}

/// The inducing inputs themselves: the tables of a law that needs no others.
impl Tables for Mat {
    fn z(&self) -> &Mat {
        self
    }
}

/// Sums over points that a law's adjoints leave; blocks of points add up.
pub trait PointSums {
    /// The gradient contributions that are complete.
    fn grad(&self) -> &KernelGrad;

    /// The gradient so far, mutable.
    fn grad_mut(&mut self) -> &mut KernelGrad;

    /// Sets everything to zero, keeping the allocations.
    fn clear(&mut self);

    /// Adds another block's sums.
    fn add(&mut self, other: &Self);
}

/// Gradients themselves: the sums of a law that keeps no others.
impl PointSums for KernelGrad {
    fn grad(&self) -> &KernelGrad {
        self
    }

    fn grad_mut(&mut self) -> &mut KernelGrad {
        self
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn add(&mut self, other: &Self) {
        self.add(other);
    }
}

/// A covariance law: values on points, expectations under a Gaussian input, and the adjoint of each.
///
/// Every `*_adjoint` *adds* to what it is given. Shapes: `x` N × D, `z` M × D, `k` N × M.
pub trait Law: Parameters {
    /// What depends on Z and the parameters alone; built once per step.
    type Tables: Tables;
    /// What the adjoints sum over points.
    type Sums: PointSums;
    /// Working memory, which keeps its allocations from one call to the next and has no meaning in between.
    type Scratch: Default;

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

    /// Adjoint of [`Law::diag`]: adds `diag_bar` · ∂k(x, x)/∂(parameters) to `params` and, where given, ∂/∂x to
    /// `x_bar`.
    fn diag_adjoint(&self, x: &[f64], diag_bar: f64, x_bar: Option<&mut [f64]>, params: &mut [f64]);

    /// [`Law::diag`] of every row of `x`, as many numbers as `out` has.
    fn diags(&self, x: &Mat, out: &mut [f64]) {
        x.iter_rows().zip(out).for_each(|(x, out)| *out = self.diag(x));
    }

    /// Adjoint of [`Law::diags`] in the parameters.
    fn diags_adjoint(&self, x: &Mat, diags_bar: &[f64], params: &mut [f64]) {
        x.iter_rows().zip(diags_bar).for_each(|(x, bar)| self.diag_adjoint(x, *bar, None, params));
    }

    /// Sums over no points, for `n_inducing` inducing inputs.
    fn zero_sums(&self, n_inducing: usize) -> Self::Sums;

    /// Builds the tables for inducing inputs `z`.
    fn prepare(&self, z: &Mat, tables: &mut Self::Tables);

    /// Builds at least what [`Law::gram`] and [`Law::cross_from_tables`] need of them: enough where all inputs are
    /// exact.
    fn prepare_exact(&self, z: &Mat, tables: &mut Self::Tables) {
        self.prepare(z, tables);
    }

    /// The expectations for one point.
    fn psi(&self, tables: &Self::Tables, input: GaussianInput<'_>, psi: &mut Psi, scratch: &mut Self::Scratch);

    /// Adjoint of [`Law::psi`] at its value `psi`, which may be overwritten.
    fn psi_adjoint(
        &self,
        tables: &Self::Tables,
        input: GaussianInput<'_>,
        psi: &mut Psi,
        bar: &Psi,
        grad: PsiGrad<'_>,
        scratch: &mut Self::Scratch,
    );

    /// K = k(Z, Z) for the inducing inputs of the tables.
    fn gram(&self, tables: &Self::Tables, k: &mut Mat) {
        self.cross(tables.z(), tables.z(), k);
    }

    /// As much of [`Law::gram`] as [`Law::gram_adjoint`] of the law reads, its upper triangle at least.
    fn half_gram(&self, tables: &Self::Tables, k: &mut Mat) {
        self.gram(tables, k);
    }

    /// Adjoint of [`Law::gram`] for `k_bar`, which is destroyed and of which only the symmetric part matters: each
    /// inducing input appears on both sides.
    fn gram_adjoint(
        &self,
        tables: &Self::Tables,
        k: &Mat,
        k_bar: &mut Mat,
        grad: &mut KernelGrad,
        _scratch: &mut Self::Scratch,
    ) {
        let z = tables.z();
        let mut left = Mat::zeros(z.rows(), z.cols());
        self.cross_adjoint(z, z, k, k_bar, Some(&mut left), grad);
        grad.z.add_scaled(1.0, &left);
    }

    /// k(x_n, z_i) for the inducing inputs of the tables.
    fn cross_from_tables(&self, tables: &Self::Tables, x: &Mat, k: &mut Mat, _scratch: &mut Self::Scratch) {
        self.cross(x, tables.z(), k);
    }

    /// Adjoint of [`Law::cross_from_tables`] for exact `x`; `k_bar` is destroyed.
    fn cross_from_tables_adjoint(
        &self,
        tables: &Self::Tables,
        x: &Mat,
        k: &Mat,
        k_bar: &mut Mat,
        sums: &mut Self::Sums,
        _scratch: &mut Self::Scratch,
    ) {
        self.cross_adjoint(x, tables.z(), k, k_bar, None, sums.grad_mut());
    }

    /// Turns sums over points into gradients and adds them to `grad`.
    fn finish(&self, _tables: &Self::Tables, sums: &Self::Sums, grad: &mut KernelGrad, _scratch: &mut Self::Scratch) {
        grad.add(sums.grad());
    }
}
