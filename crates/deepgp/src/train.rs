//! Training: batch → engine → optimiser → observer, until a reason to stop.

mod lowest_energy;
mod snapshot;

pub use snapshot::{Fingerprint, Snapshot};

use crate::batches::Batches;
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fitted::Fitted;
use crate::gauss::Factor;
use crate::infer::{Batch, Event, Inference, InferenceSettings, State, Step, StepWorkspace};
use crate::network::DeepGp;
use crate::param::Parameters;
use crate::pass::Evaluate;
use crate::predict::Predictor;
use deepgp_numerics::linalg::dot;
use deepgp_numerics::optim::{Adam, Schedule};
use lowest_energy::LowestEnergy;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Steps in a row that may be undone before training is given up.
const MAX_REJECTIONS: usize = 30;
/// Events that are kept; a run that goes wrong at every step must not fill the memory.
const MAX_EVENTS: usize = 1000;
/// Stream of random numbers for the starting factors; epochs count up from 0.
const FACTOR_STREAM: u64 = u64::MAX - 1;
/// Weight of the newest step in the running mean of the energy.
const ENERGY_MEMORY: f64 = 0.02;

/// Settings of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainSettings {
    /// The engine and its settings.
    pub inference: InferenceSettings,
    /// Number of steps.
    pub iterations: usize,
    /// Rows per step; all rows if there are fewer.
    pub batch_size: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Its course.
    pub schedule: Schedule,
    /// Seed of the start and of the minibatches.
    pub seed: u64,
    /// Threads that share the rows of a batch; the result does not depend on the number.
    pub threads: usize,
    /// Names of parameter blocks that stay as they are: "lengthscale", "signal_var", "z", "noise_var", ….
    pub fixed: Vec<String>,
}

impl Default for TrainSettings {
    fn default() -> Self {
        Self {
            inference: InferenceSettings::default(),
            iterations: 4000,
            batch_size: 100,
            learning_rate: 0.005,
            schedule: Schedule::default(),
            seed: 0,
            threads: 1,
            fixed: Vec::new(),
        }
    }
}

impl TrainSettings {
    fn check(&self) -> Result<Inference> {
        let positive = |name, value: f64| crate::error::expect_positive(name, None, value);
        positive("learning_rate", self.learning_rate)?;
        positive("batch_size", self.batch_size as f64)?;
        self.schedule.check()?;
        Inference::new(self.inference)
    }
}

/// Why training ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// All iterations were done.
    Iterations,
    /// The observer asked to stop.
    Stopped,
    /// Too many steps in a row had to be undone; the last good state was kept.
    Diverged,
}

/// What an observer sees after each step.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Steps done, this one included.
    pub step: usize,
    /// Steps planned.
    pub iterations: usize,
    /// Energy of this step's batch.
    pub energy: f64,
    /// Running mean of the energy.
    pub mean_energy: f64,
    /// Damping of site updates now.
    pub damping: f64,
    /// Learning rate of this step.
    pub learning_rate: f64,
    /// What happened in this step, with its number.
    pub events: &'a [(usize, Event)],
    /// The run itself, for a look at the model or a prediction.
    pub trainer: &'a Trainer<'a>,
}

