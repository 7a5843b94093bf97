//! `deepgp bench auto`: the automatic mode on splits of data sets, beside exact GPs.

use super::options::Auto;
use super::study::{run, tasks_or};
use crate::exit_codes::usage_of;
use anyhow::Result;
use deepgp_experiments::Task;
use deepgp_experiments::automatic::AutoStudy;
use deepgp_fit::positive;

/// The data sets that the automatic mode is measured on, unless others are asked for.
const TASKS: [&str; 8] = ["boston", "concrete", "energy1", "kin8nm", "naval1", "power", "wine_red", "protein"];

/// Runs the study; returns the exit code.
pub fn auto(args: &Auto) -> Result<u8> {
    let default = TASKS.iter().map(|name| name.parse()).collect::<deepgp_experiments::Result<Vec<Task>>>()?;
    positive("effort", args.effort).map_err(usage_of)?;
    let study = AutoStudy {
        name: args.name.clone(),
        tasks: tasks_or(&args.study.tasks, default)?,
        splits: args.study.splits.as_ref().map(|list| list.0.clone()),
        effort: args.effort,
        seed: args.seed,
        shard: args.study.shard,
    };
    run(&[study], &args.study)
}
