//! What happens in a fit, as values for whoever shows or records it.

use crate::target::TargetChoice;
use deepgp_data::Notice;
use deepgp_io::FileError;
use deepgp_task::Tried;
use std::path::Path;

/// Called on the thread that runs the fit, with each event as it happens.
pub type OnEvent<'a> = &'a mut dyn FnMut(Event<'_>);

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// No target was named: the last column that is left is predicted.
    TargetChosen {
        /// The column.
        column: &'a str,
    },
    /// What the target is taken for is known.
    TaskChosen {
        /// That.
        choice: &'a TargetChoice,
    },
    /// The columns are known.
    SchemaLearnt {
        /// What was decided about them.
        notices: &'a [Notice],
    },
    /// The checkpoint of another fit will be overwritten.
    CheckpointReplaced {
        /// The file.
        path: &'a Path,
    },
    /// An interrupted fit goes on.
    Resumed(Done),
    /// The rows are read, and some of them held out.
    RowsRead {
        /// What was found out about them.
        notices: &'a [Notice],
    },
    /// Training or a search begins.
    Started {
        /// Whether the network is searched for.
        is_search: bool,
        /// Training rows.
        rows: usize,
        /// Rows held out.
        held_out: usize,
        /// Inputs of the network, or that networks can have.
        features: usize,
    },
    /// A training step was done; there may be thousands a second.
    Step(Progress),
    /// A network is the best on the held-out rows so far.
    Improved {
        /// Steps done.
        step: usize,
        /// Its mean log density of the held-out rows that are scored in training.
        log_density: f64,
    },
    /// A search tried a model.
    Tried(&'a Tried),
    /// The fit can be resumed from here.
    Checkpointed {
        /// The file.
        path: &'a Path,
    },
    /// The checkpoint before stays, and the fit goes on.
    CheckpointFailed {
        /// Why.
        error: &'a FileError,
    },
    /// Training has ended; the model is about to be scored.
    Trained,
    /// The model is stored.
    Saved {
        /// The file.
        path: &'a Path,
    },
}

/// How far an interrupted fit had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Training steps.
    Steps(usize),
    /// Trainings of a search, each of one model on one fold.
    Trainings(usize),
}

/// How far training is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Steps done.
    pub step: usize,
    /// Steps planned, unless a limit of time decides.
    pub steps: Option<usize>,
    /// Share of the run that is done.
    pub share: f64,
    /// Seconds that are left, by what this session has done; nothing after its first step.
    pub seconds_left: Option<f64>,
    /// Running mean of the energy.
    pub energy: f64,
    /// RMSE, where the task has one, and mean log density of held-out rows, when they were last scored.
    pub held_out: Option<(Option<f64>, f64)>,
}
