//! Observation models p(y | f): what an engine, a prediction and a score ask of one.
//!
//! A point has K latent functions f and T targets y, and the two numbers need not agree. Given f the targets are
//! independent of each other; a missing one is NaN and takes no part. For a power α in (0, 1], latent moments m, v (of
//! f, *without* observation noise) and observed targets t, a law knows
//!
//! ```text
//! log Z = log ∫ N(f; m, diag v) Π_t p(y_t | f)^α df
//! ```
//! with its exact derivatives, and the density, distribution function, moments and draws of y. A law says what p(y_t |
//! f) is; the integrals are taken by the rules of `nested` and `expectation` unless the law knows closed forms. Laws
//! with one target for each latent function are written as scalar functions ([`Independent`]). Gradients are with
//! respect to natural parameter values, in the order of [`Parameters::visit`]. `docs/LIKELIHOODS.md` in the repository
//! shows how to add a law, in this crate or outside of it.

mod beta;
mod between;
mod censored;
mod choice;
mod count;
mod custom;
mod expectation;
mod gamma;
mod gaussian;
mod gumbel;
mod independent;
mod logit;
mod negative_binomial;
mod nested;
mod ordinal;
mod poisson;
mod probit;
mod quadrature;
mod robust_max;
mod softmax;
mod student_t;
mod support;
mod varying_gaussian;
mod varying_student_t;

pub use beta::Beta;
pub use censored::Censored;
pub use choice::Likelihood;
pub use custom::{Custom, CustomLaw};
pub use gamma::Gamma;
pub use gaussian::Gaussian;
pub use independent::{Independent, Tilted};
pub use logit::Logit;
pub use negative_binomial::NegativeBinomial;
pub use nested::MAX_LATENT;
pub use ordinal::Ordinal;
pub use poisson::Poisson;
pub use probit::Probit;
pub use robust_max::RobustMax;
pub use softmax::Softmax;
pub use student_t::StudentT;
pub use support::Support;
pub use varying_gaussian::VaryingGaussian;
pub use varying_student_t::VaryingStudentT;

use crate::error::{Error, Result, expect_size};
use crate::param::Parameters;
use deepgp_numerics::linalg::Mat;
use expectation::expectation;
use nested::tilted;
use rand::Rng;

/// Derivatives of log Z of one point.
#[derive(Debug)]
pub struct TiltedBar<'a> {
    /// ∂log Z/∂m, K numbers; written.
    pub mean: &'a mut [f64],
    /// ∂log Z/∂v, K numbers; written.
    pub var: &'a mut [f64],
    /// ∂log Z/∂(natural parameters); contributions are added.
    pub params: &'a mut [f64],
}

/// Derivatives of log p(y_t | f); contributions are added.
#[derive(Debug)]
pub struct Slopes<'a> {
    /// ∂log p/∂f_k, K numbers.
    pub first: &'a mut [f64],
    /// ∂²log p/∂f_k², K numbers.
    pub second: &'a mut [f64],
    /// ∂log p/∂(natural parameters).
    pub params: &'a mut [f64],
}

/// An observation model.
///
/// A law writes the methods without a default: its two numbers, and for each target its support, log p(y | f) with
/// derivatives, mean and variance given f, distribution function given f, and a draw. The rest follows by quadrature if
/// there are at most [`MAX_LATENT`] latent functions, or is overridden by closed forms. A law with more latent
/// functions must override [`log_z`](Self::log_z), [`log_density`](Self::log_density),
/// [`log_density_of`](Self::log_density_of), [`cdf`](Self::cdf) and [`observe`](Self::observe), whose defaults then
/// give NaN; [`DeepGp::new`](crate::DeepGp::new) refuses a law that has not.
///
/// Shapes: `mean`, `var` and `f` are K numbers each, `y_mean` and `y_var` are T, and so is `y` but where a law has other
/// columns in data: then `y` of `log_z`, `log_z_sum`, `log_density` and `check_targets` has these. Variances must not be negative;
/// zero is allowed. NaN in the moments gives NaN, never a panic. Closed forms allocate nothing, quadrature a few short
/// vectors a call.
pub trait Observation: Parameters {
    /// Number of latent functions K: the width of the last layer.
    fn n_latent(&self) -> usize;

    /// Number of targets T.
    fn n_targets(&self) -> usize;

    /// Number of columns that y has in data: one for each target unless the law needs more, such as bounds; it then
    /// overrides what is given such rows: `check_targets`, `log_z` and `log_density`.
    fn n_columns(&self) -> usize {
        self.n_targets()
    }

