//! `deepgp bench table`: tasks × networks × splits, the paper's by default.

use super::options::Table;
use super::study::{run, tasks_or};
use anyhow::Result;
use deepgp_experiments::{Study, Task};

/// Runs the table; returns the exit code.
pub fn table(args: &Table) -> Result<u8> {
    let study = Study {
        name: args.name.clone(),
        tasks: tasks_or(&args.study.tasks, Task::paper())?,
        variants: args.variants()?,
        splits: args.study.splits.as_ref().map(|list| list.0.clone()),
        search: args.search()?,
        choose: args.choose,
        shard: args.study.shard,
    };
    run(&[study], &args.study)
}
