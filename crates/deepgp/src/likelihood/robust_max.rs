//! Several classes by the largest latent function, with some of the labels wrong:
//!
//! ```text
//! p(y | f) = 1 − ε if f_y is the largest, else ε/(K − 1)
//! Z = b + (a − b) P        a = (1 − ε)^α,   b = (ε/(K − 1))^α        P = P(f_y is the largest)
//! P = ∫ N(f; m_y, v_y) Π_{k≠y} Φ((f − m_k)/√v_k) df
//! ```
//! The integrand is log-concave, and the rule of `nested` gives log P with its derivatives; cost grows with K. As
//! ∂/∂v = ½ ∂²/∂m², with w_k = (f − m_k)/√v_k and ⟨·⟩ the average under the integrand,
//!
//! ```text
//! ∂log P/∂m_k = −⟨r(w_k)⟩/√v_k        ∂log P/∂v_k = −½⟨r(w_k) w_k⟩/v_k        k ≠ y
//! ```
//! Limit: as p has steps, slopes at a tie are as large as the variances are small. Reference: Hernández-Lobato,
//! Hernández-Lobato and Dupont (2011).

use super::nested::tilted;
use super::{Observation, Slopes, Support, TiltedBar, assert_power, assert_sizes};
use crate::error::{Error, Result};
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::special::log_ndtr_slopes;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// One target on the labels 0, 1, …, K − 1, with K latent functions. It has no trained parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RobustMax {
    /// K, at least 2.
    pub n_classes: usize,
    /// ε, in (0, 1): the probability that a label is wrong; not trained.
    pub error: f64,
}

/// Variances are taken for at least this share of 1 + m², for a step has no slope.
const LEAST_VAR: f64 = 1e-20;

/// The first of the largest.
fn largest(f: &[f64]) -> usize {
    (1..f.len()).fold(0, |best, k| if f[k] > f[best] { k } else { best })
}

impl RobustMax {
    /// ε/(K − 1).
    fn other(&self) -> f64 {
        self.error / (self.n_classes - 1) as f64
    }

    /// log P, with its derivatives written.
    fn log_largest(&self, mean: &[f64], var: &[f64], y: usize, by_mean: &mut [f64], by_var: &mut [f64]) -> f64 {
        let k = self.n_classes;
        let deviation = |k: usize| var[k].max(LEAST_VAR * (1.0 + mean[k] * mean[k])).sqrt();
        let deviations: Vec<f64> = (0..k).map(deviation).collect();
        if mean.iter().chain(var).any(|moment| !moment.is_finite()) {
            by_mean.fill(f64::NAN);
            by_var.fill(f64::NAN);
            return f64::NAN;
        }
        let (mut own_mean, mut own_var, mut averages) = ([0.0], [0.0], vec![0.0; 2 * k]);
        let bar = TiltedBar { mean: &mut own_mean, var: &mut own_var, params: &mut averages };
        let own = [deviations[y] * deviations[y]];
        let log_p = tilted((&[mean[y]], &own), 1.0, bar, &mut |f, slopes| {
            let mut log_p = 0.0;
            for k in (0..k).filter(|k| *k != y) {
                let w = (f[0] - mean[k]) / deviations[k];
                let [log_cdf, r, r_slope] = log_ndtr_slopes(w);
                log_p += log_cdf;
                slopes.first[0] += r / deviations[k];
                slopes.second[0] += r_slope / deviations[k] / deviations[k];
                slopes.params[2 * k] = -r / deviations[k];
                slopes.params[2 * k + 1] = -0.5 * r * w / deviations[k] / deviations[k];
            }
            log_p
        });
        for k in 0..k {
            (by_mean[k], by_var[k]) = (averages[2 * k], averages[2 * k + 1]);
        }
        // Only differences of means matter.
        (by_mean[y], by_var[y]) = (-by_mean.iter().sum::<f64>(), own_var[0]);
        log_p
    }

    /// Probabilities that each latent function is the largest, with sum 1. Those that cannot reach 1e-15 against the one
    /// with the largest mean are taken for 0.
    fn largest_of(&self, mean: &[f64], var: &[f64]) -> Vec<f64> {
        let (mut by_mean, mut by_var) = (vec![0.0; self.n_classes], vec![0.0; self.n_classes]);
        let best = largest(mean);
        let mut of_class = |y: usize| {
            let is_hopeless = mean[best] - mean[y] > 8.0 * (var[y] + var[best]).sqrt() && y != best;
            if is_hopeless { 0.0 } else { self.log_largest(mean, var, y, &mut by_mean, &mut by_var).exp() }
        };
        let mut p: Vec<f64> = (0..self.n_classes).map(&mut of_class).collect();
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
        p
    }

