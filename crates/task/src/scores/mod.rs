//! How good predictive laws are: the log probability of what was observed, and what suits the task beside it.

mod counts;
mod labels;
mod numbers;
mod order;

pub use counts::CountScores;
pub use labels::{LabelScores, ReliabilityBin, label_moments, most_probable};
pub use numbers::NumberScores;

use crate::law::PredictiveLaw;
use crate::predictive::Predictive;
use crate::task::Task;
use counts::CountTally;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use labels::LabelTally;
use numbers::NumberTally;
use order::OrderTally;
use serde::{Deserialize, Serialize};

/// Scores over rows, which count as many times as their weights say; errors and intervals are averaged over targets,
/// the log density is joint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Number of rows, each counted once.
    pub rows: usize,
    /// Mean log predictive density in nats per row, or mean log probability where targets take separate values; larger
    /// is better.
    pub mean_log_density: f64,
    /// Of numbers, counts and ordered levels.
    #[serde(flatten)]
    pub numbers: Option<NumberScores>,
    /// Of classes and ordered levels.
    #[serde(flatten)]
    pub labels: Option<LabelScores>,
    /// Of counts.
    #[serde(flatten)]
    pub counts: Option<CountScores>,
    /// Of numbers of which some are known within bounds: share of pairs whose order is known that are predicted in that
    /// order, of at most the first few thousand rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concordance: Option<f64>,
}

impl Scores {
    /// Whether every score is a number: densities of extreme targets overflow.
    pub fn is_finite(&self) -> bool {
        let numbers = self.numbers.iter().flat_map(|s| [s.rmse, s.mae, s.crps]);
        numbers.chain([self.mean_log_density]).all(f64::is_finite)
    }

    /// Root mean squared error, in the target's unit, where the task has one.
    pub fn rmse(&self) -> Option<f64> {
        self.numbers.as_ref().map(|scores| scores.rmse)
    }

    /// Share of targets inside the central 95 % interval, where the task has intervals.
    pub fn coverage_95(&self) -> Option<f64> {
        self.numbers.as_ref().map(|scores| scores.coverage_95)
    }

    /// Share of rows whose label is not the most probable one, where the task has labels.
    pub fn error_rate(&self) -> Option<f64> {
        self.labels.as_ref().map(|scores| scores.error_rate)
    }
}

/// Scores in the making, of rows that come in pieces: it keeps sums, not rows.
#[derive(Debug, Clone, Default)]
pub struct ScoreTally {
    rows: usize,
    /// What the rows count for.
    total_weight: f64,
    log_density: f64,
    numbers: NumberTally,
    labels: Option<LabelTally>,
    counts: Option<CountTally>,
    order: Option<OrderTally>,
}

impl ScoreTally {
    /// A tally of no rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds rows of predictive laws and observed `y`, each of which counts once.
    ///
    /// # Errors
    /// As [`Predictive::log_density`] and [`Predictive::moments`].
    pub fn add(&mut self, predictive: &Predictive, y: &Mat) -> Result<()> {
        self.add_weighted(predictive, y, &[])
    }

    /// Adds rows that count as so many rows each: every average becomes that of rows written so many times. Without
    /// weights each counts once.
    ///
    /// # Errors
    /// As [`ScoreTally::add`]; [`Error::Shape`] for another number of weights.
    pub fn add_weighted(&mut self, predictive: &Predictive, y: &Mat, weights: &[f64]) -> Result<()> {
        let (task, log_density) = (predictive.task(), predictive.log_density(y)?);
        self.count_rows(y.rows(), weights)?;
        let weight = |n: usize| weights.get(n).copied().unwrap_or(1.0);
        self.log_density += log_density.iter().enumerate().map(|(n, log_p)| weight(n) * log_p).sum::<f64>();
        if task.n_labels() > 0 {
            let tally = self.labels.get_or_insert_with(|| LabelTally::new(task.n_labels()));
            let probabilities = predictive.probabilities();
            let rows = probabilities.iter_rows().zip(y.as_slice()).enumerate();
            rows.for_each(|(n, (p, label))| tally.add(p, *label as usize, weight(n)));
        }
        if !task.is_ordered() {
            return Ok(());
        }
        let mean = predictive.moments()?.mean;
        if task == Task::Censored {
            let order = self.order.get_or_insert_default();
            for (n, bounds) in y.iter_rows().enumerate() {
                order.add(mean[(n, 0)], bounds, weight(n));
                if bounds[0] == bounds[1] {
                    self.numbers.add(&predictive.law(n, 0), mean[(n, 0)], bounds[0], weight(n));
                }
            }
            return Ok(());
        }
        for n in 0..y.rows() {
            for p in 0..y.cols() {
                self.numbers.add(&predictive.law(n, p), mean[(n, p)], y[(n, p)], weight(n));
            }
            if task == Task::Counts {
                self.counts.get_or_insert_default().add(mean[(n, 0)], y[(n, 0)], weight(n));
            }
        }
        Ok(())
    }

