//! `deepgp bench laws`: likelihoods beside plain ones, on data of which it is known what is right.

use super::options::Laws;
use super::study::{run, tasks_or};
use crate::exit_codes::{SUCCESS, usage};
use crate::out::{note, print};
use anyhow::Result;
use deepgp_datasets::{Set, Store};
use deepgp_experiments::laws::{Comparison, LawsStudy};
use deepgp_experiments::present::{Block, Cell, Table, text, with_spread};
use deepgp_experiments::{Results, Task};

/// Splits and repetitions unless others are asked for.
const SPLITS: usize = 10;

/// Runs the study and prints its table; returns the exit code.
pub fn laws(args: &Laws) -> Result<u8> {
    if args.iters == 0 {
        return Err(usage!("--iters must be at least 1"));
    }
    let options = &args.study;
    let study = LawsStudy {
        name: args.name.clone(),
        tasks: match options.tasks.is_empty() {
            true => imported(&Store::locate(options.data_dir.as_deref())?, options.quiet)?,
            false => tasks_or(&options.tasks, Vec::new())?,
        },
        variants: LawsStudy::networks(args.iters),
        splits: options.splits.as_ref().map_or_else(|| (0..SPLITS).collect(), |list| list.0.clone()),
        shard: options.shard,
    };
    let code = run(std::slice::from_ref(&study), options)?;
    if code == SUCCESS {
        let results = Results::read(&[&options.out])?;
        print(&text(&[Block::Table(table(&study.comparisons(results.study(&study.name)?)))], &|_| String::new()))?;
    }
    Ok(code)
}

/// The data sets of the study that are there; the others are named.
fn imported(store: &Store, quiet: bool) -> Result<Vec<Task>> {
    let mut tasks = Vec::new();
    for name in LawsStudy::sets() {
        match store.has(Set::find(name)?) {
            true => tasks.push(name.parse::<Task>()?),
            false => note(quiet, &format!("{name} is left out: `deepgp data fetch {name}` gets it")),
        }
    }
    Ok(tasks)
}

/// The comparisons as a table.
fn table(comparisons: &[Comparison]) -> Table {
    let row = |c: &Comparison| {
        let difference = |paired: &deepgp_experiments::stats::Paired| with_spread(paired.difference, paired.se);
        let cells = [
            c.task.clone(),
            c.network.clone(),
            format!("{} − {}", c.first, c.other),
            c.log_density.n.to_string(),
            difference(&c.log_density),
            difference(&c.rmse),
        ];
        cells.into_iter().map(Cell::from).collect()
    };
    Table {
        title: "Likelihoods beside plain ones".into(),
        head: ["data, question", "network", "difference", "splits", "log density", "RMSE"].map(str::to_owned).to_vec(),
        rows: comparisons.iter().map(row).collect(),
        summary_rows: 0,
        notes: vec![
            "Mean difference over splits ± its standard error, of clean test rows; larger is better for log density \
             (nats a row), smaller for RMSE (the target's unit)."
                .into(),
        ],
    }
}
