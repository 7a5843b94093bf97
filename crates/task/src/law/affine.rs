//! The law of a + b u, for u of another law: a target in its own unit.

use super::{Level, Normal, PredictiveLaw};
use rand::Rng;

/// y = a + b u with b > 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Affine<L> {
    /// a.
    pub shift: f64,
    /// b.
    pub scale: f64,
    /// The law of u.
    pub law: L,
}

impl<L> Affine<L> {
    fn inverse(&self, y: f64) -> f64 {
        (y - self.shift) / self.scale
    }

    fn forward(&self, u: f64) -> f64 {
        self.shift + self.scale * u
    }
}

impl<L: PredictiveLaw> PredictiveLaw for Affine<L> {
    fn moments(&self) -> (f64, f64) {
        let (mean, var) = self.law.moments();
        Normal { mean, var }.mapped(self.shift, self.scale).moments()
    }

    fn cdf(&self, y: f64) -> f64 {
        self.law.cdf(self.inverse(y))
    }

    fn log_prob(&self, y: f64) -> f64 {
        self.law.log_prob(self.inverse(y)) - self.scale.ln()
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        self.forward(self.law.draw(rng))
    }

    fn landmarks(&self) -> Vec<f64> {
        self.law.landmarks().into_iter().map(|u| self.forward(u)).collect()
    }

    fn as_normal(&self) -> Option<Normal> {
        self.law.as_normal().map(|normal| normal.mapped(self.shift, self.scale))
    }

    /// Whole numbers stay what they are: their unit is 1.
    fn is_whole(&self) -> bool {
        self.law.is_whole()
    }

    fn quantile(&self, level: Level) -> f64 {
        self.forward(self.law.quantile(level))
    }

    fn crps(&self, y: f64) -> f64 {
        match self.as_normal() {
            Some(normal) => normal.crps(y),
            None => self.scale * self.law.crps(self.inverse(y)),
        }
    }
}
