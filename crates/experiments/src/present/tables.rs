//! Tables of scores, comparisons, learning rates and troubles.

use super::numbers::{fixed, p_value, short, to_spread, with_spread};
use super::{Block, Cell, Table};
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::published::Published;
use crate::record::Run;
use crate::results::{Column, StudyResults, Tally, average_ranks, ranks};
use crate::stats::{Paired, Summary, Verdict};
use deepgp_report::plot::{minus, number};
use std::collections::BTreeMap;
use std::str::FromStr;

/// More columns than this become rows.
const MOST_COLUMNS: usize = 8;
/// Most things of a list that are named one by one.
const MOST_ITEMS: usize = 40;

/// What stands after the ±.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// The standard error of the mean.
    #[default]
    Se,
    /// The sample standard deviation.
    Sd,
}

impl Spread {
    fn of(self, summary: &Summary) -> Option<f64> {
        match self {
            Self::Se => summary.se,
            Self::Sd => summary.sd,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Se => "standard error",
            Self::Sd => "sample standard deviation",
        }
    }
}

impl FromStr for Spread {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "se" => Ok(Self::Se),
            "sd" => Ok(Self::Sd),
            _ => Err(Error::Unknown { what: "spread", name: text.into(), known: vec!["se".into(), "sd".into()] }),
        }
    }
}

/// A column of ours, or one that others have published.
#[derive(Debug, Clone, Copy)]
pub enum AnyColumn<'a> {
    /// From our records.
    Ours(Column<'a>),
    /// From a table of published figures: the table, and the method.
    Published(&'a Published, &'a str),
}

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

impl<'a> AnyColumn<'a> {
    /// All columns of a table of published figures.
    pub fn of_published(group: &'a Published) -> Vec<Self> {
        group.variants().into_iter().map(|variant| Self::Published(group, variant)).collect()
    }

    /// The column, if it is ours.
    pub fn ours(&self) -> Option<Column<'a>> {
        match self {
            Self::Ours(column) => Some(*column),
            Self::Published(..) => None,
        }
    }

    fn title(&self, with_study: bool) -> String {
        match self {
            Self::Ours(column) if with_study => format!("{}: {}", column.study.name, column.variant),
            Self::Ours(column) => column.variant.to_owned(),
            Self::Published(group, variant) => format!("{}: {variant}", group.name),
        }
    }
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

fn published(group: &Published, task: &str, variant: &str, metric: Metric) -> String {
    let Some(entry) = group.entry(task, variant) else { return "–".into() };
    let Some(figure) = entry.figure(metric) else { return "–".into() };
    let splits = entry.splits.map_or_else(String::new, |n| format!(" ({n} split{})", if n == 1 { "" } else { "s" }));
    minus(&figure.text) + &splits
}

fn rank_row(ours: &[Column<'_>], spec: &ScoreTable<'_>) -> Option<Vec<Cell>> {
    let (ranks, tasks) = average_ranks(ours, &spec.tasks, spec.metric);
    if ours.len() < 2 || tasks == 0 {
        return None;
    }
    let least = ranks.iter().copied().fold(f64::INFINITY, f64::min);
    let mut ranks = ranks.into_iter();
    let mut row: Vec<Cell> = vec!["average rank".into(), format!("{tasks} tasks").into()];
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

/// Where published columns come from.
fn sources(columns: &[AnyColumn<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for column in columns {
        let AnyColumn::Published(group, variant) = column else { continue };
        for source in group.entries.iter().filter(|e| e.variant == *variant).filter_map(|e| e.source.as_ref()) {
            let note = format!("{}: {source}.", group.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

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

/// The learning rates that searches found; nothing without searches.
pub fn learning_rates(study: &StudyResults) -> Option<Table> {
    let mut variants: Vec<&str> = Vec::new();
    for search in &study.searches {
        if !variants.contains(&search.key.variant.as_str()) {
            variants.push(&search.key.variant);
        }
    }
    let settings = study.searches.first()?.settings;
    let cell = |task: &str, variant: &str| {
        let found = study.searches.iter().find(|s| s.key.task == task && s.key.variant == variant);
        found.map_or_else(|| "–".into(), |s| format!("{} ({})", short(s.learning_rate), s.trials.len()))
    };
    let tasks = study.tasks.iter().filter(|task| study.searches.iter().any(|s| s.key.task == **task));
    let rows = tasks.map(|task| {
        let cells = variants.iter().map(|variant| Cell::from(cell(task, variant)));
        std::iter::once(Cell::from(task.as_str())).chain(cells).collect()
    });
    let table = Table {
        title: "Learning rates found (trials)".into(),
        head: std::iter::once("task").chain(variants.iter().copied()).map(str::to_owned).collect(),
        rows: rows.collect(),
        summary_rows: 0,
        notes: vec![format!(
            "Each was searched for between {} and {} by at most {} trials, judged by {} of the training rows of the first split \
             that were held out.",
            short(settings.bounds.0),
            short(settings.bounds.1),
            settings.trials,
            format_args!("{} %", number(100.0 * settings.held_out))
        )],
    };
    Some(if variants.len() > MOST_COLUMNS { table.transposed() } else { table })
}

/// What was chosen among variants; nothing without choices.
pub fn chosen_variants(study: &StudyResults) -> Option<Table> {
    let rows: Vec<Vec<Cell>> = study
        .choices
        .iter()
        .map(|choice| {
            let mut losses: Vec<&(String, f64)> = choice.candidates.iter().collect();
            losses.sort_by(|a, b| a.1.total_cmp(&b.1));
            let all: Vec<String> = losses.iter().map(|(name, loss)| format!("{name} {}", fixed(*loss, 3))).collect();
            vec![choice.key.task.as_str().into(), choice.key.variant.as_str().into(), all.join(", ").into()]
        })
        .collect();
    let head = ["task", "chosen", "losses on held-out training rows"].map(str::to_owned).to_vec();
    let title = "Variants chosen by held-out training rows".to_owned();
    (!rows.is_empty()).then(|| Table { title, head, rows, summary_rows: 0, notes: Vec::new() })
}

/// What went wrong or was corrected on the way: failed runs, runs that diverged, fits worse than a linear model, events.
pub fn troubles(study: &StudyResults) -> Vec<Block> {
    let (mut failed, mut diverged, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    let (mut runs, mut n_lost) = (0, 0);
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
        let ratio = |(run, linear): (&Run, f64)| run.result.scores.as_ref().map_or(0.0, |scores| scores.rmse / linear);
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
    ];
    blocks.extend(events(study).map(Block::Table));
    blocks
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
