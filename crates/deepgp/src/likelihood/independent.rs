//! Laws with one target for each latent function, written as scalar functions.
//!
//! ```text
//! p(y | f) = Π_d p_d(y_d | f_d)        log Z = Σ_d log ∫ N(f; m_d, v_d) p_d(y_d | f)^α df
//! ```

use super::expectation::expectation;
use super::nested::tilted;
use super::{Observation, Slopes, Support, TiltedBar, assert_power, assert_sizes, observed};
use crate::error::Result;
use crate::param::Parameters;
use deepgp_numerics::linalg::Mat;
use rand::Rng;

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

/// An observation model of D outputs, each a target with a latent function of its own. Every such law is an
/// [`Observation`].
///
/// A law writes the methods without a default; the rest follows by quadrature or is overridden by closed forms. Numbers
/// are those of output `d`, and `y` is never NaN.
pub trait Independent: Parameters {
    /// Number of outputs D.
    fn n_outputs(&self) -> usize;

    /// As [`Observation::check`].
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] with name, entry and value.
    fn check(&self) -> Result<()>;

    /// Where the target lives.
    fn support(&self, d: usize) -> Support;

    /// log p(y | f) with its first and second derivative in f; those in the parameters are added to `params` where it
    /// is given.
    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3];

    /// Mean and variance of y given f.
    fn moments_given(&self, d: usize, f: f64) -> (f64, f64);

    /// P(target ≤ y | f).
    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64;

    /// Draws y given f.
    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64;

    /// log ∫ N(f; m, v) p(y | f)^α df with its derivatives; those in the parameters are added to `params` where it is
    /// given.
    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        quadrature(self, d, (m, v), y, alpha, params)
    }

    /// As [`Observation::log_z_sum`], a point after the other.
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
            log_z(self, (mean.row(g), var.row(g)), y.row(row), alpha, bar)
        };
        rows.iter().enumerate().map(of_point).sum()
    }

    /// Mean and variance of y when f ~ N(m, v).
    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        let y_mean = expectation(&[m], &[v], &mut |f| self.moments_given(d, f[0]).0);
        let y_var = expectation(&[m], &[v], &mut |f| {
            let (m, v) = self.moments_given(d, f[0]);
            v + (m - y_mean) * (m - y_mean)
        });
        (y_mean, y_var)
    }

    /// P(target ≤ y) when f ~ N(m, v).
    fn cdf(&self, d: usize, m: f64, v: f64, y: f64) -> f64 {
        expectation(&[m], &[v], &mut |f| self.cdf_given(d, f[0], y)).clamp(0.0, 1.0)
    }
}

/// [`Independent::tilt`] by the rule of `nested`.
pub(super) fn quadrature<L: Independent + ?Sized>(
    law: &L,
    d: usize,
    (m, v): (f64, f64),
    y: f64,
    alpha: f64,
    params: Option<&mut [f64]>,
) -> Tilted {
    let (mut mean, mut var, mut unwanted) = ([0.0], [0.0], Vec::new());
    let params = params.unwrap_or_else(|| {
        unwanted.resize(law.n_params(), 0.0);
        &mut unwanted
    });
    let bar = TiltedBar { mean: &mut mean, var: &mut var, params };
    let log_z = tilted((&[m], &[v]), alpha, bar, &mut |f, slopes| {
        let [log_p, first, second] = law.log_likelihood(d, f[0], y, Some(slopes.params));
        (slopes.first[0], slopes.second[0]) = (first, second);
        log_p
    });
    Tilted { log_z, mean: mean[0], var: var[0] }
}

/// log Z of a point: the sum over its observed outputs. Derivatives that belong to a missing one are 0.
fn log_z<L: Independent + ?Sized>(
    law: &L,
    (mean, var): (&[f64], &[f64]),
    y: &[f64],
    alpha: f64,
    bar: TiltedBar<'_>,
) -> f64 {
    assert_power(alpha);
    assert_sizes(law.n_outputs(), [mean.len(), var.len(), y.len(), bar.mean.len(), bar.var.len()]);
    let mut log_z = 0.0;
    for d in 0..law.n_outputs() {
        let tilted = if y[d].is_nan() {
            Tilted { log_z: 0.0, mean: 0.0, var: 0.0 }
        } else {
            law.tilt(d, mean[d], var[d], y[d], alpha, Some(&mut *bar.params))
        };
        log_z += tilted.log_z;
        bar.mean[d] = tilted.mean;
        bar.var[d] = tilted.var;
    }
    log_z
}

impl<L: Independent> Observation for L {
    fn n_latent(&self) -> usize {
        self.n_outputs()
    }

    fn n_targets(&self) -> usize {
        self.n_outputs()
    }

    fn check(&self) -> Result<()> {
        Independent::check(self)
    }

    fn support(&self, target: usize) -> Support {
        Independent::support(self, target)
    }

    fn log_likelihood(&self, target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        let Some(slopes) = slopes else { return Independent::log_likelihood(self, target, f[target], y, None)[0] };
        let [log_p, first, second] = Independent::log_likelihood(self, target, f[target], y, Some(slopes.params));
        slopes.first[target] += first;
        slopes.second[target] += second;
        log_p
    }

    fn moments_given(&self, target: usize, f: &[f64]) -> (f64, f64) {
        Independent::moments_given(self, target, f[target])
    }

    fn cdf_given(&self, target: usize, f: &[f64], y: f64) -> f64 {
        Independent::cdf_given(self, target, f[target], y)
    }

    fn draw(&self, target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        Independent::draw(self, target, f[target], rng)
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        log_z(self, (mean, var), y, alpha, bar)
    }

    fn log_z_sum(
        &self,
        moments: (&Mat, &Mat),
        targets: (&Mat, &[usize]),
        alpha: f64,
        bars: (&mut Mat, &mut Mat),
        params: &mut [f64],
    ) -> f64 {
        Independent::log_z_sum(self, moments, targets, alpha, bars, params)
    }

    fn log_density(&self, mean: &[f64], var: &[f64], y: &[f64]) -> f64 {
        assert_sizes(self.n_outputs(), [mean.len(), var.len(), y.len()]);
        observed(y).map(|(d, y)| self.tilt(d, mean[d], var[d], y, 1.0, None).log_z).sum()
    }

    fn log_density_of(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(self.n_outputs(), [mean.len(), var.len()]);
        if y.is_nan() { 0.0 } else { self.tilt(target, mean[target], var[target], y, 1.0, None).log_z }
    }

    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(self.n_outputs(), [mean.len(), var.len()]);
        if y.is_nan() { f64::NAN } else { Independent::cdf(self, target, mean[target], var[target], y) }
    }

    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(self.n_outputs(), [mean.len(), var.len(), y_mean.len(), y_var.len()]);
        for d in 0..self.n_outputs() {
            (y_mean[d], y_var[d]) = self.moments(d, mean[d], var[d]);
        }
    }
}
