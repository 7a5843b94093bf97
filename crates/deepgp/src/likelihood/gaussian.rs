//! Gaussian noise: y = f + ε, ε ~ N(0, σ_d²).
//!
//! ```text
//! log ∫ N(f; m, v) N(y; f, σ²)^α df = −½α log(2πσ²) − ½ log(1 + αv/σ²) − ½αe²/(σ² + αv)        e = y − m
//! ```
//! With w = v + σ²/α this is −½α log(2πσ²) + ½ log(2πσ²/α) − ½ log(2πw) − ½e²/w, without its cancellation as α → 0.

use super::{Observation, Tilted};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use crate::special::{LN_2PI, ln_1p, normal_log_density};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Gaussian observation noise with one variance per output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gaussian {
    /// σ_d², D numbers.
    pub noise_var: Vec<f64>,
}

impl Gaussian {
    /// Equal noise on all `dim_out` outputs.
    pub fn isotropic(dim_out: usize, noise_var: f64) -> Self {
        Self { noise_var: vec![noise_var; dim_out] }
    }
}

impl Parameters for Gaussian {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "noise_var", domain: Domain::Positive, values: &self.noise_var });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "noise_var", domain: Domain::Positive, values: &mut self.noise_var });
    }
}

impl Observation for Gaussian {
    fn dim_out(&self) -> usize {
        self.noise_var.len()
    }

    fn check(&self) -> Result<()> {
        self.noise_var.iter().enumerate().try_for_each(|(d, &s2)| expect_positive("noise_var", Some(d), s2))
    }

    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        let (s2, e) = (self.noise_var[d], y - m);
        // c = αw = σ² + αv
        let c = s2 + alpha * v;
        let (inv_s2, inv_c) = (1.0 / s2, 1.0 / c);
        // ∂/∂m = e/w,   ∂/∂v = ½(e²/w² − 1/w),   ∂/∂σ² = ½(1 − α)/σ² + (∂/∂v)/α
        let mean = alpha * e * inv_c;
        let var = 0.5 * (mean * mean - alpha * inv_c);
        let log_z = -0.5 * (alpha * (LN_2PI + s2.ln()) + ln_1p(alpha * v * inv_s2) + mean * e);
        if let Some(params) = params {
            // (1 − α)/σ² − 1/(σ² + αv), on one denominator so that α → 0 does not cancel
            let trace = alpha * (v - c) * inv_s2 * inv_c;
            params[d] += 0.5 * (trace + mean * e * inv_c);
        }
        Tilted { log_z, mean, var }
    }

    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        (m, v + self.noise_var[d])
    }

    fn log_likelihood(&self, y: f64, f: f64, d: usize) -> f64 {
        normal_log_density(y, f, self.noise_var[d])
    }

    fn draw<R: Rng + ?Sized>(&self, f: f64, d: usize, rng: &mut R) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        f + self.noise_var[d].sqrt() * z
    }
}
