//! The automatic mode on splits of tasks, beside exact GPs where rows are few enough for them.

use crate::environment::Environment;
use crate::error::Result;
use crate::log::Log;
use crate::record::{Automatic, Course, Key, Line, Run, RunResult};
use crate::results::Results;
use crate::run::baseline_scores;
use crate::study::{Execute, Progress, Shard, carry_out};
use crate::task::{Parts, Task, TaskData};
use deepgp::Fitted;
use deepgp::init::KernelChoice;
use deepgp::train::Termination;
use deepgp_fit::Stop;
use deepgp_fit::search::{Design, MOST_EXACT_ROWS, Memory, SearchSettings, search, train_design};
use deepgp_task::{Config, ExpectedDensity, Model, Scores, StandardisedData};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What is run on a split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Auto,
    Exact(KernelChoice),
}

/// All modes with their names in records.
const MODES: [(&str, Mode); 3] = [
    ("[auto]", Mode::Auto),
    ("[exact GP]", Mode::Exact(KernelChoice::Eq)),
    ("[exact GP, Matérn 3/2]", Mode::Exact(KernelChoice::Matern32)),
];

/// The event that test rows are less likely than those that models were validated on: they differ, or the model claims
/// too much.
const SURPRISE: &str = "surprising_test_rows";

/// The automatic mode and exact GPs on splits of tasks.
#[derive(Debug, Clone)]
pub struct AutoStudy {
    /// Its name in the records.
    pub name: String,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The splits, from 0; those that a task does not have are left out. None for all.
    pub splits: Option<Vec<usize>>,
    /// Multiplies all numbers of steps.
    pub effort: f64,
    /// Seed of everything random.
    pub seed: u64,
    /// The part of the study that is done here.
    pub shard: Shard,
}

impl Execute for AutoStudy {
    fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    fn execute(
        &self,
        data: &[TaskData],
        log: &Log,
        threads: usize,
        stop: &AtomicBool,
        watch: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<bool> {
        let (all, environment) = (self.keys(data), Environment::here());
        let mut jobs = Vec::new();
        for (task, key) in &all {
            match log.run(key).map(|run| run.automatic.as_ref()) {
                Some(Some(old)) if (old.effort, old.seed) == (self.effort, self.seed) => {}
                Some(_) => return Err(log.other_settings(key)),
                None => jobs.push((*task, key.clone())),
            }
        }
        let (found, total) = (all.len() - jobs.len(), all.len());
        carry_out(&jobs, (found, total), log, threads, stop, watch, |(task, key)| {
            let parts = data[*task].parts(key.split)?;
            let run = repeat(key, &parts, self.effort, self.seed, &environment, stop)?;
            Ok(run.map(Line::Run))
        })?;
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        for line in self.far_below(data, log)? {
            log.append(&line)?;
            watch(Progress { done: total, total, found, line: Some(&line) });
        }
        Ok(true)
    }
}

impl AutoStudy {
    /// What the log does not say yet of splits far below the others, of tasks of which it has every run on every split.
    fn far_below(&self, data: &[TaskData], log: &Log) -> Result<Vec<Line>> {
        let (results, mut lines) = (Results::read(&[log.path()])?, Vec::new());
        let Ok(study) = results.study(&self.name) else { return Ok(lines) };
        let every = Self { splits: None, shard: Shard::default(), ..self.clone() };
        let keys = every.keys(data);
        for (t, task) in self.tasks.iter().enumerate() {
            let mut of_task = keys.iter().filter(|(task, _)| *task == t);
            if of_task.all(|(_, key)| study.has(key)) {
                let far = study.variants.iter().flat_map(|variant| study.far_below(&task.name, variant));
                lines.extend(far.map(Line::FarBelow).filter(|line| log.find(line).is_none()));
            }
        }
        Ok(lines)
    }

