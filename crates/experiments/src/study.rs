//! A study: tasks × variants × splits, run where they have not been run, each run a record.

use crate::environment::Environment;
use crate::error::Result;
use crate::log::Log;
use crate::pool;
use crate::record::{Choice, Key, Line, Run, Search, SearchSettings};
use crate::run::run;
use crate::search::search;
use crate::task::{Parts, Task, TaskData};
use crate::variant::Variant;
use deepgp_task::Config;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// What records call the variant that a choice selected.
pub const CHOSEN: &str = "[chosen]";

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Study {
    /// Its name in the records.
    pub name: String,
    /// The tasks.
    pub tasks: Vec<Task>,
    /// What is compared on each.
    pub variants: Vec<Variant>,
    /// The splits, from 0; those that a task does not have are left out. None for all.
    pub splits: Option<Vec<usize>>,
    /// How each task and variant gets its learning rate; none to keep that of the variant.
    pub search: Option<SearchSettings>,
    /// Whether to run, for each task, only the variant that does best on held-out training rows. Needs a search.
    pub choose: bool,
    /// The part of the study that is done here.
    pub shard: Shard,
}

/// One of several equal parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 0.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
}

impl Default for Shard {
    fn default() -> Self {
        Self { index: 0, count: 1 }
    }
}

/// How far a study is.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Runs and searches done, those found in the records included.
    pub done: usize,
    /// Runs and searches in all.
    pub total: usize,
    /// How many of them were found in the records.
    pub found: usize,
    /// What was just done or found out; nothing at the beginning.
    pub line: Option<&'a Line>,
}

/// A task and a variant with a place in the study: what has a learning rate of its own.
#[derive(Debug, Clone, Copy)]
struct Group {
    task: usize,
    variant: usize,
}

/// A run that is to be done.
#[derive(Debug)]
struct Job {
    task: usize,
    key: Key,
    config: Config,
}

/// The split whose training rows a search uses.
const SEARCH_SPLIT: usize = 0;

/// What can be run into a log of records.
pub trait Execute {
    /// Its tasks.
    fn tasks(&self) -> &[Task];

    /// Does what is not in the log yet, on so many threads; `watch` is called with each line. Returns whether all is
    /// done: not if `stop` was set.
    ///
    /// Every run has one thread and a seed that depends on nothing but what is run and the split, so that records do
    /// not depend on threads, shards or interruptions.
    ///
    /// # Errors
    /// What is wrong with the data or a configuration; [`crate::Error::OtherSettings`] if the log has the same runs
    /// with other settings; what the system says of the log.
    fn execute(
        &self,
        data: &[TaskData],
        log: &Log,
        threads: usize,
        stop: &AtomicBool,
        watch: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<bool>;
}

/// Does the jobs that are left of a study, several at a time: stores the line of each, and tells of it. So many of all
/// were done before. A job that was stopped has no line.
///
/// # Errors
/// From the jobs; what the system says of the log.
pub(crate) fn carry_out<J: Sync>(
    jobs: &[J],
    (found, total): (usize, usize),
    log: &Log,
    threads: usize,
    stop: &AtomicBool,
    watch: &(dyn Fn(Progress<'_>) + Sync),
    work: impl Fn(&J) -> Result<Option<Line>> + Sync,
) -> Result<()> {
    let done = AtomicUsize::new(found);
    watch(Progress { done: found, total, found, line: None });
    pool::for_each(jobs, threads, stop, |job| {
        let Some(line) = work(job)? else { return Ok(()) };
        log.append(&line)?;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        watch(Progress { done, total, found, line: Some(&line) });
        Ok(())
    })
}

impl Execute for Study {
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
        let groups = self.groups();
        let environment = Environment::here();
        let searches: Vec<Group> = if self.search.is_some() { groups.clone() } else { Vec::new() };
        let mut pending = Vec::new();
        for &group in &searches {
            if self.found_search(group, data, log)?.is_none() {
                pending.push(group);
            }
        }
        let per_group: usize = groups.iter().map(|g| self.splits_of(&data[g.task]).len()).sum();
        let planned = if self.choose { self.chosen_runs(data) } else { per_group };
        let (done, total) = (AtomicUsize::new(searches.len() - pending.len()), searches.len() + planned);
        let found = AtomicUsize::new(done.load(Ordering::Relaxed));
        let tell = |line: Option<&Line>| {
            let done =
                if line.is_some() { done.fetch_add(1, Ordering::Relaxed) + 1 } else { done.load(Ordering::Relaxed) };
            watch(Progress { done, total, found: found.load(Ordering::Relaxed), line });
        };
        tell(None);

        let fresh = std::sync::Mutex::new(HashMap::new());
        pool::for_each(&pending, threads, stop, |&group| {
            let Some(search) = self.search_group(group, data, &environment, stop)? else { return Ok(()) };
            let line = Line::Search(search.clone());
            log.append(&line)?;
            fresh.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(search.key.clone(), search);
            tell(Some(&line));
            Ok(())
        })?;
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let fresh = fresh.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut found_searches = Vec::new();
        for &group in &searches {
            let key = self.search_key(group);
            let search = fresh.get(&key).or_else(|| log.search(&key));
            found_searches.push((group, search));
        }
        let rate = |group: Group| {
            let found = found_searches.iter().find(|(g, _)| (g.task, g.variant) == (group.task, group.variant));
            found.and_then(|(_, search)| search.map(|s| s.learning_rate))
        };

        let mut jobs = Vec::new();
        for group in if self.choose { self.choose(&found_searches, log)? } else { groups } {
            let variant = &self.variants[group.variant];
            let label = if self.choose { CHOSEN.to_owned() } else { variant.label() };
            for split in self.splits_of(&data[group.task]) {
                let mut config = variant.config(data[group.task].x.cols());
                config.train.learning_rate = rate(group).unwrap_or(config.train.learning_rate);
                config.train.seed = config.train.seed.wrapping_add(split as u64);
                config.train.threads = 1;
                let key = self.key(group.task, label.clone(), split);
                match log.run(&key) {
                    Some(old) if old.config == config => {
                        done.fetch_add(1, Ordering::Relaxed);
                        found.fetch_add(1, Ordering::Relaxed);
                    }
                    Some(_) => return Err(log.other_settings(&key)),
                    None => jobs.push(Job { task: group.task, key, config }),
                }
            }
        }
        tell(None);
        // The longest first, so that no thread is left alone with one at the end.
        jobs.sort_by_key(|job| std::cmp::Reverse((cost(&job.config), job.key.clone())));
        pool::for_each(&jobs, threads, stop, |job| {
            let parts = data[job.task].parts(job.key.split)?;
            let Some((result, seconds)) = run(&parts, &job.config, stop)? else { return Ok(()) };
            let (inputs, rows) = (parts.train.0.cols(), parts.train.0.rows());
            let (key, config, environment) = (job.key.clone(), job.config.clone(), environment.clone());
            let automatic = None;
            let line = Line::Run(Run { key, config, inputs, rows, result, seconds, automatic, environment });
            log.append(&line)?;
            tell(Some(&line));
            Ok(())
        })?;
        Ok(!stop.load(Ordering::Relaxed))
    }
}

impl Study {
    /// Tasks and variants of this shard. With a choice, a task stays whole.
    fn groups(&self) -> Vec<Group> {
        let all =
            (0..self.tasks.len()).flat_map(|task| (0..self.variants.len()).map(move |variant| Group { task, variant }));
        let Shard { index, count } = self.shard;
        let mine = |place: usize, group: &Group| {
            if self.choose { group.task % count == index } else { place % count == index }
        };
        all.enumerate().filter(|(place, group)| mine(*place, group)).map(|(_, group)| group).collect()
    }

    fn chosen_runs(&self, data: &[TaskData]) -> usize {
        let mut tasks: Vec<usize> = self.groups().iter().map(|g| g.task).collect();
        tasks.dedup();
        tasks.iter().map(|&task| self.splits_of(&data[task]).len()).sum()
    }

    fn splits_of(&self, data: &TaskData) -> Vec<usize> {
        let all = 0..data.splits.len();
        match &self.splits {
            None => all.collect(),
            Some(splits) => splits.iter().copied().filter(|split| all.contains(split)).collect(),
        }
    }

    fn key(&self, task: usize, variant: String, split: usize) -> Key {
        Key { study: self.name.clone(), task: self.tasks[task].name.clone(), variant, split }
    }

    fn search_key(&self, group: Group) -> Key {
        self.key(group.task, self.variants[group.variant].label(), SEARCH_SPLIT)
    }

    /// The search that the log has, if it was made with the same settings.
    fn found_search<'a>(&self, group: Group, data: &[TaskData], log: &'a Log) -> Result<Option<&'a Search>> {
        let key = self.search_key(group);
        let config = self.variants[group.variant].config(data[group.task].x.cols());
        match log.search(&key) {
            Some(old) if old.config == config && Some(old.settings) == self.search => Ok(Some(old)),
            Some(_) => Err(log.other_settings(&key)),
            None => Ok(None),
        }
    }

