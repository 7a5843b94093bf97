//! Observation models p(y | f) and their Gaussian averages.
//!
//! Outputs are independent given f. One point has D latent moments m, v (of f, *without* observation noise) and D targets
//! y. A law knows, for a power α in (0, 1],
//!
//! ```text
//! log Z = Σ_d log ∫ N(f; m_d, v_d) p(y_d | f)^α df
//! ```
//! with its exact derivatives, the moments of y, and how to draw y. Closed forms stand in the laws' own files; the other
//! integrals are taken by the rule of `quadrature`. Gradients are with respect to natural parameter values, in the
//! order of [`Parameters::visit`].

mod gaussian;
mod probit;
mod quadrature;
mod student_t;

pub use gaussian::Gaussian;
pub use probit::Probit;
pub use student_t::StudentT;

use crate::error::{Result, expect_size};
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::Mat;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// Derivatives of log Z of one point.
#[derive(Debug)]
pub struct TiltedBar<'a> {
    /// ∂log Z/∂m, D numbers; written.
    pub mean: &'a mut [f64],
    /// ∂log Z/∂v, D numbers; written.
    pub var: &'a mut [f64],
    /// ∂log Z/∂(natural parameters); contributions are added.
    pub params: &'a mut [f64],
}

/// log Z of one output, with its derivatives in the latent moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tilted {
    /// log Z.
    pub log_z: f64,
    /// ∂log Z/∂m.
    pub mean: f64,
    /// ∂log Z/∂v.
    pub var: f64,
}

/// An observation model: what a law must know of one output, and what follows for a point.
///
/// Shapes: `mean`, `var`, `y`, `f` are D numbers each. Variances must not be negative; zero is allowed. NaN in the
/// moments gives NaN, never a panic. No method allocates.
pub trait Observation: Parameters {
    /// Number of outputs D.
    fn dim_out(&self) -> usize;

    /// Checks that every parameter is inside its domain.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] with name, entry and value.
    fn check(&self) -> Result<()>;

    /// Checks that `y` (N × D) has the right shape and only values that the law can produce.
    ///
    /// # Errors
    /// [`crate::Error::Empty`], [`crate::Error::Shape`], [`crate::Error::NotFinite`] or [`crate::Error::Target`], with
    /// row, column and value.
    fn check_targets(&self, y: &Mat) -> Result<()> {
        expect_size("target columns", self.dim_out(), y.cols())?;
        Ok(y.check_data("targets")?)
    }

    /// log ∫ N(f; m, v) p(y | f)^α df for output `d`, with its derivatives; those in the parameters are added to `params`
    /// where it is given.
    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted;

