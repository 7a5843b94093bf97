//! What a fit would do, before anything is trained.

use crate::checkpoint::Interrupted;
use crate::error::Result;
use crate::plan::Plan;
use crate::settings::FitSettings;
use crate::target::TargetChoice;
use crate::training_data::learn;
use deepgp_data::{Notice, Schema, Source};
use deepgp_task::Task;

/// What a fit would do.
#[derive(Debug, Clone)]
pub struct Preview {
    /// Which columns would be what.
    pub schema: Schema,
    /// What the target would be predicted as.
    pub task: Task,
    /// What a single target holds and is taken for; not known again of an interrupted fit.
    pub choice: Option<TargetChoice>,
    /// Whether a search would choose the networks and their steps.
    pub is_search: bool,
    /// Rows to train on.
    pub n_train: usize,
    /// Rows held out; not known again of an interrupted fit, and 0.
    pub n_held_out: usize,
    /// Training steps of the network, unless a search or a limit of time decides.
    pub steps: Option<usize>,
    /// Rows of a step.
    pub batch_size: usize,
    /// All settings, defaults included.
    pub settings: FitSettings,
    /// What was decided about the columns.
    pub notices: Vec<Notice>,
}

impl Preview {
    /// A preview of a fit from the start. It takes one pass over the table.
    ///
    /// # Errors
    /// What is wrong with the table or the columns asked for.
    pub fn of_plan(plan: Plan, source: &Source) -> Result<Self> {
        let learnt = learn(plan, source)?;
        let n_held_out = learnt.plan.n_held_out(learnt.n_rows);
        let n_train = learnt.n_rows - n_held_out;
        let (task, choice, notices) = (learnt.task, learnt.choice, learnt.notices);
        Ok(Self { choice, notices, ..Self::new(&learnt.plan, task, learnt.schema, n_train, n_held_out) })
    }

    /// A preview of resuming an interrupted fit. The table is not read.
    ///
    /// # Errors
    /// As [`Interrupted::plan`].
    pub fn of_interrupted(interrupted: &Interrupted) -> Result<Self> {
        let (schema, n_train) = interrupted.table();
        Ok(Self::new(&interrupted.plan()?, interrupted.task(), schema.clone(), n_train, 0))
    }

    fn new(plan: &Plan, task: Task, schema: Schema, n_train: usize, n_held_out: usize) -> Self {
        let train = plan.config(task, n_train).train;
        let is_search = plan.search().is_some();
        let steps = (plan.time_limit().is_none() && !is_search).then_some(train.iterations);
        let (batch_size, settings, notices) = (train.batch_size, plan.settings(), Vec::new());
        let choice = None;
        Self { schema, task, choice, is_search, n_train, n_held_out, steps, batch_size, settings, notices }
    }
}
