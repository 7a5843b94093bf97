//! What the directives of a template stand for.
//!
//! | on a line of its own | what takes its place |
//! |---|---|
//! | `table study= metric= [columns=] [published=] [tasks=] [splits=] [against=] [spread=se\|sd]` | means of a metric, tasks × columns |
//! | `versus a= b= metric= [study=] [tasks=] [splits=] [spread=]` | two columns task by task, with tests |
//! | `rates study=` | learning rates found |
//! | `choices study=` | variants chosen |
//! | `troubles study=` | failed runs, lost fits, splits far below the others, events |
//! | `figure search\|frontier\|depth\|engines study= [tasks=] [columns=]` | a figure, written beside the text |
//!
//! | anywhere | what takes its place |
//! |---|---|
//! | `value variant= task= metric= [study=] [stat=] [digits=]` | a number; `stat` is mean, se, sd, median, n, failed or mean_se |
//! | `count WORD a= b= metric= [study=] [tasks=]` | a count over tasks; the word is tasks, wins, ties, losses, better, worse, significant_wins or significant_losses |
//! | `total WORD study= [variant=] [task=]` | a sum over a study; the word is runs, tasks, splits, searches, trials, seconds, minutes, hours, failed, diverged, lost or events |
//!
//! `splits=` leaves only these splits of our own runs, counted from 0.
//!
//! Columns are named by their variants, as `"[GP, 50]"`, of the study that is named with `study=`; `"STUDY/VARIANT"`
//! names one of another study, `"NAME/VARIANT"` one of the published table `NAME.csv`.

use super::columns::{AnyColumn, Spread};
use super::cost_figures;
use super::directive::Directive;
use super::numbers::{fixed, to_spread, with_spread};
use super::problems::problems;
use super::scores::{ScoreTable, score_table};
use super::search_figure::search_trace;
use super::searches::{chosen_variants, learning_rates};
use super::versus::{count_published, versus_published, versus_table};
use super::{Block, Captioned};
use crate::metric::Metric;
use crate::published::Published;
use crate::record::Run;
use crate::results::{Column, Results, StudyResults};
use deepgp_report::plot::number;

/// What directives can speak of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// Our records.
    pub results: &'a Results,
    /// What others have published.
    pub published: &'a [Published],
    /// What stands after the ± where a directive does not say it.
    pub spread: Spread,
}

/// What takes the place of a directive.
#[derive(Debug)]
pub enum Replacement {
    /// A piece of a line.
    Inline(String),
    /// Lines of their own.
    Blocks(Vec<Block>),
}

/// What is wrong with a directive.
type DirectiveError = String;
type Outcome<T> = std::result::Result<T, DirectiveError>;

/// Carries out a directive.
pub fn evaluate(directive: &Directive, sources: &Sources<'_>) -> Outcome<Replacement> {
    let ask = Ask { directive, sources };
    let Some(named) = ask.values("splits") else { return ask.carry_out() };
    let is_there =
        |split: &usize| sources.results.studies.iter().any(|s| s.all_runs().any(|run| run.key.split == *split));
    let split = |text: &String| {
        text.parse::<usize>().ok().filter(is_there).ok_or_else(|| format!("no run is of a split '{text}'"))
    };
    let results = sources.results.of_splits(&named.iter().map(split).collect::<Outcome<Vec<usize>>>()?);
    Ask { directive, sources: &Sources { results: &results, ..*sources } }.carry_out()
}

/// A directive that is being carried out.
struct Ask<'a> {
    directive: &'a Directive,
    sources: &'a Sources<'a>,
}

impl<'a> Ask<'a> {
    fn carry_out(&self) -> Outcome<Replacement> {
        let blocks = |blocks: Vec<Block>| Ok(Replacement::Blocks(blocks));
        match self.directive.name.as_str() {
            "table" => blocks(vec![Block::Table(self.table()?)]),
            "versus" => blocks(vec![self.versus()?]),
            "rates" => {
                self.only(0, &["study"])?;
                let table = learning_rates(self.study()?).ok_or("the study has no searches")?;
                blocks(vec![Block::Table(table)])
            }
            "choices" => {
                self.only(0, &["study"])?;
                let table = chosen_variants(self.study()?).ok_or("the study has no choices")?;
                blocks(vec![Block::Table(table)])
            }
            "troubles" => {
                self.only(0, &["study"])?;
                blocks(problems(self.study()?))
            }
            "figure" => blocks(vec![Block::Figure(self.figure()?)]),
            "value" => Ok(Replacement::Inline(self.value()?)),
            "count" => Ok(Replacement::Inline(self.count()?.to_string())),
            "total" => Ok(Replacement::Inline(self.total()?)),
            other => Err(format!(
                "there is no directive '{other}'; there are table, versus, rates, choices, troubles, figure, value, count, total"
            )),
        }
    }

