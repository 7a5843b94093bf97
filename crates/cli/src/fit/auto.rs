//! `deepgp fit --auto`: lets a search choose the model.

use super::data::TrainingData;
use super::result::Trained;
use super::watch::Ending;
use crate::plan::{Length, Plan};
use crate::words::{number, plural};
use anyhow::Result;
use deepgp::train::Termination;
use deepgp_auto::Settings;
use deepgp_model::{Record, Tried};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Share of the time for the search; the rest is for the last training.
const SEARCH_SHARE: f64 = 0.7;

/// Searches on the training rows and scores the answer on those held out.
pub fn search(
    plan: &Plan,
    data: &TrainingData,
    settings: &Settings,
    stop: &AtomicBool,
    quiet: bool,
) -> Result<Trained> {
    let (began, late) = (Instant::now(), AtomicBool::new(false));
    let (done, is_done) = channel::<()>();
    let found = std::thread::scope(|scope| {
        if let Length::Time(seconds) = plan.length {
            let late = &late;
            scope.spawn(move || {
                let limit = Duration::from_secs_f64(SEARCH_SHARE * seconds);
                if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                    late.store(true, Ordering::Relaxed);
                    stop.store(true, Ordering::Relaxed);
                }
            });
        }
        let found = deepgp_auto::fit(&data.prepared, settings, stop, &|tried| tell(quiet, tried));
        drop(done);
        found
    })?;
    let ending = match (stop.load(Ordering::Relaxed), late.load(Ordering::Relaxed)) {
        (false, _) => None,
        (true, true) => Some(Ending::Time),
        (true, false) => Some(Ending::Signal),
    };
    let mut record = Record::new(found.config, data.n_train());
    record.steps = record.config.train.iterations;
    record.seconds = began.elapsed().as_secs_f64();
    record.termination = Some(if ending.is_some() { Termination::Stopped } else { Termination::Iterations });
    record.tried = found.tried;
    Trained::of(data, found.members, record, ending, Termination::Iterations)
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
    let mut text = format!("chosen among {}", plural(record.tried.len(), "trial"));
    text += if n_members > 1 { ", mixed:\n" } else { ":\n" };
    for tried in record.tried.iter().filter(best) {
        let mean = tried.mean_log_density.map_or(String::new(), |mean| format!(", log density {}", number(mean)));
        text += &format!("  {:>4.0} %  {}{mean}\n", 100.0 * tried.weight, tried.name);
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
