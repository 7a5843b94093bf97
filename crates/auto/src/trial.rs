//! One trial: a candidate trained on some rows and judged by others.

use crate::candidate::{Candidate, Shape};
use crate::folds::Fold;
use deepgp::linalg::Mat;
use deepgp::train::{Fitted, Progress, Termination};
use deepgp::{Result, exact};
use deepgp_model::{Model, Prepared};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Evaluations of the evidence for an exact GP's hyperparameters, at full effort.
const EVALUATIONS: f64 = 60.0;
/// Steps of the sparse GP that an exact one starts from: they cost next to nothing beside it.
const WARM_UP: usize = 500;

/// What a trial showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What was tried.
    pub candidate: Candidate,
    /// Training steps; 0 for an exact GP.
    pub steps: usize,
    /// Folds that it was judged on.
    pub folds: usize,
    /// Mean log density of the rows it was judged by, in nats per row; nothing if it is not finite or training failed.
    pub mean_log_density: Option<f64>,
    /// Root mean squared error on these rows.
    pub rmse: Option<f64>,
    /// Its share in the answer.
    pub weight: f64,
}

/// A trial with the log density of every row that it was judged by.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub trial: Trial,
    pub log_densities: Vec<f64>,
}

impl Judged {
    /// For comparisons: what is not a number is worse than everything.
    pub fn score(&self) -> f64 {
        self.trial.mean_log_density.unwrap_or(f64::NEG_INFINITY)
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
/// is an answer, too.
pub(crate) fn judge(candidate: &Candidate, folds: &[Fold], training: Training, stop: &AtomicBool) -> Option<Judged> {
    let (mut log_densities, mut squares, mut cells) = (Vec::new(), 0.0, 0);
    let mut is_sound = true;
    for fold in folds {
        match on_fold(candidate, fold, training, stop) {
            Ok(Some((log_density, predicted))) => {
                let y = fold.judge.1.as_slice();
                squares += predicted.as_slice().iter().zip(y).map(|(m, y)| (m - y).powi(2)).sum::<f64>();
                cells += y.len();
                log_densities.extend(log_density);
            }
            Ok(None) => return None,
            Err(_) => {
                is_sound = false;
                break;
            }
        }
    }
    let mean = log_densities.iter().sum::<f64>() / log_densities.len() as f64;
    let finite = |value: f64| Some(value).filter(|v| is_sound && v.is_finite());
    let steps = if candidate.shape == Shape::Exact { 0 } else { training.steps };
    let trial = Trial {
        candidate: candidate.clone(),
        steps,
        folds: folds.len(),
        mean_log_density: finite(mean),
        rmse: finite((squares / cells as f64).sqrt()),
        weight: 0.0,
    };
    Some(Judged { trial, log_densities })
}

/// Log densities and predicted means of a fold's judges.
fn on_fold(
    candidate: &Candidate,
    fold: &Fold,
    training: Training,
    stop: &AtomicBool,
) -> Result<Option<(Vec<f64>, Mat)>> {
    let (x, y) = &fold.train;
    let data = Prepared::new(x.clone(), y.clone())?;
    let Some(fitted) = train(candidate, &data, training, stop)? else { return Ok(None) };
    let model: Model = data.model(fitted)?;
    let (x, y) = &fold.judge;
    Ok(Some((model.log_density(x, y)?, model.predict(x)?.y.mean)))
}
