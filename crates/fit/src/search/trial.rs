//! Trials: candidates trained on some rows and validated on others.
//!
//! What a search chooses is trained again here, on all rows.

use super::candidate::{Candidate, Design, MOST_EVIDENCE_ROWS, MOST_EXACT_ROWS, PLAIN_ALPHA, doubling_evaluations};
use super::comparison::is_gain;
use super::folds::Fold;
use super::memory::{FoldResult, Memory};
use super::settings::Training;
use crate::stop::Stop;
use deepgp::closed::{exact, sparse};
use deepgp::gauss::Factor;
use deepgp::infer::InferenceSettings;
use deepgp::init::{KernelChoice, network, sample_rows, starting_stream};
use deepgp::kernel::{Kernel, Linear};
use deepgp::layer::{Layer, Mean};
use deepgp::likelihood::{Gaussian, Likelihood, Observation};
use deepgp::network::DeepGp;
use deepgp::train::{Progress, Termination, Trainer, energy};
use deepgp::{Data, Error, Fitted, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Config, ConstantLaw, Member, StandardisedData, Tried, finite_mean, mix_log_densities};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

/// Inducing inputs of the sparse GP whose hyperparameters larger ones start from: it costs next to nothing.
const FIRST_INDUCING: usize = 50;
/// Starts of a network, and the share of its steps after which the best of them is known.
const STARTS: u64 = 3;
const EARLY_SHARE: f64 = 0.1;
/// Variance of what must be there and has nothing to say.
const NEXT_TO_NOTHING: f64 = 1e-10;
/// Share of its evaluations after which the better start of an exact GP is chosen.
const SECOND_START_SHARE: f64 = 0.4;
/// Share of steps and evaluations with which a model that was trained on a part of the rows is trained on all of them.
const RETRAIN_SHARE: f64 = 0.4;
/// Multiplies the steps of the last training from new starts, which may be longer than one that only compares.
const FINAL_FACTOR: f64 = 1.5;

/// Weights of a model and of the constant in comparisons: one outlier among many rows would otherwise decide between
/// sharp models.
const ROBUST_WEIGHTS: [f64; 2] = [0.99, 0.01];

/// A candidate, what it showed, and the log density of every row that validated it.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub candidate: Candidate,
    pub tried: Tried,
    /// In standardised units.
    pub log_densities: Vec<f64>,
    /// Log densities of a mixture of the model with a little of the constant, for comparisons.
    pub robust_log_densities: Vec<f64>,
    /// As it was trained on the first fold; nothing if that failed.
    pub fitted: Option<Fitted>,
}

impl Trial {
    /// Mean robust log density; negative infinity if training failed or the mean is not finite.
    pub fn score(&self) -> f64 {
        self.tried.mean_log_density.and_then(|_| finite_mean(&self.robust_log_densities)).unwrap_or(f64::NEG_INFINITY)
    }

    /// Whether it is behind another by so many standard errors on the first `rows` validation rows; or failed.
    pub fn is_behind(&self, other: &Self, rows: usize, errors: f64) -> bool {
        match (self.robust_log_densities.get(..rows), other.robust_log_densities.get(..rows)) {
            (Some(own), Some(others)) if self.score_on(rows).is_finite() => is_gain(own, others, 0.0, errors),
            _ => true,
        }
    }

    /// The score on the first `rows` validation rows.
    pub fn score_on(&self, rows: usize) -> f64 {
        let robust_log_densities =
            self.robust_log_densities.get(..rows).filter(|_| self.tried.mean_log_density.is_some());
        robust_log_densities.and_then(finite_mean).unwrap_or(f64::NEG_INFINITY)
    }

    /// This trial as if no other rows had validated it than these, by their numbers.
    pub fn on(&self, rows: &[usize]) -> Self {
        let of = |all: &[f64]| rows.iter().filter_map(|row| all.get(*row).copied()).collect::<Vec<f64>>();
        let (log_densities, robust_log_densities) = (of(&self.log_densities), of(&self.robust_log_densities));
        let is_sound = self.tried.mean_log_density.is_some();
        let mean_log_density = finite_mean(&log_densities).filter(|_| is_sound);
        let tried = Tried { mean_log_density, ..self.tried.clone() };
        Self { candidate: self.candidate.clone(), tried, log_densities, robust_log_densities, fitted: None }
    }

