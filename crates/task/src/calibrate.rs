//! Calibration of predicted distributions on rows that were not trained on.
//!
//! One factor is found for all standard deviations, and propagated moments are compared with samples.

use crate::law::mix_log_densities;
use crate::model::Model;
use crate::row_info::Rows;
use crate::stacking::finite_mean;
use crate::task::Task;
use crate::warp::with_log_slopes;
use deepgp::Result;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::optim::golden_section;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Bounds of the factor.
const FACTORS: [f64; 2] = [0.25, 4.0];
/// Golden sections of the logarithm of the factor.
const GOLDEN_SECTIONS: usize = 30;
/// Nats per row that moments may be off by.
const MOST_OFF: f64 = 0.05;

/// Mean log density of the same rows in two ways: by the moments that are propagated through the layers, as predictions
/// are made, and by a mixture over samples of the hidden layers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MomentCheck {
    /// Rows.
    pub rows: usize,
    /// By moments, in nats per row.
    pub moments: f64,
    /// By samples.
    pub samples: f64,
}

impl MomentCheck {
    /// Rows that a fit checks by at most, and samples of each.
    pub const MOST_ROWS: usize = 200;
    /// See [`MomentCheck::MOST_ROWS`].
    pub const SAMPLES: usize = 200;

    /// Whether the two disagree by more than samples can tell by chance and users need care about.
    pub fn is_off(&self) -> bool {
        (self.moments - self.samples).abs() > MOST_OFF
    }
}

impl Model {
    /// The factor of all predicted standard deviations that gives rows which were not trained on the highest density,
    /// between a quarter and four, by golden sections; 1 where targets take separate values. See
    /// [`Model::with_std_factor`].
    ///
    /// # Errors
    /// As [`Model::log_density`].
    pub fn best_std_factor<'a>(&self, rows: impl Into<Rows<'a>>, y: &Mat) -> Result<f64> {
        if !self.is_continuous() {
            return Ok(1.0);
        }
        let predictive = self.predictive(rows)?;
        // What is wrong with the targets is so at any factor.
        predictive.log_density(y)?;
        let score = |log_factor: f64| {
            let log_density = predictive.clone().widened(log_factor.exp()).log_density(y);
            log_density.ok().and_then(|all| finite_mean(&all)).unwrap_or(f64::NEG_INFINITY)
        };
        let [low, high] = FACTORS.map(f64::ln);
        Ok(self.std_factor() * golden_section(low, high, GOLDEN_SECTIONS, score).exp())
    }

    /// Compares the densities that propagated moments and samples of the hidden layers give to rows; nothing if there
    /// are no hidden layers, or if targets are known within bounds, of which some have probabilities and others
    /// densities. Cost: that of so many predictions.
    ///
    /// # Errors
    /// As [`Model::log_density`], and [`deepgp::Error::Parameter`] for no samples.
    pub fn check_moments(&self, x: &Mat, y: &Mat, samples: usize, seed: u64) -> Result<Option<MomentCheck>> {
        let is_deep = |fitted: &deepgp::Fitted| fitted.network.layers().len() > 1;
        if self.task() == Task::Censored || !self.members().any(|(_, member)| is_deep(member.fitted())) {
            return Ok(None);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (x, y) = (self.inputs().apply(x, "inputs")?, self.targets().apply(y, "targets")?);
        let (mut weights, mut by_moments, mut by_samples) = (Vec::new(), Vec::new(), Vec::new());
        for member in self.parts() {
            let (predictor, x, (coded, t)) = (&member.fitted, member.inputs(&x)?, member.targets(&y)?);
            let moments = predictor.log_density(&*x, &t)?;
            let by_sampling = match is_deep(predictor.fitted()) {
                true => predictor.mixture_log_density(&*x, &t, samples, &mut rng)?,
                false => moments.clone(),
            };
            // The probability of a cell is about its density times 1.
            let width = member
                .coding
                .map_or(0.0, |coding| if member.has_cells() { coding.scale.ln() } else { coding.log_width() });
            for (all, log_p) in [(&mut by_samples, by_sampling), (&mut by_moments, moments)] {
                all.push(with_log_slopes(&member.warps, &coded, log_p).into_iter().map(|l| l - width).collect());
            }
            weights.push(member.weight);
        }
        let score = |all: &[Vec<f64>]| {
            finite_mean(&mix_log_densities(&weights, all))
                .map(|log_density| self.targets().invert_log_density(log_density))
        };
        // What is not a number cannot be compared.
        let both = score(&by_moments).zip(score(&by_samples));
        Ok(both.map(|(moments, samples)| MomentCheck { rows: x.rows(), moments, samples }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::likelihood_choice::LikelihoodChoice;
    use deepgp::Error;
    use deepgp_datasets::builtin;

    fn model(hidden: Vec<usize>, likelihood: LikelihoodChoice) -> Result<(Model, Mat, Mat)> {
        let (x, y) = builtin::step(120, 0.1, 3);
        let mut config = Config { likelihood, ..Config::default() };
        config.architecture.hidden = hidden;
        (config.architecture.n_inducing, config.train.iterations) = (15, 300);
        let (model, _) = Model::fit(&x, &y, &config, &mut ())?;
        let (x, y) = builtin::step(200, 0.1, 4);
        Ok((model, x, y))
    }

    #[test]
    fn the_factor_is_the_best_and_undoes_another() -> Result<()> {
        for likelihood in [LikelihoodChoice::Gaussian, LikelihoodChoice::StudentT] {
            let (model, x, y) = model(vec![], likelihood)?;
            let factor = model.best_std_factor(&x, &y)?;
            let score = |model: &Model| Ok::<f64, Error>(model.score(&x, &y)?.mean_log_density);
            let model = model.with_std_factor(factor)?;
            let best = score(&model)?;
            // Twice as wide is worse, and the way back is half.
            let wide = model.with_std_factor(2.0 * factor)?;
            assert!(score(&wide)? < best);
            assert!((wide.best_std_factor(&x, &y)? / factor - 1.0).abs() < 1e-4);
            let near = wide.with_std_factor(1.05 * factor)?;
            assert!(score(&near)? < best);
        }
        for bad in [0.0, -1.0, f64::NAN] {
            let (x, y) = builtin::step(20, 0.1, 1);
            let mut config = Config::default();
            config.train.iterations = 5;
            assert!(Model::fit(&x, &y, &config, &mut ())?.0.with_std_factor(bad).is_err());
        }
        Ok(())
    }

    #[test]
    fn samples_agree_with_moments_where_hidden_layers_are_sure() -> Result<()> {
        let (shallow, x, y) = model(vec![], LikelihoodChoice::Gaussian)?;
        assert_eq!(shallow.check_moments(&x, &y, 10, 0)?, None);
        let (deep, x, y) = model(vec![2], LikelihoodChoice::Gaussian)?;
        let check = deep.check_moments(&x, &y, 200, 0)?.expect("a deep model");
        assert_eq!(check.rows, 200);
        assert!((check.moments - deep.score(&x, &y)?.mean_log_density).abs() < 1e-9);
        assert!((check.samples - check.moments).abs() < 0.1, "{check:?}");
        let off = MomentCheck { samples: check.moments + 0.1, ..check };
        assert!(off.is_off() && !MomentCheck { samples: check.moments, ..check }.is_off());
        Ok(())
    }
}
