//! Prints events of a fit on standard error, as notes and progress.

use super::progress::Display;
use crate::out::{note, notices};
use crate::wording::{count, number, plural};
use deepgp_fit::{Done, Event};
use deepgp_task::{FileError, Task, Tried};
use std::io::Write;

/// Prints events as they come.
#[derive(Debug)]
pub struct EventPrinter {
    quiet: bool,
    display: Display,
    /// What the target is predicted as.
    task: Task,
    /// Whether the last checkpoint failed.
    has_failed: bool,
}

impl EventPrinter {
    /// On standard error; nothing if quiet. The task is the one of an interrupted fit; of a new one events tell it.
    pub fn new(quiet: bool, task: Task) -> Self {
        Self { quiet, display: Display::new(quiet), task, has_failed: false }
    }

    /// Prints an event, if it is worth a word.
    pub fn print(&mut self, event: &Event<'_>) {
        let quiet = self.quiet;
        if let Event::TaskChosen { choice } = event {
            self.task = choice.task;
        }
        match event {
            Event::TargetChosen { column } => {
                note(quiet, &format!("no --target given: predicting the last column, {column:?}"));
            }
            Event::TaskChosen { choice } if choice.task != Task::Regression || choice.is_asked_for => {
                note(quiet, &choice.to_string());
            }
            Event::SchemaLearnt { notices: found } | Event::RowsRead { notices: found } => notices(quiet, found),
            Event::CheckpointReplaced { path } => {
                note(quiet, &format!("the checkpoint {} of an interrupted run is replaced", path.display()));
            }
            Event::Resumed(Done::Steps(step)) => note(quiet, &format!("going on after step {}", count(*step))),
            Event::Resumed(Done::Trainings(n)) => note(quiet, &format!("going on after {}", plural(*n, "training"))),
            Event::Started { is_search, rows, held_out, features } => {
                let rows = plural(*rows, "row");
                let apart = match held_out {
                    0 if *is_search => "all of them learnt from, scores by cross-validation".to_owned(),
                    held_out => format!("{} held out", plural(*held_out, "row")),
                };
                let what = match is_search {
                    true => format!("searching on {rows}"),
                    false => format!("training on {rows} of {}", plural(*features, "feature")),
                };
                note(quiet, &format!("{what}, {apart}"));
            }
            Event::Step(progress) => self.display.show(progress, self.task),
            Event::Tried(tried) => self.print_tried(tried),
            Event::Checkpointed { .. } => self.has_failed = false,
            Event::CheckpointFailed { error } => self.print_failure(error),
            Event::Trained => self.display.clear(),
            _ => {}
        }
    }

    /// A note of a checkpoint that failed, unless the one before did so, too.
    fn print_failure(&mut self, error: &FileError) {
        if !std::mem::replace(&mut self.has_failed, true) {
            self.display.clear();
            note(self.quiet, &format!("no checkpoint: {}", with_causes(error)));
        }
    }

    /// A line for each model that was tried.
    fn print_tried(&self, tried: &Tried) {
        if self.quiet {
            return;
        }
        let name = self.task.log_score_name();
        let score = tried.mean_log_density.map_or("failed".to_owned(), |mean| format!("{name} {}", number(mean)));
        let folds = plural(tried.folds, "fold");
        // There is nobody to tell if that fails.
        let _ = writeln!(std::io::stderr(), "tried {}: {score} ({folds}, {} steps)", tried.name, tried.steps);
    }
}

/// An error and what caused it, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
