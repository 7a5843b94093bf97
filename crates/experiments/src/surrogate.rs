//! Bayesian optimisation of one number: a Gaussian process over what was tried, and the improvement it expects
//! elsewhere.
//!
//! ```text
//! EI(x) = E[max(b − f(x), 0)] = (b − m) Φ(z) + s φ(z),   z = (b − m)/s,   f(x) ~ N(m, s²)
//! ```
//! b is the least posterior mean at the points tried: with noisy values the least value itself would be luck.
//! Reference: Jones, Schonlau, Welch (1998), "Efficient global optimization of expensive black-box functions".

use crate::error::Result;
use deepgp::infer::{Engine, InferenceSettings, Site};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::{ndtr, phi};
use deepgp_task::{Config, Model};

/// Steps of training; a handful of points in one dimension settles long before.
const ITERATIONS: usize = 600;
/// Their learning rate.
const LEARNING_RATE: f64 = 0.03;
/// Grid on which the improvement is looked at.
const GRID: usize = 201;
/// Nothing is tried this close to what was tried: the same again would say nothing new.
const LEAST_DISTANCE: f64 = 0.02;

/// A Gaussian process over points (x, value) in [0, 1] × ℝ: this library's own, with every point an inducing input,
/// which makes it the exact GP.
#[derive(Debug)]
pub struct Surrogate {
    model: Model,
    /// Where it was tried.
    tried: Vec<f64>,
    /// Least posterior mean at the points tried.
    best: f64,
}

impl Surrogate {
    /// Learns from what was tried; at least two different points.
    ///
    /// # Errors
    /// As [`Model::fit`].
    pub fn fit(tried: &[(f64, f64)]) -> Result<Self> {
        let column = |values: Vec<f64>| Mat::from_vec(values.len(), 1, values);
        let x = column(tried.iter().map(|t| t.0).collect())?;
        let y = column(tried.iter().map(|t| t.1).collect())?;
        let mut config = Config::default();
        (config.architecture.hidden, config.architecture.n_inducing) = (Vec::new(), tried.len());
        let train = &mut config.train;
        train.inference =
            InferenceSettings { alpha: 1.0, damping: 0.5, ..InferenceSettings::of(Engine::Sep(Site::FirstOrder)) };
        (train.iterations, train.learning_rate, train.batch_size) = (ITERATIONS, LEARNING_RATE, tried.len());
        train.fixed = vec!["z".to_owned()];
        let (model, _) = Model::fit(&x, &y, &config, &mut ())?;
        let best = model.predict(&x)?.f.mean.as_slice().iter().copied().fold(f64::INFINITY, f64::min);
        Ok(Self { model, tried: x.column(0), best })
    }

    /// Mean and standard deviation of the function itself, noise left out.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn predict(&self, x: &[f64]) -> Result<Vec<(f64, f64)>> {
        let f = self.model.predict(&Mat::from_vec(x.len(), 1, x.to_vec())?)?.f;
        Ok(f.mean.as_slice().iter().zip(f.var.as_slice()).map(|(&mean, var)| (mean, var.sqrt())).collect())
    }

    /// Where in [0, 1], away from what was tried, the most improvement is expected, and how much.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn most_promising(&self) -> Result<(f64, f64)> {
        let is_new = |u: &f64| self.tried.iter().all(|t| (t - u).abs() >= LEAST_DISTANCE);
        let grid: Vec<f64> = (0..GRID).map(|i| i as f64 / (GRID - 1) as f64).filter(is_new).collect();
        let gains = self.predict(&grid)?.into_iter().map(|(mean, std)| expected_improvement(self.best, mean, std));
        Ok(grid.iter().copied().zip(gains).fold((0.0, f64::NEG_INFINITY), |a, b| if b.1 > a.1 { b } else { a }))
    }
}

/// E[max(best − f, 0)] for f ~ N(mean, std²).
fn expected_improvement(best: f64, mean: f64, std: f64) -> f64 {
    let gain = best - mean;
    if std <= 0.0 {
        return gain.max(0.0);
    }
    let z = gain / std;
    (gain * ndtr(z) + std * phi(z)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_improvement_is_the_integral() {
        // E[max(b − f, 0)] by a midpoint sum over z, f = mean + std z.
        for (best, mean, std) in [(0.0, 0.0, 1.0), (1.0, 0.3, 0.2), (-2.0, 0.5, 1.5)] {
            let n = 200_000;
            let sum: f64 = (0..n)
                .map(|i| {
                    let z = -10.0 + 20.0 * (f64::from(i) + 0.5) / f64::from(n);
                    f64::max(best - mean - std * z, 0.0) * phi(z) * 20.0 / f64::from(n)
                })
                .sum();
            assert!((expected_improvement(best, mean, std) - sum).abs() < 1e-8, "{best} {mean} {std}: {sum}");
        }
        assert_eq!(expected_improvement(1.0, 0.25, 0.0), 0.75);
    }

    #[test]
    fn the_minimum_of_a_bowl_is_found() -> Result<()> {
        // As far from all points of the design as can be.
        let value = |x: f64| (x - 0.5).powi(2);
        let mut tried: Vec<(f64, f64)> = [0.125, 0.375, 0.625, 0.875].map(|x| (x, value(x))).into();
        for _ in 0..4 {
            let (x, gain) = Surrogate::fit(&tried)?.most_promising()?;
            assert!((0.0..=1.0).contains(&x) && gain.is_finite());
            assert!(tried.iter().all(|t| (t.0 - x).abs() >= LEAST_DISTANCE), "{x} after {tried:?}");
            tried.push((x, value(x)));
        }
        let best = tried.iter().fold((0.0, f64::INFINITY), |a, &b| if b.1 < a.1 { b } else { a });
        assert!((best.0 - 0.5).abs() < 0.03, "{tried:?}");
        Ok(())
    }

    #[test]
    fn what_is_known_is_predicted() -> Result<()> {
        let tried: Vec<(f64, f64)> = (0..8).map(|i| (f64::from(i) / 7.0, (4.0 * f64::from(i) / 7.0).sin())).collect();
        let surrogate = Surrogate::fit(&tried)?;
        for (mean, (x, value)) in surrogate.predict(&[0.0, 2.0 / 7.0, 1.0])?.iter().zip([tried[0], tried[2], tried[7]])
        {
            assert!((mean.0 - value).abs() < 0.02, "at {x}: {mean:?} is not {value}");
        }
        Ok(())
    }
}
