//! Normal noise whose size is a function of the inputs: y = f₁ + σε, σ = s exp f₂, ε ~ N(0, 1).
//!
//! Given f₂ the integral over f₁ is that of Gaussian noise, and one rule over f₂ remains (`nested`):
//!
//! ```text
//! Z = ∫ N(f₂; m₂, v₂) Z₁(σ²) df₂        Z₁ = ∫ N(f₁; m₁, v₁) N(y; f₁, σ²)^α df₁
//! ```
//! With g = αv₁/(σ² + αv₁) and h = αe²/(σ² + αv₁), the derivatives of log Z₁ in f₂ are
//!
//! ```text
//! −α + g + h (1 − g)        2 (1 − g)(h (2g − 1) − g)
//! ```
//! and log Z₁ has one maximum. With ⟨·⟩ the average under the tilted f₂, ∂log Z/∂m₁ = ⟨∂log Z₁/∂m₁⟩, likewise for v₁,
//! and ∂log Z/∂s = ∂log Z/∂m₂ / s.

use super::count::most;
use super::expectation::expectation;
use super::gaussian::of_noise;
use super::nested::tilted;
use super::{Observation, Slopes, Support, TiltedBar, assert_power, assert_sizes};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::{LN_2PI, ndtr};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// One real target with two latent functions: its mean, and the log of how much larger its deviation is than `scale`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VaryingGaussian {
    /// s, the deviation where f₂ is 0; trained.
    pub scale: f64,
}

/// Values of f₂ beyond ± this are taken for it: exp(±100) is far from all data.
const MOST: f64 = 100.0;

impl VaryingGaussian {
    /// σ at f₂.
    fn deviation(&self, f: f64) -> f64 {
        self.scale * f.clamp(-MOST, MOST).exp()
    }
}

impl Parameters for VaryingGaussian {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "scale", domain: Domain::Positive, values: std::slice::from_ref(&self.scale) });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "scale", domain: Domain::Positive, values: std::slice::from_mut(&mut self.scale) });
    }
}

impl Observation for VaryingGaussian {
    fn n_latent(&self) -> usize {
        2
    }

    fn n_targets(&self) -> usize {
        1
    }

    fn check(&self) -> Result<()> {
        expect_positive("scale", Some(0), self.scale)
    }

    fn support(&self, _target: usize) -> Support {
        Support::Real
    }

    /// ℓ = −½ log 2π − log σ − ½z²,  z = (y − f₁)/σ
    fn log_likelihood(&self, _target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        let deviation = self.deviation(f[1]);
        let z = (y - f[0]) / deviation;
        if let Some(slopes) = slopes {
            slopes.first[0] += z / deviation;
            slopes.first[1] += z * z - 1.0;
            slopes.second[0] -= 1.0 / (deviation * deviation);
            slopes.second[1] -= 2.0 * z * z;
            slopes.params[0] += (z * z - 1.0) / self.scale;
        }
        -0.5 * (LN_2PI + z * z) - deviation.ln()
    }

    fn moments_given(&self, _target: usize, f: &[f64]) -> (f64, f64) {
        (f[0], self.deviation(f[1]).powi(2))
    }

    fn cdf_given(&self, _target: usize, f: &[f64], y: f64) -> f64 {
        ndtr((y - f[0]) / self.deviation(f[1]))
    }

    fn draw(&self, _target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        f[0] + self.deviation(f[1]) * z
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(2, [mean.len(), var.len(), bar.mean.len(), bar.var.len()]);
        assert_sizes(1, [y.len(), bar.params.len()]);
        bar.mean.fill(0.0);
        bar.var.fill(0.0);
        if y[0].is_nan() {
            return 0.0;
        }
        if !(mean[0].is_finite() && var[0].is_finite()) {
            return f64::NAN;
        }
        let ((own_mean, other_mean), (own_var, other_var)) = (bar.mean.split_at_mut(1), bar.var.split_at_mut(1));
        let mut averages = [0.0; 2];
        let outer = TiltedBar { mean: other_mean, var: other_var, params: &mut averages };
        let log_z = tilted((&mean[1..], &var[1..]), 1.0, outer, &mut |f, slopes| {
            let s2 = self.deviation(f[0]).powi(2);
            let (inside, _) = of_noise(s2, (mean[0], var[0]), y[0], alpha);
            let (e, c) = (y[0] - mean[0], s2 + alpha * var[0]);
            let (g, rest, h) = (alpha * var[0] / c, s2 / c, alpha * e * e / c);
            slopes.first[0] = g - alpha + h * rest;
            slopes.second[0] = 2.0 * rest * (h * (2.0 * g - 1.0) - g);
            slopes.params.copy_from_slice(&[inside.mean, inside.var]);
            inside.log_z
        });
        (own_mean[0], own_var[0]) = (averages[0], averages[1]);
        bar.params[0] += other_mean[0] / self.scale;
        log_z
    }

    /// P(target ≤ y) = E Φ((y − m₁)/√(v₁ + σ²)) over f₂.
    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(2, [mean.len(), var.len()]);
        assert!(target == 0, "there is no target {target}");
        if y.is_nan() {
            return f64::NAN;
        }
        let given = |f: f64| ndtr((y - mean[0]) / (var[0] + self.deviation(f).powi(2)).sqrt());
        expectation(&mean[1..], &var[1..], &mut |f| given(f[0])).clamp(0.0, 1.0)
    }

    /// E y = m₁, var y = v₁ + s² exp(2m₂ + 2v₂), at most the largest number.
    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(2, [mean.len(), var.len()]);
        assert_sizes(1, [y_mean.len(), y_var.len()]);
        let total = var[0] + (2.0 * (self.scale.ln() + mean[1] + var[1])).exp();
        (y_mean[0], y_var[0]) = (mean[0], most(total));
    }
}
