//! `deepgp bench check`: repeats recorded runs and compares every bit of their results.

use super::options::Check;
use crate::exit_codes::usage;
use crate::out::{note, print};
use anyhow::{Result, bail};
use deepgp_datasets::Store;
use deepgp_experiments::automatic::repeat;
use deepgp_experiments::laws::parts_of;
use deepgp_experiments::record::{Line, Run, RunResult};
use deepgp_experiments::{Environment, Parts, Task, read_records, run};
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
    let here = Environment::here();
    let wanted = args.runs.min(runs.len());
    let mut different = 0;
    for i in 0..wanted {
        // Evenly over the file, its last run included.
        let recorded = &runs[(i + 1) * runs.len() / wanted - 1];
        let key = &recorded.key;
        let parts = match parts_of(key, &store)? {
            Some(parts) => parts,
            None => key.task.parse::<Task>()?.load(&store)?.parts(key.split)?,
        };
        let Some(result) = repeated(recorded, &parts, &here)? else { continue };
        let same = serde_json::to_string(&result)? == serde_json::to_string(&recorded.result)?;
        let verdict = if same { "the same to the last bit".to_owned() } else { difference(&recorded.result, &result) };
        print(&format!("{} {} split {}: {verdict}\n", key.task, key.variant, key.split))?;
        if !same {
            explain(&recorded.environment, &here);
        }
        different += usize::from(!same);
    }
    if different > 0 {
        bail!("{different} of {wanted} runs came out different");
    }
    Ok(())
}

/// How two results that are not the same differ in their scores.
fn difference(then: &RunResult, now: &RunResult) -> String {
    match (&then.scores, &now.scores) {
        (Some(then), Some(now)) => format!(
            "DIFFERENT: RMSE {} then and {} now, log density {} then and {} now",
            then.rmse().unwrap_or(f64::NAN),
            now.rmse().unwrap_or(f64::NAN),
            then.mean_log_density,
            now.mean_log_density
        ),
        (then, now) => {
            let finite = |scores: bool| if scores { "finite" } else { "not finite" };
            format!("DIFFERENT: scores were {} and are {}", finite(then.is_some()), finite(now.is_some()))
        }
    }
}

/// What may have made the difference.
fn explain(then: &Environment, here: &Environment) {
    if then.instruction_set != here.instruction_set {
        let (then, here) = (&then.instruction_set, &here.instruction_set);
        note(false, &format!("it was recorded with {then} instructions, and these are {here}"));
    }
    if let (Some(then), Some(here)) = (&then.commit, &here.commit)
        && then != here
    {
        note(
            false,
            &format!("it was recorded at commit {then}, and this is {here}: other orders of summation move last bits"),
        );
    }
}

/// The result of a run that is done again.
fn repeated(recorded: &Run, parts: &Parts, here: &Environment) -> Result<Option<RunResult>> {
    let never = AtomicBool::new(false);
    match &recorded.automatic {
        None => Ok(run(parts, &recorded.config, &never)?.map(|(result, _)| result)),
        Some(old) => Ok(repeat(&recorded.key, parts, old.effort, old.seed, here, &never)?.map(|run| run.result)),
    }
}