    /// Mean and variance of y for output `d` when f ~ N(m, v).
    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64);

    /// log p(y | f) for output `d`.
    fn log_likelihood(&self, y: f64, f: f64, d: usize) -> f64;

    /// Draws y given f for output `d`.
    fn draw<R: Rng + ?Sized>(&self, f: f64, d: usize, rng: &mut R) -> f64;

    /// Log normaliser of the tilted distribution of one point, with its derivatives.
    ///
    /// ```text
    /// log Z = Σ_d log ∫ N(f; m_d, v_d) p(y_d | f)^α df
    /// ```
    ///
    /// # Panics
    /// If α is not in (0, 1], or if a slice does not hold D numbers (`bar.params`: as many as there are parameters).
    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(self.dim_out(), [mean.len(), var.len(), y.len(), bar.mean.len(), bar.var.len()]);
        let mut log_z = 0.0;
        for d in 0..self.dim_out() {
            let tilted = self.tilt(d, mean[d], var[d], y[d], alpha, Some(&mut *bar.params));
            log_z += tilted.log_z;
            bar.mean[d] = tilted.mean;
            bar.var[d] = tilted.var;
        }
        log_z
    }

    /// Σ log Z of the points whose targets are the given rows of `y` and whose latent moments are the first rows of `mean` and `var`; ∂/∂m
    /// and ∂/∂v are written to the first rows of `mean_bar` and `var_bar`, and what belongs to the parameters is added to `params`.
    ///
    /// # Panics
    /// As [`Observation::log_z`], or if a row is not there.
    fn log_z_sum(
        &self,
        (mean, var): (&Mat, &Mat),
        (y, rows): (&Mat, &[usize]),
        alpha: f64,
        (mean_bar, var_bar): (&mut Mat, &mut Mat),
        params: &mut [f64],
    ) -> f64 {
        let of_point = |(g, &row): (usize, &usize)| {
            let bar = TiltedBar { mean: mean_bar.row_mut(g), var: var_bar.row_mut(g), params: &mut *params };
            self.log_z(mean.row(g), var.row(g), y.row(row), alpha, bar)
        };
        rows.iter().enumerate().map(of_point).sum()
    }

    /// Log predictive density of one point, Σ_d log ∫ N(f; m_d, v_d) p(y_d | f) df: log Z at α = 1.
    ///
    /// # Panics
    /// If a slice does not hold D numbers.
    fn log_density(&self, mean: &[f64], var: &[f64], y: &[f64]) -> f64 {
        assert_sizes(self.dim_out(), [mean.len(), var.len(), y.len()]);
        (0..self.dim_out()).map(|d| self.tilt(d, mean[d], var[d], y[d], 1.0, None).log_z).sum()
    }

    /// Predictive mean and variance of y for f ~ N(mean, diag var); written to `y_mean` and `y_var`.
    ///
    /// # Panics
    /// If a slice does not hold D numbers.
    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(self.dim_out(), [mean.len(), var.len(), y_mean.len(), y_var.len()]);
        for d in 0..self.dim_out() {
            (y_mean[d], y_var[d]) = self.moments(d, mean[d], var[d]);
        }
    }

    /// Draws the outputs of one point given f; written to `y`.
    ///
    /// # Panics
    /// If a slice does not hold D numbers.
    fn sample<R: Rng + ?Sized>(&self, f: &[f64], rng: &mut R, y: &mut [f64]) {
        assert_sizes(self.dim_out(), [f.len(), y.len()]);
        for d in 0..self.dim_out() {
            y[d] = self.draw(f[d], d, rng);
        }
    }
}

/// Asserts that α is in (0, 1].
fn assert_power(alpha: f64) {
    assert!(alpha > 0.0 && alpha <= 1.0, "the power must be in (0, 1], found {alpha}");
}

/// Asserts that every slice has one number per output.
fn assert_sizes<const K: usize>(dim_out: usize, sizes: [usize; K]) {
    assert!(sizes.iter().all(|size| *size == dim_out), "every slice must hold one number per output");
}

/// A likelihood: one of the observation models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likelihood {
    /// Real targets with Gaussian noise.
    Gaussian(Gaussian),
    /// Targets −1 and +1.
    Probit(Probit),
    /// Real targets with outliers.
    StudentT(StudentT),
}

/// Calls the same method on whichever law this is.
macro_rules! on_law {
    ($self:expr, $law:ident => $call:expr) => {
        match $self {
            Likelihood::Gaussian($law) => $call,
            Likelihood::Probit($law) => $call,
            Likelihood::StudentT($law) => $call,
        }
    };
}

impl Parameters for Likelihood {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        on_law!(self, law => law.visit(visit))
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        on_law!(self, law => law.visit_mut(visit))
    }
}

impl Observation for Likelihood {
    fn dim_out(&self) -> usize {
        on_law!(self, law => law.dim_out())
    }

    fn check(&self) -> Result<()> {
        on_law!(self, law => law.check())
    }

    fn check_targets(&self, y: &Mat) -> Result<()> {
        on_law!(self, law => law.check_targets(y))
    }

    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        on_law!(self, law => law.tilt(d, m, v, y, alpha, params))
    }

    /// Asks which law it is once, not for every output.
    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        on_law!(self, law => law.log_z(mean, var, y, alpha, bar))
    }

    /// Asks which law it is once, not for every point.
    fn log_z_sum(
        &self,
        moments: (&Mat, &Mat),
        targets: (&Mat, &[usize]),
        alpha: f64,
        bars: (&mut Mat, &mut Mat),
        params: &mut [f64],
    ) -> f64 {
        on_law!(self, law => law.log_z_sum(moments, targets, alpha, bars, params))
    }

    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        on_law!(self, law => law.moments(d, m, v))
    }

    fn log_likelihood(&self, y: f64, f: f64, d: usize) -> f64 {
        on_law!(self, law => law.log_likelihood(y, f, d))
    }

    fn draw<R: Rng + ?Sized>(&self, f: f64, d: usize, rng: &mut R) -> f64 {
        on_law!(self, law => law.draw(f, d, rng))
    }
}
