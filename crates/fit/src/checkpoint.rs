//! Interrupted fits as they are stored: loading them, and when and where they are written.

use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::search_checkpoint::SearchCheckpoint;
use crate::settings::FitSettings;
use deepgp_data::Schema;
use deepgp_io::{FileError, FormatError, Kind};
use deepgp_task::{Checkpoint, Task};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The training of a given network, as it is stored.
pub(crate) type TrainingCheckpoint = Checkpoint<FitSettings>;

/// What was interrupted.
#[derive(Debug)]
pub(crate) enum Stored {
    /// The training of a given network.
    Training(Box<TrainingCheckpoint>),
    /// A search for one.
    Search(Box<SearchCheckpoint>),
}

/// A fit that was interrupted, as its checkpoint has it.
#[derive(Debug)]
pub struct Interrupted {
    path: PathBuf,
    pub(crate) stored: Stored,
}

impl Interrupted {
    /// Reads a checkpoint.
    ///
    /// # Errors
    /// [`FileError`].
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let stored = match Checkpoint::load(path) {
            Err(FileError::Format { source: FormatError::WrongKind { found: Kind::Search, .. }, .. }) => {
                Stored::Search(Box::new(SearchCheckpoint::load(path)?))
            }
            training => Stored::Training(Box::new(training?)),
        };
        Ok(Self { path: path.to_owned(), stored })
    }

    /// Takes the table, the model file, threads and the time between checkpoints from these settings, as far as they
    /// say them. All else stays, or it would be another fit.
    pub fn change(&mut self, given: &FitSettings) {
        let settings = match &mut self.stored {
            Stored::Training(training) => &mut training.settings,
            Stored::Search(search) => &mut search.settings,
        };
        settings.data = given.data.clone().or(settings.data.take());
        settings.out = given.out.clone().or(settings.out.take());
        settings.checkpoint = given.checkpoint.or(settings.checkpoint);
        settings.model.threads = given.model.threads.or(settings.model.threads);
    }

    /// The plan of what is left to do.
    ///
    /// # Errors
    /// [`Error::StoredSettings`], and [`Error::StoredSearchOfNetwork`].
    pub fn plan(&self) -> Result<Plan> {
        let settings = match &self.stored {
            Stored::Training(training) => &training.settings,
            Stored::Search(search) => &search.settings,
        };
        let plan = Plan::new(settings).map_err(|source| Error::StoredSettings { path: self.path.clone(), source })?;
        match (&self.stored, plan.search()) {
            (Stored::Search(_), None) => Err(Error::StoredSearchOfNetwork),
            _ => Ok(plan),
        }
    }

    /// What the target is predicted as.
    pub fn task(&self) -> Task {
        match &self.stored {
            Stored::Training(training) => training.preprocessing.task,
            Stored::Search(search) => search.preprocessing.task,
        }
    }

    /// Columns, and the number of training rows.
    pub(crate) fn table(&self) -> (&Schema, usize) {
        match &self.stored {
            Stored::Training(training) => (&training.preprocessing.schema, training.record.rows),
            Stored::Search(search) => (&search.preprocessing.schema, search.rows),
        }
    }
}

/// The file that a fit is stored in now and then.
pub(crate) struct CheckpointFile {
    pub path: PathBuf,
    /// The settings of the fit.
    settings: FitSettings,
    /// Seconds between two checkpoints.
    interval: f64,
    written: Instant,
}

impl CheckpointFile {
    /// The checkpoint file of a plan, unless it has none.
    pub fn of(plan: &Plan) -> Option<Self> {
        let (settings, interval) = (plan.settings(), plan.checkpoint_interval());
        Some(Self { path: plan.checkpoint_path()?, settings, interval, written: Instant::now() })
    }

    /// Whether the last one is old enough.
    pub fn is_due(&self) -> bool {
        self.written.elapsed().as_secs_f64() >= self.interval
    }

    /// Has `save` write the file. Even if that fails, the next one is due an interval later.
    pub fn write(&mut self, save: impl FnOnce(&Path, &FitSettings) -> Result<(), FileError>) -> Result<(), FileError> {
        self.written = Instant::now();
        save(&self.path, &self.settings)
    }
}
