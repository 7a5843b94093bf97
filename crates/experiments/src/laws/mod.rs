//! Whether likelihoods do what they are there for: each beside the plain one, on data of which it is known what is
//! right.
//!
//! Networks, budget and rows are the same for all models of a question, but for rows that one of them leaves out.

mod question;

pub use question::{Question, Way};

use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::log::Log;
use crate::metric::Metric;
use crate::record::{Key, Line, Run};
use crate::results::StudyResults;
use crate::run::run;
use crate::stats::Paired;
use crate::study::{Execute, Progress, Shard, carry_out};
use crate::task::{Parts, Task, TaskData};
use crate::variant::{Network, Variant, Width};
use deepgp::init::MeanChoice;
use deepgp_datasets::{Store, builtin};
use deepgp_numerics::linalg::Mat;
use deepgp_task::Config;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes so many rows from a seed.
type Generator = fn(usize, u64) -> (Mat, Mat);
/// Generated data: name, rows to learn from, how rows are made from a number and a seed, and what is asked of them.
const GENERATED: [(&str, usize, Generator, &[Question]); 2] = [
    ("friedman", 450, |rows, seed| builtin::friedman(rows, 1.0, seed), &[Question::Outliers, Question::Limit]),
    ("impact", 200, |rows, seed| builtin::impact(rows, 25.0, seed), &[Question::Noise]),
];
/// Generated rows that models are scored on.
const TEST_ROWS: usize = 1000;
/// What is asked of data sets; of any other everything.
const OF_SETS: [(&str, &[Question]); 4] = [
    ("boston", &[Question::Outliers, Question::Limit]),
    ("concrete", &[Question::Limit]),
    ("protein", &[Question::Noise]),
    ("bike_hour", &[Question::Noise]),
];
/// Between the names of data and question.
const SEPARATOR: &str = ", ";

/// Likelihoods beside plain ones, on generated data and on data sets.
#[derive(Debug, Clone)]
pub struct LawsStudy {
    /// Its name in the records.
    pub name: String,
    /// Data sets; generated data are there in any case.
    pub tasks: Vec<Task>,
    /// The networks, each with its training.
    pub variants: Vec<Variant>,
    /// The splits, from 0; those that a data set does not have are left out. Of generated data each is new rows.
    pub splits: Vec<usize>,
    /// The part of the study that is done here.
    pub shard: Shard,
}

/// A run that is to be done.
#[derive(Debug)]
struct Job {
    /// The data set; none for generated data.
    task: Option<usize>,
    key: Key,
    question: Question,
    way: Way,
    config: Config,
}

impl Execute for LawsStudy {
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
        let (all, environment) = (self.jobs(data), Environment::here());
        let total = all.len();
        let mut jobs = Vec::new();
        for job in all {
            match log.run(&job.key) {
                Some(old) if old.config == job.config => {}
                Some(_) => return Err(log.other_settings(&job.key)),
                None => jobs.push(job),
            }
        }
        let found = total - jobs.len();
        carry_out(&jobs, (found, total), log, threads, stop, watch, |job| {
            let clean = clean_parts(job.task.map(|task| &data[task]), &job.key)?;
            let parts = job.question.parts(job.way, clean, job.key.split as u64);
            let Some((result, seconds)) = run(&parts, &job.config, stop)? else { return Ok(None) };
            let (inputs, rows) = (parts.train.0.cols(), parts.train.0.rows());
            let (key, config, environment) = (job.key.clone(), job.config.clone(), environment.clone());
            Ok(Some(Line::Run(Run { key, config, inputs, rows, result, seconds, automatic: None, environment })))
        })?;
        Ok(!stop.load(Ordering::Relaxed))
    }
}

impl LawsStudy {
    /// Networks that are compared unless others are asked for: a sparse GP and a deep one, with the settings that
    /// `deepgp fit` gives a named network.
    pub fn networks(iterations: usize) -> Vec<Variant> {
        let variant = |hidden: Vec<Width>| {
            let mut base = Config::default();
            base.train.iterations = iterations;
            Variant { network: Network { hidden, mean: MeanChoice::Zero }, base }
        };
        [Vec::new(), vec![Width::Units(2)]].map(variant).into()
    }

