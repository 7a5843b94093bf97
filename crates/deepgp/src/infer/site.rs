//! The factor that moment matching implies for a point.
//!
//! At the cavity N(μ, V), with g = ∂log Z/∂μ and G = ∂log Z/∂V (whitened) and P = g gᵀ − 2G, the tilted distribution
//! has
//!
//! ```text
//! mean μ + V g,   covariance V − V P V                               (the paper's moment matching)
//! exact         Λ = P (I − V P)⁻¹,   η = g + Λ (μ + V g)
//! first order   Λ = P,               η = g + P μ                     linear in P: sums over points suffice
//! ```

use crate::error::Result;
use crate::gauss::{Factor, FullGaussian};
use crate::layer::ProjectionBack;
use deepgp_numerics::linalg::product::Part;
use deepgp_numerics::linalg::transpose::symmetrise;
use deepgp_numerics::linalg::{Cholesky, Mat, Op, axpy, dot, mul, mul_lower_transposed, mul_vec};

/// The first-order site of output `d`, for one point or summed over many: Λ = P, η = g + P μ. P is taken out of `back`.
pub fn first_order(back: &mut ProjectionBack, d: usize, site: &mut Factor) {
    std::mem::swap(&mut site.precision, &mut back.curvature[d]);
    site.linear.clear();
    site.linear.extend_from_slice(back.p_mu.row(d));
    axpy(1.0, &back.bars[d].mean, &mut site.linear);
}

/// The exact site of one point.
///
/// With the cavity precision C Cᵀ = V⁻¹ and X = C⁻¹ P C⁻ᵀ, the tilted covariance is C⁻ᵀ (I − X) C⁻¹ and
/// Λ = C X (I − X)⁻¹ Cᵀ. Cost: O(M³).
///
/// # Errors
/// [`crate::Error::NotPositiveDefinite`] if the tilted covariance is not a covariance.
pub fn exact(cavity: &FullGaussian, p: &Mat, g: &[f64]) -> Result<Factor> {
    let (c, c_inv) = (&cavity.precision.l(), cavity.precision.l_inv());
    let m = g.len();
    let (mut half, mut x) = (Mat::default(), Mat::default());
    mul(&mut half, c_inv, Op::Id, p, Op::Id);
    mul(&mut x, &half, Op::Id, c_inv, Op::T);
    let rest = Mat::from_fn(m, m, |i, j| if i == j { 1.0 - x[(i, j)] } else { -x[(i, j)] });
    let inverse = Cholesky::new(&rest, "tilted covariance")?.inverse();
    let mut inner = Mat::default();
    mul(&mut inner, &x, Op::Id, &inverse, Op::Id);
    mul(&mut half, c, Op::Id, &inner, Op::Id);
    let mut precision = Mat::default();
    mul(&mut precision, &half, Op::Id, c, Op::T);
    // Rounding made it asymmetric.
    symmetrise(&mut precision);
    // η = g + Λ (μ + V g),   V = C⁻ᵀ C⁻¹
    let (mut c_inv_g, mut tilted_mean) = (vec![0.0; m], vec![0.0; m]);
    mul_vec(c_inv, Part::Lower, g, &mut c_inv_g);
    mul_lower_transposed(c_inv, &c_inv_g, &mut tilted_mean);
    axpy(1.0, &cavity.mean, &mut tilted_mean);
    let linear = (0..m).map(|i| g[i] + dot(precision.row(i), &tilted_mean)).collect();
    Ok(Factor { precision, linear })
}