    fn search_group(
        &self,
        group: Group,
        data: &[TaskData],
        environment: &Environment,
        stop: &AtomicBool,
    ) -> Result<Option<Search>> {
        let Some(settings) = self.search else { return Ok(None) };
        let config = self.variants[group.variant].config(data[group.task].x.cols());
        let Parts { task, train: (x, y), .. } = data[group.task].parts(SEARCH_SPLIT)?;
        let started = Instant::now();
        let Some(found) = search(task, (&x, &y), &config, &settings, stop)? else { return Ok(None) };
        Ok(Some(Search {
            key: self.search_key(group),
            config,
            settings,
            rows: found.rows.0,
            held_out: found.rows.1,
            trials: found.trials,
            learning_rate: found.learning_rate,
            loss: found.loss,
            seconds: started.elapsed().as_secs_f64(),
            environment: environment.clone(),
        }))
    }

    /// For each task the variant with the least loss; a choice that is not in the log yet is added to it.
    fn choose(&self, searches: &[(Group, Option<&Search>)], log: &Log) -> Result<Vec<Group>> {
        let mut chosen = Vec::new();
        for task in 0..self.tasks.len() {
            let of_task = || searches.iter().filter_map(|(g, s)| Some((*g, (*s)?))).filter(|(g, _)| g.task == task);
            let Some((group, best)) = of_task().min_by(|a, b| a.1.loss.total_cmp(&b.1.loss)) else { continue };
            chosen.push(group);
            let line = Line::Choice(Choice {
                key: best.key.clone(),
                criterion: best.settings.criterion,
                candidates: of_task().map(|(_, search)| (search.key.variant.clone(), search.loss)).collect(),
            });
            match log.find(&line) {
                None => log.append(&line)?,
                Some(old) if *old == line => {}
                Some(_) => return Err(log.other_settings(&best.key)),
            }
        }
        Ok(chosen)
    }
}

/// A rough measure of how long a run takes, to order runs by.
fn cost(config: &Config) -> usize {
    let units = 1 + config.architecture.hidden.iter().sum::<usize>();
    config.train.iterations * config.train.batch_size * config.architecture.n_inducing.pow(2) * units
}
