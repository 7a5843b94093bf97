//! Gauss–Hermite nodes and weights for expectations under a standard normal.

/// Nodes x_j and weights w_j with Σ w_j f(x_j) ≈ E f(x), x ~ N(0, 1).
#[derive(Debug, Clone, PartialEq)]
pub struct GaussHermite {
    /// x_j.
    pub nodes: Vec<f64>,
    /// w_j, positive, summing to 1.
    pub weights: Vec<f64>,
}
