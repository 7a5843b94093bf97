//! Tables of scores: tasks × columns.

use super::columns::{AnyColumn, Spread, published, sources};
use super::numbers::{fixed, with_spread};
use super::{Cell, MOST_COLUMNS, Table};
use crate::metric::Metric;
use crate::results::{Column, average_ranks, ranks};

/// What a table of scores shows.
#[derive(Debug, Clone)]
pub struct ScoreTable<'a> {
    /// The number that is shown.
    pub metric: Metric,
    /// The rows.
    pub tasks: Vec<String>,
    /// The columns.
    pub columns: Vec<AnyColumn<'a>>,
    /// The column that others are compared with.
    pub against: Option<Column<'a>>,
    /// What stands after the ±.
    pub spread: Spread,
}

/// Means of a metric: tasks × columns, with average ranks, and wins, ties and losses.
pub fn score_table(spec: &ScoreTable<'_>) -> Table {
    let ours: Vec<Column<'_>> = spec.columns.iter().filter_map(AnyColumn::ours).collect();
    let several = ours.windows(2).any(|w| w[0].study.name != w[1].study.name);
    let mut head = vec!["task".to_owned(), "splits".to_owned()];
    head.extend(spec.columns.iter().map(|column| column.title(several)));
    let mut rows = Vec::new();
    for task in &spec.tasks {
        let splits = ours.iter().filter_map(|column| Some(column.runs(task)?.count())).max().unwrap_or(0);
        let best = best(&ours, task, spec.metric);
        let mut row: Vec<Cell> = vec![task.as_str().into(), splits.to_string().into()];
        let mut place = 0;
        for column in &spec.columns {
            row.push(match column {
                AnyColumn::Ours(ours) => {
                    place += 1;
                    let text = score(ours, task, splits, spec);
                    Cell { text, best: best.contains(&(place - 1)) }
                }
                AnyColumn::Published(group, variant) => published(group, task, variant, spec.metric).into(),
            });
        }
        rows.push(row);
    }
    let before = rows.len();
    if spec.metric.larger_is_better().is_some() {
        rows.extend(rank_row(&ours, spec));
        rows.extend(tally_row(spec));
    }
    let title = match spec.metric.larger_is_better() {
        Some(true) => format!("{} (larger is better)", capital(spec.metric.title())),
        Some(false) => format!("{} (smaller is better)", capital(spec.metric.title())),
        None => capital(spec.metric.title()),
    };
    let summary_rows = rows.len() - before;
    let table = Table { title, head, rows, summary_rows, notes: score_notes(spec, &ours) };
    if spec.columns.len() > MOST_COLUMNS { table.transposed() } else { table }
}

/// Places of the columns that are best on a task. A column with failed runs is not, since its mean leaves them out.
fn best(ours: &[Column<'_>], task: &str, metric: Metric) -> Vec<usize> {
    let there: Vec<usize> = (0..ours.len())
        .filter(|&i| ours[i].runs(task).is_some_and(|runs| runs.failed() == 0 && runs.summary(metric).is_some()))
        .collect();
    let columns: Vec<Column<'_>> = there.iter().map(|&i| ours[i]).collect();
    let Some(ranks) = ranks(&columns, task, metric).filter(|ranks| ranks.len() > 1) else { return Vec::new() };
    let first = ranks.iter().copied().fold(f64::INFINITY, f64::min);
    there.into_iter().zip(ranks).filter(|(_, rank)| *rank == first).map(|(i, _)| i).collect()
}

fn score(column: &Column<'_>, task: &str, splits: usize, spec: &ScoreTable<'_>) -> String {
    let Some(runs) = column.runs(task) else { return "–".into() };
    let failed = if spec.metric == Metric::Seconds { 0 } else { runs.failed() };
    let mut text = match runs.summary(spec.metric) {
        Some(summary) => with_spread(summary.mean, spec.spread.of(&summary)),
        None => "–".into(),
    };
    text += mark(column, task, spec);
    if failed > 0 {
        text += &format!(" ({failed} of {} failed)", runs.count());
    } else if runs.count() < splits {
        text += &format!(" ({} of {splits} splits)", runs.count());
    }
    text
}

/// Whether a column differs significantly from the one it is compared with, and how.
fn mark(column: &Column<'_>, task: &str, spec: &ScoreTable<'_>) -> &'static str {
    let Some(paired) = spec.against.and_then(|against| column.compare(&against, task, spec.metric)) else { return "" };
    match spec.metric.larger_is_better() {
        Some(larger) if paired.is_significant() => {
            if (paired.difference > 0.0) == larger {
                " ▲"
            } else {
                " ▼"
            }
        }
        _ => "",
    }
}

fn rank_row(ours: &[Column<'_>], spec: &ScoreTable<'_>) -> Option<Vec<Cell>> {
    let (ranks, tasks) = average_ranks(ours, &spec.tasks, spec.metric);
    if ours.len() < 2 || tasks == 0 {
        return None;
    }
    let least = ranks.iter().copied().fold(f64::INFINITY, f64::min);
    let mut ranks = ranks.into_iter();
    let mut row: Vec<Cell> =
        vec!["average rank".into(), format!("{tasks} task{}", if tasks == 1 { "" } else { "s" }).into()];
    row.extend(spec.columns.iter().map(|column| match column.ours().and_then(|_| ranks.next()) {
        Some(rank) => Cell { text: fixed(rank, 2), best: rank == least },
        None => Cell::default(),
    }));
    Some(row)
}

fn tally_row(spec: &ScoreTable<'_>) -> Option<Vec<Cell>> {
    let against = spec.against?;
    let mut row: Vec<Cell> = vec!["wins / ties / losses".into(), Cell::default()];
    row.extend(spec.columns.iter().map(|column| match column.ours() {
        Some(column) if !is_same(&column, &against) => {
            let tally = column.tally(&against, &spec.tasks, spec.metric);
            format!("{} / {} / {} ({} by mean)", tally.wins, tally.ties, tally.losses, tally.better).into()
        }
        _ => Cell::default(),
    }));
    Some(row)
}

fn is_same(a: &Column<'_>, b: &Column<'_>) -> bool {
    (&a.study.name, a.variant) == (&b.study.name, b.variant)
}

fn score_notes(spec: &ScoreTable<'_>, ours: &[Column<'_>]) -> Vec<String> {
    let mut notes = vec![format!("Mean ± {} over splits.", spec.spread.name())];
    if spec.metric.larger_is_better().is_some() {
        if ours.len() > 1 {
            notes.push("Bold: the best mean of our columns.".into());
        }
        if let Some(against) = spec.against.filter(|_| ours.len() > 1) {
            notes.push(format!(
                "▲ and ▼: significantly better or worse than {} at 5 % by the corrected resampled t-test of Nadeau and Bengio \
                 over common splits, not adjusted for the number of comparisons. Wins, ties and losses are against the same \
                 column; a tie is a mean difference of at most one standard error of the paired difference.",
                against.variant
            ));
        }
    }
    let failed = |column: &Column<'_>| spec.tasks.iter().filter_map(|t| column.runs(t)).any(|runs| runs.failed() > 0);
    if ours.iter().any(failed) && spec.metric != Metric::Seconds {
        notes.push(
            "A failed run has no finite score: means are over the others, and the column ranks behind those of which fewer \
             failed."
                .into(),
        );
    }
    notes.extend(sources(&spec.columns));
    notes
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
