//! How good predictive laws are: error, log density, calibration.

use crate::law::{Interval, PredictiveLaw};
use crate::predictive::Predictive;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// Scores over rows; errors and intervals are averaged over targets, the log density is joint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Number of rows.
    pub rows: usize,
    /// Root mean squared error, in the target's unit.
    pub rmse: f64,
    /// Mean absolute error, in the target's unit.
    pub mae: f64,
    /// Mean log predictive density in nats per row; larger is better.
    pub mean_log_density: f64,
    /// Continuous ranked probability score of the predicted distribution, in the target's unit.
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

impl Scores {
    /// Whether every score is a number: densities of extreme targets overflow.
    pub fn is_finite(&self) -> bool {
        [self.rmse, self.mae, self.mean_log_density, self.crps].iter().all(|score| score.is_finite())
    }
}

/// Probabilities of the central intervals that are counted.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// Scores in the making, of rows that come in pieces: it keeps sums, not rows.
#[derive(Debug, Clone)]
pub struct ScoreTally {
    intervals: [Interval; 5],
    rows: usize,
    cells: usize,
    /// Squared errors are summed relative to the largest error, so that they neither overflow nor vanish.
    largest: f64,
    squares: f64,
    absolute: f64,
    log_density: f64,
    crps: f64,
    inside: [usize; 5],
}

impl Default for ScoreTally {
    fn default() -> Self {
        Self::new()
    }
}

impl ScoreTally {
    /// A tally of no rows.
    pub fn new() -> Self {
        Self {
            intervals: LEVELS.map(Interval::central),
            rows: 0,
            cells: 0,
            largest: 0.0,
            squares: 0.0,
            absolute: 0.0,
            log_density: 0.0,
            crps: 0.0,
            inside: [0; 5],
        }
    }

    /// Adds rows of predictive laws and observed `y`.
    ///
    /// # Errors
    /// As [`Predictive::log_density`] and [`Predictive::moments`].
    pub fn add(&mut self, predictive: &Predictive, y: &Mat) -> Result<()> {
        let (log_density, mean) = (predictive.log_density(y)?, predictive.moments()?.mean);
        self.rows += y.rows();
        self.log_density += log_density.iter().sum::<f64>();
        for n in 0..y.rows() {
            for p in 0..y.cols() {
                self.add_cell(&predictive.law(n, p), mean[(n, p)], y[(n, p)]);
            }
        }
        Ok(())
    }

    /// Adds rows of one target alone.
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many rows.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn add_target(&mut self, predictive: &Predictive, target: usize, y: &Mat) -> Result<()> {
        if y.rows() != predictive.rows() {
            return Err(Error::Shape { what: "rows of the targets", expected: predictive.rows(), found: y.rows() });
        }
        self.rows += y.rows();
        for n in 0..y.rows() {
            let (law, observed) = (predictive.law(n, target), y[(n, target)]);
            self.log_density += law.log_prob(observed);
            self.add_cell(&law, law.moments().0, observed);
        }
        Ok(())
    }

    fn add_cell(&mut self, law: &impl PredictiveLaw, mean: f64, y: f64) {
        let error = (y - mean).abs();
        self.cells += 1;
        self.absolute += error;
        self.crps += law.crps(y);
        // One square of this size, none of nothing, and what is no number stays none.
        self.add_squares(error, if error > 0.0 { 1.0 } else { error });
        let is_inside = law.is_inside(y, self.intervals);
        self.inside.iter_mut().zip(is_inside).for_each(|(count, inside)| *count += usize::from(inside));
    }

    /// Adds the rows of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.cells += other.cells;
        self.absolute += other.absolute;
        self.log_density += other.log_density;
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