    /// Names of data sets that it knows a question for.
    pub fn sets() -> impl Iterator<Item = &'static str> {
        OF_SETS.iter().map(|(name, _)| *name)
    }

    /// Data with their questions: name, number of the data set if it is one, questions.
    fn cases(&self) -> Vec<(&str, Option<usize>, &'static [Question])> {
        let generated = GENERATED.iter().map(|(name, _, _, questions)| (*name, None, *questions));
        let of_set = |name: &str| {
            OF_SETS.iter().find(|(set, _)| *set == name).map_or(&Question::ALL[..], |(_, questions)| *questions)
        };
        let sets = self.tasks.iter().enumerate().map(|(i, task)| (task.name.as_str(), Some(i), of_set(&task.name)));
        generated.chain(sets).collect()
    }

    /// Every run, split by split, so that a study which is cut short has some of every question.
    fn jobs(&self, data: &[TaskData]) -> Vec<Job> {
        let mut all = Vec::new();
        for &split in &self.splits {
            for (name, task, questions) in self.cases() {
                if task.is_some_and(|task| split >= data[task].splits.len()) {
                    continue;
                }
                let inputs = match task {
                    Some(task) => data[task].x.cols(),
                    None => generated(name).map_or(0, |(_, make)| make(1, 0).0.cols()),
                };
                for &question in questions {
                    for (variant, &way) in
                        self.variants.iter().flat_map(|v| question.ways().iter().map(move |w| (v, w)))
                    {
                        let mut config = variant.config(inputs);
                        (config.likelihood, config.train.threads) = (way.likelihood(), 1);
                        config.train.seed = config.train.seed.wrapping_add(split as u64);
                        let key = Key {
                            study: self.name.clone(),
                            task: format!("{name}{SEPARATOR}{}", question.name()),
                            variant: label(variant, way),
                            split,
                        };
                        all.push(Job { task, key, question, way, config });
                    }
                }
            }
        }
        let Shard { index, count } = self.shard;
        all.into_iter().enumerate().filter(|(place, _)| place % count == index).map(|(_, job)| job).collect()
    }

    /// What the records say: for each question, network and other model the paired differences.
    pub fn comparisons(&self, results: &StudyResults) -> Vec<Comparison> {
        let mut all = Vec::new();
        for (name, _, questions) in self.cases() {
            for &question in questions {
                let task = format!("{name}{SEPARATOR}{}", question.name());
                let [first, others @ ..] = question.ways() else { continue };
                for (variant, other) in self.variants.iter().flat_map(|v| others.iter().map(move |o| (v, o))) {
                    let (first_label, other_label) = (label(variant, *first), label(variant, *other));
                    let (Ok(a), Ok(b)) = (results.column(&first_label), results.column(&other_label)) else { continue };
                    let compare = |metric| a.compare(&b, &task, metric);
                    let (Some(log_density), Some(rmse)) = (compare(Metric::MeanLogDensity), compare(Metric::Rmse))
                    else {
                        continue;
                    };
                    all.push(Comparison {
                        task: task.clone(),
                        network: variant.network.to_string(),
                        first: first.name(),
                        other: other.name(),
                        log_density,
                        rmse,
                    });
                }
            }
        }
        all
    }
}

/// A model that is to win beside another of the same question and network.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Data and question.
    pub task: String,
    /// The network.
    pub network: String,
    /// The model that is to win.
    pub first: String,
    /// The other one.
    pub other: String,
    /// Mean log density of test rows, the first minus the other.
    pub log_density: Paired,
    /// Root mean squared error, the first minus the other.
    pub rmse: Paired,
}

/// Rows to learn from, and what makes them, of generated data of this name.
fn generated(name: &str) -> Option<(usize, Generator)> {
    GENERATED.iter().find(|(known, ..)| *known == name).map(|(_, rows, make, _)| (*rows, *make))
}

/// The name of a network with a likelihood.
fn label(variant: &Variant, way: Way) -> String {
    format!("{} {}", variant.label(), way.name())
}

/// Clean rows of a run: of a split of a data set, or generated ones.
fn clean_parts(data: Option<&TaskData>, key: &Key) -> Result<Parts> {
    if let Some(data) = data {
        return data.parts(key.split);
    }
    let name = key.task.split(SEPARATOR).next().unwrap_or_default();
    let (rows, make) = generated(name).ok_or_else(|| Error::NotATask { text: key.task.clone() })?;
    let (x, y) = make(rows + TEST_ROWS, key.split as u64);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..rows + TEST_ROWS).partition(|&row| row < rows);
    Ok(Parts::of(deepgp_task::Task::Regression, (&x, &y), &train, &test))
}

/// The rows of a recorded run of such a study; nothing if the record is of another one.
///
/// # Errors
/// What the store says of a data set.
pub fn parts_of(key: &Key, store: &Store) -> Result<Option<Parts>> {
    let Some((name, question)) = key.task.split_once(SEPARATOR) else { return Ok(None) };
    let Some(question) = Question::ALL.into_iter().find(|q| q.name() == question) else { return Ok(None) };
    let of_key = |way: &&Way| key.variant.ends_with(&format!("] {}", way.name()));
    let Some(way) = question.ways().iter().find(of_key) else { return Ok(None) };
    let data = if generated(name).is_some() { None } else { Some(name.parse::<Task>()?.load(store)?) };
    Ok(Some(question.parts(*way, clean_parts(data.as_ref(), key)?, key.split as u64)))
}
