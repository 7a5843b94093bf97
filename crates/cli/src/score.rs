//! `deepgp score`: how good a model is on a table, beside a linear model and a constant one.

use crate::args::Score;
use crate::out::{note, print, print_json, shown};
use crate::rows::Loaded;
use crate::words::{kind, number, plural, score_table, surprise};
use anyhow::Result;
use deepgp::linalg::Mat;
use deepgp_data::{Batch, Targets};
use deepgp_model::{ScoreTally, Scores};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Scores the model and what it is compared with.
pub fn run(args: &Score) -> Result<()> {
    let loaded = Loaded::open(&args.model)?;
    let mut tallies = Tallies::default();
    loaded.for_rows(&args.data, &args.table, Targets::Required, args.quiet, |batch| tallies.add(&loaded, batch))?;
    let (scores, baselines) = tallies.scores()?;
    if args.json {
        let baselines: BTreeMap<&str, &Scores> = baselines.iter().map(|(name, scores)| (*name, scores)).collect();
        let mut value = json!(scores);
        value["baselines"] = json!(baselines);
        value["expected"] = json!(loaded.saved.record.judged);
        value["per_target"] =
            tallies.per_target(&loaded)?.into_iter().map(|(name, s)| (name.clone(), of_target(&s))).collect();
        value["targets"] = json!(loaded.saved.preprocessing.schema.targets());
        value["model"] = json!(shown(&args.model));
        value["data"] = json!(shown(&args.data));
        return print_json(&value);
    }
    let mut columns = vec![(kind(&loaded.saved), &scores)];
    columns.extend(baselines.iter().rev().map(|(name, scores)| (*name, scores)));
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    print(&score_table(&format!("{} of {}", plural(scores.rows, "row"), name(&args.data)), &columns))?;
    let targets = tallies.per_target(&loaded)?;
    if targets.len() > 1 {
        targets.iter().try_for_each(|(name, s)| {
            print(&format!("  {:<44} {:>10}\n", format!("RMSE of {name}"), number(s.rmse)))
        })?;
    }
    if let Some(text) = surprise(&loaded.saved.record, &scores) {
        note(args.quiet, &text);
    }
    Ok(())
}

/// Scores of one target; densities are of all targets together.
fn of_target(s: &Scores) -> Value {
    json!({
        "rmse": s.rmse, "mae": s.mae, "crps": s.crps, "coverage_50": s.coverage_50, "coverage_80": s.coverage_80,
        "coverage_90": s.coverage_90, "coverage_95": s.coverage_95, "coverage_99": s.coverage_99,
    })
}

/// Sums over rows, of the model and of those it is compared with.
#[derive(Default)]
pub struct Tallies {
    model: ScoreTally,
    /// The model on each target alone.
    targets: Vec<ScoreTally>,
    baselines: Vec<(&'static str, ScoreTally)>,
}

impl Tallies {
    /// Adds rows.
    pub fn add(&mut self, loaded: &Loaded, batch: &Batch) -> Result<()> {
        let y = &batch.targets;
        let predictive = loaded.model.tally(&batch.inputs, y, &mut self.model)?;
        // Densities are of all targets together.
        let no_density = vec![0.0; y.rows()];
        self.targets.resize_with(y.cols(), ScoreTally::new);
        for (p, tally) in self.targets.iter_mut().enumerate() {
            let column = Mat::from_fn(y.rows(), 1, |n, _| y[(n, p)]);
            tally.add_predictive(&predictive.of_target(p), &column, &no_density)?;
        }
        for (i, (name, moments)) in loaded.saved.baselines(&batch.inputs)?.into_iter().enumerate() {
            if i == self.baselines.len() {
                self.baselines.push((name, ScoreTally::new()));
            }
            self.baselines[i].1.add_normal(&moments, &batch.targets)?;
        }
        Ok(())
    }

    /// Scores of the model on each target alone, by name.
    pub fn per_target<'a>(&self, loaded: &'a Loaded) -> Result<Vec<(&'a String, Scores)>> {
        let names = loaded.saved.preprocessing.schema.targets();
        names.iter().zip(&self.targets).map(|(name, tally)| Ok((name, tally.scores()?))).collect()
    }

    /// Scores of the model, and of the others by name.
    pub fn scores(&self) -> Result<(Scores, Vec<(&'static str, Scores)>)> {
        let others = self.baselines.iter().map(|(name, tally)| Ok((*name, tally.scores()?)));
        Ok((self.model.scores()?, others.collect::<Result<_>>()?))
    }
}
