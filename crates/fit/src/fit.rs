//! A fit from its table to its model file.

use crate::checkpoint::{Interrupted, Stored, TrainingCheckpoint};
use crate::error::Result;
use crate::event::{Done, Event, OnEvent};
use crate::output;
use crate::plan::Plan;
use crate::result::{Ending, FitResult};
use crate::search::Memory;
use crate::search_checkpoint::SearchCheckpoint;
use crate::training_data::{Learnt, TrainingData, learn};
use crate::{search_run, training_run};
use deepgp_data::{Notice, Source};
use std::sync::atomic::AtomicBool;

/// A fit whose table has been read. Nothing is trained before [`Fit::run`].
#[derive(Debug)]
pub struct Fit {
    plan: Plan,
    data: TrainingData,
    /// What was decided about the columns.
    notices: Vec<Notice>,
    start: Start,
}

/// Where a fit begins.
#[derive(Debug)]
enum Start {
    Fresh,
    Training(Box<TrainingCheckpoint>),
    /// What was found out, and in how many seconds.
    Search(Memory, f64),
}

impl Fit {
    /// Learns which columns are what, reads the table and holds rows out. The rows are read twice, so that a stream has
    /// to be spooled.
    ///
    /// # Errors
    /// What is wrong with the table, the columns asked for or the place of the model file.
    pub fn new(plan: Plan, source: &Source, on_event: OnEvent<'_>) -> Result<Self> {
        let held_out = plan.valid_table().map(Source::new);
        Self::with_held_out(plan, source, held_out.as_ref(), on_event)
    }

    /// As [`Fit::new`], with a table of rows to hold out in the place of any that the plan names.
    ///
    /// # Errors
    /// As [`Fit::new`].
    pub fn with_held_out(
        plan: Plan,
        source: &Source,
        held_out: Option<&Source>,
        on_event: OnEvent<'_>,
    ) -> Result<Self> {
        output::check(&plan)?;
        let names_target = !plan.targets().is_empty();
        let Learnt { plan, schema, task, choice, notices, .. } = learn(plan, source)?;
        if let ([column, ..], false) = (plan.targets(), names_target) {
            on_event(Event::TargetChosen { column });
        }
        if let Some(choice) = &choice {
            on_event(Event::TaskChosen { choice });
        }
        on_event(Event::SchemaLearnt { notices: &notices });
        if let Some(path) = plan.checkpoint_path().filter(|path| path.exists()) {
            on_event(Event::CheckpointReplaced { path: &path });
        }
        let data = TrainingData::read(&plan, source, held_out, schema, task)?;
        on_event(Event::RowsRead { notices: &data.notices });
        Ok(Self { plan, data, notices, start: Start::Fresh })
    }

    /// Goes on with an interrupted fit. The table is read again: checkpoints hold none of it.
    ///
    /// # Errors
    /// As [`Fit::new`], and as [`Interrupted::plan`].
    pub fn resume(interrupted: Interrupted, source: &Source, on_event: OnEvent<'_>) -> Result<Self> {
        let plan = interrupted.plan()?;
        output::check(&plan)?;
        let (done, preprocessing, start) = match interrupted.stored {
            Stored::Training(training) => {
                let done = Done::Steps(training.snapshot.step());
                (done, training.preprocessing.clone(), Start::Training(training))
            }
            Stored::Search(search) => {
                let SearchCheckpoint { preprocessing, seconds, memory, .. } = *search;
                (Done::Trainings(memory.len()), preprocessing, Start::Search(memory, seconds))
            }
        };
        on_event(Event::Resumed(done));
        let data = TrainingData::read_again(&plan, source, preprocessing)?;
        Ok(Self { plan, data, notices: Vec::new(), start })
    }

    /// Trains or searches, scores the model by the held-out rows and saves it, unless the plan is one in memory. Once
    /// `stop` is set that ends soon, with the best model so far; the checkpoint stays, and [`Fit::resume`] comes to the
    /// same bits as if nothing had happened. Otherwise the checkpoint is removed when the model is saved.
    ///
    /// # Errors
    /// What the data or the settings are refused for by the engine; [`crate::Error::OtherTable`] if an interrupted fit
    /// began with other rows; what the system says of the model file, or of a checkpoint at the start. A checkpoint
    /// that fails later is an [`Event::CheckpointFailed`].
    pub fn run(self, stop: &AtomicBool, on_event: OnEvent<'_>) -> Result<FitResult> {
        let Self { plan, data, notices, start } = self;
        let trained = match (start, plan.search()) {
            (Start::Training(stored), _) => training_run::resume(&plan, &data, *stored, stop, on_event)?,
            (Start::Search(memory, seconds), Some(search)) => {
                search_run::go_on(&plan, search, &data, (memory, seconds), stop, on_event)?
            }
            (_, Some(search)) => search_run::start(&plan, search, &data, stop, on_event)?,
            (_, None) => training_run::train(&plan, &data, stop, on_event)?,
        };
        let result = FitResult::new(&plan, &data, notices, trained)?;
        if plan.has_files() {
            result.saved.save(plan.out())?;
            on_event(Event::Saved { path: plan.out() });
        }
        if let Some(path) = plan.checkpoint_path().filter(|_| result.ending != Ending::Interrupted) {
            // Gone already if there was none.
            let _ = std::fs::remove_file(path);
        }
        Ok(result)
    }
}
