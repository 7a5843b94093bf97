//! What a fit gave, in words and as JSON.

use crate::wording::{column_name, count, duration, expectation_sentence, mixed_network, number, plural, score_table};
use deepgp::Event;
use deepgp_fit::names::TaskName;
use deepgp_fit::{Ending, FitResult, Remark};
use deepgp_task::{CrossValidation, Record, SavedModel, Scores, Task, Tried};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// For people.
pub fn text(result: &FitResult, out: &Path) -> String {
    let SavedModel { preprocessing, record, .. } = &result.saved;
    let mut text = format!(
        "{} for {}: {}, {} in {}\n",
        mixed_network(&result.saved),
        preprocessing.schema.targets().join(", "),
        plural(record.rows, "training row"),
        plural(record.steps, "step"),
        duration(record.seconds)
    );
    if !record.tried.is_empty() {
        text += &summary(preprocessing.task, record, result.saved.members.len());
    }
    if let Some(scores) = result.told_scores() {
        let step = record.best_step.map_or(String::new(), |step| format!(", best at step {}", count(step)));
        let rows = plural(scores.rows, "row");
        let title = match (&record.held_out, &record.cross_validated) {
            (None, Some(validated)) => cross_validated(validated),
            _ => format!("{rows} held out{step}"),
        };
        let mut columns = vec![(column_name(&result.saved), scores)];
        columns.extend(result.baselines.iter().rev().map(|(name, scores)| (*name, scores)));
        text += &score_table(preprocessing.task, &title, &columns);
        if let (None, Some(error)) = (&record.held_out, record.cross_validated.as_ref().and_then(|v| v.standard_error))
        {
            let name = format!("standard error of the mean {}", preprocessing.task.log_score_name());
            text += &format!("  {name:<44} {:>10}\n", number(error));
        }
    }
    text + &format!("saved as {}\n", out.display())
}

/// "506 rows, each predicted without it (4 folds)".
pub fn cross_validated(validated: &CrossValidation) -> String {
    let rows = plural(validated.scores.rows, "row");
    match validated.folds {
        1 => format!("{rows}, predicted before they were learnt from"),
        folds => format!("{rows}, each predicted without it ({folds} folds)"),
    }
}

/// What the summary says of a search.
pub fn summary(task: Task, record: &Record, n_members: usize) -> String {
    let best = |tried: &&Tried| tried.weight > 0.0;
    let mut members: Vec<&Tried> = record.tried.iter().filter(best).collect();
    members.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut text = format!("chosen among {}", plural(record.tried.len(), "trial"));
    text += if n_members > 1 { ", mixed:\n" } else { ":\n" };
    for tried in members {
        let mean = tried
            .mean_log_density
            .map_or(String::new(), |mean| format!(", {} {}", task.log_score_name(), number(mean)));
        text += &format!("  {:>5.1} %  {}{mean}\n", 100.0 * tried.weight, tried.name);
    }
    let plain = record.tried.iter().filter(|t| t.name.contains("exact GP") || t.name.contains("sparse GP"));
    // Log densities of other rows cannot be compared.
    let folds = record.tried.iter().find(best).map_or(0, |tried| tried.folds);
    let left_out = plain.filter(|t| t.weight == 0.0 && t.folds == folds).filter_map(|t| Some((t, t.mean_log_density?)));
    if let Some((tried, mean)) = left_out.max_by(|a, b| a.1.total_cmp(&b.1)) {
        text += &format!("  beside the best plain GP left out, {}: {}\n", tried.name, number(mean));
    }
    text
}

/// What should be known of a model, in words, the most important first.
pub fn remarks(result: &FitResult) -> Vec<String> {
    result.remarks().into_iter().map(|found| remark(found, result)).collect()
}

/// A remark in words.
fn remark(remark: Remark, result: &FitResult) -> String {
    let task = result.saved.preprocessing.task;
    match remark {
        Remark::Diverged { step } => {
            format!("training diverged after step {}; the last good network was kept; try a smaller --lr", count(step))
        }
        Remark::ScoresNotFinite => {
            "scores of the held-out rows are not finite: the targets are too large or too small".to_owned()
        }
        Remark::MomentsOff(check) => format!(
            "moments propagated through the layers give rows not learnt from a mean {} of {}, samples {}: error bars of \
             this deep GP are rough",
            task.log_score_name(),
            number(check.moments),
            number(check.samples)
        ),
        Remark::Recalibrated { factor } => format!(
            "predicted standard deviations are multiplied by {}, which suits the held-out rows best: their scores are \
             slightly optimistic",
            number(factor)
        ),
        Remark::NotRecalibrated => {
            "nothing was recalibrated: too few rows to hold any out, or targets that take separate values".to_owned()
        }
        Remark::NumericalEvents { count } => {
            format!("{} in training: {}", plural(count, "event"), kinds(&result.saved.record.events))
        }
        Remark::HeldOutUnexpected { expected, rows, mean_log_density } => {
            format!("of the rows held out: {}", expectation_sentence(task, expected, rows, mean_log_density))
        }
        Remark::NoBetterThan { baseline } => {
            format!("the {baseline} model does as well on rows that neither has seen: train for longer, or use it")
        }
        // A remark of a later library.
        other => format!("{other:?}"),
    }
}

/// What a fit gave, for machines: what `deepgp fit --json` prints.
pub fn json(result: &FitResult, out: &Path) -> Value {
    let SavedModel { preprocessing, record, .. } = &result.saved;
    let baselines: BTreeMap<&str, &Scores> = result.baselines.iter().map(|(name, s)| (*name, s)).collect();
    let notices: Vec<String> = result.notices.iter().map(ToString::to_string).collect();
    let termination = match result.ending {
        Ending::Completed => "iterations",
        Ending::Diverged => "diverged",
        Ending::OutOfTime => "time",
        Ending::Interrupted => "interrupted",
    };
    json!({
        "model": out,
        "checkpoint": result.checkpoint,
        "version": record.deepgp,
        "network": mixed_network(&result.saved),
        "tried": record.tried,
        "features": preprocessing.schema.feature_names(),
        "targets": preprocessing.schema.targets(),
        "task": TaskName::from(preprocessing.task),
        "levels": preprocessing.schema.target_levels(0),
        "rows": record.rows,
        "held_out_rows": result.n_held_out,
        "steps": record.steps,
        "best_step": record.best_step,
        "seconds": record.seconds,
        "seconds_per_step": record.seconds / record.steps.max(1) as f64,
        "energy": record.energy,
        "termination": termination,
        "events": events(&record.events),
        "n_events": record.n_events,
        "held_out": record.held_out,
        "cross_validated": record.cross_validated,
        "moment_check": record.moment_check,
        "std_factor": result.saved.std_factor,
        "baselines": baselines,
        "notices": notices,
        "settings": result.settings,
    })
}

/// Each event with its step.
fn events(events: &[(usize, Event)]) -> Vec<Value> {
    let one = |(step, event): &(usize, Event)| {
        let mut value = json!(event);
        value["step"] = json!(step);
        value
    };
    events.iter().map(one).collect()
}

/// "jitter raised 2, variances floored 1".
pub fn kinds(events: &[(usize, Event)]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, event) in events {
        let name = json!(event)["event"].as_str().unwrap_or("other").replace('_', " ");
        *counts.entry(name).or_default() += 1;
    }
    counts.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ")
}