    /// This trial joined with the validation rows of another trial of the same candidate.
    pub fn joined(mut self, other: Trial, unit: impl Fn(f64) -> f64) -> Self {
        let is_sound = self.tried.mean_log_density.is_some() && other.tried.mean_log_density.is_some();
        self.log_densities.extend(other.log_densities);
        self.robust_log_densities.extend(other.robust_log_densities);
        self.tried.folds += other.tried.folds;
        self.tried.mean_log_density = finite_mean(&self.log_densities).map(unit).filter(|_| is_sound);
        self
    }
}

impl Training {
    /// Training of a model that was trained already, on other rows.
    fn for_retraining(self) -> Self {
        Self { steps: times(RETRAIN_SHARE, self.steps), evaluations: times(RETRAIN_SHARE, self.evaluations), ..self }
    }
}

fn times(factor: f64, count: usize) -> usize {
    (factor * count as f64).ceil() as usize
}

/// The rows as a candidate takes them.
fn for_candidate<'a>(candidate: &Candidate, data: &'a StandardisedData) -> Result<Cow<'a, StandardisedData>> {
    let columns = data.x().cols();
    candidate.data(data)?.ok_or(Error::Empty { what: "data that the form suits", rows: 0, columns })
}

/// Trains a candidate on rows as it takes them. Nothing if it is time to stop. `half` is what came of the one with half
/// the inducing inputs, on the same rows, where that is known: it saves time and changes nothing.
pub(crate) fn train(
    candidate: &Candidate,
    data: &StandardisedData,
    training: Training,
    half: Option<Fitted>,
    stop: &Stop<'_>,
) -> Result<Option<Fitted>> {
    match (&candidate.design, candidate.is_closed()) {
        (Design::Constant, _) => constant(data).map(Some),
        (Design::Exact { kernel }, true) => exact_gp(data, *kernel, training).map(Some),
        (Design::Sparse { kernel, inducing }, true) => sparse_gp(data, *kernel, *inducing, half, training).map(Some),
        _ => best_start(candidate, data, training.steps, training.seed, stop),
    }
}

/// A run from the start. For a linear kernel unit vectors are as good inducing inputs as any, and K_zz is diagonal.
fn trainer<'a>(candidate: &Candidate, data: &'a StandardisedData, steps: usize, seed: u64) -> Result<Trainer<'a>> {
    let config = candidate.config(data.x().rows(), steps, seed);
    let trainer = data.trainer(&config)?;
    match (&candidate.design, trainer.model().layers()) {
        (Design::Sparse { kernel: KernelChoice::Linear, .. }, [layer]) if layer.n_inducing() == layer.dim_in() => {
            let layer = Layer { z: Mat::identity(layer.dim_in(), layer.dim_in()), ..layer.clone() };
            let (likelihood, constant) = (trainer.model().likelihood().clone(), trainer.model().constant().to_vec());
            let network = DeepGp::new(vec![layer], likelihood)?.with_constant(constant)?;
            Trainer::new(network, data.rows(), config.train)
        }
        _ => Ok(trainer),
    }
}

