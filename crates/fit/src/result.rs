//! What a fit gives: the model, scored by the held-out rows, and what should be known of it.

use crate::error::Result;
use crate::plan::Plan;
use crate::settings::FitSettings;
use crate::training_data::TrainingData;
use deepgp_data::Notice;
use deepgp_task::{ExpectedDensity, Member, MomentCheck, Record, SavedModel, ScoreTally, Scores};
use std::path::PathBuf;

/// How a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All was done.
    Completed,
    /// Training diverged; the last good network was kept.
    Diverged,
    /// The limit of time was reached.
    OutOfTime,
    /// The caller asked for it.
    Interrupted,
}

/// What training gives, before it is scored.
pub(crate) struct Trained {
    /// Networks with their weights.
    pub members: Vec<Member>,
    /// Their history.
    pub record: Record,
    /// How training ended.
    pub ending: Ending,
    /// Scores of simpler models, where models were cross-validated.
    pub baselines: Vec<(&'static str, Scores)>,
}

/// A fitted model with its story.
#[derive(Debug, Clone)]
pub struct FitResult {
    /// The model, as it is stored; its record has held-out scores and the course of training.
    pub saved: SavedModel,
    /// How the fit ended.
    pub ending: Ending,
    /// Scores of simpler models on the held-out rows, or by cross-validation where none are held out: "constant", and
    /// "linear" where there is one.
    pub baselines: Vec<(&'static str, Scores)>,
    /// What was decided about the data.
    pub notices: Vec<Notice>,
    /// Rows held out.
    pub n_held_out: usize,
    /// All settings, defaults included.
    pub settings: FitSettings,
    /// From where an interrupted fit can go on.
    pub checkpoint: Option<PathBuf>,
}

/// What the user of a model should know of it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Remark {
    /// Training diverged; the last good network was kept.
    Diverged {
        /// Steps before.
        step: usize,
    },
    /// The model has no finite scores of the held-out rows.
    ScoresNotFinite,
    /// Propagated moments and samples do not agree: error bars are rough.
    MomentsOff(MomentCheck),
    /// Predicted standard deviations are multiplied.
    Recalibrated {
        /// By this.
        factor: f64,
    },
    /// Too few rows to hold any out: nothing was recalibrated.
    NotRecalibrated,
    /// Numerical events in training, listed in the record.
    NumericalEvents {
        /// How many.
        count: usize,
    },
    /// The held-out rows are less likely than those that a search validated the model on.
    HeldOutUnexpected {
        /// What was expected.
        expected: ExpectedDensity,
        /// How many rows there are.
        rows: usize,
        /// What they have.
        mean_log_density: f64,
    },
    /// A simpler model does as well on the held-out rows.
    NoBetterThan {
        /// Which.
        baseline: &'static str,
    },
}

impl FitResult {
    /// Scores what was trained on the held-out rows; recalibrates it by them if the plan asks for that.
    ///
    /// # Errors
    /// From prediction.
    pub(crate) fn new(plan: &Plan, data: &TrainingData, mut notices: Vec<Notice>, trained: Trained) -> Result<Self> {
        let Trained { members, record, ending, mut baselines } = trained;
        let mut saved = SavedModel::new(data.preprocessing.clone(), members, data.linear.clone(), record)?;
        if data.held_out.len() > 0 {
            let (x, y, info) = (&data.held_out.x, &data.held_out.y, &data.held_out.info);
            if plan.recalibrate() && !data.preprocessing.task.is_discrete() {
                saved.std_factor = Some(saved.model()?.best_std_factor((x, info), y)?);
            }
            if info.is_empty() {
                let few = data.scored_in_training.first(MomentCheck::MOST_ROWS);
                saved.record.moment_check =
                    saved.model()?.check_moments(&few.x, &few.y, MomentCheck::SAMPLES, plan.seed())?;
            }
            // A file has no place for what is not a number.
            saved.record.held_out = Some(saved.model()?.score((x, info), y)?).filter(Scores::is_finite);
            baselines.clear();
            for (name, predictive) in saved.baselines((x, info))? {
                let mut tally = ScoreTally::new();
                tally.add_weighted(&predictive, y, &info.weight)?;
                baselines.push((name, tally.scores()?));
            }
        }
        notices.extend(data.notices.iter().cloned());
        let checkpoint = plan.checkpoint_path().filter(|_| ending == Ending::Interrupted);
        let (n_held_out, settings) = (data.held_out.len(), plan.settings());
        Ok(Self { saved, ending, baselines, notices, n_held_out, settings, checkpoint })
    }

    /// Scores of the model on rows that it was not trained on, or of models that were trained like it without them.
    pub fn told_scores(&self) -> Option<&Scores> {
        let record = &self.saved.record;
        record.held_out.as_ref().or_else(|| record.cross_validated.as_ref().map(|validated| &validated.scores))
    }

    /// What should be known of the model, the most important first.
    pub fn remarks(&self) -> Vec<Remark> {
        let (record, mut remarks) = (&self.saved.record, Vec::new());
        if self.ending == Ending::Diverged {
            remarks.push(Remark::Diverged { step: record.steps });
        }
        if self.n_held_out > 0 && record.held_out.is_none() {
            remarks.push(Remark::ScoresNotFinite);
        }
        remarks.extend(record.moment_check.filter(MomentCheck::is_off).map(Remark::MomentsOff));
        match self.saved.std_factor {
            Some(factor) => remarks.push(Remark::Recalibrated { factor }),
            None if self.settings.recalibrate => remarks.push(Remark::NotRecalibrated),
            None => {}
        }
        if record.n_events > 0 {
            remarks.push(Remark::NumericalEvents { count: record.n_events });
        }
        if let Some(scores) = &record.held_out {
            let (rows, mean_log_density) = (scores.rows, scores.mean_log_density);
            let surprised = record.expected.filter(|expected| expected.is_surprised(rows, mean_log_density));
            remarks.extend(surprised.map(|expected| Remark::HeldOutUnexpected { expected, rows, mean_log_density }));
        }
        if let Some(scores) = self.told_scores() {
            let is_as_good = |simple: &Scores| simple.mean_log_density >= scores.mean_log_density;
            let as_good = self.baselines.iter().rev().find(|(_, simple)| is_as_good(simple));
            remarks.extend(as_good.map(|(baseline, _)| Remark::NoBetterThan { baseline }));
        }
        remarks
    }
}