    /// The scores of all rows so far.
    ///
    /// # Errors
    /// [`Error::Empty`] if there were none.
    pub fn scores(&self) -> Result<Scores> {
        if self.cells == 0 {
            return Err(Error::Empty { what: "observations", rows: self.rows, columns: 1 });
        }
        let (rows, cells) = (self.rows as f64, self.cells as f64);
        let mean_square = self.squares / cells;
        let [coverage_50, coverage_80, coverage_90, coverage_95, coverage_99] =
            self.inside.map(|count| count as f64 / cells);
        Ok(Scores {
            rows: self.rows,
            // An error without end leaves 0/0 in the sum.
            rmse: if self.largest.is_infinite() { f64::INFINITY } else { self.largest.max(0.0) * mean_square.sqrt() },
            mae: self.absolute / cells,
            mean_log_density: self.log_density / rows,
            crps: self.crps / cells,
            coverage_50,
            coverage_80,
            coverage_90,
            coverage_95,
            coverage_99,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp::gauss::DiagGaussian;
    use deepgp_numerics::special::{normal_log_density, normal_quantile};

    fn table(rows: usize) -> (DiagGaussian, Mat) {
        let wave = |a: f64| move |i: usize, j: usize| (a * (i * 7 + j * 3) as f64).sin();
        let mean = Mat::from_fn(rows, 2, wave(0.7));
        let var = Mat::from_fn(rows, 2, |i, j| 0.05 + wave(1.3)(i, j).powi(2));
        (DiagGaussian { mean, var }, Mat::from_fn(rows, 2, |i, j| 1.5 * wave(0.9)(i, j)))
    }

    #[test]
    fn sums_over_pieces_are_the_scores_of_the_whole() -> Result<()> {
        let (moments, y) = table(101);
        // Cell by cell: observed, mean and standard deviation.
        let cells: Vec<[f64; 3]> = (0..101)
            .flat_map(|n| [0, 1].map(|p| [y[(n, p)], moments.mean[(n, p)], moments.var[(n, p)].sqrt()]))
            .collect();
        let average =
            |of: &dyn Fn([f64; 3]) -> f64| cells.iter().map(|cell| of(*cell)).sum::<f64>() / cells.len() as f64;
        let coverage = |level: f64| {
            let half_width = normal_quantile(0.5 * (1.0 + level));
            average(&|[y, mean, std]| f64::from(u8::from((y - mean).abs() <= half_width * std)))
        };
        // Pieces are added to one tally, or tallies of pieces to each other.
        let (mut tally, mut merged) = (ScoreTally::default(), ScoreTally::default());
        let mut targets = [ScoreTally::new(), ScoreTally::new()];
        for start in (0..101).step_by(17) {
            let rows: Vec<usize> = (start..101.min(start + 17)).collect();
            let (part, y) = (Predictive::normal(moments.clone()).of_rows(&rows), y.select_rows(&rows));
            tally.add(&part, &y)?;
            let mut of_part = ScoreTally::new();
            of_part.add(&part, &y)?;
            merged.merge(&of_part);
            for (p, tally) in targets.iter_mut().enumerate() {
                tally.add_target(&part, p, &y)?;
            }
        }
        let (scores, others) = (tally.scores()?, merged.scores()?);
        let [first, second] = [targets[0].scores()?, targets[1].scores()?];
        assert_eq!((scores.rows, scores.coverage_90), (others.rows, others.coverage_90));
        for (name, found, expected) in [
            ("rmse of merged tallies", others.rmse, scores.rmse),
            ("mae of merged tallies", others.mae, scores.mae),
            ("mean log density of merged tallies", others.mean_log_density, scores.mean_log_density),
            ("crps of merged tallies", others.crps, scores.crps),
            ("mae of single targets", 0.5 * (first.mae + second.mae), scores.mae),
            (
                "log densities of single targets",
                first.mean_log_density + second.mean_log_density,
                scores.mean_log_density,
            ),
            ("rmse", scores.rmse, average(&|[y, mean, _]| (y - mean).powi(2)).sqrt()),
            ("mae", scores.mae, average(&|[y, mean, _]| (y - mean).abs())),
            (
                "mean log density",
                scores.mean_log_density,
                2.0 * average(&|[y, mean, std]| normal_log_density(y, mean, std * std)),
            ),
            ("crps", scores.crps, average(&|[y, mean, std]| crate::law::Normal { mean, var: std * std }.crps(y))),
            ("coverage 50", scores.coverage_50, coverage(0.5)),
            ("coverage 80", scores.coverage_80, coverage(0.8)),
            ("coverage 90", scores.coverage_90, coverage(0.9)),
            ("coverage 95", scores.coverage_95, coverage(0.95)),
            ("coverage 99", scores.coverage_99, coverage(0.99)),
        ] {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name}: {found} is not {expected}");
        }
        Ok(())
    }

    #[test]
    fn extreme_errors_neither_overflow_nor_pass_silently() -> Result<()> {
        let one = |y: f64| {
            let moments = DiagGaussian { mean: Mat::zeros(2, 1), var: Mat::from_fn(2, 1, |_, _| 1.0) };
            let mut tally = ScoreTally::new();
            tally.add(&Predictive::normal(moments), &Mat::from_fn(2, 1, |i, _| if i == 0 { 0.0 } else { y }))?;
            tally.scores()
        };
        assert!((one(1e300)?.rmse / 1e300 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!((one(1e-300)?.rmse / 1e-300 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(one(0.0)?.rmse, 0.0);
        // The density of an extreme target is beyond all numbers.
        assert!(one(1.0)?.is_finite() && !one(1e300)?.is_finite());
        assert!(matches!(one(f64::NAN), Err(Error::NotFinite { row: 1, .. })));
        assert!(matches!(one(f64::INFINITY), Err(Error::NotFinite { row: 1, .. })));
        Ok(())
    }

    #[test]
    fn tables_must_fit() {
        let (moments, y) = table(3);
        let predictive = Predictive::normal(moments);
        for wrong in [Mat::zeros(2, 2), Mat::zeros(3, 1)] {
            assert!(matches!(ScoreTally::new().add(&predictive, &wrong), Err(Error::Shape { .. })));
        }
        let mut tally = ScoreTally::new();
        assert!(matches!(tally.add_target(&predictive, 1, &y.select_rows(&[0])), Err(Error::Shape { .. })));
        assert!(matches!(tally.scores(), Err(Error::Empty { .. })));
    }
}
