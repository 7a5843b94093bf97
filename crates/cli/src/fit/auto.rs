//! `deepgp fit` where the network is not given: lets a search choose the model.

use super::data::TrainingData;
use super::result::Trained;
use super::watch::Ending;
use crate::options::Options;
use crate::out::note;
use crate::plan::{Length, Plan};
use crate::words::{number, plural};
use anyhow::Result;
use deepgp::train::Termination;
use deepgp_fit::{Memory, SearchSettings};
use deepgp_io::{FileError, FormatError, Kind};
use deepgp_task::{Preprocessing, Record, Tried};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Share of the time for the search; the rest is for the last training.
const SEARCH_SHARE: f64 = 0.7;

/// An interrupted search, as it is stored: owned when it is read, borrowed when it is written.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredSearch<P = Preprocessing, M = Memory> {
    /// What was asked for.
    pub plan: Options,
    /// From a table to numbers and back.
    pub preprocessing: P,
    /// Training rows.
    pub rows: usize,
    /// Seconds so far.
    pub seconds: f64,
    /// What has been found out.
    pub memory: M,
}

impl StoredSearch {
    /// Reads a search; what it has found out is checked where it is used.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let search: Self = deepgp_io::load(path, Kind::Search)?;
        let schema = &search.preprocessing.schema;
        match search.preprocessing.check(schema.n_features(), schema.targets().len()) {
            Ok(()) => Ok(search),
            Err(error) => {
                let source = FormatError::Invalid { what: error.to_string() };
                Err(FileError::Format { path: path.into(), source })
            }
        }
    }
}

/// What a search knows already: nothing at first.
#[derive(Debug, Default)]
pub struct Before {
    /// Seconds that it took.
    pub seconds: f64,
    /// What was found out.
    pub memory: Memory,
}

/// Searches on the training rows and scores the answer on those held out.
pub fn search(
    plan: &Plan,
    data: &TrainingData,
    settings: &SearchSettings,
    before: &Before,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Trained> {
    let (began, late) = (Instant::now(), AtomicBool::new(false));
    let (done, is_done) = channel::<()>();
    let seconds = || before.seconds + began.elapsed().as_secs_f64();
    let keep = || match plan.checkpoint_path() {
        Some(path) => {
            let (preprocessing, rows) = (&data.preprocessing, data.n_train());
            let memory = &before.memory;
            let stored = StoredSearch { plan: plan.options(), preprocessing, rows, seconds: seconds(), memory };
            deepgp_io::save(&path, Kind::Search, &stored)
        }
        None => Ok(()),
    };
    // Before anything is written: what was found out with other data must not be lost.
    before.memory.bind(&data.prepared, settings)?;
    // To find out now, and not in an hour, that the folder cannot be written to.
    keep()?;
    let found = std::thread::scope(|scope| {
        if let Length::Time(limit) = plan.length {
            let late = &late;
            scope.spawn(move || {
                let limit = Duration::from_secs_f64(SEARCH_SHARE * limit);
                if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    late.store(true, Ordering::Relaxed);
                    stop.store(true, Ordering::Relaxed);
                }
            });
        }
        let found = deepgp_fit::fit(&data.prepared, settings, &before.memory, stop, &|tried| {
            tell(quiet, tried);
            // A disk that is full for a moment does not end a long search.
            if let Err(error) = keep() {
                note(quiet, &format!("no checkpoint: {:#}", anyhow::Error::new(error)));
            }
        });
        drop(done);
        found
    })?;
    let ending = match (stop.load(Ordering::Relaxed), late.load(Ordering::Relaxed)) {
        (false, _) => None,
        (true, true) => Some(Ending::Time),
        (true, false) => Some(Ending::Signal),
    };
    if ending == Some(Ending::Signal) {
        keep()?;
    }
    let mut record = Record::new(found.config, data.n_train());
    record.date = crate::words::now();
    record.steps = record.config.train.iterations;
    record.seconds = seconds();
    let end = if ending.is_some() { Termination::Stopped } else { Termination::Iterations };
    record.termination = Some(end);
    (record.tried, record.judged) = (found.tried, found.judged);
    Trained::of(plan, data, found.members, record, ending, end)
}

/// A line for each model that was tried.
fn tell(quiet: bool, tried: &Tried) {
    if quiet {
        return;
    }
    let score = tried.mean_log_density.map_or("failed".to_owned(), |mean| format!("log density {}", number(mean)));
    let folds = plural(tried.folds, "fold");
    // There is nobody to tell if that fails.
    let _ = writeln!(std::io::stderr(), "tried {}: {score} ({folds}, {} steps)", tried.name, tried.steps);
}

/// What the summary says of a search.
pub fn summary(record: &Record, n_members: usize) -> String {
    let best = |tried: &&Tried| tried.weight > 0.0;
    let mut members: Vec<&Tried> = record.tried.iter().filter(best).collect();
    members.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut text = format!("chosen among {}", plural(record.tried.len(), "trial"));
    text += if n_members > 1 { ", mixed:\n" } else { ":\n" };
    for tried in members {
        let mean = tried.mean_log_density.map_or(String::new(), |mean| format!(", log density {}", number(mean)));
        text += &format!("  {:>5.1} %  {}{mean}\n", 100.0 * tried.weight, tried.name);
    }
    let plain = record.tried.iter().filter(|t| t.name.contains("exact GP") || t.name.contains("sparse GP"));
    // Log densities of other rows cannot be compared.
    let folds = record.tried.iter().find(best).map_or(0, |tried| tried.folds);
    let judged = plain.filter(|t| t.weight == 0.0 && t.folds == folds).filter_map(|t| Some((t, t.mean_log_density?)));
    if let Some((tried, mean)) = judged.max_by(|a, b| a.1.total_cmp(&b.1)) {
        text += &format!("  beside the best plain GP left out, {}: {}\n", tried.name, number(mean));
    }
    text
}
