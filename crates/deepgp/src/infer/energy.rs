//! The energy, whose negative approximates the log evidence.
//!
//! ```text
//! E = −φ(q) − (1/α) Σ_n [log Z_n + φ(cavity_n) − φ(q)]
//! ```
//! With a factor per point (EP) every n has its own cavity; with a tied factor (SEP) one cavity serves all, which gives
//! E = (N/α − 1) φ(q) − (N/α) φ(cavity) − (1/α) Σ_n log Z_n. A batch of B points stands for N by the factor N/B. A row
//! that counts w_n times is that many equal terms, so that with W = Σ_n w_n over all rows
//!
//! ```text
//! E = (W/α − 1) φ(q) − (W/α) φ(cavity) − N/(αB) Σ_{n ∈ batch} w_n log Z_n          cavity: prior × factor^(1 − α/W)
//! ```
//! φ is the log partition ½ log|S| + ½ μᵀS⁻¹μ summed over layers and outputs, 0 for the prior in whitened coordinates.
//! Reference: Bui et al. (2016), the SEP approximate log marginal likelihood.

use crate::gauss::FullGaussian;
use crate::pass::Sums;

/// Σ φ over layers and outputs.
pub fn log_partition(q: &[Vec<FullGaussian>]) -> f64 {
    q.iter().flatten().map(|q| q.log_partition).sum()
}

/// The energy from φ(q) and the sum over a batch of log Z_n + φ(cavity_n) − φ(q).
///
/// `weight` is N/(αB).
pub fn energy(posterior: f64, batch_sum: f64, weight: f64) -> f64 {
    -posterior - weight * batch_sum
}

/// The energy where one cavity serves every point of the batch whose sums are given. A point counts `mean_weight` times
/// on average over all data, which is W/N.
pub fn tied_energy(posterior: f64, cavity: f64, sums: &Sums, mean_weight: f64, weight: f64) -> f64 {
    energy(posterior, sums.log_z + mean_weight * sums.n_points as f64 * (cavity - posterior), weight)
}
