//! Arguments and results of products of a group's expectations with a layer's weights.
//!
//! ```text
//! ψ₁A_d      ⟨B_d, Ψ₂⟩      ξ_q A_d          for every output d and every input dimension q
//! ```

use deepgp_numerics::linalg::Mat;

/// A layer's weights.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    /// A, a row an output (D_out × M).
    pub a: &'a Mat,
    /// B_d, a symmetric table of pairs an output: M rows of [`row_len`](super::row_len), zero beyond M.
    pub b: &'a [Mat],
}

/// The Gaussian inputs of a group of points: the first `n` rows of their moments.
#[derive(Debug, Clone, Copy)]
pub struct GroupInput<'a> {
    /// m', a row a point.
    pub mean: &'a Mat,
    /// v', a row a point.
    pub var: &'a Mat,
    /// Points in the group.
    pub n: usize,
}

/// The expectations of a group of points multiplied by a layer's weights, or the adjoint of these products.
#[derive(Debug, Clone)]
pub struct Products {
    /// ψ₁A_d, points × outputs.
    pub mean: Mat,
    /// ⟨B_d, Ψ₂⟩, points × outputs.
    pub quadratic: Mat,
    /// ξ_q A_d, points × (dimensions × outputs); without columns where ξ is not wanted.
    pub slope: Mat,
}

impl Products {
    /// Zeros for `capacity` points.
    pub fn zeros(capacity: usize, dim: usize, d_out: usize, want_xi: bool) -> Self {
        let slope = Mat::zeros(capacity, if want_xi { dim * d_out } else { 0 });
        Self { mean: Mat::zeros(capacity, d_out), quadratic: Mat::zeros(capacity, d_out), slope }
    }
}

/// What the adjoint of the products starts from.
#[derive(Debug, Clone, Copy)]
pub struct GroupBar<'a> {
    /// ∂ℒ/∂ψ₀ of every point.
    pub psi0: &'a [f64],
    /// ∂ℒ/∂(products).
    pub products: &'a Products,
}

/// Where the adjoint of the products leaves its results.
#[derive(Debug)]
pub struct GroupGrad<'a, S> {
    /// ∂ℒ/∂m', a row a point, added to.
    pub mean: &'a mut Mat,
    /// ∂ℒ/∂v', a row a point, added to.
    pub var: &'a mut Mat,
    /// The kernel's sums over points, added to.
    pub sums: &'a mut S,
    /// ∂ℒ/∂A_d of every point, a row a point of a matrix an output; set.
    pub a: &'a mut [Mat],
    /// The row of the group's first point in these.
    pub first_row: usize,
}

/// The size of the group expectations that a layer asks for.
#[derive(Debug, Clone, Copy)]
pub struct GroupShape {
    /// Most points in a group.
    pub capacity: usize,
    /// M.
    pub n_inducing: usize,
    /// D_in.
    pub dim_in: usize,
    /// D_out.
    pub dim_out: usize,
    /// Whether the products with ξ are wanted.
    pub want_xi: bool,
    /// Whether the adjoint will be called.
    pub want_adjoint: bool,
}
