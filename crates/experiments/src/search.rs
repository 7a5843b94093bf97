//! The search for a learning rate: Bayesian optimisation of the error on held-out training rows.
//!
//! x ∈ [0, 1] stands for the logarithm of the rate between its bounds. A trial trains with the whole protocol on the
//! training rows that are not held out, several times with other rows held out: one run is too much a matter of luck.
//! Its loss is the logarithm of the RMSE relative to that of a constant model, or the negative log density relative to
//! that model's; a trial that is worse than a constant counts as equal to it, since how badly a diverged run fails says
//! nothing about good rates.

use crate::error::{Error, Result};
use crate::record::{Criterion, SearchSettings, Trial};
use crate::run::run;
use crate::surrogate::Surrogate;
use crate::task::Parts;
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Config, Scores};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::AtomicBool;

/// Trials at fixed places before the surrogate is asked.
const DESIGN: [f64; 4] = [0.45, 0.15, 0.75, 0.98];
/// Least training rows of a search.
const LEAST_ROWS: usize = 10;
/// Most rows that trials are validated on.
const MOST_HELD_OUT: usize = 1000;

impl Default for SearchSettings {
    fn default() -> Self {
        Self { criterion: Criterion::LogDensity, bounds: (2e-4, 5e-2), trials: 10, held_out: 0.2, repeats: 3, seed: 0 }
    }
}

/// What came out of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What was tried, in order.
    pub trials: Vec<Trial>,
    /// The chosen rate: of those tried, the one whose posterior mean is least.
    pub learning_rate: f64,
    /// The posterior mean there.
    pub loss: f64,
    /// Rows that were learnt from and rows that trials were validated on.
    pub rows: (usize, usize),
}

/// Searches on the training rows `x`, `y` alone; nothing if `stop` was set meanwhile.
///
/// # Errors
/// [`Error::TooFewRows`], and what the data or the configuration are refused for.
pub fn search(
    task: deepgp_task::Task,
    (x, y): (&Mat, &Mat),
    config: &Config,
    settings: &SearchSettings,
    stop: &AtomicBool,
) -> Result<Option<Found>> {
    let divisions = hold_out(task, (x, y), settings)?;
    let rate_at = |u: f64| {
        let (low, high) = (settings.bounds.0.ln(), settings.bounds.1.ln());
        (low + u * (high - low)).exp().clamp(settings.bounds.0, settings.bounds.1)
    };
    let (mut trials, mut tried): (Vec<Trial>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
    while trials.len() < settings.trials {
        let (u, expected_improvement) = match DESIGN.get(trials.len()) {
            Some(&u) => (u, None),
            None => {
                let (u, gain) = Surrogate::fit(&tried)?.most_promising()?;
                (u, Some(gain))
            }
        };
        let learning_rate = rate_at(u);
        let (mut total, mut scores) = (0.0, Vec::new());
        for (i, parts) in divisions.iter().enumerate() {
            let mut config = config.clone();
            config.train.learning_rate = learning_rate;
            config.train.seed = config.train.seed.wrapping_add(i as u64);
            let Some((result, _)) = run(parts, &config, stop)? else { return Ok(None) };
            let constant = result.baselines.iter().find(|(name, _)| name == "constant").map(|(_, scores)| scores);
            total += loss(settings.criterion, result.scores.as_ref(), constant);
            scores.push(result.scores);
        }
        let loss = total / divisions.len() as f64;
        tried.push((u, loss));
        let mean = |of: fn(&Scores) -> Option<f64>| {
            let all = scores.iter().map(|scores| scores.as_ref().and_then(of)).collect::<Option<Vec<f64>>>();
            all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
        };
        let (rmse, mean_log_density) = (mean(Scores::rmse), mean(|s| Some(s.mean_log_density)));
        trials.push(Trial { learning_rate, loss, rmse, mean_log_density, expected_improvement });
    }
    let (best, loss) = best(&tried)?;
    let rows = (divisions[0].train.0.rows(), divisions.iter().map(|parts| parts.test.0.rows()).sum());
    Ok(Some(Found { learning_rate: rate_at(best), loss, trials, rows }))
}

/// Divides training rows into those to learn from and those to validate on, in several ways; no row is held out twice.
fn hold_out(task: deepgp_task::Task, (x, y): (&Mat, &Mat), settings: &SearchSettings) -> Result<Vec<Parts>> {
    let rows = x.rows();
    if rows < LEAST_ROWS {
        return Err(Error::TooFewRows { rows, least: LEAST_ROWS });
    }
    let mut order: Vec<usize> = (0..rows).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(settings.seed));
    let held_out = ((rows as f64 * settings.held_out).round() as usize).clamp(1, MOST_HELD_OUT.min(rows / 2));
    let divide = |test: &[usize]| {
        let mut is_held_out = vec![false; rows];
        test.iter().for_each(|&row| is_held_out[row] = true);
        let (test, train): (Vec<usize>, Vec<usize>) = (0..rows).partition(|&row| is_held_out[row]);
        Parts::of(task, (x, y), &train, &test)
    };
    Ok(order.chunks_exact(held_out).take(settings.repeats.max(1)).map(divide).collect())
}

