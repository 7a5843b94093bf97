//! Normal noise on targets of which some are known only to lie in an interval: detection limits, times not yet ended.
//!
//! A target has two columns, l and u. Where they are equal it was seen exactly, otherwise it lies between them; NaN on one
//! side leaves that side open, and on both the target is missing.
//!
//! ```text
//! l = u     p = N(u; f, σ²)
//! l < u     p = Φ((u − f)/σ) − Φ((l − f)/σ)
//! ```
//! At α = 1 noise and f ~ N(m, v) add up: log Z is log p with m in the place of f and s² = σ² + v in that of σ². Since p
//! solves the heat equation in (f, σ²),
//!
//! ```text
//! ∂log p/∂σ² = ½ (∂²log p/∂f² + (∂log p/∂f)²)        and so is ∂log Z/∂σ² = ∂log Z/∂v at α = 1
//! ```
//! Other powers of what was seen exactly are those of Gaussian noise, those with an open side those of the probit with
//! μ = (u − m)/σ or (m − l)/σ and the variance v/σ², for which
//!
//! ```text
//! ∂log Z/∂σ² = −(½ μ ∂log Z/∂μ + v/σ² ∂log Z/∂(v/σ²))/σ²
//! ```
//! and those between two bounds are integrated by the rule of `nested`; p is log-concave in f. Reference: Tobin (1958).

use super::between::Between;
use super::gaussian::of_noise;
use super::nested::tilted;
use super::probit::of_sign;
use super::{Observation, Slopes, Support, Tilted, TiltedBar, assert_power, assert_sizes};
use crate::error::{Error, Result, expect_positive, expect_size};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::{ndtr, normal_log_density};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// One real target with Gaussian noise, seen exactly or between a lower and an upper bound: two columns in data, both
/// equal to what was seen, or the bounds, NaN where there is none.
///
/// What it predicts is the target itself, whatever would be seen of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Censored {
    /// σ²; trained.
    pub noise_var: f64,
}

/// What a row says of its target.
#[derive(Debug, Clone, Copy)]
enum Seen {
    Nothing,
    Exactly(f64),
    Above(f64),
    Below(f64),
    Between(f64, f64),
}

impl Seen {
    fn of(y: &[f64]) -> Self {
        match (y[0].is_nan(), y[1].is_nan()) {
            (true, true) => Self::Nothing,
            (false, true) => Self::Above(y[0]),
            (true, false) => Self::Below(y[1]),
            (false, false) if y[0] == y[1] => Self::Exactly(y[0]),
            (false, false) => Self::Between(y[0], y[1]),
        }
    }
}

/// log P(l < f + ε < u) for ε ~ N(0, s²), with its first two derivatives in f; either bound may be infinite.
fn interval(f: f64, s: f64, (l, u): (f64, f64)) -> [f64; 3] {
    let Between { log_p, slope, curvature, .. } = Between::new((l - f) / s, (u - f) / s, (u - l) / s);
    [log_p, -slope / s, curvature / (s * s)]
}

/// log ∫ N(f; m, v) Φ(±(bound − f)/σ)^α df with its derivatives, and ∂/∂σ²; the sign is + for an upper bound.
fn beyond(sign: f64, bound: f64, s2: f64, (m, v): (f64, f64), alpha: f64) -> (Tilted, f64) {
    let (sd, scaled_v) = (s2.sqrt(), v / s2);
    let mu = sign * (bound - m) / sd;
    let Tilted { log_z, mean, var } = of_sign(mu, scaled_v, alpha);
    let noise_bar = -(0.5 * mu * mean + scaled_v * var) / s2;
    (Tilted { log_z, mean: -sign * mean / sd, var: var / s2 }, noise_bar)
}

impl Censored {
    /// log Z of a point, and ∂/∂σ².
    fn tilt(&self, (m, v): (f64, f64), seen: Seen, alpha: f64) -> (Tilted, f64) {
        let s2 = self.noise_var;
        let bounds = match seen {
            Seen::Nothing => return (Tilted { log_z: 0.0, mean: 0.0, var: 0.0 }, 0.0),
            Seen::Exactly(y) => return of_noise(s2, (m, v), y, alpha),
            Seen::Below(u) if alpha != 1.0 => return beyond(1.0, u, s2, (m, v), alpha),
            Seen::Above(l) if alpha != 1.0 => return beyond(-1.0, l, s2, (m, v), alpha),
            Seen::Below(u) => (f64::NEG_INFINITY, u),
            Seen::Above(l) => (l, f64::INFINITY),
            Seen::Between(l, u) => (l, u),
        };
        if !(m.is_finite() && v.is_finite()) {
            return (Tilted { log_z: f64::NAN, mean: f64::NAN, var: f64::NAN }, f64::NAN);
        }
        if alpha == 1.0 {
            let [log_z, mean, second] = interval(m, (s2 + v).sqrt(), bounds);
            let var = 0.5 * (second + mean * mean);
            return (Tilted { log_z, mean, var }, var);
        }
        let (mut mean, mut var, mut noise) = ([0.0], [0.0], [0.0]);
        let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut noise };
        let log_z = tilted((&[m], &[v]), alpha, bar, &mut |f, slopes| {
            let [log_p, first, second] = interval(f[0], s2.sqrt(), bounds);
            (slopes.first[0], slopes.second[0]) = (first, second);
            slopes.params[0] = 0.5 * (second + first * first);
            log_p
        });
        (Tilted { log_z, mean: mean[0], var: var[0] }, noise[0])
    }
}

