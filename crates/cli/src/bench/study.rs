//! Runs a study and shows how far it is.

use super::options::StudyOptions;
use crate::exit_codes::{INTERRUPTED, SUCCESS, usage, usage_of};
use crate::out::{note, print};
use crate::signals::listen;
use crate::wording::{count, duration, number};
use anyhow::Result;
use deepgp_datasets::Store;
use deepgp_experiments::record::Line;
use deepgp_experiments::{Execute, Log, Progress, Task, TaskData};
use deepgp_fit::threads;
use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Runs studies into one file, one after the other; returns the exit code.
pub fn run(studies: &[impl Execute], options: &StudyOptions) -> Result<u8> {
    let threads = threads(options.threads).map_err(usage_of)?;
    let store = Store::locate(options.data_dir.as_deref())?;
    let stop = Arc::new(AtomicBool::new(false));
    let started = Instant::now();
    let mut log = Log::open(&options.out)?;
    listen(&stop)?;
    for study in studies {
        let data = study
            .tasks()
            .iter()
            .map(|task| task.load(&store))
            .collect::<deepgp_experiments::Result<Vec<TaskData>>>()?;
        let display = Display::new(options.quiet);
        let whole = study.execute(&data, &log, threads, &stop, &|progress| display.show(&progress))?;
        if !whole {
            note(options.quiet, &format!("stopped; the same command goes on from {}", options.out.display()));
            return Ok(INTERRUPTED);
        }
        // What was added must be known to the next study.
        log = Log::open(&options.out)?;
    }
    let time = duration(started.elapsed().as_secs_f64());
    print(&format!("done after {time}; `deepgp bench report {}` makes tables of it\n", options.out.display()))?;
    Ok(SUCCESS)
}

/// The tasks that were asked for, or these.
pub fn tasks_or(asked: &[Task], default: Vec<Task>) -> Result<Vec<Task>> {
    if asked.is_empty() {
        return Ok(default);
    }
    match asked.iter().enumerate().find(|(i, task)| asked[..*i].contains(task)) {
        Some((_, twice)) => Err(usage!("task {twice} is given twice")),
        None => Ok(asked.to_vec()),
    }
}

/// A line for each run: redrawn on a terminal, and elsewhere written.
#[derive(Debug)]
struct Display {
    quiet: bool,
    is_terminal: bool,
    started: Instant,
}

impl Display {
    fn new(quiet: bool) -> Self {
        Self { quiet, is_terminal: stderr().is_terminal(), started: Instant::now() }
    }

    fn show(&self, progress: &Progress<'_>) {
        let Progress { done, total, found, line } = *progress;
        if self.quiet {
            return;
        }
        let Some(line) = line else {
            if found > 0 {
                note(false, &format!("{} of {} runs and searches were recorded before", count(found), count(total)));
            }
            return;
        };
        // All runs are taken to be equally long: the longest come first, so the estimate errs towards too long.
        let left = self.started.elapsed().as_secs_f64() * (total - done) as f64 / (done - found).max(1) as f64;
        let text = format!("{}/{}  {} left  {}", count(done), count(total), duration(left), summary(line));
        let mut out = stderr().lock();
        // There is nobody to tell if that fails.
        let _ = match self.is_terminal {
            true => write!(out, "\r\x1b[K\x1b[?7l{text}\x1b[?7h").and_then(|()| out.flush()),
            false => writeln!(out, "{text}"),
        };
        if self.is_terminal && done == total {
            let _ = writeln!(out);
        }
    }
}

/// A record in short.
fn summary(line: &Line) -> String {
    match line {
        Line::Run(run) => {
            let scores = match &run.result.scores {
                Some(s) => {
                    let rmse = s.rmse().map_or(String::new(), |rmse| format!("RMSE {}, ", number(rmse)));
                    format!("{rmse}log density {}", number(s.mean_log_density))
                }
                None => "no finite scores".to_owned(),
            };
            let key = &run.key;
            format!("{} {} split {}: {scores}, {}", key.task, key.variant, key.split, duration(run.seconds))
        }
        Line::Search(search) => {
            let (key, rate) = (&search.key, number(search.learning_rate));
            format!("{} {}: learning rate {rate} after {} trials", key.task, key.variant, search.trials.len())
        }
        Line::Choice(choice) => format!("{}: {} was chosen", choice.key.task, choice.key.variant),
        Line::FarBelow(far) => {
            let (key, by) = (&far.key, number(far.deviations));
            format!(
                "{} {} split {}: {by} median absolute deviations below the median",
                key.task, key.variant, key.split
            )
        }
    }
}
