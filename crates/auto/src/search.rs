//! The search: halving, growing, mixing, and training what is left on all rows.

use crate::candidate::{Candidate, Shape};
use crate::folds::{Fold, folds};
use crate::trial::{Training, Trial, judge, train};
use deepgp::{Error, Result};
use deepgp_model::{Config, Member, Model, Prepared, Tried, mix_log_densities, stacking_weights};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Steps of the first comparison, of the second, and of the answer, at full effort.
const STEPS: [f64; 3] = [800.0, 4000.0, 6000.0];
/// Candidates that come through the first comparison, besides the plain GPs.
const SURVIVORS: usize = 3;
/// Networks that are tried with more inducing inputs, and the most flops of such a trial at full effort: about a minute.
const GROWN: usize = 2;
const MOST_WORK: f64 = 6e11;
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
    /// The models and their weights, trained on all rows.
    pub members: Vec<Member>,
    /// The configuration of the heaviest.
    pub config: Config,
    /// Everything that was tried, in order.
    pub tried: Vec<Tried>,
    /// Mean log density of the mixture, before the last training, on the rows that models were judged by, in nats per row of the
    /// targets' own units.
    pub mean_log_density: Option<f64>,
}

impl Found {
    /// The model in the data's own units.
    ///
    /// # Errors
    /// As [`Model::mixture`].
    pub fn model(&self, data: &Prepared) -> Result<Model> {
        Model::mixture(data.inputs().clone(), data.targets().clone(), self.members.clone())
    }
}

/// Searches on prepared rows. `watch` is told of everything that is tried. Once `stop` is set the search ends, and the answer is
/// the best model so far.
///
/// # Errors
/// What the data are refused for; [`Error::Empty`] if no candidate could be trained at all.
pub fn fit(data: &Prepared, settings: &Settings, stop: &AtomicBool, watch: &(dyn Fn(&Tried) + Sync)) -> Result<Found> {
    let search = Search {
        folds: folds(data.x(), data.y(), settings.seed),
        data,
        settings,
        watch,
        stop,
        tried: Mutex::new(Vec::new()),
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.threads.max(1)).build();
    let finalists = match &pool {
        Ok(pool) => pool.install(|| search.finalists()),
        // Threads can be refused; the work can be done without.
        Err(_) => search.finalists(),
    };
    let mut tried = search.tried.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Whoever stops the search waits for one more training, no longer than those before.
    let (most, stage) = if stop.load(Ordering::Relaxed) { (1, 1) } else { (settings.ensemble, 2) };
    let mixture = mix(finalists, most);
    let training = Training { steps: steps(stage, settings), effort: settings.effort, seed: settings.seed };
    let (mut members, mut config) = (Vec::new(), None);
    for (weight, trial) in &mixture {
        let trained = train(&trial.candidate, data, training, &AtomicBool::new(false));
        // What worked on a part of the rows may fail on all of them: the others are still there.
        if let Ok(Some(fitted)) = trained {
            members.push(Member { weight: *weight, fitted });
            config.get_or_insert_with(|| trial.candidate.config(training.steps, training.seed));
            if let Some(entry) = tried.iter_mut().rev().find(|entry| **entry == trial.tried) {
                entry.weight = *weight;
            }
        }
    }
    let Some(config) = config else {
        return Err(Error::Empty { what: "models that could be trained", rows: 0, columns: 0 });
    };
    let mean = mean_log_density(&mixture).map(|mean| data.targets().invert_log_density(mean));
    Ok(Found { members, config, tried, mean_log_density: mean })
}

/// Steps of a stage.
fn steps(stage: usize, settings: &Settings) -> usize {
    (STEPS[stage] * settings.effort).ceil().max(20.0) as usize
}

/// What the stages share.
struct Search<'a> {
    data: &'a Prepared,
    folds: Vec<Fold>,
    settings: &'a Settings,
    watch: &'a (dyn Fn(&Tried) + Sync),
    stop: &'a AtomicBool,
    tried: Mutex<Vec<Tried>>,
}

