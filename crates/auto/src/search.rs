//! The search: halving, growing, mixing, and training what is left on all rows.

use crate::candidate::Candidate;
use crate::folds::{Fold, folds};
use crate::trial::{Judged, Training, Trial, judge, train};
use deepgp::linalg::Mat;
use deepgp::{Error, Result};
use deepgp_model::{Member, Model, Prepared, mix_log_densities, stacking_weights};
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Steps of the first comparison, of the second, and of the answer, at full effort.
const STEPS: [f64; 3] = [800.0, 4000.0, 6000.0];
/// Candidates that come through the first comparison, besides the plain GPs.
const SURVIVORS: usize = 3;
/// Nats per row that more inducing inputs or another power must gain to be worth it.
const LEAST_GAIN: f64 = 0.005;
/// Powers that the best is tried with.
const POWERS: [f64; 3] = [0.3, 0.7, 1.0];
/// Members with a smaller weight are left out of a mixture.
const LEAST_WEIGHT: f64 = 0.05;

/// Settings of the search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Multiplies all numbers of steps.
    pub effort: f64,
    /// Most models in the mixture; 1 for the best alone.
    pub ensemble: usize,
    /// Seed of everything random.
    pub seed: u64,
    /// Trials at a time; the result does not depend on it.
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { effort: 1.0, ensemble: 4, seed: 0, threads: 1 }
    }
}

/// The answer of a search.
#[derive(Debug)]
pub struct Found {
    /// All rows, as the models see them.
    pub data: Prepared,
    /// The models and their weights, trained on all rows.
    pub members: Vec<Member>,
    /// Everything that was tried, in order.
    pub trials: Vec<Trial>,
    /// Mean log density of the mixture, before the last training, on the rows that trials were judged by.
    pub mean_log_density: Option<f64>,
}

impl Found {
    /// The model in the data's own units.
    ///
    /// # Errors
    /// As [`Model::mixture`].
    pub fn model(&self) -> Result<Model> {
        Model::mixture(self.data.inputs().clone(), self.data.targets().clone(), self.members.clone())
    }
}

/// A search that was told to stop.
fn stopped() -> Error {
    Error::Empty { what: "models: the search was stopped before one was trained", rows: 0, columns: 0 }
}

/// Searches on raw rows `x` (N × D), `y` (N × P). `watch` is told of every trial and may end the search: the answer is then made
/// of what there is.
///
/// # Errors
/// What the data are refused for, or if no candidate could be trained at all.
pub fn fit(x: &Mat, y: &Mat, settings: &Settings, watch: &(dyn Fn(&Trial) -> ControlFlow<()> + Sync)) -> Result<Found> {
    let data = Prepared::new(x.clone(), y.clone())?;
    let search = Search {
        folds: folds(x, y, settings.seed),
        settings,
        watch,
        stop: AtomicBool::new(false),
        trials: Mutex::new(Vec::new()),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads.max(1)).build();
    let finalists = match &pool {
        Ok(pool) => pool.install(|| search.finalists(x)),
        // Threads can be refused; the work can be done without.
        Err(_) => search.finalists(x),
    };
    let mut trials = search.trials.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mixture = mix(finalists, settings.ensemble);
    let training = Training { steps: steps(2, settings), effort: settings.effort, seed: settings.seed };
    let mut members = Vec::new();
    for (weight, judged) in &mixture.parts {
        // Whoever stops the search wants an answer, and this is it.
        let trained = train(&judged.trial.candidate, &data, training, &AtomicBool::new(false));
        // What worked on a part of the rows may fail on all of them: the others are still there.
        if let Ok(Some(fitted)) = trained {
            members.push(Member { weight: *weight, fitted });
            if let Some(trial) = trials.iter_mut().rev().find(|t| **t == judged.trial) {
                trial.weight = *weight;
            }
        }
    }
    if members.is_empty() {
        return Err(stopped());
    }
    Ok(Found { data, members, trials, mean_log_density: mixture.mean_log_density })
}

/// Steps of a stage.
fn steps(stage: usize, settings: &Settings) -> usize {
    (STEPS[stage] * settings.effort).ceil().max(20.0) as usize
}