    /// Adds rows of one target alone, with weights as in [`ScoreTally::add_weighted`].
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many rows.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn add_target(&mut self, predictive: &Predictive, target: usize, y: &Mat, weights: &[f64]) -> Result<()> {
        if y.rows() != predictive.rows() {
            return Err(Error::Shape { what: "rows of the targets", expected: predictive.rows(), found: y.rows() });
        }
        self.count_rows(y.rows(), weights)?;
        for n in 0..y.rows() {
            let (law, observed) = (predictive.law(n, target), y[(n, target)]);
            let weight = weights.get(n).copied().unwrap_or(1.0);
            self.log_density += weight * law.log_prob(observed);
            self.numbers.add(&law, law.moments().0, observed, weight);
        }
        Ok(())
    }

    /// Counts rows and what they count for.
    fn count_rows(&mut self, rows: usize, weights: &[f64]) -> Result<()> {
        if !weights.is_empty() && weights.len() != rows {
            return Err(Error::Shape { what: "weights", expected: rows, found: weights.len() });
        }
        self.rows += rows;
        self.total_weight += if weights.is_empty() { rows as f64 } else { weights.iter().sum() };
        Ok(())
    }

    /// Adds the rows of another tally.
    pub fn merge(&mut self, other: &Self) {
        self.rows += other.rows;
        self.total_weight += other.total_weight;
        self.log_density += other.log_density;
        self.numbers.merge(&other.numbers);
        if let Some(labels) = &other.labels {
            self.labels.get_or_insert_with(|| LabelTally::new(labels.n_labels())).merge(labels);
        }
        if let Some(counts) = &other.counts {
            self.counts.get_or_insert_default().merge(counts);
        }
        if let Some(order) = &other.order {
            self.order.get_or_insert_default().merge(order);
        }
    }

    /// The scores of all rows so far.
    ///
    /// # Errors
    /// [`Error::Empty`] if there were none.
    pub fn scores(&self) -> Result<Scores> {
        if self.rows == 0 {
            return Err(Error::Empty { what: "observations", rows: 0, columns: 1 });
        }
        Ok(Scores {
            rows: self.rows,
            mean_log_density: self.log_density / self.total_weight,
            numbers: self.numbers.scores(),
            labels: self.labels.as_ref().map(LabelTally::scores),
            counts: self.counts.as_ref().map(CountTally::scores),
            concordance: self.order.as_ref().and_then(OrderTally::concordance),
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
                tally.add_target(&part, p, &y, &[])?;
            }
        }
        let (scores, others) = (tally.scores()?, merged.scores()?);
        let [first, second] = [targets[0].scores()?, targets[1].scores()?];
        assert_eq!((scores.rows, scores.coverage_95()), (others.rows, others.coverage_95()));
        let of = |scores: &Scores| scores.numbers.clone().expect("numbers");
        let (numbers, others_numbers, first_numbers, second_numbers) =
            (of(&scores), of(&others), of(&first), of(&second));
        for (name, found, expected) in [
            ("rmse of merged tallies", others_numbers.rmse, numbers.rmse),
            ("mae of merged tallies", others_numbers.mae, numbers.mae),
            ("mean log density of merged tallies", others.mean_log_density, scores.mean_log_density),
            ("crps of merged tallies", others_numbers.crps, numbers.crps),
            ("mae of single targets", 0.5 * (first_numbers.mae + second_numbers.mae), numbers.mae),
            (
                "log densities of single targets",
                first.mean_log_density + second.mean_log_density,
                scores.mean_log_density,
            ),
            ("rmse", numbers.rmse, average(&|[y, mean, _]| (y - mean).powi(2)).sqrt()),
            ("mae", numbers.mae, average(&|[y, mean, _]| (y - mean).abs())),
            (
                "mean log density",
                scores.mean_log_density,
                2.0 * average(&|[y, mean, std]| normal_log_density(y, mean, std * std)),
            ),
            ("crps", numbers.crps, average(&|[y, mean, std]| crate::law::Normal { mean, var: std * std }.crps(y))),
            ("coverage 50", numbers.coverage_50, coverage(0.5)),
            ("coverage 80", numbers.coverage_80, coverage(0.8)),
            ("coverage 90", numbers.coverage_90, coverage(0.9)),
            ("coverage 95", numbers.coverage_95, coverage(0.95)),
            ("coverage 99", numbers.coverage_99, coverage(0.99)),
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
        let rmse = |scores: Scores| scores.rmse().expect("numbers");
        assert!((rmse(one(1e300)?) / 1e300 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert!((rmse(one(1e-300)?) / 1e-300 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(rmse(one(0.0)?), 0.0);
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
        assert!(matches!(tally.add_target(&predictive, 1, &y.select_rows(&[0]), &[]), Err(Error::Shape { .. })));
        assert!(matches!(tally.scores(), Err(Error::Empty { .. })));
    }
}