    /// Checks that every parameter is inside its domain.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] with name, entry and value.
    fn check(&self) -> Result<()>;

    /// Where a target lives.
    fn support(&self, target: usize) -> Support;

    /// log p(y | f) of one target, −∞ where p is 0; its derivatives are added to `slopes` where it is given.
    ///
    /// `y` is not NaN. For a target on whole numbers or labels, p is a probability.
    fn log_likelihood(&self, target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64;

    /// Mean and variance of one target given f.
    fn moments_given(&self, target: usize, f: &[f64]) -> (f64, f64);

    /// P(target ≤ y | f).
    fn cdf_given(&self, target: usize, f: &[f64], y: f64) -> f64;

    /// Draws one target given f.
    fn draw(&self, target: usize, f: &[f64], rng: &mut dyn Rng) -> f64;

    /// Checks that `y` (N × columns) has the right shape and only values that the law can produce, or NaN where one is
    /// missing.
    ///
    /// # Errors
    /// [`crate::Error::Empty`], [`crate::Error::Shape`], [`crate::Error::NotFinite`] or [`crate::Error::Target`], with
    /// row, column and value.
    fn check_targets(&self, y: &Mat) -> Result<()> {
        let (rows, columns) = (y.rows(), y.cols());
        expect_size("target columns", self.n_targets(), columns)?;
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { what: "targets", rows, columns });
        }
        for column in 0..columns {
            let support = self.support(column);
            for (row, value) in (0..rows).map(|row| (row, y[(row, column)])).filter(|(_, value)| !value.is_nan()) {
                if value.is_infinite() {
                    return Err(Error::NotFinite { what: "targets", row, column, value });
                }
                if !support.contains(value) {
                    return Err(Error::Target { row, column, value, requirement: support.requirement() });
                }
            }
        }
        Ok(())
    }

    /// Log normaliser of the tilted distribution of one point, with its derivatives; 0 if all targets are missing.
    ///
    /// ```text
    /// log Z = log ∫ N(f; m, diag v) Π_t p(y_t | f)^α df
    /// ```
    /// By quadrature, with ℓ = Σ_t log p(y_t | f) and ⟨·⟩ the average under the tilted density,
    ///
    /// ```text
    /// ∂/∂m_k = ⟨αℓ'_k⟩        ∂/∂v_k = ½⟨αℓ''_k + (αℓ'_k)²⟩        ∂/∂θ = ⟨α ∂ℓ/∂θ⟩
    /// ```
    /// which hold for v_k = 0 too. Limit: no feature of p that matters may be narrower in f than 1e-12 of its distance
    /// from 0.
    ///
    /// # Panics
    /// If α is not in (0, 1], or if a slice does not have its size (`bar.params`: as many as there are parameters).
    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(self.n_latent(), [mean.len(), var.len(), bar.mean.len(), bar.var.len()]);
        assert_sizes(self.n_targets(), [y.len()]);
        if self.n_latent() <= MAX_LATENT && observed(y).next().is_none() {
            bar.mean.fill(0.0);
            bar.var.fill(0.0);
            return 0.0;
        }
        tilted((mean, var), alpha, bar, &mut |f, mut slopes| {
            observed(y).map(|(target, y)| self.log_likelihood(target, f, y, Some(slopes.again()))).sum()
        })
    }

    /// Σ log Z of the points whose targets are the given rows of `y` and whose latent moments are the first rows of
    /// `mean` and `var`; ∂/∂m and ∂/∂v are written to the first rows of `mean_bar` and `var_bar`, and what belongs to
    /// the parameters is added to `params`.
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

    /// Log predictive density of the observed targets of one point together: log Z at α = 1.
    ///
    /// # Panics
    /// If a slice does not have its size.
    fn log_density(&self, mean: &[f64], var: &[f64], y: &[f64]) -> f64 {
        let (mut mean_bar, mut var_bar) = (vec![0.0; self.n_latent()], vec![0.0; self.n_latent()]);
        let mut params = vec![0.0; self.n_params()];
        let bar = TiltedBar { mean: &mut mean_bar, var: &mut var_bar, params: &mut params };
        self.log_z(mean, var, y, 1.0, bar)
    }

    /// Log predictive density of one target at `y`, whatever the others are; 0 if `y` is NaN. With one target it is
    /// [`Observation::log_density`].
    ///
    /// # Panics
    /// If a slice does not have its size, or if there is no such target.
    fn log_density_of(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        let mut all = vec![f64::NAN; self.n_targets()];
        all[target] = y;
        self.log_density(mean, var, &all)
    }

    /// Predictive distribution function of one target, P(target ≤ y) for f ~ N(mean, diag var); NaN if `y` is.
    ///
    /// # Panics
    /// If a slice does not have its size, or if there is no such target.
    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(self.n_latent(), [mean.len(), var.len()]);
        assert!(target < self.n_targets(), "there is no target {target}");
        if y.is_nan() {
            return f64::NAN;
        }
        expectation(mean, var, &mut |f| self.cdf_given(target, f, y)).clamp(0.0, 1.0)
    }

    /// Probabilities of all values of one target for f ~ N(mean, diag var), in the order of [`Support::values`];
    /// written to `out`, which has as many places.
    ///
    /// # Panics
    /// If a slice does not have its size, or if there is no such target.
    fn probabilities(&self, target: usize, mean: &[f64], var: &[f64], out: &mut [f64]) {
        let values = self.support(target).values();
        assert_sizes(values.len(), [out.len()]);
        for (p, y) in out.iter_mut().zip(values) {
            *p = self.log_density_of(target, mean, var, y).exp();
        }
    }

    /// Predictive mean and variance of every target for f ~ N(mean, diag var), written to `y_mean` and `y_var`: E y = E
    /// E(y | f) and var y = E var(y | f) + var E(y | f).
    ///
    /// # Panics
    /// If a slice does not have its size.
    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(self.n_latent(), [mean.len(), var.len()]);
        assert_sizes(self.n_targets(), [y_mean.len(), y_var.len()]);
        for (target, (y_mean, y_var)) in y_mean.iter_mut().zip(y_var).enumerate() {
            *y_mean = expectation(mean, var, &mut |f| self.moments_given(target, f).0);
            // About the mean, so that nothing cancels.
            *y_var = expectation(mean, var, &mut |f| {
                let (m, v) = self.moments_given(target, f);
                v + (m - *y_mean) * (m - *y_mean)
            });
        }
    }

    /// Draws the targets of one point given f; written to `y`.
    ///
    /// # Panics
    /// If a slice does not have its size.
    fn sample(&self, f: &[f64], rng: &mut dyn Rng, y: &mut [f64]) {
        assert_sizes(self.n_latent(), [f.len()]);
        assert_sizes(self.n_targets(), [y.len()]);
        for (target, y) in y.iter_mut().enumerate() {
            *y = self.draw(target, f, rng);
        }
    }
}

