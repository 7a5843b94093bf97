//! Gaussians over whitened inducing outputs: a factor in natural parameters, and the moments it implies with the prior.
//!
//! The prior is N(0, I). A factor (Λ, η) stands for all N data factors together, so that for any share `s` of it
//!
//! ```text
//! Q = I + s Λ,   S = Q⁻¹,   μ = S s η,   φ = ½ log|S| + ½ μᵀ S⁻¹ μ          (log partition; 0 for the prior)
//! ```
//! The posterior is s = 1, the cavity of SEP is s = 1 − α/N: the same function.

use crate::error::Result;
use deepgp_numerics::linalg::factor::cholesky_solving;
use deepgp_numerics::linalg::{
    Cholesky, Mat, Op, axpy, combine_symmetric, dot, mul, mul_lower_transposed, not_definite, sum_of_logs,
};
use deepgp_numerics::simd::{combine, find};
use serde::{Deserialize, Serialize};

/// Natural parameters of a Gaussian factor: exp(−½ vᵀΛv + ηᵀv).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Factor {
    /// Λ, symmetric M × M. It need not be positive definite; I + Λ must be.
    pub precision: Mat,
    /// η, M numbers.
    pub linear: Vec<f64>,
}

impl Factor {
    /// The uninformative factor: natural parameters of zero.
    pub fn zeros(m: usize) -> Self {
        Self { precision: Mat::zeros(m, m), linear: vec![0.0; m] }
    }

    /// Becomes the uninformative factor, keeping its memory.
    pub fn clear(&mut self) {
        self.precision.fill_zero();
        self.linear.fill(0.0);
    }

    /// `self += scale · other`: products and powers of factors are sums of natural parameters.
    pub fn add_scaled(&mut self, scale: f64, other: &Factor) {
        self.precision.add_scaled(scale, &other.precision);
        axpy(scale, &other.linear, &mut self.linear);
    }

    /// Becomes `a · x + b · y`, keeping its memory; of the precisions the lower triangles are read.
    pub fn combine(&mut self, a: f64, x: &Factor, b: f64, y: &Factor) {
        let m = x.linear.len();
        if self.linear.len() != m {
            *self = Factor::zeros(m);
        }
        combine_symmetric(a, &x.precision, b, &y.precision, &mut self.precision);
        combine(a, &x.linear, b, &y.linear, &mut self.linear);
    }

    /// φ of prior × factor alone, without its moments. `root` is working memory. Cost: M³/3 flops.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if I + Λ is not, by a margin: a pivot (conditional precision) below
    /// `least_pivot` counts as a failure.
    pub fn log_partition(&self, least_pivot: f64, root: &mut PivotScratch) -> Result<f64> {
        let failed = |pivot| not_definite("I + Λ", pivot, 0.0);
        let PivotScratch { u, inv_diag, half } = root;
        half.clone_from(&self.linear);
        cholesky_solving(&self.precision, 1.0, 1.0, least_pivot, u, inv_diag, Some(half)).map_err(failed)?;
        // φ = −½ log|Q| + ½ |C⁻¹η|², Q = C Cᵀ = UᵀU
        Ok(0.5 * dot(half, half) + sum_of_logs(inv_diag))
    }

    /// Moments of prior × factorˢ.
    ///
    /// Cost: O(M³).
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if I + s Λ is not.
    pub fn moments(&self, share: f64) -> Result<FullGaussian> {
        let mut out = FullGaussian::default();
        out.refill(self, share)?;
        Ok(out)
    }
}

/// Working memory of [`Factor::log_partition`].
#[derive(Debug, Clone, Default)]
pub struct PivotScratch {
    u: Mat,
    inv_diag: Vec<f64>,
    half: Vec<f64>,
}

/// Mean, precision and log partition of a Gaussian over whitened inducing outputs; kept and refilled from step to step.
#[derive(Debug, Clone, Default)]
pub struct FullGaussian {
    /// μ, M numbers.
    pub mean: Vec<f64>,
    /// Q = S⁻¹ = C Cᵀ, factored.
    pub precision: Cholesky,
    /// C⁻¹ s η, so that μ = C⁻ᵀ of it.
    pub half_mean: Vec<f64>,
    /// φ.
    pub log_partition: f64,
}