/// Trains a network by steps: a deep one from the best of several starts, by their energy early on.
fn best_start(
    candidate: &Candidate,
    data: &StandardisedData,
    steps: usize,
    seed: u64,
    stop: &Stop<'_>,
) -> Result<Option<Fitted>> {
    let early = (EARLY_SHARE * steps as f64).ceil() as usize;
    if candidate.is_plain() {
        return run(trainer(candidate, data, steps, seed)?, stop);
    }
    let mut best: Option<(f64, Trainer<'_>)> = None;
    for start in 0..STARTS {
        let mut trainer = trainer(candidate, data, steps, seed.wrapping_add(start << 32))?;
        let outcome =
            trainer.run(&mut |progress: &Progress<'_>| match stop.now().is_some() || progress.step >= early {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            });
        if best.as_ref().is_none_or(|(energy, _)| outcome.energy < *energy) {
            best = Some((outcome.energy, trainer));
        }
    }
    best.map_or(Ok(None), |(_, trainer)| run(trainer, stop))
}

/// Trains what was trained on a part of the rows on all of them, from there; a network of few rows from new starts,
/// too, and the lower energy counts.
pub(crate) fn train_again(
    candidate: &Candidate,
    fitted: &Fitted,
    weight: f64,
    data: &StandardisedData,
    training: Training,
) -> Result<Member> {
    let retraining = training.for_retraining();
    let Training { steps, evaluations, seed, .. } = retraining;
    let data = for_candidate(candidate, data)?;
    let fitted = match (&candidate.design, candidate.is_closed()) {
        (Design::Constant, _) => constant(&data)?,
        (Design::Exact { .. }, true) => exact::fit(&fitted.network, data.rows(), evaluations)?.fitted,
        // As many as few inducing inputs take: on protein 20 more than a trial's gain many of them 0.03 nats and 2 % of
        // the RMSE.
        (Design::Sparse { .. }, true) => on_all_rows(&fitted.network, &data, retraining)?,
        _ => {
            let mut config: Config = candidate.config(data.x().rows(), steps, seed);
            // The rest of a course that has been gone before.
            config.train.learning_rate *= RETRAIN_SHARE;
            let trainer = Trainer::new(fitted.network.clone(), data.rows(), config.train)?;
            let flag = AtomicBool::new(false);
            let never = Stop::by(&flag);
            let mut all = vec![run(trainer.with_factors(fitted.factors.clone())?, &never)];
            if data.x().rows() <= MOST_EXACT_ROWS {
                // Where rows are few, those that the first fold lacked may have left a gap that cannot be mended later.
                all.push(best_start(candidate, &data, times(FINAL_FACTOR, training.steps), seed, &never));
            }
            let sound = all.into_iter().filter_map(|fitted| {
                let fitted = fitted.ok()??;
                let energy = energy(&fitted, data.rows()).ok()?;
                Some((energy, fitted))
            });
            let best = sound.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, fitted)| fitted);
            best.ok_or(Error::Empty { what: "models that could be trained", rows: 0, columns: 0 })?
        }
    };
    Ok(data.member(weight, fitted))
}

