//! `deepgp score`: how good a model is on a table, beside a linear model and a constant one.

use crate::args::Score;
use crate::exit_codes::usage_of;
use crate::out::{note, path_text, print, print_json};
use crate::rows::{Loaded, Table};
use crate::wording::{column_name, confusion_table, number, plural, score_table, surprise};
use anyhow::Result;
use deepgp_data::{Batch, Source, Targets};
use deepgp_fit::{row_info, targets, threads};
use deepgp_task::{ScoreTally, Scores};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Scores the model and what it is compared with.
pub fn run(args: &Score) -> Result<()> {
    let threads = threads(args.threads).map_err(usage_of)?;
    let loaded = Loaded::open(&args.model)?;
    let table = Table {
        data: &Source::new(&args.data),
        options: &args.table,
        targets: Targets::Required,
        threads,
        quiet: args.quiet,
    };
    let mut tallies = Tallies::default();
    loaded.for_rows(
        &table,
        |batch| Tallies::of(&loaded, batch),
        |_, others| {
            tallies.merge(others);
            Ok(())
        },
    )?;
    let (scores, baselines) = tallies.scores()?;
    if args.json {
        let baselines: BTreeMap<&str, &Scores> = baselines.iter().map(|(name, scores)| (*name, scores)).collect();
        let mut value = json!(scores);
        value["baselines"] = json!(baselines);
        value["expected"] = json!(loaded.saved.record.expected);
        let of_target = |(name, scores): (&String, Scores)| (name.clone(), marginal(&loaded, &scores));
        value["per_target"] = tallies.per_target(&loaded)?.into_iter().map(of_target).collect();
        value["targets"] = json!(loaded.saved.preprocessing.schema.targets());
        value["model"] = json!(path_text(&args.model));
        value["data"] = json!(path_text(&args.data));
        return print_json(&value);
    }
    let mut columns = vec![(column_name(&loaded.saved), &scores)];
    columns.extend(baselines.iter().rev().map(|(name, scores)| (*name, scores)));
    let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let task = loaded.saved.preprocessing.task;
    print(&score_table(task, &format!("{} of {}", plural(scores.rows, "row"), name(&args.data)), &columns))?;
    if let (Some(labels), Some(levels)) = (&scores.labels, loaded.saved.preprocessing.schema.target_levels(0)) {
        print(&confusion_table(&labels.confusion, levels))?;
    }
    let targets = tallies.per_target(&loaded)?;
    if targets.len() > 1 {
        targets.iter().try_for_each(|(name, s)| {
            let rmse = s.rmse().unwrap_or(f64::NAN);
            print(&format!("  {:<44} {:>10}\n", format!("RMSE of {name}"), number(rmse)))
        })?;
    }
    if let Some(text) = surprise(task, &loaded.saved.record, &scores) {
        note(args.quiet, &text);
    }
    Ok(())
}

/// The scores that one target has of its own.
fn marginal(loaded: &Loaded, scores: &Scores) -> Value {
    let measures = loaded.saved.preprocessing.task.measures().iter().filter(|measure| !measure.is_joint);
    measures.map(|measure| (measure.name.to_owned(), json!(measure.of(scores)))).collect()
}

/// Sums over rows, of the model and of those it is compared with; of no rows when there are no targets.
#[derive(Default)]
pub struct Tallies {
    model: ScoreTally,
    /// The model on each target alone.
    targets: Vec<ScoreTally>,
    baselines: Vec<(&'static str, ScoreTally)>,
}

impl Tallies {
    /// The scores of some rows.
    pub fn of(loaded: &Loaded, batch: &Batch) -> Result<Self> {
        let (y, mut all) = (&targets(loaded.saved.preprocessing.task, batch), Self::default());
        let info = row_info(batch.columns.clone());
        let predictive = loaded.model.tally((&batch.inputs, &info), y, &mut all.model)?;
        let of_target = |p: usize| {
            let mut tally = ScoreTally::new();
            tally.add_target(&predictive, p, y, &info.weight)?;
            Ok(tally)
        };
        all.targets = match batch.targets.cols() {
            1 => vec![all.model.clone()],
            targets => (0..targets).map(of_target).collect::<Result<_>>()?,
        };
        for (name, predictive) in loaded.saved.baselines((&batch.inputs, &info))? {
            let mut tally = ScoreTally::new();
            tally.add_weighted(&predictive, y, &info.weight)?;
            all.baselines.push((name, tally));
        }
        Ok(all)
    }

    /// Adds those of other rows.
    pub fn merge(&mut self, others: Self) {
        if self.targets.is_empty() {
            *self = others;
            return;
        }
        self.model.merge(&others.model);
        for (tally, other) in self.targets.iter_mut().zip(&others.targets) {
            tally.merge(other);
        }
        for ((_, tally), (_, other)) in self.baselines.iter_mut().zip(&others.baselines) {
            tally.merge(other);
        }
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
