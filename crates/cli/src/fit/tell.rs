//! Events of a fit, as notes and progress on standard error.

use super::progress::Display;
use crate::out::{note, notices};
use crate::words::{count, number, plural};
use deepgp_fit::{Done, Event};
use deepgp_task::Tried;
use std::io::Write;

/// Tells of events as they come.
#[derive(Debug)]
pub struct Teller {
    quiet: bool,
    display: Display,
    /// Whether the last checkpoint failed.
    has_failed: bool,
}

impl Teller {
    /// On standard error; of nothing if quiet.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, display: Display::new(quiet), has_failed: false }
    }

    /// Tells of an event, if it is worth a word.
    pub fn tell(&mut self, event: &Event<'_>) {
        let quiet = self.quiet;
        match event {
            Event::TargetChosen { column } => {
                note(quiet, &format!("no --target given: predicting the last column, {column:?}"));
            }
            Event::SchemaLearnt { notices: found } | Event::RowsRead { notices: found } => notices(quiet, found),
            Event::CheckpointReplaced { path } => {
                note(quiet, &format!("the checkpoint {} of an interrupted run is replaced", path.display()));
            }
            Event::Resumed(Done::Steps(step)) => note(quiet, &format!("going on after step {}", count(*step))),
            Event::Resumed(Done::Trainings(n)) => note(quiet, &format!("going on after {}", plural(*n, "training"))),
            Event::Started { is_search, rows, held_out, features } => {
                let (rows, held_out) = (plural(*rows, "row"), plural(*held_out, "row"));
                note(
                    quiet,
                    &match is_search {
                        true => format!("searching on {rows}, {held_out} held out"),
                        false => {
                            format!("training on {rows} of {}, {held_out} held out", plural(*features, "feature"))
                        }
                    },
                );
            }
            Event::Step(progress) => self.display.show(progress),
            Event::Tried(tried) => self.tell_tried(tried),
            Event::Checkpointed { .. } => self.has_failed = false,
            Event::CheckpointFailed { error } => {
                if !std::mem::replace(&mut self.has_failed, true) {
                    self.display.clear();
                    note(quiet, &format!("no checkpoint: {}", with_causes(*error)));
                }
            }
            Event::Trained => self.display.clear(),
            _ => {}
        }
    }

    /// A line for each model that was tried.
    fn tell_tried(&self, tried: &Tried) {
        if self.quiet {
            return;
        }
        let score = tried.mean_log_density.map_or("failed".to_owned(), |mean| format!("log density {}", number(mean)));
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