/// The loss of a trial, no worse than a constant model's, which is 0.
fn loss(criterion: Criterion, scores: Option<&Scores>, constant: Option<&Scores>) -> f64 {
    let (Some(scores), Some(constant)) = (scores, constant) else { return 0.0 };
    let loss = match criterion {
        // A fit without any error at all must stay a number.
        Criterion::Rmse => {
            let ratio = scores.rmse().zip(constant.rmse()).map_or(1.0, |(rmse, constant)| rmse / constant);
            ratio.max(f64::MIN_POSITIVE).ln()
        }
        Criterion::LogDensity => constant.mean_log_density - scores.mean_log_density,
    };
    if loss.is_nan() { 0.0 } else { loss.min(0.0) }
}

/// The point tried whose posterior mean is least, and that mean.
fn best(tried: &[(f64, f64)]) -> Result<(f64, f64)> {
    let means: Vec<f64> = match tried.len() {
        // Too few for a surrogate.
        0..=2 => tried.iter().map(|t| t.1).collect(),
        _ => {
            let at: Vec<f64> = tried.iter().map(|t| t.0).collect();
            Surrogate::fit(tried)?.predict(&at)?.into_iter().map(|(mean, _)| mean).collect()
        }
    };
    let least =
        tried.iter().zip(means).fold((0.5, f64::INFINITY), |least, (t, m)| if m < least.1 { (t.0, m) } else { least });
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_datasets::builtin;
    use deepgp_task::{ScoreTally, Standardiser, Task};

    fn quick() -> Config {
        let mut config = Config::default();
        (config.architecture.hidden, config.architecture.n_inducing) = (Vec::new(), 10);
        (config.train.iterations, config.train.batch_size) = (60, 20);
        config
    }

    #[test]
    fn a_search_is_bounded_ordered_and_repeatable() -> Result<()> {
        let (x, y) = builtin::step(80, 0.1, 1);
        let settings = SearchSettings { trials: 6, ..SearchSettings::default() };
        let stop = AtomicBool::new(false);
        let first = search(Task::Regression, (&x, &y), &quick(), &settings, &stop)?.expect("nobody stopped it");
        assert_eq!(first.trials.len(), 6);
        assert_eq!(first.rows, (64, 48));
        for (i, trial) in first.trials.iter().enumerate() {
            assert!((settings.bounds.0..=settings.bounds.1).contains(&trial.learning_rate));
            assert_eq!(trial.expected_improvement.is_none(), i < DESIGN.len());
            assert!(trial.loss <= 0.0);
        }
        // The rate of the least loss is chosen; with 60 steps the slowest one of the design is far behind.
        let least = first.trials.iter().min_by(|a, b| a.loss.total_cmp(&b.loss)).expect("six trials");
        assert_eq!(first.learning_rate, least.learning_rate);
        let of_rate = |trial: &&Trial| trial.learning_rate < 1e-3;
        let slowest = first.trials.iter().find(of_rate).expect("one of the design");
        assert!(least.loss < slowest.loss - 0.2, "{:?}", first.trials);
        assert_eq!(search(Task::Regression, (&x, &y), &quick(), &settings, &stop)?, Some(first));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(search(Task::Regression, (&x, &y), &quick(), &settings, &stop)?, None);
        Ok(())
    }

    #[test]
    fn a_lost_run_counts_as_a_constant() {
        let score = |rmse, mean_log_density| {
            let constant = Task::Regression.constant(&Standardiser::identity(1), None, 1, None);
            let mut tally = ScoreTally::new();
            tally.add(&constant, &Mat::zeros(1, 1)).expect("one row");
            let mut scores = Scores { mean_log_density, ..tally.scores().expect("one row") };
            scores.numbers.as_mut().expect("numbers").rmse = rmse;
            scores
        };
        let constant = score(2.0, -2.0);
        assert_eq!(loss(Criterion::Rmse, Some(&score(1e9, 0.0)), Some(&constant)), 0.0);
        assert_eq!(loss(Criterion::Rmse, None, Some(&constant)), 0.0);
        assert_eq!(loss(Criterion::Rmse, Some(&score(1.0, 0.0)), Some(&constant)), 0.5_f64.ln());
        assert_eq!(loss(Criterion::LogDensity, Some(&score(1.0, -0.5)), Some(&constant)), -1.5);
        assert!(loss(Criterion::Rmse, Some(&score(0.0, 0.0)), Some(&constant)).is_finite());
    }
}
