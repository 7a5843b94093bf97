//! Working memory of the exponentiated quadratic law.

use deepgp_numerics::linalg::Mat;

/// Memory that is kept from one call to the next.
#[derive(Debug, Clone, Default)]
pub struct EqScratch {
    /// Ψ₂ of one point: numbers of the inducing inputs.
    pub(super) point: Vec<f64>,
    /// k(X, Z): p of a few points.
    pub(super) placed: Vec<f64>,
    /// Exact inputs relative to the first inducing input, and a column of ones, N × (D + 1).
    pub(super) relative: Mat,
    /// Sums of the rows of the weights of k(X, Z).
    pub(super) row_sums: Vec<f64>,
    /// W [Z, 1] for weights W of K_zz, M × (D + 1).
    pub(super) moment: Mat,
    /// A number per dimension.
    pub(super) numbers: Vec<f64>,
    /// 1/ℓ.
    pub(super) inverse: Vec<f64>,
}