    /// Every run with the number of its task: split by split, so that a study which is cut short has some of every
    /// task.
    fn keys(&self, data: &[TaskData]) -> Vec<(usize, Key)> {
        let most = data.iter().map(|data| data.splits.len()).max().unwrap_or(0);
        let splits = self.splits.clone().unwrap_or_else(|| (0..most).collect());
        let mut all = Vec::new();
        for split in splits {
            for (task, data) in data.iter().enumerate().filter(|(_, data)| split < data.splits.len()) {
                let rows = data.x.rows() - data.splits[split].len();
                for (name, mode) in MODES {
                    // A GP in closed form is one with Gaussian noise.
                    let is_closed = data.task == deepgp_task::Task::Regression && rows <= MOST_EXACT_ROWS;
                    if mode == Mode::Auto || is_closed {
                        let (study, task_name) = (self.name.clone(), self.tasks[task].name.clone());
                        all.push((task, Key { study, task: task_name, variant: name.to_owned(), split }));
                    }
                }
            }
        }
        let Shard { index, count } = self.shard;
        all.into_iter().enumerate().filter(|(place, _)| place % count == index).map(|(_, run)| run).collect()
    }
}

/// Does one run, by its name; nothing if there is no such mode, or if `stop` was set meanwhile.
///
/// # Errors
/// What the data are refused for.
pub fn repeat(
    key: &Key,
    parts: &Parts,
    effort: f64,
    seed: u64,
    environment: &Environment,
    stop: &AtomicBool,
) -> Result<Option<Run>> {
    let Some((_, mode)) = MODES.iter().find(|(name, _)| *name == key.variant) else { return Ok(None) };
    let data = StandardisedData::for_task(parts.task, parts.train.0.clone(), parts.train.1.clone())?;
    let settings = SearchSettings { effort, seed, ..SearchSettings::default() };
    let started = Instant::now();
    let mut automatic = Automatic { effort, seed, expected: None, tried: Vec::new() };
    let (config, model): (Config, Model) = match mode {
        Mode::Auto => {
            let found = search(&data, &settings, &Memory::default(), &Stop::by(stop), &mut |_| ())?;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let model = found.model(&data)?;
            (automatic.expected, automatic.tried) = (found.expected(), found.tried);
            (found.config, model)
        }
        Mode::Exact(kernel) => {
            let design = Design::Exact { kernel: *kernel };
            let Some((fitted, config)) = train_design(&design, &data, &settings, &Stop::by(stop))? else {
                return Ok(None);
            };
            (config, data.model(fitted)?)
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let scores = Some(model.score(&parts.test.0, &parts.test.1)?).filter(Scores::is_finite);
    let is_surprised =
        |expected: ExpectedDensity| scores.as_ref().is_some_and(|s| expected.is_surprised(s.rows, s.mean_log_density));
    let events: BTreeMap<String, usize> = automatic
        .expected
        .filter(|expected| is_surprised(*expected))
        .map(|_| (SURPRISE.to_owned(), 1))
        .into_iter()
        .collect();
    let result = RunResult {
        scores,
        baselines: baseline_scores(&data, parts)?,
        termination: Termination::Iterations,
        steps: config.train.iterations,
        energy: Course::default(),
        n_events: events.len(),
        events,
        factor_bytes: model.members().map(|(_, member)| bytes(member.fitted())).sum(),
    };
    let (inputs, rows) = (data.x().cols(), data.x().rows());
    let (key, automatic, environment) = (key.clone(), Some(automatic), environment.clone());
    Ok(Some(Run { key, config, inputs, rows, result, seconds, automatic, environment }))
}

/// Bytes of a model's factors: Λ and η of every layer.
fn bytes(fitted: &Fitted) -> usize {
    let sizes = fitted.network.layers().iter().map(|layer| {
        let m = layer.n_inducing();
        layer.dim_out * m * (m + 1)
    });
    std::mem::size_of::<f64>() * sizes.sum::<usize>()
}
