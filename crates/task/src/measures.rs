//! Scores as they are shown: name, unit, and what is good.

use crate::scores::Scores;
use crate::task::Task;

/// What makes a score good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Better {
    /// Being small.
    Lower,
    /// Being large.
    Higher,
    /// Being near a number.
    Near(f64),
}

/// One of the scores.
#[derive(Debug, Clone, Copy)]
pub struct Measure {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name in a table.
    pub title: &'static str,
    /// Its name at the head of a narrow column.
    pub short: &'static str,
    /// Its unit and what is good, in a few words; nothing where the title says it.
    pub remark: &'static str,
    /// What is good.
    pub better: Better,
    /// How it is written.
    pub unit: Unit,
    /// Whether it is of all targets of a row together, and not an average over targets.
    pub is_joint: bool,
    /// Whether it is among the few that short tables show.
    pub is_chief: bool,
    of: fn(&Scores) -> Option<f64>,
}

impl Measure {
    /// Its value, where the rows have one.
    pub fn of(&self, scores: &Scores) -> Option<f64> {
        (self.of)(scores)
    }

    const fn lower(
        name: &'static str,
        title: &'static str,
        remark: &'static str,
        of: fn(&Scores) -> Option<f64>,
    ) -> Self {
        let (better, unit) = (Better::Lower, Unit::Number);
        Self { name, title, short: title, remark, better, unit, is_joint: false, is_chief: true, of }
    }

    const fn inside([name, title, short]: [&'static str; 3], share: f64, of: fn(&Scores) -> Option<f64>) -> Self {
        let (better, is_chief) = (Better::Near(share), share == 0.95);
        Self { name, title, short, remark: "", better, unit: Unit::Share, is_joint: false, is_chief, of }
    }

    const fn log_score(title: &'static str) -> Self {
        Self {
            name: "mean_log_density",
            title,
            short: title,
            remark: "nats/row, higher is better",
            better: Better::Higher,
            unit: Unit::Number,
            is_joint: true,
            is_chief: true,
            of: |s| Some(s.mean_log_density),
        }
    }
}

/// How a score is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// As a number.
    Number,
    /// As a share, in per cent.
    Share,
}

impl Task {
    /// The scores that suit, in the order in which they are shown.
    pub fn measures(self) -> &'static [Measure] {
        match self {
            Self::Regression => &OF_NUMBERS,
            Self::Classes { .. } => &OF_CLASSES,
            Self::Ordinal { .. } => &OF_LEVELS,
            Self::Counts => &OF_COUNTS,
            Self::Censored => &OF_CENSORED,
        }
    }
}

const RMSE: Measure = Measure::lower("rmse", "RMSE", "target's unit, lower is better", |s| s.rmse());
const MAE: Measure =
    Measure::lower("mae", "mean absolute error", "target's unit, lower", |s| Some(s.numbers.as_ref()?.mae));
const LEVELS_RMSE: Measure = Measure { remark: "in levels, lower is better", ..RMSE };
const LEVELS_MAE: Measure = Measure { remark: "in levels, lower is better", ..MAE };
const CRPS: Measure =
    Measure::lower("crps", "CRPS", "target's unit, lower is better", |s| Some(s.numbers.as_ref()?.crps));
const RPS: Measure =
    Measure::lower("crps", "ranked probability score", "lower is better", |s| Some(s.numbers.as_ref()?.crps));
const LOG_DENSITY: Measure = Measure::log_score("mean log density");
const LOG_LIKELIHOOD: Measure = Measure::log_score("mean log likelihood");
const CONCORDANCE: Measure = Measure {
    better: Better::Higher,
    ..Measure::lower("concordance", "concordance", "pairs in the right order, higher is better", |s| s.concordance)
};
const LOG_PROBABILITY: Measure = Measure::log_score("mean log probability");
const INSIDE_50: Measure = Measure::inside(["coverage_50", "inside the 50 % interval", "in 50 % interval"], 0.5, |s| {
    Some(s.numbers.as_ref()?.coverage_50)
});
const INSIDE_80: Measure = Measure::inside(["coverage_80", "inside the 80 % interval", "in 80 % interval"], 0.8, |s| {
    Some(s.numbers.as_ref()?.coverage_80)
});
const INSIDE_90: Measure = Measure::inside(["coverage_90", "inside the 90 % interval", "in 90 % interval"], 0.9, |s| {
    Some(s.numbers.as_ref()?.coverage_90)
});
const INSIDE_95: Measure =
    Measure::inside(["coverage_95", "inside the 95 % interval", "in 95 % interval"], 0.95, |s| s.coverage_95());
const INSIDE_99: Measure =
    Measure::inside(["coverage_99", "inside the 99 % interval", "in 99 % interval"], 0.99, |s| {
        Some(s.numbers.as_ref()?.coverage_99)
    });
const ERROR_RATE: Measure = Measure {
    unit: Unit::Share,
    ..Measure::lower("error_rate", "wrong labels", "lower is better", |s| s.error_rate())
};
const BRIER: Measure = Measure::lower("brier", "Brier score", "lower is better", |s| Some(s.labels.as_ref()?.brier));
const ECE: Measure = Measure {
    is_chief: false,
    ..Measure::lower("ece", "calibration error", "lower is better", |s| Some(s.labels.as_ref()?.ece))
};
const AUC: Measure = Measure {
    better: Better::Higher,
    ..Measure::lower("auc", "area under the ROC curve", "higher is better", |s| s.labels.as_ref()?.auc)
};
const DEVIANCE: Measure = Measure::lower("deviance", "Poisson deviance", "of the means, lower is better", |s| {
    Some(s.counts.as_ref()?.deviance)
});

/// Measures of predicted numbers.
pub(crate) static OF_NUMBERS: [Measure; 9] =
    [RMSE, MAE, LOG_DENSITY, CRPS, INSIDE_50, INSIDE_80, INSIDE_90, INSIDE_95, INSIDE_99];

/// Measures of the probabilities of classes.
pub(crate) static OF_CLASSES: [Measure; 5] = [LOG_PROBABILITY, ERROR_RATE, AUC, BRIER, ECE];

/// Measures of predicted levels; errors are those of their numbers, whatever these are called.
pub(crate) static OF_LEVELS: [Measure; 7] =
    [LOG_PROBABILITY, RPS, ERROR_RATE, LEVELS_RMSE, LEVELS_MAE, INSIDE_80, INSIDE_95];

/// Measures of predicted numbers of which some are known within bounds; errors are of those that were seen.
pub(crate) static OF_CENSORED: [Measure; 7] = [LOG_LIKELIHOOD, CONCORDANCE, RMSE, MAE, INSIDE_50, INSIDE_80, INSIDE_95];

/// Measures of predicted counts.
pub(crate) static OF_COUNTS: [Measure; 9] =
    [LOG_PROBABILITY, RPS, RMSE, MAE, DEVIANCE, INSIDE_50, INSIDE_80, INSIDE_95, INSIDE_99];
