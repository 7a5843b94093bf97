//! How good predictions are: error, log density, calibration.

use crate::predictive::Predictive;
use deepgp::gauss::DiagGaussian;
use deepgp::metrics::{crps_normal, normal_quantile};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::special::normal_log_density;
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
    /// The same for the 80 % interval.
    pub coverage_80: f64,
    /// The same for the 90 % interval.
    pub coverage_90: f64,
    /// The same for the 95 % interval.
    pub coverage_95: f64,
    /// The same for the 99 % interval.
    pub coverage_99: f64,
}

impl Scores {
    /// Scores of predicted moments of y against observed `y`, with the rows' log densities.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Empty`] if the tables do not fit.
    pub fn new(predicted: &DiagGaussian, y: &Mat, log_density: &[f64]) -> Result<Self> {
        let mut tally = ScoreTally::new();
        tally.add(predicted, y, log_density)?;
        tally.scores()
    }

    /// Whether every score is a number: densities of extreme targets overflow.
    pub fn is_finite(&self) -> bool {
        [self.rmse, self.mae, self.mean_log_density, self.crps].iter().all(|score| score.is_finite())
    }
}

/// Log density of each row of `y` under independent normals with the given moments.
pub(crate) fn normal_log_densities(predicted: &DiagGaussian, y: &Mat) -> Vec<f64> {
    let row = |n: usize| {
        let one = |p: usize| normal_log_density(y[(n, p)], predicted.mean[(n, p)], predicted.var[(n, p)]);
        (0..y.cols()).map(one).sum()
    };
    (0..y.rows()).map(row).collect()
}

/// Probabilities of the central intervals that are counted.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];