    /// Probabilities of the labels from those of the largest.
    fn labels(&self, largest: &[f64]) -> Vec<f64> {
        largest.iter().map(|p| self.other() + (1.0 - self.error - self.other()) * p).collect()
    }

    /// Probabilities of the labels given f.
    fn labels_given(&self, f: &[f64]) -> Vec<f64> {
        let best = largest(f);
        (0..self.n_classes).map(|k| if k == best { 1.0 - self.error } else { self.other() }).collect()
    }
}

impl Parameters for RobustMax {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {}

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {}
}

impl Observation for RobustMax {
    fn n_latent(&self) -> usize {
        self.n_classes
    }

    fn n_targets(&self) -> usize {
        1
    }

    fn check(&self) -> Result<()> {
        check_classes(self.n_classes)?;
        if self.error > 0.0 && self.error < 1.0 {
            return Ok(());
        }
        let (name, requirement) = ("error", "it must be between 0 and 1");
        Err(Error::Parameter { name, layer: None, entry: None, value: self.error, requirement })
    }

    fn support(&self, _target: usize) -> Support {
        Support::Labels(self.n_classes)
    }

    /// Flat where it does not step.
    fn log_likelihood(&self, _target: usize, f: &[f64], y: f64, _slopes: Option<Slopes<'_>>) -> f64 {
        self.labels_given(f)[y as usize].ln()
    }

    fn moments_given(&self, _target: usize, f: &[f64]) -> (f64, f64) {
        moments(&self.labels_given(f))
    }

    fn cdf_given(&self, _target: usize, f: &[f64], y: f64) -> f64 {
        up_to(y, &self.labels_given(f))
    }

    fn draw(&self, _target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        drawn(&self.labels_given(f), rng)
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(self.n_classes, [mean.len(), var.len(), bar.mean.len(), bar.var.len()]);
        assert_sizes(1, [y.len()]);
        if y[0].is_nan() {
            bar.mean.fill(0.0);
            bar.var.fill(0.0);
            return 0.0;
        }
        let log_p = self.log_largest(mean, var, y[0] as usize, bar.mean, bar.var);
        let (log_a, log_b) = (alpha * (-self.error).ln_1p(), alpha * self.other().ln());
        // Z/b − 1 = (a/b − 1) P, and ∂log Z = (1 − b/Z) ∂log P
        let gain = (log_a - log_b).exp_m1() * log_p.exp();
        let share = gain / (1.0 + gain);
        bar.mean.iter_mut().chain(bar.var).for_each(|bar| *bar *= share);
        log_b + gain.ln_1p()
    }

    fn log_density_of(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert!(target == 0, "there is no target {target}");
        self.log_density(mean, var, &[y])
    }

    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(self.n_classes, [mean.len(), var.len()]);
        assert!(target == 0, "there is no target {target}");
        if y.is_nan() { f64::NAN } else { up_to(y, &self.labels(&self.largest_of(mean, var))) }
    }

    fn probabilities(&self, target: usize, mean: &[f64], var: &[f64], out: &mut [f64]) {
        assert_sizes(self.n_classes, [mean.len(), var.len(), out.len()]);
        assert!(target == 0, "there is no target {target}");
        out.copy_from_slice(&self.labels(&self.largest_of(mean, var)));
    }

    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(self.n_classes, [mean.len(), var.len()]);
        assert_sizes(1, [y_mean.len(), y_var.len()]);
        (y_mean[0], y_var[0]) = moments(&self.labels(&self.largest_of(mean, var)));
    }
}

/// Checks that there are classes to tell apart.
pub(super) fn check_classes(n_classes: usize) -> Result<()> {
    if n_classes >= 2 {
        return Ok(());
    }
    let (name, requirement) = ("classes", "there must be at least two");
    Err(Error::Parameter { name, layer: None, entry: None, value: n_classes as f64, requirement })
}

/// Mean and variance of a label with these probabilities.
pub(super) fn moments(p: &[f64]) -> (f64, f64) {
    let mean: f64 = p.iter().enumerate().map(|(k, p)| k as f64 * p).sum();
    (mean, p.iter().enumerate().map(|(k, p)| (k as f64 - mean).powi(2) * p).sum())
}

/// P(label ≤ y).
pub(super) fn up_to(y: f64, p: &[f64]) -> f64 {
    p.iter().enumerate().filter(|(k, _)| *k as f64 <= y).map(|(_, p)| p).sum::<f64>().min(1.0)
}

/// A label with these probabilities.
pub(super) fn drawn(p: &[f64], rng: &mut dyn Rng) -> f64 {
    let mut left: f64 = rng.random();
    for (k, p) in p.iter().enumerate() {
        left -= p;
        if left < 0.0 {
            return k as f64;
        }
    }
    p.len().saturating_sub(1) as f64
}
