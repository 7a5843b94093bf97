//! The training of a given network, with held-out scores, checkpoints and a limit of time.

use crate::checkpoint::{CheckpointFile, TrainingCheckpoint};
use crate::clock::{Clock, date};
use crate::error::{Error, Result};
use crate::event::{Event, OnEvent, Progress};
use crate::plan::Plan;
use crate::result::{Ending, Trained};
use crate::stop::{Reason, Stop};
use crate::training_data::TrainingData;
use deepgp::Fitted;
use deepgp::train::{Observer, Outcome, Progress as Step, Termination, Trainer};
use deepgp_io::FileError;
use deepgp_task::{Best, Checkpoint, CurvePoint, Record};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

/// How often held-out rows are scored in a run.
const SCORINGS: usize = 100;
/// Held-out rows that can tell a better network from a lucky one; fewer only score the last.
const ROWS_TO_CHOOSE: usize = 50;

/// Trains from the start.
///
/// # Errors
/// What the data or the configuration are refused for; a checkpoint that cannot be written at the start.
pub(crate) fn train(plan: &Plan, data: &TrainingData, flag: &AtomicBool, on_event: OnEvent<'_>) -> Result<Trained> {
    let config = plan.config(data.standardised.task(), data.n_train());
    let trainer = data.standardised.trainer(&config)?;
    let record = Record::new(config, data.n_train());
    let mut run = Run::new(plan, data, flag, on_event, record, None);
    // To find out now, and not in an hour, that the folder cannot be written to.
    run.store(&trainer, 0)?;
    run.started();
    run.finish(trainer)
}

/// Goes on after an interruption.
///
/// # Errors
/// [`Error::OtherTable`] if the rows are not those that the run began with.
pub(crate) fn resume(
    plan: &Plan,
    data: &TrainingData,
    stored: TrainingCheckpoint,
    flag: &AtomicBool,
    on_event: OnEvent<'_>,
) -> Result<Trained> {
    let Checkpoint { snapshot, best, record, .. } = stored;
    let trainer = data
        .standardised
        .resume(snapshot.with_threads(plan.threads()))
        .map_err(|source| Error::OtherTable { table: data.table.clone(), began: "run", source })?;
    Run::new(plan, data, flag, on_event, record, best).finish(trainer)
}

/// A run while it goes on: what observes the training.
struct Run<'a> {
    data: &'a TrainingData,
    stop: Stop<'a>,
    on_event: OnEvent<'a>,
    clock: Clock,
    checkpoints: Option<CheckpointFile>,
    has_limit: bool,
    /// Share of the run at which to score held-out rows next, where a limit of time decides.
    next_scoring: f64,
    /// Seconds and share of the run after the first step of this session.
    first: Option<(f64, f64)>,
    /// Held-out scores so far.
    held_out: Option<(Option<f64>, f64)>,
    record: Record,
    /// The best network so far, if rows are held out.
    best: Option<Best>,
}

impl<'a> Run<'a> {
    /// With the given history.
    fn new(
        plan: &Plan,
        data: &'a TrainingData,
        flag: &'a AtomicBool,
        on_event: OnEvent<'a>,
        record: Record,
        best: Option<Best>,
    ) -> Self {
        let clock = Clock::start(record.seconds, plan.time_limit());
        let held_out = record.curve.points.last().and_then(|p| Some((p.rmse, p.mean_log_density?)));
        Self {
            data,
            stop: Stop::by_flag_or_clock(flag, clock),
            on_event,
            clock,
            checkpoints: CheckpointFile::of(plan),
            has_limit: plan.time_limit().is_some(),
            next_scoring: 0.0,
            first: None,
            held_out,
            record,
            best,
        }
    }

    fn started(&mut self) {
        let (rows, features) = (self.data.n_train(), self.data.standardised.x().cols());
        (self.on_event)(Event::Started { is_search: false, rows, features, held_out: self.data.held_out.len() });
    }