impl Slopes<'_> {
    /// A reborrow of these slopes.
    pub fn again(&mut self) -> Slopes<'_> {
        Slopes { first: self.first, second: self.second, params: self.params }
    }
}

/// The targets that are not missing, with their numbers.
fn observed(y: &[f64]) -> impl Iterator<Item = (usize, f64)> {
    y.iter().copied().enumerate().filter(|(_, y)| !y.is_nan())
}

/// Asserts that α is in (0, 1].
fn assert_power(alpha: f64) {
    assert!(alpha > 0.0 && alpha <= 1.0, "the power must be in (0, 1], found {alpha}");
}

/// Asserts that every slice has this size.
fn assert_sizes<const K: usize>(expected: usize, sizes: [usize; K]) {
    assert!(sizes.iter().all(|size| *size == expected), "a slice must hold {expected} numbers, found {sizes:?}");
}

/// Checks that a law with too many latent functions for quadrature does without it.
///
/// # Errors
/// [`crate::Error::Parameter`] with the number of latent functions.
pub(crate) fn check_latent(law: &dyn Observation) -> Result<()> {
    let (k, t, missing) = (law.n_latent(), law.n_targets(), vec![f64::NAN; law.n_columns()]);
    if k <= MAX_LATENT {
        return Ok(());
    }
    let (mean, var) = (vec![0.0; k], vec![1.0; k]);
    let (mut first, mut second) = (vec![0.0; k.max(t)], vec![0.0; k.max(t)]);
    let mut params = vec![0.0; law.n_params()];
    let bar = TiltedBar { mean: &mut first[..k], var: &mut second[..k], params: &mut params };
    let log_z = law.log_z(&mean, &var, &missing, 1.0, bar);
    law.observe(&mean, &var, &mut first[..t], &mut second[..t]);
    if log_z.is_nan() || first[..t].iter().any(|mean| mean.is_nan()) {
        return Err(Error::Parameter {
            name: "latent functions",
            layer: None,
            entry: None,
            value: k as f64,
            requirement: "quadrature takes at most three; a law with more must override log_z, log_density, \
                          log_density_of, cdf and observe",
        });
    }
    Ok(())
}
