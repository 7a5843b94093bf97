//! Scores as they are shown: name, unit, and what is good.

use crate::scores::Scores;

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
    /// Whether it is of all targets of a row together, and not an average over targets.
    pub is_joint: bool,
    /// Whether it is among the few that short tables show.
    pub is_chief: bool,
    of: fn(&Scores) -> f64,
}

impl Measure {
    /// Its value.
    pub fn of(&self, scores: &Scores) -> f64 {
        (self.of)(scores)
    }

    const fn lower(name: &'static str, title: &'static str, remark: &'static str, of: fn(&Scores) -> f64) -> Self {
        Self { name, title, short: title, remark, better: Better::Lower, is_joint: false, is_chief: true, of }
    }

    const fn inside([name, title, short]: [&'static str; 3], share: f64, of: fn(&Scores) -> f64) -> Self {
        let (better, is_chief) = (Better::Near(share), share == 0.95);
        Self { name, title, short, remark: "", better, is_joint: false, is_chief, of }
    }
}

/// Measures of predicted numbers.
pub(crate) static OF_NUMBERS: [Measure; 9] = [
    Measure::lower("rmse", "RMSE", "target's unit, lower is better", |s| s.rmse),
    Measure::lower("mae", "mean absolute error", "target's unit, lower", |s| s.mae),
    Measure {
        name: "mean_log_density",
        title: "mean log density",
        short: "mean log density",
        remark: "nats/row, higher is better",
        better: Better::Higher,
        is_joint: true,
        is_chief: true,
        of: |s| s.mean_log_density,
    },
    Measure::lower("crps", "CRPS", "target's unit, lower is better", |s| s.crps),
    Measure::inside(["coverage_50", "inside the 50 % interval", "in 50 % interval"], 0.5, |s| s.coverage_50),
    Measure::inside(["coverage_80", "inside the 80 % interval", "in 80 % interval"], 0.8, |s| s.coverage_80),
    Measure::inside(["coverage_90", "inside the 90 % interval", "in 90 % interval"], 0.9, |s| s.coverage_90),
    Measure::inside(["coverage_95", "inside the 95 % interval", "in 95 % interval"], 0.95, |s| s.coverage_95),
    Measure::inside(["coverage_99", "inside the 99 % interval", "in 99 % interval"], 0.99, |s| s.coverage_99),
];
