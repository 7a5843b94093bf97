//! The expectations of one point, the input that they are taken over, and the gradients that their adjoint adds to.

use deepgp_numerics::linalg::{Mat, tri};

/// One Gaussian input h ~ N(mean, diag var), D numbers each.
#[derive(Debug, Clone, Copy)]
pub struct GaussianInput<'a> {
    /// m.
    pub mean: &'a [f64],
    /// v.
    pub var: &'a [f64],
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
}

impl Psi {
    /// Zeros for M inducing inputs and D input dimensions, with ξ only if it is wanted.
    pub fn zeros(n_inducing: usize, dim_in: usize, want_xi: bool) -> Self {
        Self {
            psi0: 0.0,
            psi1: vec![0.0; n_inducing],
            psi2: vec![0.0; tri::packed_len(n_inducing)],
            xi: if want_xi { Mat::zeros(dim_in, n_inducing) } else { Mat::default() },
        }
    }

    /// Whether ξ is wanted.
    pub fn wants_xi(&self) -> bool {
        self.xi.rows() > 0
    }
}

/// ∂ℒ/∂m and ∂ℒ/∂v of one point's input, D numbers each; contributions are added.
#[derive(Debug)]
pub struct InputBar<'a> {
    /// With respect to the mean.
    pub mean: &'a mut [f64],
    /// With respect to the variance.
    pub var: &'a mut [f64],
}

/// ∂ℒ/∂Z (M × D) and ∂ℒ/∂(natural parameters) of one kernel.
#[derive(Debug, Clone, Default)]
pub struct KernelGrad {
    /// With respect to the inducing inputs.
    pub z: Mat,
    /// With respect to the kernel's parameters.
    pub params: Vec<f64>,
}

impl KernelGrad {
    /// Zeros of the right shape.
    pub fn zeros(n_inducing: usize, dim_in: usize, n_params: usize) -> Self {
        Self { z: Mat::zeros(n_inducing, dim_in), params: vec![0.0; n_params] }
    }

    /// Sets everything to zero, keeping the allocations.
    pub fn clear(&mut self) {
        self.z.fill_zero();
        self.params.fill(0.0);
    }

    /// Adds another gradient of the same shape.
    pub fn add(&mut self, other: &KernelGrad) {
        self.z.add_scaled(1.0, &other.z);
        for (a, b) in self.params.iter_mut().zip(&other.params) {
            *a += b;
        }
    }
}

/// What the adjoint of the expectations of one point adds to.
#[derive(Debug)]
pub struct PsiGrad<'a> {
    /// ∂ℒ/∂m and ∂ℒ/∂v of the point's input.
    pub input: InputBar<'a>,
    /// ∂ℒ/∂Z and ∂ℒ/∂(parameters).
    pub kernel: &'a mut KernelGrad,
}