    /// Refuses more words than it can have, and arguments that it does not know.
    fn only(&self, words: usize, keys: &[&str]) -> Outcome<()> {
        if let Some(word) = self.directive.words.get(words) {
            return Err(format!("'{}' does not know what to do with '{word}'", self.directive.name));
        }
        match self.directive.arguments.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((key, _)) => {
                Err(format!("'{}' has no '{key}='; it has {}", self.directive.name, keys.join("=, ") + "="))
            }
            None => Ok(()),
        }
    }

    fn values(&self, key: &str) -> Option<&'a [String]> {
        self.directive.arguments.iter().find(|(name, _)| name == key).map(|(_, values)| values.as_slice())
    }

    fn optional(&self, key: &str) -> Outcome<Option<&'a str>> {
        match self.values(key) {
            None => Ok(None),
            Some([one]) => Ok(Some(one)),
            Some(_) => Err(format!("'{key}=' has one value")),
        }
    }

    fn needed(&self, key: &str) -> Outcome<&'a str> {
        self.optional(key)?.ok_or_else(|| format!("'{}' needs {key}=", self.directive.name))
    }

    fn word(&self, known: &[&str]) -> Outcome<&'a str> {
        match self.directive.words.first() {
            Some(word) if known.contains(&word.as_str()) => Ok(word),
            Some(word) => {
                Err(format!("'{}' does not know '{word}'; it knows {}", self.directive.name, known.join(", ")))
            }
            None => Err(format!("'{}' needs one of the words {}", self.directive.name, known.join(", "))),
        }
    }

    fn study(&self) -> Outcome<&'a StudyResults> {
        self.sources.results.study(self.needed("study")?).map_err(message_of)
    }

    fn metric(&self) -> Outcome<Metric> {
        self.needed("metric")?.parse().map_err(message_of)
    }

    fn spread(&self) -> Outcome<Spread> {
        self.optional("spread")?.map_or(Ok(self.sources.spread), |text| text.parse().map_err(message_of))
    }

    /// The column that is meant by a name; see the head of this file.
    fn column(&self, name: &'a str) -> Outcome<AnyColumn<'a>> {
        if let Some((group, variant)) = name.split_once('/') {
            if let Some(study) = self.sources.results.studies.iter().find(|study| study.name == group) {
                return study.column(variant).map(AnyColumn::Ours).map_err(message_of);
            }
            if let Some(published) = self.sources.published.iter().find(|published| published.name == group) {
                let known = published.variants();
                let variant = known
                    .iter()
                    .copied()
                    .find(|known| *known == variant)
                    .ok_or_else(|| format!("{group} has no '{variant}'; there are {}", known.join("; ")))?;
                return Ok(AnyColumn::Published(published, variant));
            }
        }
        if self.values("study").is_none() {
            return Err(format!("'{name}' needs study=, or STUDY/ before it"));
        }
        self.study()?.column(name).map(AnyColumn::Ours).map_err(message_of)
    }

    fn our_column(&self, name: &'a str) -> Outcome<Column<'a>> {
        match self.column(name)? {
            AnyColumn::Ours(column) => Ok(column),
            AnyColumn::Published(..) => Err(format!("'{name}' is not from our records")),
        }
    }

    /// The tasks that are named, or all that one of the columns has.
    fn tasks(&self, columns: &[Column<'_>]) -> Outcome<Vec<String>> {
        let mut all: Vec<String> = Vec::new();
        for task in columns.iter().flat_map(|column| &column.study.tasks) {
            if !all.contains(task) && columns.iter().any(|column| column.runs(task).is_some()) {
                all.push(task.clone());
            }
        }
        let Some(named) = self.values("tasks") else { return Ok(all) };
        match named.iter().find(|task| !all.contains(task)) {
            Some(task) => Err(format!("there is no task '{task}'; there are {}", all.join(", "))),
            None => Ok(named.to_vec()),
        }
    }

    fn table(&self) -> Outcome<super::Table> {
        self.only(0, &["study", "metric", "columns", "published", "tasks", "splits", "against", "spread"])?;
        let mut columns: Vec<AnyColumn<'a>> = match self.values("columns") {
            Some(names) => names.iter().map(|name| self.column(name)).collect::<Outcome<_>>()?,
            None => self.study()?.columns().into_iter().map(AnyColumn::Ours).collect(),
        };
        for name in self.values("published").unwrap_or_default() {
            let found = self.sources.published.iter().find(|published| published.name == *name);
            let published = found.ok_or_else(|| {
                let known: Vec<&str> = self.sources.published.iter().map(|p| p.name.as_str()).collect();
                format!("no published table '{name}' was given with --published; there are: {}", known.join(", "))
            })?;
            columns.extend(AnyColumn::of_published(published));
        }
        let ours: Vec<Column<'a>> = columns.iter().filter_map(AnyColumn::ours).collect();
        let against = match self.optional("against")? {
            Some(name) => Some(self.our_column(name)?),
            None => ours.first().and_then(|column| column.study.gp()),
        };
        let (metric, tasks, spread) = (self.metric()?, self.tasks(&ours)?, self.spread()?);
        Ok(score_table(&ScoreTable { metric, tasks, columns, against, spread }))
    }

    fn versus(&self) -> Outcome<Block> {
        self.only(0, &["study", "a", "b", "metric", "tasks", "splits", "spread"])?;
        let (a, b) = (self.our_column(self.needed("a")?)?, self.column(self.needed("b")?)?);
        let (metric, spread) = (self.metric()?, self.spread()?);
        Ok(Block::Table(match b {
            AnyColumn::Ours(b) => versus_table(&a, &b, &self.tasks(&[a, b])?, metric, spread),
            AnyColumn::Published(group, variant) => {
                versus_published(&a, group, variant, &self.tasks(&[a])?, metric, spread)
            }
        }))
    }

    fn figure(&self) -> Outcome<Captioned> {
        self.only(1, &["study", "tasks", "columns"])?;
        let kind = self.word(&["search", "frontier", "depth", "engines"])?;
        let study = self.study()?;
        if kind == "search" {
            let tasks = match self.values("tasks") {
                None => study.tasks.clone(),
                Some(named) => match named.iter().find(|task| !study.tasks.contains(task)) {
                    Some(task) => return Err(format!("there is no task '{task}' in {}", study.name)),
                    None => named.to_vec(),
                },
            };
            return search_trace(study, &tasks).ok_or_else(|| "the study has no searches".into());
        }
        let columns: Vec<Column<'a>> = match self.values("columns") {
            None => study.columns(),
            Some(names) => names.iter().map(|name| self.our_column(name)).collect::<Outcome<_>>()?,
        };
        let tasks = self.tasks(&columns)?;
        let figure = match kind {
            "frontier" => cost_figures::frontier,
            "depth" => cost_figures::depth,
            _ => cost_figures::engines,
        };
        figure(study, &tasks, &columns).ok_or_else(|| "the study has no runs".into())
    }

    fn value(&self) -> Outcome<String> {
        self.only(0, &["study", "task", "variant", "metric", "stat", "digits"])?;
        let (column, task, metric) = (self.column(self.needed("variant")?)?, self.needed("task")?, self.metric()?);
        let stat = self.optional("stat")?.unwrap_or("mean");
        let digits = match self.optional("digits")? {
            None => None,
            Some(text) => Some(
                text.parse::<usize>()
                    .ok()
                    .filter(|d| *d <= 12)
                    .ok_or_else(|| format!("digits={text} is not a number from 0 to 12"))?,
            ),
        };
        let none = || format!("{} has no {} on {task}", self.needed("variant").unwrap_or(""), metric.name());
        let column = match column {
            AnyColumn::Ours(column) => column,
            AnyColumn::Published(group, variant) => {
                let figure = group.entry(task, variant).and_then(|entry| entry.figure(metric)).ok_or_else(none)?;
                return match stat {
                    "mean" => Ok(deepgp_report::plot::minus(&figure.text)),
                    _ => Err("of published figures only the mean is known".into()),
                };
            }
        };
        let runs = column.runs(task).ok_or_else(none)?;
        if stat == "failed" {
            return Ok(runs.failed().to_string());
        }
        let summary = runs.summary(metric).ok_or_else(none)?;
        let one = |value: Option<f64>| {
            let value = value.ok_or("one run has no spread")?;
            Ok(digits.map_or_else(|| to_spread(value, summary.se), |digits| fixed(value, digits)))
        };
        match stat {
            "mean" => one(Some(summary.mean)),
            "median" => one(Some(summary.median)),
            "se" => one(summary.se),
            "sd" => one(summary.sd),
            "n" => Ok(summary.n.to_string()),
            "mean_se" => Ok(with_spread(summary.mean, summary.se)),
            other => Err(format!("there is no stat '{other}'; there are mean, se, sd, median, n, failed, mean_se")),
        }
    }

    fn count(&self) -> Outcome<usize> {
        const PUBLISHED: [&str; 3] = ["tasks", "better", "worse"];
        let words = ["tasks", "wins", "ties", "losses", "better", "worse", "significant_wins", "significant_losses"];
        self.only(1, &["study", "a", "b", "metric", "tasks"])?;
        let word = self.word(&words)?;
        let (a, b, metric) = (self.our_column(self.needed("a")?)?, self.column(self.needed("b")?)?, self.metric()?);
        if metric.larger_is_better().is_none() {
            return Err(format!("{} has no better and worse", metric.name()));
        }
        let tally = match b {
            AnyColumn::Ours(b) => a.tally(&b, &self.tasks(&[a, b])?, metric),
            AnyColumn::Published(group, variant) if PUBLISHED.contains(&word) => {
                count_published(&a, (group, variant), &self.tasks(&[a])?, metric)
            }
            AnyColumn::Published(..) => {
                return Err(format!("against published figures only {} can be counted", PUBLISHED.join(", ")));
            }
        };
        Ok(match word {
            "tasks" => tally.tasks,
            "wins" => tally.wins,
            "ties" => tally.ties,
            "losses" => tally.losses,
            "better" => tally.better,
            "worse" => tally.worse,
            "significant_wins" => tally.significant_wins,
            _ => tally.significant_losses,
        })
    }

    fn total(&self) -> Outcome<String> {
        let words = [
            "runs", "tasks", "splits", "searches", "trials", "seconds", "minutes", "hours", "failed", "diverged",
            "lost", "events",
        ];
        self.only(1, &["study", "variant", "task"])?;
        let (word, study) = (self.word(&words)?, self.study()?);
        let (variant, task) = (self.optional("variant")?, self.optional("task")?);
        if let Some(variant) = variant {
            study.column(variant).map_err(message_of)?;
        }
        if let Some(task) = task.filter(|task| !study.tasks.iter().any(|known| known == task)) {
            return Err(format!("there is no task '{task}'; there are {}", study.tasks.join(", ")));
        }
        let meant = |key: &crate::record::Key| {
            variant.is_none_or(|variant| key.variant == variant) && task.is_none_or(|task| key.task == task)
        };
        let runs: Vec<&Run> = study.all_runs().filter(|run| meant(&run.key)).collect();
        let searches: Vec<_> = study.searches.iter().filter(|search| meant(&search.key)).collect();
        let seconds = runs.iter().map(|run| run.seconds).sum::<f64>() + searches.iter().map(|s| s.seconds).sum::<f64>();
        let distinct = |of: &dyn Fn(&Run) -> String| {
            runs.iter().map(|run| of(run)).collect::<std::collections::BTreeSet<String>>().len()
        };
        let whole = match word {
            "seconds" => return Ok(number(seconds)),
            "minutes" => return Ok(number(seconds / 60.0)),
            "hours" => return Ok(number(seconds / 3600.0)),
            "tasks" => distinct(&|run| run.key.task.clone()),
            "splits" => distinct(&|run| run.key.split.to_string()),
            "searches" => searches.len(),
            "trials" => searches.iter().map(|search| search.trials.len()).sum(),
            "failed" => runs.iter().filter(|run| run.result.scores.is_none()).count(),
            "diverged" => runs.iter().filter(|run| run.diverged()).count(),
            "lost" => runs.iter().filter(|run| run.lost_to().is_some()).count(),
            "events" => runs.iter().map(|run| run.result.n_events).sum(),
            _ => runs.len(),
        };
        Ok(whole.to_string())
    }
}

fn message_of(error: crate::error::Error) -> DirectiveError {
    error.to_string()
}
