//! The normal law N(m, v), of which everything is known in closed form.

use super::{Level, PredictiveLaw};
use deepgp_numerics::special::{ndtr, normal_log_density, phi};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Normal scores of the landmarks; what is beyond the outermost ones has a probability of 10⁻⁹.
const LANDMARKS: [f64; 9] = [-6.0, -3.5, -2.0, -1.0, 0.0, 1.0, 2.0, 3.5, 6.0];

/// N(m, v).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normal {
    /// m.
    pub mean: f64,
    /// v.
    pub var: f64,
}

impl Normal {
    /// The law of a + b x.
    pub(super) fn mapped(self, a: f64, b: f64) -> Self {
        Self { mean: self.mean * b + a, var: self.var * b * b }
    }

    /// The continuous ranked probability score.
    ///
    /// ```text
    /// CRPS = s (z (2Φ(z) − 1) + 2φ(z) − 1/√π)          z = (y − m)/s
    /// ```
    /// The limit s → 0 is |y − m|.  Reference: Gneiting & Raftery (2007), section 4.2.
    pub(super) fn ranked_score(self, y: f64) -> f64 {
        let std = self.var.sqrt();
        if std == 0.0 {
            return (y - self.mean).abs();
        }
        let z = (y - self.mean) / std;
        // z (2Φ(z) − 1) = z erf(z/√2),  2φ(z) = √(2/π) exp(−z²/2)
        let score = z * libm::erf(z * FRAC_1_SQRT_2) + (2.0 / PI).sqrt() * (-0.5 * z * z).exp() - 1.0 / PI.sqrt();
        std * score
    }

    /// E|x|.
    pub(super) fn mean_size(self) -> f64 {
        let std = self.var.sqrt();
        let z = self.mean / std;
        self.mean * (2.0 * ndtr(z) - 1.0) + 2.0 * std * phi(z)
    }
}

impl PredictiveLaw for Normal {
    fn moments(&self) -> (f64, f64) {
        (self.mean, self.var)
    }

    fn cdf(&self, y: f64) -> f64 {
        ndtr((y - self.mean) / self.var.sqrt())
    }

    fn log_prob(&self, y: f64) -> f64 {
        normal_log_density(y, self.mean, self.var)
    }

    fn draw(&self, rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        self.mean + self.var.sqrt() * z
    }

    fn landmarks(&self) -> Vec<f64> {
        let std = self.var.sqrt();
        LANDMARKS.iter().map(|z| self.mean + std * z).collect()
    }

    fn as_normal(&self) -> Option<Normal> {
        Some(*self)
    }

    fn quantile(&self, level: Level) -> f64 {
        self.mean + self.var.sqrt() * level.score
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Interval;
    use deepgp_numerics::special::normal_quantile;
    use deepgp_oracle::{Tolerance, assert_close};

    #[test]
    fn ranked_scores_are_the_integral_that_defines_them() {
        let normal = Normal { mean: 0.3, var: 0.49 };
        for y in [-2.0, 0.3, 0.9, 4.0] {
            // Midpoint rule on either side of the jump.
            let side = |from: f64, to: f64, jump: f64| {
                let step = (to - from) / 4000.0;
                let term = |i: usize| (normal.cdf(from + (i as f64 + 0.5) * step) - jump).powi(2);
                step * (0..4000).map(term).sum::<f64>()
            };
            let integral = side(0.3 - 6.3, y, 0.0) + side(y, 0.3 + 6.3, 1.0);
            assert_close("CRPS", normal.crps(y), integral, Tolerance::Limit(1e-6));
        }
        assert!(normal.crps(f64::NAN).is_nan());
    }

    #[test]
    fn ranked_scores_of_certainty_are_absolute_errors() {
        assert_eq!(Normal { mean: 1.0, var: 0.0 }.crps(-2.0), 3.0);
        assert_close("small std", Normal { mean: 1.0, var: 1e-18 }.crps(-2.0), 3.0, Tolerance::Limit(1e-9));
    }

    #[test]
    fn evenly_spread_quantiles_lie_inside_as_often_as_they_should() {
        let normal = Normal { mean: 2.0, var: 9.0 };
        let n = 1000;
        for probability in [0.1, 0.5, 0.9, 0.95, 0.99] {
            let interval = [Interval::central(probability)];
            let y = |i: usize| 2.0 + 3.0 * normal_quantile((i as f64 + 0.5) / n as f64);
            let inside = (0..n).filter(|&i| normal.is_inside(y(i), interval)[0]).count();
            assert_close("coverage", inside as f64 / n as f64, probability, Tolerance::Limit(1.01e-3));
        }
    }
}