impl Parameters for Censored {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "noise_var", domain: Domain::Positive, values: std::slice::from_ref(&self.noise_var) });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        let values = std::slice::from_mut(&mut self.noise_var);
        visit(BlockMut { name: "noise_var", domain: Domain::Positive, values });
    }
}

impl Observation for Censored {
    fn n_latent(&self) -> usize {
        1
    }

    fn n_targets(&self) -> usize {
        1
    }

    /// The lower and the upper bound.
    fn n_columns(&self) -> usize {
        2
    }

    fn check(&self) -> Result<()> {
        expect_positive("noise_var", Some(0), self.noise_var)
    }

    fn support(&self, _target: usize) -> Support {
        Support::Real
    }

    /// That of a target that was seen exactly.
    fn log_likelihood(&self, _target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        let (s2, e) = (self.noise_var, y - f[0]);
        if let Some(slopes) = slopes {
            slopes.first[0] += e / s2;
            slopes.second[0] -= 1.0 / s2;
            slopes.params[0] += 0.5 * (e * e / s2 - 1.0) / s2;
        }
        normal_log_density(y, f[0], s2)
    }

    fn moments_given(&self, _target: usize, f: &[f64]) -> (f64, f64) {
        (f[0], self.noise_var)
    }

    fn cdf_given(&self, _target: usize, f: &[f64], y: f64) -> f64 {
        ndtr((y - f[0]) / self.noise_var.sqrt())
    }

    fn draw(&self, _target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        f[0] + self.noise_var.sqrt() * z
    }

    fn check_targets(&self, y: &Mat) -> Result<()> {
        let (rows, columns) = (y.rows(), y.cols());
        expect_size("target columns", self.n_columns(), columns)?;
        if rows == 0 {
            return Err(Error::Empty { what: "targets", rows, columns });
        }
        for row in 0..rows {
            for (column, &value) in y.row(row).iter().enumerate() {
                if value.is_infinite() {
                    return Err(Error::NotFinite { what: "targets", row, column, value });
                }
            }
            if y[(row, 0)] > y[(row, 1)] {
                let requirement = "an upper bound must not lie below the lower one";
                return Err(Error::Target { row, column: 1, value: y[(row, 1)], requirement });
            }
        }
        Ok(())
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(1, [mean.len(), var.len(), bar.mean.len(), bar.var.len(), bar.params.len()]);
        assert_sizes(2, [y.len()]);
        let (tilted, noise_bar) = self.tilt((mean[0], var[0]), Seen::of(y), alpha);
        (bar.mean[0], bar.var[0]) = (tilted.mean, tilted.var);
        bar.params[0] += noise_bar;
        tilted.log_z
    }

    /// Log density of what was seen exactly, log probability of an interval.
    fn log_density(&self, mean: &[f64], var: &[f64], y: &[f64]) -> f64 {
        assert_sizes(1, [mean.len(), var.len()]);
        assert_sizes(2, [y.len()]);
        self.tilt((mean[0], var[0]), Seen::of(y), 1.0).0.log_z
    }

    /// Log density of the target itself.
    fn log_density_of(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(1, [mean.len(), var.len()]);
        assert!(target == 0, "there is no target {target}");
        if y.is_nan() { 0.0 } else { normal_log_density(y, mean[0], var[0] + self.noise_var) }
    }

    /// P(target ≤ y) = Φ((y − m)/√(v + σ²)).
    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(1, [mean.len(), var.len()]);
        assert!(target == 0, "there is no target {target}");
        ndtr((y - mean[0]) / (var[0] + self.noise_var).sqrt())
    }

    /// E y = m, var y = v + σ².
    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(1, [mean.len(), var.len(), y_mean.len(), y_var.len()]);
        (y_mean[0], y_var[0]) = (mean[0], var[0] + self.noise_var);
    }
}
