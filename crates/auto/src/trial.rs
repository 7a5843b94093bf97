//! One trial: a candidate trained on some rows and judged by others.

use crate::candidate::{Candidate, Shape};
use crate::folds::Fold;
use deepgp::train::{Fitted, Progress, Termination};
use deepgp::{Result, exact};
use deepgp_model::{Prepared, Tried};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Evaluations of the evidence for an exact GP's hyperparameters, at full effort.
const EVALUATIONS: f64 = 60.0;
/// Steps of the sparse GP that an exact one starts from: they cost next to nothing beside it.
const WARM_UP: usize = 500;

/// A candidate, what it showed, and the log density of every row that it was judged by.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub candidate: Candidate,
    pub tried: Tried,
    /// In standardised units.
    pub log_densities: Vec<f64>,
}

impl Trial {
    /// For comparisons: what is not a number is worse than everything.
    pub fn score(&self) -> f64 {
        self.tried.mean_log_density.unwrap_or(f64::NEG_INFINITY)
    }
}

/// How a candidate is trained.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Training {
    /// Steps of a network.
    pub steps: usize,
    /// Share of the evaluations of an exact GP.
    pub effort: f64,
    pub seed: u64,
}

/// Trains a candidate on prepared rows. Nothing if `stop` was set.
pub(crate) fn train(
    candidate: &Candidate,
    data: &Prepared,
    training: Training,
    stop: &AtomicBool,
) -> Result<Option<Fitted>> {
    let steps = if candidate.shape == Shape::Exact { WARM_UP } else { training.steps };
    let mut trainer = data.trainer(&candidate.config(steps, training.seed))?;
    let outcome = trainer.run(&mut |_: &Progress<'_>| match stop.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    if outcome.termination == Termination::Stopped {
        return Ok(None);
    }
    let fitted = trainer.fitted();
    if candidate.shape != Shape::Exact {
        return Ok(Some(fitted));
    }
    let evaluations = (EVALUATIONS * training.effort.min(1.0)).ceil().max(10.0) as usize;
    Ok(Some(exact::fit(&fitted.model, data.x(), data.y(), evaluations)?.fitted))
}

/// Trains and judges a candidate on each fold. Nothing if `stop` was set. A candidate that cannot be trained gets no score: that
/// is an answer, too. `unit` turns a log density into one of the targets' own units.
pub(crate) fn judge(
    candidate: &Candidate,
    folds: &[Fold],
    training: Training,
    unit: impl Fn(f64) -> f64,
    stop: &AtomicBool,
) -> Option<Trial> {
    let (mut log_densities, mut is_sound) = (Vec::new(), true);
    for fold in folds {
        match on_fold(candidate, fold, training, stop) {
            Ok(Some(of_fold)) => log_densities.extend(of_fold),
            Ok(None) => return None,
            Err(_) => {
                is_sound = false;
                break;
            }
        }
    }
    let mean = log_densities.iter().sum::<f64>() / log_densities.len() as f64;
    let tried = Tried {
        name: candidate.to_string(),
        steps: if candidate.shape == Shape::Exact { 0 } else { training.steps },
        folds: folds.len(),
        mean_log_density: Some(unit(mean)).filter(|mean| is_sound && mean.is_finite()),
        weight: 0.0,
    };
    Some(Trial { candidate: candidate.clone(), tried, log_densities })
}

/// Log densities of a fold's judges.
fn on_fold(candidate: &Candidate, fold: &Fold, training: Training, stop: &AtomicBool) -> Result<Option<Vec<f64>>> {
    let (x, y) = &fold.train;
    // Standardised anew: what the judges are like must not be known.
    let data = Prepared::new(x.clone(), y.clone())?;
    let Some(fitted) = train(candidate, &data, training, stop)? else { return Ok(None) };
    Ok(Some(data.model(fitted)?.log_density(&fold.judge.0, &fold.judge.1)?))
}