/// Watches training; can stop it.
pub trait Observer {
    /// Called after each step; [`ControlFlow::Break`] ends training after it.
    fn on_step(&mut self, progress: &Progress<'_>) -> ControlFlow<()>;

    /// The share in [0, 1] of the run that is done, if something besides the number of steps decides on its end, such
    /// as a clock. Asked before each step; the learning rate follows the larger of this and the share of the steps.
    ///
    /// It does not end the run: [`Observer::on_step`] does. A run that follows a clock does not give the same bits
    /// twice.
    fn share(&mut self) -> Option<f64> {
        None
    }
}

/// Sees nothing.
impl Observer for () {
    fn on_step(&mut self, _: &Progress<'_>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Any closure can observe.
impl<F: FnMut(&Progress<'_>) -> ControlFlow<()>> Observer for F {
    fn on_step(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        self(progress)
    }
}

/// The result of a run besides the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why it ended.
    pub termination: Termination,
    /// Steps done.
    pub steps: usize,
    /// Running mean of the energy at the end; its negative approximates the log evidence.
    pub energy: f64,
    /// What happened, in order, with the step's number: the first thousand events.
    pub events: Vec<(usize, Event)>,
    /// How many events there were.
    pub n_events: usize,
}

/// One training run over borrowed data.
#[derive(Debug)]
pub struct Trainer<'a> {
    data: Data<'a>,
    fingerprint: Fingerprint,
    settings: TrainSettings,
    inference: Inference,
    model: DeepGp,
    state: State,
    adam: Adam,
    /// Which free parameters do not move.
    fixed: Vec<usize>,
    batches: Batches,
    ws: StepWorkspace,
    step: usize,
    mean_energy: Option<f64>,
    rejections: usize,
    learning_scale: f64,
    /// The free parameters at the last step that could be evaluated. Factors need no such copy: engines only move them
    /// to definite, finite ones.
    last_good: Vec<f64>,
    /// Memory for the free parameters of a step.
    theta: Vec<f64>,
    /// The lowest place so far.
    lowest: Option<LowestEnergy>,
    events: Vec<(usize, Event)>,
    n_events: usize,
}

impl<'a> Trainer<'a> {
    /// Checks everything and draws the starting factors.
    ///
    /// # Errors
    /// [`NotFinite`](crate::Error::NotFinite), [`Empty`](crate::Error::Empty), [`Shape`](crate::Error::Shape),
    /// [`Target`](crate::Error::Target) for the data; [`Parameter`](crate::Error::Parameter) for
    /// the settings, and for weights with an engine that takes none; what [`Data::check`] says.
    pub fn new(model: DeepGp, data: Data<'a>, settings: TrainSettings) -> Result<Self> {
        let inference = settings.check()?;
        data.check(&model)?;
        inference.check_weights(data.weights())?;
        let n_data = data.x().rows();
        // A stream of its own: minibatches take theirs from the number of the epoch.
        let mut rng = ChaCha8Rng::seed_from_u64(settings.seed);
        rng.set_stream(FACTOR_STREAM);
        let state = State::random(&model, n_data, &inference, &mut rng)?;
        let mut theta = Vec::new();
        model.read_free(&mut theta);
        state.read_free(&mut theta);
        let fixed = entries_of(&model, &settings.fixed)?;
        Ok(Self {
            batches: Batches::new(n_data, settings.batch_size, settings.seed),
            ws: StepWorkspace::with_threads(&model, settings.threads),
            adam: Adam::new(theta.len()),
            last_good: theta,
            theta: Vec::new(),
            lowest: None,
            fingerprint: Fingerprint::of(data),
            data,
            settings,
            inference,
            model,
            state,
            fixed,
            step: 0,
            mean_energy: None,
            rejections: 0,
            learning_scale: 1.0,
            events: Vec::new(),
            n_events: 0,
        })
    }

    /// Takes the given factors instead of the random ones.
    ///
    /// # Errors
    /// [`Shape`](crate::Error::Shape) or [`NotFinite`](crate::Error::NotFinite) if they do not fit the network, and as
    /// [`State::new`].
    pub fn with_factors(mut self, factors: Vec<Vec<Factor>>) -> Result<Self> {
        self.model.check_factors(&factors)?;
        self.state = State::new(factors, self.data.x().rows(), &self.inference)?;
        self.last_good = self.theta();
        Ok(self)
    }

    /// Has passes made elsewhere than on the threads of this process: by a device, or by many machines.
    pub fn with_evaluator(mut self, evaluator: Box<dyn Evaluate>) -> Self {
        self.ws = StepWorkspace::with_evaluator(&self.model, evaluator);
        self
    }

    /// Adds an event of the time before training to the record.
    pub fn note(&mut self, event: Event) {
        self.n_events = self.n_events.saturating_add(1);
        if self.events.len() < MAX_EVENTS {
            self.events.push((self.step, event));
        }
    }

    /// The network as it is now.
    pub fn model(&self) -> &DeepGp {
        &self.model
    }

    /// The factors as they are now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The network and factors as they are now, copied.
    pub fn fitted(&self) -> Fitted {
        Fitted {
            network: self.model.clone(),
            factors: self.state.factors().to_vec(),
            inference: self.inference.settings(),
        }
    }

    /// A predictor of the network as it is now.
    ///
    /// # Errors
    /// As [`Predictor::new`].
    pub fn predictor(&self) -> Result<Predictor> {
        Predictor::new(self.fitted())
    }

    /// All free parameters, the model's then the state's.
    fn theta(&self) -> Vec<f64> {
        let mut theta = Vec::with_capacity(self.last_good.len());
        self.read_theta(&mut theta);
        theta
    }

    /// [`Trainer::theta`] into existing memory.
    fn read_theta(&self, theta: &mut Vec<f64>) {
        theta.clear();
        self.model.read_free(theta);
        self.state.read_free(theta);
    }

    /// Sets all free parameters.
    fn set_theta(&mut self, theta: &[f64]) {
        let used = self.model.write_free(theta);
        self.state.write_free(&theta[used..]);
    }