impl Search<'_> {
    /// Candidates that were judged on all folds after many steps.
    fn finalists(&self) -> Vec<Trial> {
        let (rows, inputs) = (self.data.x().rows(), self.data.x().cols());
        // A first look on one fold.
        let mut ranked = self.stage(&Candidate::first(rows, inputs), 0);
        ranked.sort_by(|a, b| b.score().total_cmp(&a.score()));
        let first_look = ranked.clone();
        let (plain, deep): (Vec<Trial>, Vec<Trial>) = ranked.into_iter().partition(|trial| trial.candidate.is_plain());
        let through: Vec<Candidate> =
            plain.into_iter().chain(deep.into_iter().take(SURVIVORS)).map(|trial| trial.candidate).collect();
        let mut finalists = self.stage(&through, 1);
        if finalists.len() < through.len() {
            // Stopped on the way: only the first look has judged all of them by the same rows, the plain GPs included.
            return first_look;
        }
        // More inducing inputs for the best networks, as long as they pay.
        let mut networks: Vec<Trial> =
            finalists.iter().filter(|trial| trial.candidate.shape != Shape::Exact).cloned().collect();
        networks.sort_by(|a, b| b.score().total_cmp(&a.score()));
        for mut best in networks.into_iter().take(GROWN) {
            while let Some(grown) = best.candidate.grown(rows).filter(|grown| self.is_affordable(grown)) {
                let Some(next) = self.stage(&[grown], 1).pop() else { break };
                finalists.push(next.clone());
                if next.score() < best.score() + LEAST_GAIN {
                    break;
                }
                best = next;
            }
        }
        // Other powers for the best network.
        let networks = finalists.iter().filter(|trial| trial.candidate.shape != Shape::Exact);
        if let Some(best) = networks.max_by(|a, b| a.score().total_cmp(&b.score())) {
            let others: Vec<Candidate> = POWERS.iter().filter_map(|&power| best.candidate.with_alpha(power)).collect();
            finalists.extend(self.stage(&others, 1));
        }
        finalists
    }

    /// Whether a candidate can be tried on all folds within the work that a trial may take.
    fn is_affordable(&self, candidate: &Candidate) -> bool {
        let steps = (steps(1, self.settings) * self.folds.len()) as f64;
        let work = candidate.step_work(self.data.x().cols()).map(|work| steps * work);
        work.is_none_or(|work| work <= MOST_WORK * self.settings.effort)
    }

    /// Tries candidates, several at a time; in the order given. The first stage looks at one fold, the second at all.
    fn stage(&self, candidates: &[Candidate], stage: usize) -> Vec<Trial> {
        let folds = if stage == 0 { &self.folds[..1] } else { &self.folds[..] };
        let Settings { effort, seed, .. } = *self.settings;
        let training = Training { steps: steps(stage, self.settings), effort, seed };
        let unit = |log_density| self.data.targets().invert_log_density(log_density);
        let one = |candidate: &Candidate| {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let trial = judge(candidate, folds, training, unit, self.stop)?;
            (self.watch)(&trial.tried);
            Some(trial)
        };
        let trials: Vec<Trial> = candidates.par_iter().filter_map(one).collect();
        let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        tried.extend(trials.iter().map(|trial| trial.tried.clone()));
        trials
    }
}

/// The best mixture of finalists, or the best of them alone where mixing does not help; the heaviest first.
fn mix(mut finalists: Vec<Trial>, most: usize) -> Vec<(f64, Trial)> {
    finalists.retain(|trial| trial.tried.mean_log_density.is_some());
    finalists.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let alone: Vec<(f64, Trial)> = finalists.first().cloned().map(|best| (1.0, best)).into_iter().collect();
    if most < 2 || alone.is_empty() {
        return alone;
    }
    // The lightest are left out until all that are left weigh enough.
    let mut chosen = finalists;
    loop {
        let columns: Vec<Vec<f64>> = chosen.iter().map(|trial| trial.log_densities.clone()).collect();
        let mut mixed: Vec<(f64, Trial)> = stacking_weights(&columns).into_iter().zip(chosen).collect();
        mixed.sort_by(|a, b| b.0.total_cmp(&a.0));
        let is_light = mixed.len() > most || mixed.last().is_some_and(|(weight, _)| *weight < LEAST_WEIGHT);
        if !is_light {
            return if mean_log_density(&mixed) > mean_log_density(&alone) { mixed } else { alone };
        }
        // One at a time: without it, others weigh more.
        mixed.pop();
        chosen = mixed.into_iter().map(|(_, trial)| trial).collect();
    }
}

