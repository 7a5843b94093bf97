//! Watches a run: looks at held-out rows, keeps the best network, stores checkpoints, minds the clock and signals.

use super::data::TrainingData;
use super::progress::{Display, Standing};
use crate::options::Options;
use crate::out::note;
use crate::plan::{Length, Plan};
use deepgp::Fitted;
use deepgp::Result;
use deepgp::train::{Observer, Progress, Trainer};
use deepgp_task::{Best, Checkpoint, CurvePoint, Record};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Looks at held-out rows in a run.
const LOOKS: usize = 100;

/// Held-out rows that can tell a better network from a lucky one; fewer only score the last.
const ROWS_TO_CHOOSE: usize = 50;

/// Why the watch ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Its time was over.
    Time,
    /// A signal asked for it.
    Signal,
}

/// Where checkpoints go, and when.
struct Keeper {
    path: PathBuf,
    options: Options,
    every: f64,
    last: Instant,
    has_failed: bool,
}

/// The observer of `fit`.
pub struct Watch<'a> {
    data: &'a TrainingData,
    stop: &'a AtomicBool,
    quiet: bool,
    display: Display,
    keeper: Option<Keeper>,
    time_limit: Option<f64>,
    /// Seconds of earlier sessions, and when this one began.
    before: f64,
    began: Instant,
    /// Share of the time at which to look next.
    next_look: f64,
    held_out: Option<(f64, f64)>,
    /// History so far.
    pub record: Record,
    /// The best network so far, if rows are held out.
    pub best: Option<Best>,
    /// Why it ended the run, if it did.
    pub ending: Option<Ending>,
}

impl<'a> Watch<'a> {
    /// Of a run with the given history.
    pub fn new(
        plan: &Plan,
        data: &'a TrainingData,
        stop: &'a AtomicBool,
        quiet: bool,
        record: Record,
        best: Option<Best>,
    ) -> Self {
        let began = Instant::now();
        let keeper = plan.checkpoint_path().map(|path| Keeper {
            path,
            options: plan.options(),
            every: plan.checkpoint,
            last: began,
            has_failed: false,
        });
        let time_limit = match plan.length {
            Length::Time(seconds) => Some(seconds),
            Length::Steps(_) | Length::Epochs(_) => None,
        };
        let (before, display) = (record.seconds, Display::new(quiet));
        let held_out = record.curve.points.last().and_then(|p| Some((p.rmse?, p.mean_log_density?)));
        let next_look = 0.0;
        Self {
            data,
            stop,
            quiet,
            display,
            keeper,
            time_limit,
            before,
            began,
            next_look,
            held_out,
            record,
            best,
            ending: None,
        }
    }

    /// Seconds of training, earlier sessions included.
    pub fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// Takes the progress line away.
    pub fn clear(&mut self) {
        self.display.clear();
    }

    /// Scores a network on held-out rows and keeps it if it is the best.
    pub fn look(&mut self, step: usize, energy: f64, fitted: Fitted) {
        let mut point = CurvePoint { step, energy: Some(energy), rmse: None, mean_log_density: None };
        // A network that cannot predict is no candidate, and the run goes on.
        if let Some(Ok((rmse, score))) = (self.data.looked_at.len() > 0).then(|| self.held_out_scores(fitted.clone())) {
            (point.rmse, point.mean_log_density) = (Some(rmse), Some(score));
            self.held_out = Some((rmse, score));
            let may_choose = self.data.held_out.len() >= ROWS_TO_CHOOSE && score.is_finite();
            if may_choose && self.best.as_ref().is_none_or(|best| score > best.score) {
                self.best = Some(Best { step, score, fitted });
            }
        }
        self.record.curve.push(point);
    }

    fn held_out_scores(&self, fitted: Fitted) -> Result<(f64, f64)> {
        let scores = self.data.prepared.model(fitted)?.score(&self.data.looked_at.x, &self.data.looked_at.y)?;
        Ok((scores.rmse, scores.mean_log_density))
    }

    /// Stores the run as it is. A disk that is full for a moment does not end a long run.
    pub fn checkpoint(
        &mut self,
        trainer: &Trainer<'_>,
        step: usize,
    ) -> std::result::Result<(), deepgp_task::FileError> {
        let seconds = self.seconds();
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        (self.record.steps, self.record.seconds) = (step, seconds);
        keeper.last = Instant::now();
        Checkpoint {
            plan: keeper.options.clone(),
            preprocessing: self.data.preprocessing.clone(),
            snapshot: trainer.snapshot(),
            best: self.best.clone(),
            record: self.record.clone(),
        }
        .save(&keeper.path)
    }

    fn is_look_due(&self, progress: &Progress<'_>) -> bool {
        match self.time_limit {
            Some(limit) => self.seconds() / limit >= self.next_look,
            None => {
                let every = (progress.iterations / LOOKS).max(1);
                progress.step.is_multiple_of(every) || progress.step == progress.iterations
            }
        }
    }
}

impl Observer for Watch<'_> {
    fn on_step(&mut self, progress: &Progress<'_>) -> ControlFlow<()> {
        let share = match self.time_limit {
            Some(limit) => self.seconds() / limit,
            None => progress.step as f64 / progress.iterations as f64,
        };
        if self.is_look_due(progress) {
            self.next_look = share + 1.0 / LOOKS as f64;
            self.look(progress.step, progress.mean_energy, progress.trainer.fitted());
        }
        let steps = self.time_limit.is_none().then_some(progress.iterations);
        let held_out = self.held_out;
        self.display.show(&Standing { step: progress.step, steps, share, energy: progress.mean_energy, held_out });

        let is_interrupted = self.stop.load(Ordering::Relaxed);
        let is_late = self.time_limit.is_some_and(|limit| self.seconds() >= limit);
        let is_due = self.keeper.as_ref().is_some_and(|k| k.last.elapsed().as_secs_f64() >= k.every);
        if (is_interrupted || is_due)
            && let Err(error) = self.checkpoint(progress.trainer, progress.step)
            && let Some(keeper) = &mut self.keeper
            && !std::mem::replace(&mut keeper.has_failed, true)
        {
            self.display.clear();
            note(self.quiet, &format!("no checkpoint: {:#}", anyhow::Error::new(error)));
        }
        if is_interrupted {
            self.ending = Some(Ending::Signal);
        } else if is_late {
            self.ending = Some(Ending::Time);
        }
        if self.ending.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn share(&mut self) -> Option<f64> {
        self.time_limit.map(|limit| self.seconds() / limit)
    }
}
