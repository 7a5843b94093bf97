//! All that records say, without a template: every study with its tables and figures, and the same numbers as JSON.

use super::Block;
use super::columns::{AnyColumn, Spread};
use super::cost_figures::{depth, engines, frontier};
use super::problems::problems;
use super::scores::{ScoreTable, score_table};
use super::search_figure::search_trace;
use super::searches::{chosen_variants, learning_rates};
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::published::Published;
use crate::record::Run;
use crate::results::{Column, Results, StudyResults, average_ranks};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// How a report is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The variant that others are compared with; without it the first GP of each study.
    pub against: Option<&'a str>,
    /// What stands after the ±.
    pub spread: Spread,
    /// Whether figures can be shown.
    pub figures: bool,
}

impl Options<'_> {
    /// The column that others of a study are compared with. A variant that was asked for and that no study has is an
    /// error, one that some studies have is used where it is.
    fn against<'r>(&self, results: &'r Results, study: &'r StudyResults) -> Result<Option<Column<'r>>> {
        let Some(variant) = self.against else { return Ok(study.gp()) };
        if results.studies.iter().all(|study| study.column(variant).is_err()) {
            let mut known: Vec<String> = results.studies.iter().flat_map(|study| study.variants.clone()).collect();
            known.sort();
            known.dedup();
            return Err(Error::Unknown { what: "variant", name: variant.into(), known });
        }
        Ok(study.column(variant).ok().or_else(|| study.gp()))
    }
}

/// The whole report.
///
/// # Errors
/// [`Error::Unknown`] if no study has the variant that others are to be compared with.
pub fn blocks(results: &Results, published: &[Published], options: &Options<'_>) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for study in &results.studies {
        blocks.push(Block::Heading(format!("Study {}", study.name)));
        let against = options.against(results, study)?;
        for metric in [Metric::Rmse, Metric::MeanLogDensity, Metric::Coverage95, Metric::Seconds] {
            let mut columns: Vec<AnyColumn<'_>> = study.columns().into_iter().map(AnyColumn::Ours).collect();
            if metric.larger_is_better().is_some() {
                columns.extend(published.iter().flat_map(AnyColumn::of_published));
            }
            let tasks: Vec<String> = study
                .tasks
                .iter()
                .filter(|task| study.columns().iter().any(|c| c.runs(task).is_some()))
                .cloned()
                .collect();
            if !tasks.is_empty() {
                let spec = ScoreTable { metric, tasks, columns, against, spread: options.spread };
                blocks.push(Block::Table(score_table(&spec)));
            }
        }
        blocks.extend(chosen_variants(study).map(Block::Table));
        blocks.extend(learning_rates(study).map(Block::Table));
        if options.figures {
            blocks.extend(study_blocks(study));
        }
        blocks.extend(problems(study));
    }
    Ok(blocks)
}

/// The figures that a study has something for: cost is worth a figure where it varies by design.
fn study_blocks(study: &StudyResults) -> Vec<Block> {
    let columns = study.columns();
    let mut figures: Vec<_> = search_trace(study, &study.tasks).into_iter().collect();
    let different = |of: &dyn Fn(&Run) -> String| {
        let all: BTreeSet<String> = columns.iter().flat_map(|column| column.all().take(1)).map(of).collect();
        all.len() > 1
    };
    if different(&|run| run.config.architecture.n_inducing.to_string()) {
        figures.extend(frontier(study, &study.tasks, &columns));
    }
    // One and no hidden layer are a comparison of models, not of depths.
    if study.all_runs().any(|run| run.config.architecture.hidden.len() > 1)
        && different(&|run| run.config.architecture.hidden.len().to_string())
    {
        figures.extend(depth(study, &study.tasks, &columns));
    }
    if different(&|run| format!("{:?}", run.config.train.inference.engine)) {
        figures.extend(engines(study, &study.tasks, &columns));
    }
    figures.into_iter().map(Block::Figure).collect()
}

/// The numbers behind the tables.
///
/// # Errors
/// [`Error::Unknown`] if no study has the variant that others are to be compared with.
pub fn aggregate(results: &Results, options: &Options<'_>) -> Result<Value> {
    let mut studies = Vec::new();
    for study in &results.studies {
        let columns = study.columns();
        let against = options.against(results, study)?;
        let mut scores = Vec::new();
        for (task, column) in study.tasks.iter().flat_map(|task| columns.iter().map(move |column| (task, column))) {
            let Some(runs) = column.runs(task) else { continue };
            let mut row = json!({
                "task": task, "variant": column.variant, "runs": runs.count(), "failed": runs.failed(),
                "diverged": runs.iter().filter(|run| run.diverged()).count(),
                "lost": runs.iter().filter(|run| run.lost_to().is_some()).count(),
            });
            for metric in Metric::ALL {
                row[metric.name()] = json!(runs.summary(metric));
            }
            scores.push(row);
        }
        let mut comparisons = Vec::new();
        for metric in [Metric::Rmse, Metric::MeanLogDensity] {
            for column in against.iter().flat_map(|_| &columns) {
                let Some(against) = against.filter(|against| against.variant != column.variant) else { continue };
                let tasks: Vec<Value> = study
                    .tasks
                    .iter()
                    .filter_map(|task| {
                        let paired = column.compare(&against, task, metric)?;
                        let mut row = json!(paired);
                        row["task"] = json!(task);
                        row["verdict"] = json!(column.verdict(&against, task, metric));
                        Some(row)
                    })
                    .collect();
                comparisons.push(json!({
                    "variant": column.variant, "against": against.variant, "metric": metric.name(),
                    "tally": column.tally(&against, &study.tasks, metric), "tasks": tasks,
                }));
            }
        }
        let ranks: Vec<Value> = [Metric::Rmse, Metric::MeanLogDensity]
            .into_iter()
            .map(|metric| {
                let (ranks, tasks) = average_ranks(&columns, &study.tasks, metric);
                let ranks: Vec<Value> = columns
                    .iter()
                    .zip(ranks)
                    .map(|(column, rank)| json!({ "variant": column.variant, "average_rank": rank }))
                    .collect();
                json!({ "metric": metric.name(), "tasks": tasks, "columns": ranks })
            })
            .collect();
        let searches: Vec<Value> = study
            .searches
            .iter()
            .map(|search| {
                json!({
                    "task": search.key.task, "variant": search.key.variant, "learning_rate": search.learning_rate,
                    "loss": search.loss, "trials": search.trials.len(), "seconds": search.seconds,
                })
            })
            .collect();
        studies.push(json!({
            "study": study.name, "scores": scores, "comparisons": comparisons, "ranks": ranks, "searches": searches,
            "choices": study.choices.iter().map(|c| json!({ "task": c.key.task, "variant": c.key.variant })).collect::<Vec<_>>(),
        }));
    }
    Ok(json!({ "studies": studies }))
}
