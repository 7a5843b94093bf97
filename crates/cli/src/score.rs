//! `deepgp score`: how good a model is on a table, beside a linear model and a constant one.

use crate::args::Score;
use crate::out::{print, print_json};
use crate::rows::Loaded;
use crate::words::{kind, plural, score_table};
use anyhow::Result;
use deepgp_data::{Batch, Targets};
use deepgp_model::{ScoreTally, Scores};
use serde_json::json;
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
        value["targets"] = json!(loaded.saved.preprocessing.schema.targets());
        value["model"] = json!(args.model);
        value["data"] = json!(args.data);
        return print_json(&value);
    }
    let mut columns = vec![(kind(&loaded.saved.fitted.model), &scores)];
    columns.extend(baselines.iter().rev().map(|(name, scores)| (*name, scores)));
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    print(&score_table(&format!("{} of {}", plural(scores.rows, "row"), name(&args.data)), &columns))
}

/// Sums over rows, of the model and of those it is compared with.
#[derive(Default)]
pub struct Tallies {
    model: ScoreTally,
    baselines: Vec<(&'static str, ScoreTally)>,
}

impl Tallies {
    /// Adds rows.
    pub fn add(&mut self, loaded: &Loaded, batch: &Batch) -> Result<()> {
        loaded.model.tally(&batch.inputs, &batch.targets, &mut self.model)?;
        for (i, (name, moments)) in loaded.saved.baselines(&batch.inputs)?.into_iter().enumerate() {
            if i == self.baselines.len() {
                self.baselines.push((name, ScoreTally::new()));
            }
            self.baselines[i].1.add_normal(&moments, &batch.targets)?;
        }
        Ok(())
    }

    /// Scores of the model, and of the others by name.
    pub fn scores(&self) -> Result<(Scores, Vec<(&'static str, Scores)>)> {
        let others = self.baselines.iter().map(|(name, tally)| Ok((*name, tally.scores()?)));
        Ok((self.model.scores()?, others.collect::<Result<_>>()?))
    }
}
