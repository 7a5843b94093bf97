//! Gaussians over whitened inducing outputs: a factor in natural parameters, and the moments it implies with the prior.
//!
//! The prior is N(0, I). A factor (Λ, η) stands for all N data factors together, so that for any share `s` of it
//!
//! ```text
//! P = I + s Λ,   S = P⁻¹,   μ = S s η,   φ = ½ log|S| + ½ μᵀ S⁻¹ μ          (log partition; 0 for the prior)
//! ```
//! The posterior is s = 1, the cavity of SEP is s = 1 − α/N: the same function.

use crate::error::Result;
use crate::linalg::{Cholesky, Mat, Op, dot, mul};
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
    /// The factor that says nothing.
    pub fn zeros(m: usize) -> Self {
        Self { precision: Mat::zeros(m, m), linear: vec![0.0; m] }
    }

    /// `self += scale · other`: products and powers of factors are sums of natural parameters.
    pub fn add_scaled(&mut self, scale: f64, other: &Factor) {
        self.precision.add_scaled(scale, &other.precision);
        for (a, b) in self.linear.iter_mut().zip(&other.linear) {
            *a += scale * b;
        }
    }

    /// `(1 − step) · self + step · target`.
    pub fn blend(&self, step: f64, target: &Factor) -> Factor {
        let mut out = self.clone();
        out.add_scaled(-step, self);
        out.add_scaled(step, target);
        out
    }

    /// Whether every entry is finite.
    pub fn is_finite(&self) -> bool {
        self.precision.as_slice().iter().chain(&self.linear).all(|v| v.is_finite())
    }

    /// Moments of prior × factorˢ.
    ///
    /// Cost: O(M³).
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if I + s Λ is not.
    pub fn moments(&self, share: f64) -> Result<Moments> {
        let m = self.linear.len();
        let p = Mat::from_fn(m, m, |i, j| share * self.precision[(i, j)] + if i == j { 1.0 } else { 0.0 });
        let chol = Cholesky::new(&p, "I + Λ")?;
        let cov = chol.inverse();
        let mean: Vec<f64> = (0..m).map(|i| share * dot(cov.row(i), &self.linear)).collect();
        let log_partition = -0.5 * chol.log_det() + 0.5 * share * dot(&self.linear, &mean);
        Ok(Moments { mean, cov, precision: chol, log_partition })
    }
}

/// Mean, covariance and log partition of a Gaussian over whitened inducing outputs.
#[derive(Debug, Clone)]
pub struct Moments {
    /// μ, M numbers.
    pub mean: Vec<f64>,
    /// S, M × M.
    pub cov: Mat,
    /// P = S⁻¹, factored.
    pub precision: Cholesky,
    /// φ.
    pub log_partition: f64,
}

/// ∂F/∂μ, ∂F/∂S (symmetric) and ∂F/∂φ.
#[derive(Debug, Clone, PartialEq)]
pub struct MomentsBar {
    /// With respect to the mean.
    pub mean: Vec<f64>,
    /// With respect to the covariance.
    pub cov: Mat,
    /// With respect to the log partition.
    pub log_partition: f64,
}

impl Moments {
    /// Adjoint of [`Factor::moments`]: from moments to the factor's (Λ, η).
    ///
    /// ```text
    /// P̄ = −S S̄ S − ½ (S μ̄ μᵀ + μ μ̄ᵀ S) − ½ φ̄ (S + μ μᵀ),    Λ̄ = s P̄
    /// η̄ = s (S μ̄ + φ̄ μ)
    /// ```
    pub fn adjoint(&self, share: f64, bar: &MomentsBar) -> Factor {
        let m = self.mean.len();
        let (mut half, mut sandwich) = (Mat::default(), Mat::default());
        mul(&mut half, &self.cov, Op::Id, &bar.cov, Op::Id);
        mul(&mut sandwich, &half, Op::Id, &self.cov, Op::Id);
        let s_mean_bar: Vec<f64> = (0..m).map(|i| dot(self.cov.row(i), &bar.mean)).collect();
        let precision = Mat::from_fn(m, m, |i, j| {
            let from_mean = 0.5 * (s_mean_bar[i] * self.mean[j] + self.mean[i] * s_mean_bar[j]);
            let from_partition = 0.5 * bar.log_partition * (self.cov[(i, j)] + self.mean[i] * self.mean[j]);
            -share * (sandwich[(i, j)] + from_mean + from_partition)
        });
        let linear =
            s_mean_bar.iter().zip(&self.mean).map(|(s, mean)| share * (s + bar.log_partition * mean)).collect();
        Factor { precision, linear }
    }
}