/// Mean log density of a mixture on the rows that its members were judged by, in standardised units.
fn mean_log_density(mixture: &[(f64, Trial)]) -> Option<f64> {
    let (weights, columns): (Vec<f64>, Vec<Vec<f64>>) =
        mixture.iter().map(|(weight, trial)| (*weight, trial.log_densities.clone())).unzip();
    let all = mix_log_densities(&weights, &columns);
    Some(all.iter().sum::<f64>() / all.len() as f64).filter(|mean| mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(name: &str, log_densities: Vec<f64>) -> Trial {
        let mean = log_densities.iter().sum::<f64>() / log_densities.len() as f64;
        let mean_log_density = Some(mean).filter(|mean| mean.is_finite());
        let tried = Tried { name: name.into(), steps: 1, folds: 1, mean_log_density, weight: 0.0 };
        Trial { candidate: Candidate { shape: Shape::Exact }, tried, log_densities }
    }

    /// Log densities that are good on every row for which `good` holds.
    fn good_on(good: impl Fn(usize) -> bool) -> Vec<f64> {
        (0..100).map(|n| if good(n) { 0.0 } else { -5.0 }).collect()
    }

    #[test]
    fn mixtures_beat_their_members_and_leave_the_useless_out() {
        let all =
            || vec![trial("a", good_on(|n| n < 60)), trial("b", good_on(|n| n >= 60)), trial("c", good_on(|_| false))];
        let mixed = mix(all(), 4);
        let names: Vec<&str> = mixed.iter().map(|(_, t)| t.tried.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(mean_log_density(&mixed) > mean_log_density(&[(1.0, all().remove(0))]));
        let best = mix(all(), 1);
        assert_eq!((best.len(), best[0].0, best[0].1.tried.name.as_str()), (1, 1.0, "a"));
    }

    #[test]
    fn what_failed_is_never_chosen() {
        let failed = || trial("failed", vec![f64::NEG_INFINITY; 100]);
        assert!(mix(vec![failed()], 4).is_empty());
        assert_eq!(mix(vec![failed(), trial("a", good_on(|_| true))], 4).len(), 1);
    }

    #[test]
    fn a_search_that_is_stopped_compares_models_by_the_same_rows() -> Result<()> {
        let x = deepgp::linalg::Mat::from_fn(60, 1, |i, _| i as f64 / 10.0);
        let y = deepgp::linalg::Mat::from_fn(60, 1, |i, _| (i as f64 / 10.0).sin());
        let data = Prepared::new(x, y)?;
        let settings = Settings { effort: 0.02, ..Settings::default() };
        let first = Candidate::first(60, 1).len();
        let (stop, count) = (AtomicBool::new(false), std::sync::atomic::AtomicUsize::new(0));
        // After the first look and one model of the second.
        let found = fit(&data, &settings, &stop, &|_| {
            if count.fetch_add(1, Ordering::Relaxed) == first {
                stop.store(true, Ordering::Relaxed);
            }
        })?;
        let best = found.tried[..first].iter().filter_map(|t| t.mean_log_density).fold(f64::NEG_INFINITY, f64::max);
        let chosen: Vec<&Tried> = found.tried.iter().filter(|t| t.weight > 0.0).collect();
        assert!(chosen.len() == 1 && chosen[0].folds == 1, "{:#?}", found.tried);
        assert_eq!(chosen[0].mean_log_density, Some(best));
        Ok(())
    }
}
