//! Normal noise whose size is a function of the inputs: y ~ N(f₁, s² exp(2 f₂)).

use deepgp::likelihood::{Observation, Slopes, Support};
use deepgp::numerics::special::{LN_2PI, ndtr};
use deepgp::param::{Block, BlockMut, Domain, Parameters};
use deepgp::{Error, Result};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// One target with two latent functions: its mean, and the log of how much larger its deviation is than `scale`.
#[derive(Debug, Clone, PartialEq)]
pub struct VaryingNoise {
    /// s, the deviation where f₂ is 0; trained.
    pub scale: f64,
}

impl Parameters for VaryingNoise {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "scale", domain: Domain::Positive, values: std::slice::from_ref(&self.scale) });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "scale", domain: Domain::Positive, values: std::slice::from_mut(&mut self.scale) });
    }
}

impl Observation for VaryingNoise {
    fn n_latent(&self) -> usize {
        2
    }

    fn n_targets(&self) -> usize {
        1
    }

    fn check(&self) -> Result<()> {
        if self.scale > 0.0 && self.scale.is_finite() {
            return Ok(());
        }
        let requirement = "it must be positive and finite";
        Err(Error::Parameter { name: "scale", layer: None, entry: Some(0), value: self.scale, requirement })
    }

    fn support(&self, _target: usize) -> Support {
        Support::Real
    }

    /// ℓ = −½ log 2π − log s − f₂ − ½z²,  z = (y − f₁)/(s exp f₂)
    fn log_likelihood(&self, _target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        let deviation = self.scale * f[1].exp();
        let z = (y - f[0]) / deviation;
        if let Some(slopes) = slopes {
            slopes.first[0] += z / deviation;
            slopes.first[1] += z * z - 1.0;
            slopes.second[0] -= 1.0 / (deviation * deviation);
            slopes.second[1] -= 2.0 * z * z;
            slopes.params[0] += (z * z - 1.0) / self.scale;
        }
        -0.5 * (LN_2PI + z * z) - self.scale.ln() - f[1]
    }

    fn moments_given(&self, _target: usize, f: &[f64]) -> (f64, f64) {
        (f[0], (self.scale * f[1].exp()).powi(2))
    }

    fn cdf_given(&self, _target: usize, f: &[f64], y: f64) -> f64 {
        ndtr((y - f[0]) / (self.scale * f[1].exp()))
    }

    fn draw(&self, _target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        f[0] + self.scale * f[1].exp() * z
    }
}
