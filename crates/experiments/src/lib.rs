//! Experiments: designs of tasks × variants × splits, resumable runs, learning-rate searches, and records of it all.
//!
//! A [`Study`] says what is compared on which [`Task`]s; [`Execute::execute`] runs what a [`Log`] does not have yet and
//! adds a [`record::Line`] for each run. The paper's protocol is [`Variant::paper`] on [`Task::paper`]. [`Results`]
//! puts records in order, [`stats`] compares them, and [`present`] shows them to people.

pub mod automatic;
mod environment;
mod error;
mod far_below;
pub mod laws;
mod log;
mod metric;
mod pool;
pub mod present;
mod published;
pub mod record;
mod results;
mod run;
pub mod search;
pub mod stats;
mod study;
pub mod surrogate;
mod task;
mod variant;

pub use environment::Environment;
pub use error::{Error, Result};
pub use log::{Log, read_records};
pub use metric::Metric;
pub use published::{Entry, Figure, Published};
pub use results::{Column, Results, Runs, StudyResults, Tally, average_ranks, ranks};
pub use run::run;
pub use study::{CHOSEN, Execute, Progress, Shard, Study};
pub use task::{Parts, Task, TaskData};
pub use variant::{Network, Variant, Width};
