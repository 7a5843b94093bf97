//! Records: one line of JSON for each run, each search, each choice, and each split that ended far below the others.

use crate::environment::Environment;
use deepgp::train::Termination;
use deepgp_task::{Config, ExpectedDensity, Scores, Tried};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line of a record file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "lines are written and read one at a time")]
pub enum Line {
    /// A model was trained and scored on the test part of a split.
    Run(Run),
    /// A learning rate was searched for.
    Search(Search),
    /// One of several variants was chosen.
    Choice(Choice),
    /// A split ended far below the others.
    FarBelow(FarBelow),
}

impl Line {
    /// What it is a record of.
    pub fn key(&self) -> &Key {
        match self {
            Line::Run(run) => &run.key,
            Line::Search(search) => &search.key,
            Line::Choice(choice) => &choice.key,
            Line::FarBelow(far) => &far.key,
        }
    }
}

/// What identifies a run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Name of the study that it belongs to.
    pub study: String,
    /// The task.
    pub task: String,
    /// The variant, such as "[DGP, 2, 50]".
    pub variant: String,
    /// The split, from 0.
    pub split: usize,
}

/// A model, trained and scored. All but the environment and the time is the same to the last bit when it is run again
/// with the same instruction set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What it is.
    #[serde(flatten)]
    pub key: Key,
    /// The whole configuration, seed and learning rate included.
    pub config: Config,
    /// Columns of the inputs.
    pub inputs: usize,
    /// Rows it was trained on.
    pub rows: usize,
    /// How it went.
    pub result: RunResult,
    /// Seconds of training, on one thread.
    pub seconds: f64,
    /// What the automatic mode did; the configuration is then that of the heaviest model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automatic: Option<Automatic>,
    /// The environment that it was made in; `circumstances` in files.
    #[serde(rename = "circumstances")]
    pub environment: Environment,
}

/// A run of the automatic mode, or of one of its designs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Automatic {
    /// Multiplies all numbers of steps.
    pub effort: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// How the answer did on the rows that models were validated on, in cross-validation on the training part.
    #[serde(rename = "judged")]
    pub expected: Option<ExpectedDensity>,
    /// Everything that was tried, with weights; nothing for a design alone.
    pub tried: Vec<Tried>,
}

/// What comes out of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Scores on the test part; none if they are not finite.
    pub scores: Option<Scores>,
    /// Scores of a constant and a linear model on the same rows, to know a lost fit by.
    pub baselines: Vec<(String, Scores)>,
    /// Why training ended.
    pub termination: Termination,
    /// Steps done.
    pub steps: usize,
    /// The energy's course.
    pub energy: Course,
    /// How often each kind of event happened, among the first thousand.
    pub events: BTreeMap<String, usize>,
    /// How many events there were.
    pub n_events: usize,
    /// Bytes of the factors that the engine keeps: what grows with N in EP and does not in SEP.
    pub factor_bytes: usize,
}

/// The course of the energy's running mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Course {
    /// Its lowest value after the first tenth of the run, if finite.
    pub lowest: Option<f64>,
    /// Its last value, if finite.
    pub last: Option<f64>,
    /// Some of its values, evenly spaced, with the number of steps done.
    pub points: Vec<(usize, f64)>,
}

/// Criterion that a search or a choice minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// Root mean squared error.
    Rmse,
    /// Negative mean log density.
    LogDensity,
}

/// A search for the learning rate, on training rows alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Study, task and variant; the split is the one whose training rows were used.
    #[serde(flatten)]
    pub key: Key,
    /// The configuration, but for the learning rate.
    pub config: Config,
    /// How it was done.
    pub settings: SearchSettings,
    /// Rows that were learnt from in each run of a trial.
    pub rows: usize,
    /// Rows that trials were validated on, over all runs of a trial.
    pub held_out: usize,
    /// What was tried, in order.
    pub trials: Vec<Trial>,
    /// The learning rate that was chosen.
    pub learning_rate: f64,
    /// The loss that the surrogate expects there.
    pub loss: f64,
    /// Seconds of the search.
    pub seconds: f64,
    /// The environment that it was made in; `circumstances` in files.
    #[serde(rename = "circumstances")]
    pub environment: Environment,
}

/// Settings of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchSettings {
    /// The criterion that is minimised.
    pub criterion: Criterion,
    /// Lowest and highest learning rate.
    pub bounds: (f64, f64),
    /// Number of trials.
    pub trials: usize,
    /// Share of the training rows that one run of a trial is validated on.
    pub held_out: f64,
    /// Runs of a trial, each validated on other rows and with another seed; their mean counts.
    #[serde(default = "once")]
    pub repeats: usize,
    /// Seed of the choice of these rows.
    pub seed: u64,
}

/// Searches of earlier records validated a trial by one run.
fn once() -> usize {
    1
}

/// One trial of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The learning rate.
    pub learning_rate: f64,
    /// The criterion, no worse than a constant model's; see [`crate::search`].
    pub loss: f64,
    /// Root mean squared error on the held-out rows, if finite; the mean over the runs of the trial.
    pub rmse: Option<f64>,
    /// Mean log density of the held-out rows, if finite; the mean over the runs of the trial.
    pub mean_log_density: Option<f64>,
    /// Improvement expected before the trial; none for the first design.
    pub expected_improvement: Option<f64>,
}

/// A choice among variants by held-out rows of the training part of one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    /// Study and task; the variant is the one that was chosen, the split the one whose training rows were used.
    #[serde(flatten)]
    pub key: Key,
    /// What was made small.
    pub criterion: Criterion,
    /// All candidates with their losses, in order.
    pub candidates: Vec<(String, f64)>,
}

/// A run whose log density is far below that of the other splits of its task, said when all splits are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FarBelow {
    /// The run.
    #[serde(flatten)]
    pub key: Key,
    /// Its mean log density.
    pub mean_log_density: f64,
    /// The median over splits.
    pub median: f64,
    /// How many median absolute deviations it is below that.
    pub deviations: f64,
    /// How many standard errors it is below what the rows that it was validated on in training led to expect, if there
    /// were any: of a bad fit one would not expect much, so that a large number says that the test rows are unlike
    /// those of training, or that the model claims too much.
    pub standard_errors: Option<f64>,
    /// How many deviations other variants are below their medians on the same split: a hard split is hard for them as
    /// well.
    pub others: Vec<(String, f64)>,
}