fn run(mut trainer: Trainer<'_>, stop: &Stop<'_>) -> Result<Option<Fitted>> {
    let outcome = trainer.run(&mut |_: &Progress<'_>| match stop.now().is_some() {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    Ok((outcome.termination != Termination::Stopped).then(|| trainer.fitted()))
}

/// The normal distribution of the targets, as a GP with a linear kernel that has next to no variance. Its noise allows
/// for the mean's error and for what few rows underestimate.
///
/// ```text
/// σ² = (n + 1)/(n − 1)          of targets with mean 0 and variance 1, whose variance is divided by n
/// ```
///
/// Of labels and counts it is the law of an average row, with factors that say nothing.
fn constant(data: &StandardisedData) -> Result<Fitted> {
    let n = data.x().rows() as f64;
    let noise_var = if n > 1.0 { (n + 1.0) / (n - 1.0) } else { 1.0 };
    let inputs = data.x().cols();
    let layer = |dim_out: usize| Layer {
        kernel: Kernel::Linear(Linear::isotropic(inputs, NEXT_TO_NOTHING)),
        z: Mat::identity(1, inputs),
        mean: Mean::Zero,
        noise_var: 0.0,
        dim_out,
    };
    if let Some(ConstantLaw { likelihood, constant }) = data.average_row() {
        let n_latent = likelihood.n_latent();
        let network = DeepGp::new(vec![layer(n_latent)], likelihood.clone())?.with_constant(constant.clone())?;
        let factors = vec![vec![Factor::zeros(1); n_latent]];
        return Ok(Fitted { network, factors, inference: InferenceSettings::default() });
    }
    let layer = layer(data.y().cols());
    let noise = Gaussian { noise_var: vec![noise_var; data.y().cols()] };
    sparse::posterior(DeepGp::new(vec![layer], Likelihood::Gaussian(noise))?, data.rows(), PLAIN_ALPHA, 1)
}

/// An exact GP, from the hyperparameters of a sparse one that explains much by noise, and from starting values with
/// little: the evidence has a maximum near each. On energy with indicators the second is higher by 100 nats and more,
/// and a third more exact.
fn exact_gp(data: &StandardisedData, kernel: KernelChoice, training: Training) -> Result<Fitted> {
    let Training { evaluations, seed, .. } = training;
    let start = sparse_gp(data, kernel, FIRST_INDUCING, None, training)?.network;
    let found = exact::fit(&start, data.rows(), evaluations)?;
    let second = || -> Result<Option<Fitted>> {
        let sharp = first_gp(data, kernel, 1, &mut starting_stream(seed))?;
        let early = exact::fit(&sharp, data.rows(), times(SECOND_START_SHARE, evaluations))?;
        if early.log_evidence <= found.log_evidence {
            return Ok(None);
        }
        Ok(Some(exact::fit(&early.fitted.network, data.rows(), evaluations)?.fitted))
    };
    // Where the second start fails, the first is still there.
    Ok(second().ok().flatten().unwrap_or(found.fitted))
}

/// A GP with so many inducing inputs at its starting values.
fn first_gp(data: &StandardisedData, kernel: KernelChoice, inducing: usize, rng: &mut ChaCha8Rng) -> Result<DeepGp> {
    let config = Design::Sparse { kernel, inducing }.config(data.x().rows(), 0, 0);
    let ConstantLaw { likelihood, .. } = data.start(config.likelihood);
    let (gp, _) = network(data.x(), likelihood, &config.architecture, rng)?;
    Ok(gp)
}

/// A sparse GP: one with few inducing inputs finds hyperparameters, from which one with twice as many starts, and so
/// on. The last costs as much as all before it, three times over; with few evaluations each this finds more than many
/// at the last alone.
fn sparse_gp(
    data: &StandardisedData,
    kernel: KernelChoice,
    inducing: usize,
    half: Option<Fitted>,
    training: Training,
) -> Result<Fitted> {
    let mut rng = starting_stream(training.seed);
    let mut start = |m: usize| {
        let gp = first_gp(data, kernel, m, &mut rng)?;
        if kernel != KernelChoice::Linear || m != data.x().cols() {
            return Ok(gp);
        }
        // For a linear kernel unit vectors are as good as any, and K_zz is diagonal; centres may be all but collinear.
        let layer = Layer { z: Mat::identity(m, m), ..gp.layers()[0].clone() };
        DeepGp::new(vec![layer], gp.likelihood().clone())
    };
    let first = start(FIRST_INDUCING.min(inducing))?;
    let climbed = if half.is_some() { inducing / 2 } else { 0 };
    let mut fitted = half.map_or_else(|| on_all_rows(&first, data, training), Ok)?;
    for m in doublings(inducing) {
        // Drawn for all doublings, since what is drawn depends on what was drawn before.
        let z = start(m)?.layers()[0].z.clone();
        if m <= climbed {
            continue;
        }
        let layer = Layer { z, ..fitted.network.layers()[0].clone() };
        let gp = DeepGp::new(vec![layer], fitted.network.likelihood().clone())?;
        let of_doubling = Training { evaluations: doubling_evaluations(m, training.evaluations), ..training };
        fitted = on_all_rows(&gp, data, of_doubling)?;
    }
    Ok(fitted)
}

/// Numbers of inducing inputs between the first and so many, these included, each half of the next; none if the first
/// are enough.
fn doublings(inducing: usize) -> Vec<usize> {
    let mut doublings: Vec<usize> =
        std::iter::successors(Some(inducing), |m| Some(m / 2)).take_while(|m| *m > FIRST_INDUCING).collect();
    doublings.reverse();
    doublings
}

/// Hyperparameters from as many rows as are needed to find them, the factor from all.
fn on_all_rows(start: &DeepGp, data: &StandardisedData, training: Training) -> Result<Fitted> {
    let Training { evaluations, seed, threads, .. } = training;
    let (x, y, alpha) = (data.x(), data.y(), PLAIN_ALPHA);
    if x.rows() <= MOST_EVIDENCE_ROWS {
        return Ok(sparse::fit(start, data.rows(), alpha, evaluations, threads)?.fitted);
    }
    let rows = sample_rows(x.rows(), MOST_EVIDENCE_ROWS, &mut ChaCha8Rng::seed_from_u64(seed));
    let (few_x, few_y) = (x.select_rows(&rows), y.select_rows(&rows));
    let found = sparse::fit(start, Data::new(&few_x, &few_y), alpha, evaluations, threads)?;
    sparse::posterior(found.fitted.network, data.rows(), alpha, threads)
}

/// Trains and validates a candidate on each fold, as far as `memory` does not know it. Nothing if it is time to stop. A
/// candidate that cannot be trained gets no score: that is an answer, too. `unit` turns a log density into one of the
/// targets' own units.
pub(crate) fn cross_validate(
    candidate: &Candidate,
    folds: &[Fold],
    training: Training,
    memory: &Memory,
    unit: impl Fn(f64) -> f64,
    stop: &Stop<'_>,
) -> Option<Trial> {
    // What is known costs nothing.
    if !folds.iter().all(|fold| memory.knows(candidate, fold)) && stop.now().is_some() {
        return None;
    }
    let (mut log_densities, mut robust_log_densities, mut first, mut is_sound) = (Vec::new(), Vec::new(), None, true);
    for fold in folds {
        let result = match memory.recall(candidate, fold) {
            Some(result) => result,
            None => {
                let half = candidate.halved().and_then(|half| memory.recall(&half, fold)??.fitted);
                let result = match on_fold(candidate, fold, training, half, stop) {
                    Ok(None) => return None,
                    Ok(result) => result,
                    Err(_) => None,
                };
                memory.remember(candidate, fold, result.clone());
                result
            }
        };
        let Some(FoldResult { log_densities: of_fold, fitted }) = result else {
            is_sound = false;
            break;
        };
        let both = [of_fold, fold.constant.clone()];
        robust_log_densities.extend(mix_log_densities(&ROBUST_WEIGHTS, &both));
        let [of_fold, _] = both;
        log_densities.extend(of_fold);
        first = first.or(fitted);
    }
    let tried = Tried {
        name: candidate.to_string(),
        steps: if candidate.is_closed() { 0 } else { training.steps },
        folds: folds.len(),
        mean_log_density: finite_mean(&log_densities).map(unit).filter(|_| is_sound),
        weight: 0.0,
    };
    Some(Trial { candidate: candidate.clone(), tried, log_densities, robust_log_densities, fitted: first })
}

/// The member that a candidate was on a fold, from what was kept of it.
pub(crate) fn member_of_fold(candidate: &Candidate, fold: &Fold, weight: f64, kept: Fitted) -> Result<Member> {
    let data = for_candidate(candidate, &fold.train)?;
    let fitted = match (&candidate.design, candidate.is_closed()) {
        (Design::Constant, _) => constant(&data)?,
        (Design::Exact { .. }, true) => exact::posterior(&kept.network, data.rows())?,
        (Design::Sparse { .. }, true) => sparse::posterior(kept.network, data.rows(), PLAIN_ALPHA, 1)?,
        _ => kept,
    };
    Ok(data.member(weight, fitted))
}

/// What a candidate shows on a fold.
fn on_fold(
    candidate: &Candidate,
    fold: &Fold,
    training: Training,
    half: Option<Fitted>,
    stop: &Stop<'_>,
) -> Result<Option<FoldResult>> {
    let data = for_candidate(candidate, &fold.train)?;
    let Some(fitted) = train(candidate, &data, training, half, stop)? else { return Ok(None) };
    let (x, y) = &fold.validation;
    // What closed forms give again is not kept.
    let factors = if candidate.is_closed() { Vec::new() } else { fitted.factors.clone() };
    let kept = Fitted { network: fitted.network.clone(), factors, inference: fitted.inference };
    let log_densities = data.model(fitted)?.log_density((x, &fold.info), y)?;
    Ok(Some(FoldResult { log_densities, fitted: Some(kept) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_half_of_the_inducing_inputs_found_saves_time_and_changes_nothing() -> Result<()> {
        let x = Mat::from_fn(300, 2, |i, j| (1.3 * (i * (j + 2)) as f64).sin());
        let y = Mat::from_fn(300, 1, |i, _| (3.0 * x[(i, 0)]).sin() * x[(i, 1)]);
        let data = StandardisedData::new(x, y)?;
        let training = Training { steps: 0, evaluations: 12, seed: 7, threads: 1 };
        let gp = |inducing: usize, half: Option<Fitted>| sparse_gp(&data, KernelChoice::Eq, inducing, half, training);
        let (half, whole) = (gp(100, None)?, gp(200, None)?);
        assert_eq!(gp(200, Some(half.clone()))?, whole);
        // It is taken up, not left alone.
        let mut other = half;
        let Likelihood::Gaussian(noise) = other.network.likelihood() else { panic!("Gaussian") };
        let noise = Gaussian { noise_var: noise.noise_var.iter().map(|var| 2.0 * var).collect() };
        other.network = DeepGp::new(other.network.layers().to_vec(), Likelihood::Gaussian(noise))?;
        assert_ne!(gp(200, Some(other))?, whole);
        Ok(())
    }
}