/// Scores in the making, of rows that come in pieces: it keeps sums, not rows.
#[derive(Debug, Clone)]
pub struct ScoreTally {
    half_widths: [f64; 5],
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
    /// Of no rows.
    pub fn new() -> Self {
        Self {
            half_widths: LEVELS.map(|level| -normal_quantile(0.5 * (1.0 - level))),
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

    /// Adds rows: predicted moments of y, observed `y`, and the rows' log densities. Intervals are those of normals.
    ///
    /// # Errors
    /// [`Error::Shape`] if the tables do not fit.
    pub fn add(&mut self, predicted: &DiagGaussian, y: &Mat, log_density: &[f64]) -> Result<()> {
        let half_widths = self.half_widths;
        self.add_cells(predicted, y, log_density, |n, p| {
            let (mean, std, observed) = (predicted.mean[(n, p)], predicted.var[(n, p)].sqrt(), y[(n, p)]);
            let error = (observed - mean).abs();
            (crps_normal(mean, std, observed), half_widths.map(|half_width| error <= half_width * std))
        })
    }

    /// Adds rows of predictive distributions, with the rows' log densities.
    ///
    /// # Errors
    /// As [`ScoreTally::add`].
    pub fn add_predictive(&mut self, predictive: &Predictive, y: &Mat, log_density: &[f64]) -> Result<()> {
        let moments = predictive.moments()?;
        if predictive.is_normal() {
            return self.add(&moments, y, log_density);
        }
        self.add_cells(&moments, y, log_density, |n, p| {
            let observed = y[(n, p)];
            let off_centre = (2.0 * predictive.cdf(n, p, observed) - 1.0).abs();
            (predictive.crps(n, p, observed), LEVELS.map(|level| off_centre <= level))
        })
    }

    /// Adds rows; `judge` gives the ranked score of a cell, and for each level whether the cell is inside its interval.
    fn add_cells(
        &mut self,
        predicted: &DiagGaussian,
        y: &Mat,
        log_density: &[f64],
        judge: impl Fn(usize, usize) -> (f64, [bool; 5]),
    ) -> Result<()> {
        for (what, expected, found) in [
            ("rows of the targets", predicted.mean.rows(), y.rows()),
            ("columns of the targets", predicted.mean.cols(), y.cols()),
            ("rows of the variances", predicted.mean.rows(), predicted.var.rows()),
            ("log densities", y.rows(), log_density.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.rows += y.rows();
        self.log_density += log_density.iter().sum::<f64>();
        for n in 0..y.rows() {
            for p in 0..y.cols() {
                let error = (y[(n, p)] - predicted.mean[(n, p)]).abs();
                let (crps, is_inside) = judge(n, p);
                self.cells += 1;
                self.absolute += error;
                self.crps += crps;
                // One square of this size, none of nothing, and what is no number stays none.
                self.add_squares(error, if error > 0.0 { 1.0 } else { error });
                self.inside.iter_mut().zip(is_inside).for_each(|(count, inside)| *count += usize::from(inside));
            }
        }
        Ok(())
    }

    /// Adds rows of a model whose densities are normal.
    ///
    /// # Errors
    /// As [`ScoreTally::add`].
    pub fn add_normal(&mut self, predicted: &DiagGaussian, y: &Mat) -> Result<()> {
        if (predicted.mean.rows(), predicted.mean.cols()) != (y.rows(), y.cols()) {
            return self.add(predicted, y, &[]);
        }
        self.add(predicted, y, &normal_log_densities(predicted, y))
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
    use deepgp::metrics::{central_coverage_normal, mae, mean_crps_normal, mean_log_density, rmse};

    fn table(rows: usize) -> (DiagGaussian, Mat) {
        let wave = |a: f64| move |i: usize, j: usize| (a * (i * 7 + j * 3) as f64).sin();
        let mean = Mat::from_fn(rows, 2, wave(0.7));
        let var = Mat::from_fn(rows, 2, |i, j| 0.05 + wave(1.3)(i, j).powi(2));
        (DiagGaussian { mean, var }, Mat::from_fn(rows, 2, |i, j| 1.5 * wave(0.9)(i, j)))
    }

    #[test]
    fn sums_over_pieces_are_the_scores_of_the_whole() -> Result<()> {
        let (moments, y) = table(101);
        let log_density = normal_log_densities(&moments, &y);
        let std: Vec<f64> = moments.var.as_slice().iter().map(|v| v.sqrt()).collect();
        let (mean, observed) = (moments.mean.as_slice(), y.as_slice());
        let coverage = |level| central_coverage_normal(mean, &std, observed, level);
        // Pieces are added to one tally, or tallies of pieces to each other.
        let (mut tally, mut merged) = (ScoreTally::default(), ScoreTally::default());
        for start in (0..101).step_by(17) {
            let rows: Vec<usize> = (start..101.min(start + 17)).collect();
            let part = DiagGaussian { mean: moments.mean.select_rows(&rows), var: moments.var.select_rows(&rows) };
            tally.add_normal(&part, &y.select_rows(&rows))?;
            let mut of_part = ScoreTally::new();
            of_part.add_normal(&part, &y.select_rows(&rows))?;
            merged.merge(&of_part);
        }
        let (scores, others) = (tally.scores()?, merged.scores()?);
        assert_eq!((scores.rows, scores.coverage_90), (others.rows, others.coverage_90));
        for (name, found, expected) in [
            ("rmse of merged tallies", others.rmse, scores.rmse),
            ("mae of merged tallies", others.mae, scores.mae),
            ("mean log density of merged tallies", others.mean_log_density, scores.mean_log_density),
            ("crps of merged tallies", others.crps, scores.crps),
            ("rmse", scores.rmse, rmse(mean, observed)?),
            ("mae", scores.mae, mae(mean, observed)?),
            ("mean log density", scores.mean_log_density, mean_log_density(&log_density)?),
            ("crps", scores.crps, mean_crps_normal(mean, &std, observed)?),
            ("coverage 50", scores.coverage_50, coverage(0.5)?),
            ("coverage 80", scores.coverage_80, coverage(0.8)?),
            ("coverage 90", scores.coverage_90, coverage(0.9)?),
            ("coverage 95", scores.coverage_95, coverage(0.95)?),
            ("coverage 99", scores.coverage_99, coverage(0.99)?),
        ] {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name}: {found} is not {expected}");
        }
        assert_eq!((scores.rows, Scores::new(&moments, &y, &log_density)?.coverage_80), (101, scores.coverage_80));
        Ok(())
    }

    #[test]
    fn extreme_errors_neither_overflow_nor_pass_silently() -> Result<()> {
        let one = |mean: f64, y: f64| {
            let moments = DiagGaussian { mean: Mat::from_fn(2, 1, |_, _| mean), var: Mat::from_fn(2, 1, |_, _| 1.0) };
            Scores::new(&moments, &Mat::from_fn(2, 1, |i, _| if i == 0 { mean } else { y }), &[0.0, 0.0])
        };
        assert!((one(0.0, 1e300)?.rmse / 1e300 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!((one(0.0, 1e-300)?.rmse / 1e-300 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(one(0.0, 0.0)?.rmse, 0.0);
        assert!(one(0.0, 1.0)?.is_finite() && !one(0.0, f64::NAN)?.is_finite());
        assert!(one(0.0, f64::NAN)?.rmse.is_nan() && one(0.0, f64::INFINITY)?.rmse == f64::INFINITY);
        Ok(())
    }

    #[test]
    fn tables_must_fit() {
        let (moments, y) = table(3);
        assert!(matches!(Scores::new(&moments, &y, &[0.0]), Err(Error::Shape { .. })));
        assert!(matches!(ScoreTally::new().add_normal(&moments, &Mat::zeros(3, 1)), Err(Error::Shape { .. })));
        assert!(matches!(ScoreTally::new().scores(), Err(Error::Empty { .. })));
    }
}
