//! What the adjoints of the exponentiated quadratic law sum over points before it becomes gradients.

use crate::kernel::law::PointSums;
use crate::kernel::padded::row_len;
use crate::kernel::psi::KernelGrad;
use deepgp_numerics::linalg::{Mat, axpy};
use deepgp_numerics::simd::Aligned;

/// Sums over points; those of a kind of inputs have no entries before the first of that kind.
#[derive(Debug, Clone, Default)]
pub struct EqSums {
    /// Gradient contributions that are complete.
    pub(super) grad: KernelGrad,
    /// Gaussian inputs: −½ z̄ as Zᵀ, D rows of [`row_len`].
    pub(super) half_z: Aligned,
    /// Exact inputs: Wᵀ [X, 1] with X relative to the first inducing input, M × (D + 1).
    pub(super) moment: Mat,
    /// Exact inputs: Σ_n u_n x_n² for each dimension.
    pub(super) squares: Vec<f64>,
}

impl EqSums {
    /// Makes sure that there are sums over Gaussian inputs.
    pub(super) fn expect_gaussian(&mut self, n_inducing: usize, dim_in: usize) {
        self.half_z.expect(dim_in * row_len(n_inducing));
    }

    /// Makes sure that there are sums over exact inputs.
    pub(super) fn expect_exact(&mut self, n_inducing: usize, dim_in: usize) {
        if self.moment.rows() < n_inducing {
            self.moment.reset(n_inducing, dim_in + 1);
            self.squares.resize(dim_in, 0.0);
        }
    }
}

impl PointSums for EqSums {
    fn grad(&self) -> &KernelGrad {
        &self.grad
    }

    fn grad_mut(&mut self) -> &mut KernelGrad {
        &mut self.grad
    }

    fn clear(&mut self) {
        self.grad.clear();
        self.half_z.fill(0.0);
        self.moment.fill_zero();
        self.squares.fill(0.0);
    }

    fn add(&mut self, other: &Self) {
        self.grad.add(&other.grad);
        self.half_z.expect(other.half_z.len());
        axpy(1.0, &other.half_z, &mut self.half_z);
        self.expect_exact(other.moment.rows(), other.squares.len());
        axpy(1.0, other.moment.as_slice(), self.moment.as_mut_slice());
        axpy(1.0, &other.squares, &mut self.squares);
    }
}