/// ∂ℒ/∂μ, ∂ℒ/∂S (symmetric) and ∂ℒ/∂φ.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FullGaussianBar {
    /// With respect to the mean.
    pub mean: Vec<f64>,
    /// With respect to the covariance.
    pub cov: Mat,
    /// With respect to the log partition.
    pub log_partition: f64,
}

impl FullGaussian {
    /// [`Factor::moments`] into existing memory; after an error the contents are not to be used.
    ///
    /// # Errors
    /// As [`Factor::moments`].
    pub fn refill(&mut self, factor: &Factor, share: f64) -> Result<()> {
        self.factor(factor, share)?;
        self.precision.invert();
        self.mean.resize(factor.linear.len(), 0.0);
        mul_lower_transposed(self.precision.l_inv(), &self.half_mean, &mut self.mean);
        self.complete()
    }

    /// [`FullGaussian::refill`] for a caller that needs no S: Q is factored, but not inverted.
    ///
    /// # Errors
    /// As [`Factor::moments`].
    pub(crate) fn refill_factored(&mut self, factor: &Factor, share: f64) -> Result<()> {
        self.factor(factor, share)?;
        self.precision.invert_blocks();
        self.mean.clone_from(&self.half_mean);
        self.precision.factored().solve_upper(&mut self.mean);
        self.complete()
    }

    /// Q = I + s Λ = C Cᵀ and w = C⁻¹ s η:   μ = C⁻ᵀ w,   μᵀS⁻¹μ = wᵀw.
    fn factor(&mut self, factor: &Factor, share: f64) -> Result<()> {
        self.half_mean.clear();
        self.half_mean.extend(factor.linear.iter().map(|eta| share * eta));
        self.precision.refill_solving(&factor.precision, share, 1.0, &mut self.half_mean, "I + Λ")?;
        Ok(())
    }

    /// φ from μ and w.
    fn complete(&mut self) -> Result<()> {
        // An entry of C⁻¹ that is not finite leaves its column's product so, whatever it is multiplied by.
        if let Some(pivot) = find(&self.mean, |mean| !mean.is_finite()) {
            return Err(not_definite("I + Λ", pivot, 0.0).into());
        }
        self.log_partition = -0.5 * self.precision.log_det() + 0.5 * dot(&self.half_mean, &self.half_mean);
        Ok(())
    }

    /// S, M × M. Cost: O(M³).
    pub fn cov(&self) -> Mat {
        self.precision.inverse()
    }

    /// Adjoint of [`Factor::moments`]: from moments to the factor's (Λ, η).
    ///
    /// ```text
    /// Q̄ = −S S̄ S − ½ (S μ̄ μᵀ + μ μ̄ᵀ S) − ½ φ̄ (S + μ μᵀ),    Λ̄ = s Q̄
    /// η̄ = s (S μ̄ + φ̄ μ)
    /// ```
    pub fn adjoint(&self, share: f64, bar: &FullGaussianBar) -> Factor {
        let (m, cov) = (self.mean.len(), self.cov());
        let (mut half, mut sandwich) = (Mat::default(), Mat::default());
        mul(&mut half, &cov, Op::Id, &bar.cov, Op::Id);
        mul(&mut sandwich, &half, Op::Id, &cov, Op::Id);
        let s_mean_bar: Vec<f64> = (0..m).map(|i| dot(cov.row(i), &bar.mean)).collect();
        let precision = Mat::from_fn(m, m, |i, j| {
            let from_mean = 0.5 * (s_mean_bar[i] * self.mean[j] + self.mean[i] * s_mean_bar[j]);
            let from_partition = 0.5 * bar.log_partition * (cov[(i, j)] + self.mean[i] * self.mean[j]);
            -share * (sandwich[(i, j)] + from_mean + from_partition)
        });
        let linear =
            s_mean_bar.iter().zip(&self.mean).map(|(s, mean)| share * (s + bar.log_partition * mean)).collect();
        Factor { precision, linear }
    }
}
