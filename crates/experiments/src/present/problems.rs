//! What went wrong in a study, or was corrected on the way.

use super::numbers::short;
use super::{Block, MOST_COLUMNS, Table};
use crate::far_below::FAR;
use crate::record::{FarBelow, Run};
use crate::results::StudyResults;
use deepgp_report::plot::number;
use deepgp_task::Scores;
use std::collections::BTreeMap;

/// Most things of a list that are named one by one.
const MOST_ITEMS: usize = 40;

/// What went wrong or was corrected on the way: failed runs, runs that diverged, fits worse than a linear model, splits
/// far below the others, events.
pub fn problems(study: &StudyResults) -> Vec<Block> {
    let (mut failed, mut diverged, mut lost, mut far) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut runs, mut n_lost, mut n_far) = (0, 0, 0);
    let pairs = study.tasks.iter().flat_map(|task| study.variants.iter().map(move |variant| (task, variant)));
    for (task, variant, group) in pairs.filter_map(|(t, v)| Some((t, v, study.runs(t, v)?))) {
        runs += group.count();
        for run in group.iter() {
            let line = |end: &str| {
                format!("{task}, {variant}, split {}: {end} after {} steps", run.key.split, run.result.steps)
            };
            match (&run.result.scores, run.diverged()) {
                (None, true) => failed.push(line("diverged")),
                (None, false) => failed.push(line("ended")),
                (Some(_), true) => diverged.push(line("diverged")),
                (Some(_), false) => {}
            }
        }
        let below: Vec<String> = study.far_below(task, variant).iter().map(describe).collect();
        if !below.is_empty() {
            n_far += below.len();
            far.push(format!("{task}, {variant}, {} of {} splits: {}", below.len(), group.count(), below.join(", ")));
        }
        let ratio = |(run, linear): (&Run, f64)| {
            run.result.scores.as_ref().and_then(Scores::rmse).map_or(0.0, |rmse| rmse / linear)
        };
        let of_group: Vec<(&Run, f64)> = group.iter().filter_map(|run| Some((run, run.lost_to()?))).collect();
        let worst = of_group.iter().copied().max_by(|a, b| ratio(*a).total_cmp(&ratio(*b)));
        if let Some((run, linear)) = worst {
            n_lost += of_group.len();
            let splits: Vec<String> = of_group.iter().map(|(run, _)| run.key.split.to_string()).collect();
            lost.push(format!(
                "{task}, {variant}, {} of {} splits ({}): at worst, in split {}, {} times the linear model's {}",
                of_group.len(),
                group.count(),
                splits.join(", "),
                run.key.split,
                short(ratio((run, linear))),
                number(linear)
            ));
        }
    }
    let mut blocks = vec![
        listed(format!("Runs without finite scores: {} of {runs}", failed.len()), failed),
        listed(format!("Runs that diverged and were scored where they stood: {} of {runs}", diverged.len()), diverged),
        listed(format!("Lost fits, with an RMSE above a linear model's: {n_lost} of {runs}"), lost),
        listed(
            format!(
                "Splits with a log density more than {FAR} median absolute deviations below the median: {n_far} of {runs}"
            ),
            far,
        ),
    ];
    blocks.extend(events(study).map(Block::Table));
    blocks
}

/// A summary of one split that is far below the others: number, log density, how far, and what helps to tell why.
fn describe(far: &FarBelow) -> String {
    let mut text = format!("{} ({}, {} deviations", far.key.split, short(far.mean_log_density), short(far.deviations));
    if let Some(errors) = far.standard_errors {
        let side = if errors < 0.0 { "above" } else { "below" };
        text += &format!("; {} standard errors {side} what was expected", short(errors.abs()));
    }
    for (variant, deviations) in &far.others {
        text += &format!("; {variant} {} deviations", short(*deviations));
    }
    text + ")"
}

fn listed(title: String, mut items: Vec<String>) -> Block {
    let n = items.len();
    if n == 0 {
        return Block::Text(format!("{title}."));
    }
    if n > MOST_ITEMS {
        items.truncate(MOST_ITEMS);
        items.push(format!("and {} more", n - MOST_ITEMS));
    }
    Block::List { title, items }
}

/// Events of each kind and variant, over all runs.
fn events(study: &StudyResults) -> Option<Table> {
    let mut kinds: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for run in study.all_runs() {
        for (kind, count) in &run.result.events {
            *kinds.entry(kind).or_default().entry(&run.key.variant).or_default() += count;
        }
    }
    let rows = kinds.iter().map(|(kind, counts)| {
        let cell = |variant: &String| counts.get(variant.as_str()).copied().unwrap_or(0).to_string().into();
        std::iter::once(kind.replace('_', " ").into()).chain(study.variants.iter().map(cell)).collect()
    });
    let table = Table {
        title: "Events in training".into(),
        head: std::iter::once("event".to_owned()).chain(study.variants.iter().cloned()).collect(),
        rows: rows.collect(),
        summary_rows: 0,
        notes: vec!["Sums over all runs, of the first thousand events of each.".into()],
    };
    (!kinds.is_empty()).then_some(if study.variants.len() > MOST_COLUMNS { table.transposed() } else { table })
}
