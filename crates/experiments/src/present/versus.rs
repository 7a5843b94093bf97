//! Two columns task by task.

use super::columns::{AnyColumn, Spread, published, sources};
use super::numbers::{p_value, to_spread, with_spread};
use super::{Cell, Table};
use crate::metric::Metric;
use crate::published::Published;
use crate::results::{Column, Tally};
use crate::stats::{Paired, Verdict};

/// Two columns task by task: means, paired differences, tests.
pub fn versus_table(a: &Column<'_>, b: &Column<'_>, tasks: &[String], metric: Metric, spread: Spread) -> Table {
    let mean = |column: &Column<'_>, task: &str| {
        let Some(summary) = column.runs(task).and_then(|runs| runs.summary(metric)) else { return "–".to_owned() };
        with_spread(summary.mean, spread.of(&summary))
    };
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for task in tasks {
        let Some(paired) = a.compare(b, task, metric) else { continue };
        let Paired { n, difference, se, p_corrected, p_wilcoxon } = paired;
        let verdict = match a.verdict(b, task, metric) {
            Some(Verdict::Win) => "win",
            Some(Verdict::Tie) => "tie",
            Some(Verdict::Loss) => "loss",
            None => "",
        };
        let cells = [
            task.clone(),
            n.to_string(),
            mean(a, task),
            mean(b, task),
            with_spread(difference, se),
            p_corrected.map_or_else(|| "–".into(), p_value),
            p_value(p_wilcoxon),
            verdict.into(),
        ];
        rows.push(cells.into_iter().map(|text| Cell { text, best: false }).collect());
    }
    let name =
        |column: &Column<'_>, other: &Column<'_>| AnyColumn::Ours(*column).title(column.study.name != other.study.name);
    let (first, second) = (name(a, b), name(b, a));
    let mut notes = vec![format!(
        "Means ± {}; differences are {first} minus {second} over common splits ± the standard error of the paired difference. p, \
         corrected: two-sided resampled t-test with the correction of Nadeau and Bengio (2003) for overlapping training parts. p, \
         signed rank: exact two-sided Wilcoxon test, which takes splits as independent; differences of 0 are left out, equal ones \
         share ranks.",
        spread.name()
    )];
    if metric.larger_is_better().is_some() {
        notes.push(tally_sentence(&first, &second, &a.tally(b, tasks, metric)));
    }
    let mut head: Vec<String> = ["task", "splits"].map(str::to_owned).to_vec();
    head.extend([first.clone(), second.clone()]);
    head.extend(["difference", "p, corrected", "p, signed rank", ""].map(str::to_owned));
    let title = format!("{first} against {second}: {}", metric.title());
    Table { title, head, rows, summary_rows: 0, notes }
}

fn tally_sentence(first: &str, second: &str, tally: &Tally) -> String {
    format!(
        "Over {} tasks {first} wins {}, ties {} and loses {} against {second}, where a tie is a mean difference of at most one \
         standard error; by the mean alone it is better on {} and worse on {}; the corrected test finds {} of the wins and {} of \
         the losses significant at 5 %.",
        tally.tasks,
        tally.wins,
        tally.ties,
        tally.losses,
        tally.better,
        tally.worse,
        tally.significant_wins,
        tally.significant_losses
    )
}

/// A column of ours beside one that others have published; of theirs only the mean is known.
pub fn versus_published(
    a: &Column<'_>,
    group: &Published,
    variant: &str,
    tasks: &[String],
    metric: Metric,
    spread: Spread,
) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for task in tasks {
        let Some(summary) = a.runs(task).and_then(|runs| runs.summary(metric)) else { continue };
        let Some(figure) = group.entry(task, variant).and_then(|entry| entry.figure(metric)) else { continue };
        let cells = [
            task.clone(),
            summary.n.to_string(),
            with_spread(summary.mean, spread.of(&summary)),
            published(group, task, variant, metric),
            to_spread(summary.mean - figure.value, summary.se),
        ];
        rows.push(cells.into_iter().map(|text| Cell { text, best: false }).collect());
    }
    let theirs = AnyColumn::Published(group, variant);
    let mut notes = vec![format!("Mean ± {} over splits.", spread.name())];
    notes.extend(sources(&[theirs]));
    let second = theirs.title(true);
    let title = format!("{} against {second}: {}", a.variant, metric.title());
    let head = ["task", "splits", a.variant, &second, "difference"].map(str::to_owned).to_vec();
    Table { title, head, rows, summary_rows: 0, notes }
}

/// Tasks on which our mean is better and worse than the published one.
pub(super) fn count_published(
    a: &Column<'_>,
    (group, variant): (&Published, &str),
    tasks: &[String],
    metric: Metric,
) -> Tally {
    let mut tally = Tally::default();
    for task in tasks {
        let mean = a.runs(task).and_then(|runs| runs.summary(metric)).map(|summary| summary.mean);
        let theirs = group.entry(task, variant).and_then(|entry| entry.figure(metric)).map(|figure| figure.value);
        let (Some(mean), Some(theirs), Some(larger)) = (mean, theirs, metric.larger_is_better()) else { continue };
        tally.tasks += 1;
        tally.better += usize::from(if larger { mean > theirs } else { mean < theirs });
        tally.worse += usize::from(if larger { mean < theirs } else { mean > theirs });
    }
    tally
}