    /// One step; returns its energy (NaN for a step that was undone) and its learning rate. `share` is the fraction of
    /// the run that the observer reports as done.
    fn advance(&mut self, share: Option<f64>) -> (f64, f64) {
        let share = (self.step as f64 / self.settings.iterations.max(1) as f64).max(share.unwrap_or(0.0));
        let rate = self.settings.learning_rate * self.settings.schedule.factor(share) * self.learning_scale;
        let mut theta = std::mem::take(&mut self.theta);
        self.read_theta(&mut theta);
        let batch = Batch::of(self.data, self.batches.at(self.step));
        self.step += 1;
        let energy = match self.inference.step(&self.model, &mut self.state, batch, &mut self.ws) {
            // Adam would never move again after a square that is not finite.
            Ok(step) if step.energy.is_finite() && dot(&step.gradient, &step.gradient).is_finite() => {
                self.last_good.clone_from(&theta);
                self.accept(step, &mut theta, rate)
            }
            Ok(_) => self.reject("the energy or its gradient is not finite".to_owned()),
            Err(error) => self.reject(error.to_string()),
        };
        self.theta = theta;
        (energy, rate)
    }

    /// Takes Adam's step from the free parameters `theta`; returns the energy.
    fn accept(&mut self, mut step: Step, theta: &mut [f64], rate: f64) -> f64 {
        self.fixed.iter().for_each(|&i| step.gradient[i] = 0.0);
        self.adam.step(theta, &step.gradient, rate);
        // The last good place is where this step began.
        let used = self.model.move_free(&self.last_good, theta);
        self.state.write_free(&theta[used..]);
        self.rejections = 0;
        self.learning_scale = (1.05 * self.learning_scale).min(1.0);
        let energy = step.energy;
        let mean = self.mean_energy.map_or(energy, |mean| mean + ENERGY_MEMORY * (energy - mean));
        self.mean_energy = Some(mean);
        step.events.drain(..).for_each(|event| self.note(event));
        self.ws.recycle(step);
        self.remember_if_lowest();
        energy
    }

    /// Goes back to the last state that could be evaluated, with smaller steps from there; returns NaN for the energy.
    fn reject(&mut self, cause: String) -> f64 {
        self.state.damping.shrink();
        let theta = self.last_good.clone();
        self.set_theta(&theta);
        self.adam = Adam::new(theta.len());
        self.learning_scale *= 0.5;
        self.rejections = self.rejections.saturating_add(1);
        self.note(Event::StepRejected { cause });
        f64::NAN
    }

    /// Trains until done, stopped or lost.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Outcome {
        // Decided before a step and not after it: a run that is resumed at its very end must end in the same way.
        let termination = loop {
            if self.rejections >= MAX_REJECTIONS {
                break Termination::Diverged;
            }
            if self.step >= self.settings.iterations {
                break Termination::Iterations;
            }
            let seen = self.events.len();
            let (energy, learning_rate) = self.advance(observer.share());
            let progress = Progress {
                step: self.step,
                iterations: self.settings.iterations,
                energy,
                mean_energy: self.mean_energy.unwrap_or(f64::NAN),
                damping: self.state.damping.current(),
                learning_rate,
                events: &self.events[seen..],
                trainer: self,
            };
            if observer.on_step(&progress).is_break() {
                break Termination::Stopped;
            }
        };
        self.restore_lowest();
        // The last move of the parameters has not been evaluated: it must at least give a predictor.
        if self.predictor().is_err() {
            self.reject("the last step left a network that cannot predict".to_owned());
        }
        Outcome {
            termination,
            steps: self.step,
            energy: self.mean_energy.unwrap_or(f64::NAN),
            events: self.events.clone(),
            n_events: self.n_events,
        }
    }
}

/// The places of the model's blocks of the given names among its free parameters.
fn entries_of(model: &DeepGp, names: &[String]) -> Result<Vec<usize>> {
    let (mut entries, mut known, mut first) = (Vec::new(), Vec::new(), 0);
    model.visit(&mut |b| {
        if names.iter().any(|name| name == b.name) {
            entries.extend(first..first + b.values.len());
        }
        first += b.values.len();
        known.push(b.name);
    });
    if let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) {
        known.sort_unstable();
        known.dedup();
        return Err(Error::UnknownParameter { name: name.clone(), known: known.join(", ") });
    }
    Ok(entries)
}

/// The SEP energy of a whole data set at a trained network: what training estimates on batches.
///
/// # Errors
/// As [`Inference::step`], and for data that do not fit.
pub fn energy(fitted: &Fitted, data: Data<'_>) -> Result<f64> {
    let inference = fitted.check()?;
    data.check(&fitted.network)?;
    let rows: Vec<usize> = (0..data.x().rows()).collect();
    let mut ws = StepWorkspace::new(&fitted.network);
    Ok(inference.sep_energy(&fitted.network, &fitted.factors, Batch::of(data, &rows), &mut ws)?.energy)
}
