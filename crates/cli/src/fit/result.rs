//! What a run gave: the model to save, and what to tell of it.

use super::auto::summary;
use super::data::TrainingData;
use super::termination;
use super::watch::{Ending, Watch};
use crate::plan::Plan;
use crate::words::{count, duration, kind, mixed_network, number, plural, score_table, surprise};
use anyhow::Result;
use deepgp::Event;
use deepgp::Fitted;
use deepgp::train::{Outcome, Termination};
use deepgp_data::Notice;
use deepgp_task::{Member, MomentCheck, Record, SavedModel, ScoreTally, Scores};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Held-out rows that moments are checked by, and samples of each.
const MOST_CHECKED: usize = 200;
const SAMPLES: usize = 200;

/// A trained model with its story.
pub struct Trained {
    /// What is saved.
    pub saved: SavedModel,
    /// Why the watch ended the run, if it did.
    pub ending: Option<Ending>,
    /// Scores of simpler models on the held-out rows.
    pub baselines: Vec<(&'static str, Scores)>,
    notices: Vec<Notice>,
    n_held_out: usize,
    asked_to_recalibrate: bool,
    termination: &'static str,
}

impl Trained {
    /// Takes the best network of a run, or its last where no rows were held out, and scores it.
    pub fn new(
        plan: &Plan,
        data: &TrainingData,
        mut watch: Watch<'_>,
        outcome: &Outcome,
        last: Fitted,
    ) -> Result<Self> {
        if outcome.termination == Termination::Stopped {
            // The end came between two looks.
            watch.look(outcome.steps, outcome.energy, last.clone());
        }
        watch.clear();
        let (seconds, ending) = (watch.seconds(), watch.ending);
        let (mut record, best) = (watch.record, watch.best);
        record.finish(outcome, seconds);
        record.date = crate::words::now();
        record.best_step = best.as_ref().map(|best| best.step);
        let fitted = best.map_or(last, |best| best.fitted);
        Self::of(plan, data, vec![data.prepared.member(1.0, fitted)], record, ending, outcome.termination)
    }

    /// Scores a network, or a mixture of several, the heaviest first.
    pub fn of(
        plan: &Plan,
        data: &TrainingData,
        members: Vec<Member>,
        record: Record,
        ending: Option<Ending>,
        end: Termination,
    ) -> Result<Self> {
        let mut saved = SavedModel::new(data.preprocessing.clone(), members, data.linear.clone(), record)?;
        let mut baselines = Vec::new();
        if data.held_out.len() > 0 {
            let (x, y) = (&data.held_out.x, &data.held_out.y);
            if plan.recalibrate {
                saved.std_factor = Some(saved.model()?.best_std_factor(x, y)?);
            }
            let (few_x, few_y) = data.looked_at.first(MOST_CHECKED);
            let seed = plan.config.train.seed;
            saved.record.moment_check = saved.model()?.check_moments(&few_x, &few_y, SAMPLES, seed)?;
            // A file has no place for what is not a number.
            saved.record.held_out = Some(saved.model()?.score(x, y)?).filter(Scores::is_finite);
            for (name, moments) in saved.baselines(x)? {
                let mut tally = ScoreTally::new();
                tally.add_normal(&moments, y)?;
                baselines.push((name, tally.scores()?));
            }
        }
        let (notices, termination) = (data.notices.clone(), termination(end, ending));
        Ok(Self {
            saved,
            ending,
            baselines,
            notices,
            n_held_out: data.held_out.len(),
            asked_to_recalibrate: plan.recalibrate,
            termination,
        })
    }

    /// For people.
    pub fn text(&self, out: &Path) -> String {
        let SavedModel { preprocessing, record, .. } = &self.saved;
        let mut text = format!(
            "{} for {}: {}, {} in {}\n",
            mixed_network(&self.saved),
            preprocessing.schema.targets().join(", "),
            plural(record.rows, "training row"),
            plural(record.steps, "step"),
            duration(record.seconds)
        );
        if !record.tried.is_empty() {
            text += &summary(record, 1 + self.saved.others.len());
        }
        if let Some(scores) = &record.held_out {
            let step = record.best_step.map_or(String::new(), |step| format!(", best at step {}", count(step)));
            let mut columns = vec![(kind(&self.saved), scores)];
            columns.extend(self.baselines.iter().rev().map(|(name, scores)| (*name, scores)));
            text += &score_table(&format!("{} held out{step}", plural(scores.rows, "row")), &columns);
        }
        text + &format!("saved as {}\n", out.display())
    }

    /// What the user should know, besides.
    pub fn remarks(&self) -> Vec<String> {
        let (record, mut remarks) = (&self.saved.record, Vec::new());
        if self.termination == "diverged" {
            remarks.push(format!(
                "training diverged after step {}; the last good network was kept; try a smaller --lr",
                count(record.steps)
            ));
        }
        if self.n_held_out > 0 && record.held_out.is_none() {
            remarks
                .push("scores of the held-out rows are not finite: the targets are too large or too small".to_owned());
        }
        if let Some(check) = record.moment_check.filter(MomentCheck::is_off) {
            remarks.push(format!(
                "moments propagated through the layers give the held-out rows a mean log density of {}, samples {}: error bars \
                 of this deep GP are rough",
                number(check.moments),
                number(check.samples)
            ));
        }
        match self.saved.std_factor {
            Some(factor) => remarks.push(format!(
                "predicted standard deviations are multiplied by {}, which suits the held-out rows best; their scores flatter \
                 a little for it",
                number(factor)
            )),
            None if self.asked_to_recalibrate => {
                remarks.push("too few rows to hold any out: nothing was recalibrated".to_owned());
            }
            None => {}
        }
        if record.n_events > 0 {
            remarks.push(format!("{} in training: {}", plural(record.n_events, "event"), kinds(&record.events)));
        }
        if let Some(scores) = &record.held_out {
            remarks.extend(surprise(record, scores).map(|text| format!("of the rows held out: {text}")));
            let better = |s: &Scores| s.mean_log_density >= scores.mean_log_density;
            if let Some((name, _)) = self.baselines.iter().rev().find(|(_, s)| better(s)) {
                remarks
                    .push(format!("the {name} model does as well on the held-out rows: train for longer, or use it"));
            }
        }
        remarks
    }

    /// For machines.
    pub fn json(&self, plan: &Plan, checkpoint: Option<&Path>) -> Value {
        let SavedModel { preprocessing, record, .. } = &self.saved;
        let baselines: BTreeMap<&str, &Scores> = self.baselines.iter().map(|(name, s)| (*name, s)).collect();
        let notices: Vec<String> = self.notices.iter().map(ToString::to_string).collect();
        json!({
            "model": plan.out,
            "checkpoint": checkpoint,
            "version": record.deepgp,
            "network": mixed_network(&self.saved),
            "tried": record.tried,
            "features": preprocessing.schema.feature_names(),
            "targets": preprocessing.schema.targets(),
            "rows": record.rows,
            "held_out_rows": self.n_held_out,
            "steps": record.steps,
            "best_step": record.best_step,
            "seconds": record.seconds,
            "seconds_per_step": record.seconds / record.steps.max(1) as f64,
            "energy": record.energy,
            "termination": self.termination,
            "events": events(&record.events),
            "n_events": record.n_events,
            "held_out": record.held_out,
            "moment_check": record.moment_check,
            "std_factor": self.saved.std_factor,
            "baselines": baselines,
            "notices": notices,
            "settings": plan.options(),
        })
    }
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