    /// Trains to the end, and takes the best network, or the last where no rows were held out.
    fn finish(mut self, mut trainer: Trainer<'_>) -> Result<Trained> {
        let outcome: Outcome = trainer.run(&mut self);
        let last = trainer.fitted();
        if outcome.termination == Termination::Stopped {
            // The end came between two scorings.
            self.score(outcome.steps, outcome.energy, last.clone());
        }
        (self.on_event)(Event::Trained);
        let (mut record, best) = (self.record, self.best);
        record.finish(&outcome, self.clock.seconds());
        record.date = date();
        record.best_step = best.as_ref().map(|best| best.step);
        let ending = match (outcome.termination, self.stop.reason()) {
            (Termination::Iterations, _) => Ending::Completed,
            (Termination::Diverged, _) => Ending::Diverged,
            (Termination::Stopped, Some(Reason::Time)) => Ending::OutOfTime,
            (Termination::Stopped, _) => Ending::Interrupted,
        };
        let fitted = best.map_or(last, |best| best.fitted);
        Ok(Trained { members: vec![self.data.standardised.member(1.0, fitted)], record, ending, baselines: Vec::new() })
    }

    /// Scores a network on held-out rows and keeps it if it is the best.
    fn score(&mut self, step: usize, energy: f64, fitted: Fitted) {
        let mut point = CurvePoint { step, energy: Some(energy), rmse: None, mean_log_density: None };
        let has_rows = self.data.scored_in_training.len() > 0;
        // A network that cannot predict is no candidate, and the run goes on.
        if let Some(Ok((rmse, score))) = has_rows.then(|| self.held_out_scores(fitted.clone())) {
            (point.rmse, point.mean_log_density) = (rmse, Some(score));
            self.held_out = Some((rmse, score));
            let may_choose = self.data.held_out.len() >= ROWS_TO_CHOOSE && score.is_finite();
            if may_choose && self.best.as_ref().is_none_or(|best| score > best.score) {
                (self.on_event)(Event::Improved { step, log_density: score });
                self.best = Some(Best { step, score, fitted });
            }
        }
        self.record.curve.push(point);
    }

    fn held_out_scores(&self, fitted: Fitted) -> deepgp::Result<(Option<f64>, f64)> {
        let rows = &self.data.scored_in_training;
        let scores = self.data.standardised.model(fitted)?.score((&rows.x, &rows.info), &rows.y)?;
        Ok((scores.rmse(), scores.mean_log_density))
    }

    /// Whether held-out rows are scored after this step.
    fn is_scored(&self, step: &Step<'_>) -> bool {
        match self.clock.share() {
            Some(share) => share >= self.next_scoring,
            None => {
                let every = (step.iterations / SCORINGS).max(1);
                step.step.is_multiple_of(every) || step.step == step.iterations
            }
        }
    }

    /// Stores the run as it is, if it is stored at all.
    fn store(&mut self, trainer: &Trainer<'_>, step: usize) -> Result<(), FileError> {
        let seconds = self.clock.seconds();
        let Some(file) = &mut self.checkpoints else { return Ok(()) };
        (self.record.steps, self.record.seconds) = (step, seconds);
        let (preprocessing, snapshot) = (self.data.preprocessing.clone(), trainer.snapshot());
        let (best, record) = (self.best.clone(), self.record.clone());
        file.write(|path, settings| {
            Checkpoint { settings: settings.clone(), preprocessing, snapshot, best, record }.save(path)
        })?;
        (self.on_event)(Event::Checkpointed { path: &file.path });
        Ok(())
    }

    fn progress(&mut self, step: &Step<'_>, share: f64) -> Progress {
        let seconds = self.clock.seconds();
        let seconds_left = match self.first {
            None => {
                self.first = Some((seconds, share));
                None
            }
            Some((then, first)) => Some((seconds - then) * (1.0 - share) / (share - first).max(1e-9)),
        };
        let steps = (!self.has_limit).then_some(step.iterations);
        Progress { step: step.step, steps, share, seconds_left, energy: step.mean_energy, held_out: self.held_out }
    }
}

impl Observer for Run<'_> {
    fn on_step(&mut self, step: &Step<'_>) -> ControlFlow<()> {
        let share = self.clock.share().unwrap_or(step.step as f64 / step.iterations as f64);
        if self.is_scored(step) {
            self.next_scoring = share + 1.0 / SCORINGS as f64;
            self.score(step.step, step.mean_energy, step.trainer.fitted());
        }
        let progress = self.progress(step, share);
        (self.on_event)(Event::Step(progress));

        let end = self.stop.now();
        let is_due = self.checkpoints.as_ref().is_some_and(CheckpointFile::is_due);
        if (end == Some(Reason::Flag) || is_due)
            && let Err(error) = self.store(step.trainer, step.step)
        {
            // A disk that is full for a moment does not end a long run.
            (self.on_event)(Event::CheckpointFailed { error: &error });
        }
        if end.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn share(&mut self) -> Option<f64> {
        self.clock.share()
    }
}
