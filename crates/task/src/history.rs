//! What happened in training, as it is kept with a model.

use crate::calibrate::MomentCheck;
use crate::config::Config;
use crate::expected_scores::ExpectedDensity;
use crate::scores::Scores;
use deepgp::infer::Event;
use deepgp::train::{Outcome, Termination};
use serde::{Deserialize, Serialize};

/// The history of a model: from what, how, how long, and with what result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the program.
    pub deepgp: String,
    /// When training ended, if the caller knows.
    pub date: Option<String>,
    /// The configuration, seed included.
    pub config: Config,
    /// Rows that it was trained on.
    pub rows: usize,
    /// Why training ended; nothing while it runs.
    pub termination: Option<Termination>,
    /// Steps done.
    pub steps: usize,
    /// Steps after which the network that was kept was found, where held-out rows chose it.
    pub best_step: Option<usize>,
    /// Seconds of training, interruptions not counted.
    pub seconds: f64,
    /// Running mean of the energy at the end, if any step had one.
    pub energy: Option<f64>,
    /// What happened, with the step's number: the first thousand events.
    pub events: Vec<(usize, Event)>,
    /// How many events there were.
    pub n_events: usize,
    /// The course of training.
    pub curve: Curve,
    /// Scores on rows that were held out.
    pub held_out: Option<Scores>,
    /// Scores on rows by models that had not seen them, where a search was validated by its folds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_validated: Option<CrossValidation>,
    /// What an automatic search tried, in order; nothing if there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// What a search expects of new rows, by the rows that it validated its answer on; `judged` in files.
    #[serde(default, rename = "judged", skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedDensity>,
    /// How far propagated moments agree with samples on held-out rows, for what has hidden layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moment_check: Option<MomentCheck>,
}

/// Scores of all rows that validated a search, each by models that were trained and chosen without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidation {
    /// Parts of the training rows that validated, one after the other.
    pub folds: usize,
    /// Scores of the rows in these parts.
    pub scores: Scores,
    /// Standard error of the mean log density, over rows.
    pub standard_error: Option<f64>,
}

/// One model that an automatic search tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// What it is, in words.
    pub name: String,
    /// Training steps; 0 for an exact GP.
    pub steps: usize,
    /// Parts of the training rows that it was validated on, one after the other.
    pub folds: usize,
    /// Mean log density of these rows, in nats per row of the targets' own units; nothing if training failed.
    pub mean_log_density: Option<f64>,
    /// Its share in the answer.
    pub weight: f64,
}

impl Record {
    /// The record of a run that begins.
    pub fn new(config: Config, rows: usize) -> Self {
        Self {
            deepgp: env!("CARGO_PKG_VERSION").to_owned(),
            date: None,
            config,
            rows,
            termination: None,
            steps: 0,
            best_step: None,
            seconds: 0.0,
            energy: None,
            events: Vec::new(),
            n_events: 0,
            curve: Curve::default(),
            held_out: None,
            cross_validated: None,
            tried: Vec::new(),
            expected: None,
            moment_check: None,
        }
    }

    /// Takes down how the run ended.
    pub fn finish(&mut self, outcome: &Outcome, seconds: f64) {
        self.termination = Some(outcome.termination);
        self.steps = outcome.steps;
        self.seconds = seconds;
        self.energy = Some(outcome.energy).filter(|energy| energy.is_finite());
        self.events.clone_from(&outcome.events);
        self.n_events = outcome.n_events;
    }
}

/// One look at a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Steps done.
    pub step: usize,
    /// Running mean of the energy, if there was one.
    pub energy: Option<f64>,
    /// Root mean squared error on held-out rows, in the target's unit.
    pub rmse: Option<f64>,
    /// Mean log density of held-out rows.
    pub mean_log_density: Option<f64>,
}

/// Looks at a run, evenly thinned: never more than 512 of them, however long the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The looks that were kept, in order.
    pub points: Vec<CurvePoint>,
    /// Looks taken.
    seen: usize,
    /// Every how many-th is kept.
    stride: usize,
}

impl Default for Curve {
    fn default() -> Self {
        Self { points: Vec::new(), seen: 0, stride: 1 }
    }
}

/// Most looks that are kept.
const MAX_POINTS: usize = 512;

impl Curve {
    /// Adds a look; numbers that are not finite are left out. When there are too many, every second is dropped.
    pub fn push(&mut self, mut point: CurvePoint) {
        for value in [&mut point.energy, &mut point.rmse, &mut point.mean_log_density] {
            *value = value.filter(|v| v.is_finite());
        }
        if self.seen.is_multiple_of(self.stride.max(1)) {
            if self.points.len() >= MAX_POINTS {
                let mut index = 0;
                self.points.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.stride = self.stride.saturating_mul(2);
            }
            self.points.push(point);
        }
        self.seen = self.seen.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_stays_short_and_even() {
        let mut curve = Curve::default();
        for step in 0..100_000 {
            curve.push(CurvePoint { step, energy: Some(f64::NAN), rmse: None, mean_log_density: Some(1.0) });
        }
        assert!((MAX_POINTS / 2..=MAX_POINTS).contains(&curve.points.len()), "{}", curve.points.len());
        assert!(curve.points.iter().all(|p| p.energy.is_none() && p.mean_log_density == Some(1.0)));
        let gaps: Vec<usize> = curve.points.windows(2).map(|p| p[1].step - p[0].step).collect();
        assert!(gaps.iter().all(|&gap| gap == gaps[0]), "{gaps:?}");
    }
}
