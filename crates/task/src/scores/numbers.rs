//! Errors of predicted numbers, and how often they lie in predicted intervals.

use crate::law::{Interval, PredictiveLaw};
use serde::{Deserialize, Serialize};

/// Scores of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NumberScores {
    /// Root mean squared error of the predicted means, in the target's unit.
    pub rmse: f64,
    /// Mean absolute error of the predicted means, in the target's unit.
    pub mae: f64,
    /// Continuous ranked probability score of the predicted distribution, in the target's unit; of levels and counts
    /// the ranked probability score.
    pub crps: f64,
    /// Share of targets inside the central 50 % interval of the predicted distribution.
    pub coverage_50: f64,
    /// Share of targets inside the central 80 % interval.
    pub coverage_80: f64,
    /// Share of targets inside the central 90 % interval.
    pub coverage_90: f64,
    /// Share of targets inside the central 95 % interval.
    pub coverage_95: f64,
    /// Share of targets inside the central 99 % interval.
    pub coverage_99: f64,
}

/// Probabilities of the central intervals that are counted.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// Sums over targets.
#[derive(Debug, Clone)]
pub(super) struct NumberTally {
    intervals: [Interval; 5],
    /// What all targets count for, and those inside each interval.
    cells: f64,
    /// Squared errors are summed relative to the largest error, so that they neither overflow nor vanish.
    largest: f64,
    squares: f64,
    absolute: f64,
    crps: f64,
    inside: [f64; 5],
}

impl Default for NumberTally {
    fn default() -> Self {
        Self {
            intervals: LEVELS.map(Interval::central),
            cells: 0.0,
            largest: 0.0,
            squares: 0.0,
            absolute: 0.0,
            crps: 0.0,
            inside: [0.0; 5],
        }
    }
}

impl NumberTally {
    /// Adds a target that counts for so many, with its law and the mean of that.
    pub fn add(&mut self, law: &impl PredictiveLaw, mean: f64, y: f64, weight: f64) {
        let error = (y - mean).abs();
        self.cells += weight;
        self.absolute += weight * error;
        self.crps += weight * law.crps(y);
        // So many squares of this size, none of nothing, and what is no number stays none.
        self.add_squares(error, if error > 0.0 { weight } else { error });
        let is_inside = law.is_inside(y, self.intervals);
        self.inside.iter_mut().zip(is_inside).filter(|(_, inside)| *inside).for_each(|(count, _)| *count += weight);
    }

    /// Adds the targets of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.cells += other.cells;
        self.absolute += other.absolute;
        self.crps += other.crps;
        self.inside.iter_mut().zip(other.inside).for_each(|(count, more)| *count += more);
        self.add_squares(other.largest, other.squares);
    }

    /// Adds squared errors, of which the largest is the square of `largest` and the sum so many times as much.
    fn add_squares(&mut self, largest: f64, squares: f64) {
        if largest > self.largest {
            self.squares = squares + self.squares * (self.largest / largest).powi(2);
            self.largest = largest;
        } else if largest > 0.0 {
            self.squares += squares * (largest / self.largest).powi(2);
        } else {
            self.squares += squares;
        }
    }

    /// The scores; nothing of no targets.
    pub fn scores(&self) -> Option<NumberScores> {
        if self.cells == 0.0 {
            return None;
        }
        let cells = self.cells;
        let mean_square = self.squares / cells;
        let [coverage_50, coverage_80, coverage_90, coverage_95, coverage_99] = self.inside.map(|count| count / cells);
        Some(NumberScores {
            // An error without end leaves 0/0 in the sum.
            rmse: if self.largest.is_infinite() { f64::INFINITY } else { self.largest.max(0.0) * mean_square.sqrt() },
            mae: self.absolute / cells,
            crps: self.crps / cells,
            coverage_50,
            coverage_80,
            coverage_90,
            coverage_95,
            coverage_99,
        })
    }
}
