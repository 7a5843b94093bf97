//! `deepgp bench check`: repeats recorded runs and compares every bit of their results.

use super::options::Check;
use crate::fault::usage;
use crate::out::{note, print};
use anyhow::{Result, bail};
use deepgp_datasets::Store;
use deepgp_experiments::automatic::repeat;
use deepgp_experiments::record::{Line, Run, RunResult};
use deepgp_experiments::{Circumstances, Parts, Task, read_records, run};
use std::sync::atomic::AtomicBool;

/// Repeats some runs; an error if any differs.
pub fn check(args: &Check) -> Result<()> {
    let of_task = |run: &Run| args.task.as_ref().is_none_or(|task| task.name == run.key.task);
    let runs: Vec<Run> = read_records(&args.records)?
        .into_iter()
        .filter_map(|line| if let Line::Run(run) = line { Some(run) } else { None })
        .filter(of_task)
        .collect();
    if runs.is_empty() || args.runs == 0 {
        return Err(usage!("there is no run to repeat in {}", args.records.display()));
    }
    let store = Store::locate(args.data_dir.as_deref())?;
    let here = Circumstances::here();
    let wanted = args.runs.min(runs.len());
    let mut different = 0;
    for i in 0..wanted {
        // Evenly over the file, its last run included.
        let recorded = &runs[(i + 1) * runs.len() / wanted - 1];
        let key = &recorded.key;
        let task: Task = key.task.parse()?;
        let parts = task.load(&store)?.parts(key.split)?;
        let Some(result) = repeated(recorded, &parts, &here)? else { continue };
        let same = serde_json::to_string(&result)? == serde_json::to_string(&recorded.result)?;
        let verdict = if same { "the same to the last bit" } else { "DIFFERENT" };
        print(&format!("{} {} split {}: {verdict}\n", key.task, key.variant, key.split))?;
        let then = &recorded.circumstances.instruction_set;
        if !same && *then != here.instruction_set {
            note(false, &format!("it was recorded with {then} instructions, and these are {}", here.instruction_set));
        }
        different += usize::from(!same);
    }
    if different > 0 {
        bail!("{different} of {wanted} runs came out different");
    }
    Ok(())
}

/// The result of a run that is done again.
fn repeated(recorded: &Run, parts: &Parts, here: &Circumstances) -> Result<Option<RunResult>> {
    let never = AtomicBool::new(false);
    match &recorded.automatic {
        None => Ok(run(parts, &recorded.config, &never)?.map(|(result, _)| result)),
        Some(old) => Ok(repeat(&recorded.key, parts, old.effort, old.seed, here, &never)?.map(|run| run.result)),
    }
}
