//! Splits whose log density is far below that of the other splits of their task.

use crate::record::{FarBelow, Run};
use crate::results::{Runs, StudyResults};
use crate::stats::{Summary, median_deviation};

/// Median absolute deviations below the median at which a split is far below the others; asked of so many splits or
/// more.
pub const FAR: f64 = 3.0;
const LEAST_SPLITS: usize = 5;

/// A run that has a finite log density, beside the other splits.
struct RelativeScore<'a> {
    run: &'a Run,
    mean_log_density: f64,
    median: f64,
    /// Median absolute deviations below the median.
    deviations: f64,
}

/// How each split stands to the others; nothing of fewer than [`LEAST_SPLITS`], or if most are the same.
///
/// ```text
/// (med l − lₛ)/med |l − med l|         lₛ the mean log density of split s
/// ```
fn relative_scores(runs: Runs<'_>) -> Vec<RelativeScore<'_>> {
    let log_density = |run: &Run| Some(run.result.scores.as_ref()?.mean_log_density).filter(|value| value.is_finite());
    let scored: Vec<(&Run, f64)> = runs.iter().filter_map(|run| Some((run, log_density(run)?))).collect();
    let values: Vec<f64> = scored.iter().map(|(_, value)| *value).collect();
    match (Summary::of(&values), median_deviation(&values)) {
        (Some(Summary { median, n, .. }), Some(deviation)) if n >= LEAST_SPLITS && deviation > 0.0 => {
            let relative_score = |(run, mean_log_density): (_, f64)| {
                let deviations = (median - mean_log_density) / deviation;
                RelativeScore { run, mean_log_density, median, deviations }
            };
            scored
                .into_iter()
                .map(relative_score)
                .filter(|relative_score| relative_score.deviations.is_finite())
                .collect()
        }
        _ => Vec::new(),
    }
}

impl StudyResults {
    /// The splits of a task on which a variant is far below its other splits, with what helps to tell a hard split from
    /// a bad fit: what its run had to expect, and how other variants stand there.
    pub fn far_below(&self, task: &str, variant: &str) -> Vec<FarBelow> {
        let of = |variant: &str| self.runs(task, variant).map(relative_scores).unwrap_or_default();
        let mut far = of(variant);
        far.retain(|relative_score| relative_score.deviations > FAR);
        if far.is_empty() {
            return Vec::new();
        }
        let others: Vec<(&String, Vec<RelativeScore<'_>>)> =
            self.variants.iter().filter(|name| *name != variant).map(|name| (name, of(name))).collect();
        let describe = |RelativeScore { run, mean_log_density, median, deviations }: RelativeScore<'_>| {
            let there =
                |all: &[RelativeScore<'_>]| all.iter().find(|s| s.run.key.split == run.key.split).map(|s| s.deviations);
            let rows = run.result.scores.as_ref().map_or(0, |scores| scores.rows);
            let expected = run.automatic.as_ref().and_then(|automatic| automatic.expected);
            FarBelow {
                key: run.key.clone(),
                mean_log_density,
                median,
                deviations,
                standard_errors: expected
                    .map(|expected| expected.standard_errors_below(rows, mean_log_density))
                    .filter(|errors| errors.is_finite()),
                others: others.iter().filter_map(|(name, all)| Some(((*name).clone(), there(all)?))).collect(),
            }
        };
        far.into_iter().map(describe).collect()
    }
}