/// What the stages share.
struct Search<'a> {
    folds: Vec<Fold>,
    settings: &'a Settings,
    watch: &'a (dyn Fn(&Trial) -> ControlFlow<()> + Sync),
    stop: AtomicBool,
    trials: Mutex<Vec<Trial>>,
}

impl Search<'_> {
    /// Candidates that were judged on all folds after many steps.
    fn finalists(&self, x: &Mat) -> Vec<Judged> {
        // A first look on one fold.
        let mut ranked = self.stage(&Candidate::first(x.rows(), x.cols()), 0);
        ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let (plain, deep): (Vec<Judged>, Vec<Judged>) =
            ranked.into_iter().partition(|judged| judged.trial.candidate.is_plain());
        let through: Vec<Candidate> =
            plain.into_iter().chain(deep.into_iter().take(SURVIVORS)).map(|judged| judged.trial.candidate).collect();
        let mut finalists = self.stage(&through, 1);
        // More inducing inputs, as long as they pay.
        for judged in finalists.clone() {
            let mut best = judged;
            while let Some(grown) = best.trial.candidate.grown(x.rows()) {
                let Some(next) = self.stage(&[grown], 1).pop() else { break };
                finalists.push(next.clone());
                if next.score() < best.score() + LEAST_GAIN {
                    break;
                }
                best = next;
            }
        }
        // Other powers for the best network.
        let best = finalists
            .iter()
            .filter(|judged| judged.trial.steps > 0)
            .max_by(|a, b| a.score().total_cmp(&b.score()))
            .map(|judged| judged.trial.candidate.clone());
        if let Some(best) = best {
            let others: Vec<Candidate> = POWERS.iter().filter_map(|&power| best.with_alpha(power)).collect();
            finalists.extend(self.stage(&others, 1));
        }
        finalists
    }

    /// Tries candidates, several at a time; in the order given. The first stage looks at one fold, the second at all.
    fn stage(&self, candidates: &[Candidate], stage: usize) -> Vec<Judged> {
        let folds = if stage == 0 { &self.folds[..1] } else { &self.folds[..] };
        let training =
            Training { steps: steps(stage, self.settings), effort: self.settings.effort, seed: self.settings.seed };
        let judged: Vec<Judged> = candidates
            .par_iter()
            .filter_map(|candidate| {
                if self.stop.load(Ordering::Relaxed) {
                    return None;
                }
                let judged = judge(candidate, folds, training, &self.stop)?;
                if (self.watch)(&judged.trial).is_break() {
                    self.stop.store(true, Ordering::Relaxed);
                }
                Some(judged)
            })
            .collect();
        let mut trials = self.trials.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        trials.extend(judged.iter().map(|judged| judged.trial.clone()));
        judged
    }
}

/// Models with weights.
struct Mixture {
    parts: Vec<(f64, Judged)>,
    mean_log_density: Option<f64>,
}

/// The best mixture of finalists, or the best of them alone where mixing does not help.
fn mix(mut finalists: Vec<Judged>, most: usize) -> Mixture {
    finalists.retain(|judged| judged.trial.mean_log_density.is_some());
    finalists.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let Some(best) = finalists.first().cloned() else { return Mixture { parts: Vec::new(), mean_log_density: None } };
    let alone = Mixture { mean_log_density: best.trial.mean_log_density, parts: vec![(1.0, best)] };
    if most < 2 {
        return alone;
    }
    // Weights of all; then of the heaviest alone.
    let mut chosen = finalists;
    loop {
        let columns: Vec<Vec<f64>> = chosen.iter().map(|judged| judged.log_densities.clone()).collect();
        let weights = stacking_weights(&columns);
        let mut order: Vec<usize> = (0..chosen.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let keep: Vec<usize> = order.into_iter().take(most).filter(|&k| weights[k] >= LEAST_WEIGHT).collect();
        if keep.len() == chosen.len() {
            let all = mix_log_densities(&weights, &columns);
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let mixed = Mixture {
                mean_log_density: Some(mean).filter(|mean| mean.is_finite()),
                parts: weights.into_iter().zip(chosen).collect(),
            };
            return if mixed.mean_log_density > alone.mean_log_density { mixed } else { alone };
        }
        chosen = keep.into_iter().map(|k| chosen[k].clone()).collect();
        if chosen.is_empty() {
            return alone;
        }
    }
}
