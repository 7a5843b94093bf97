//! How good predictions are: error, log density, calibration.

use deepgp::linalg::Mat;
use deepgp::metrics::{central_coverage_normal, mae, mean_crps_normal, mean_log_density, rmse};
use deepgp::predict::Moments;
use deepgp::{Error, Result};
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
    /// Continuous ranked probability score of a normal with the predicted moments, in the target's unit.
    pub crps: f64,
    /// Share of targets inside the central 95 % interval of a normal with the predicted moments.
    pub coverage_95: f64,
}

impl Scores {
    /// Scores of predicted moments of y against observed `y`, with the rows' log densities.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Empty`] if the tables do not fit.
    pub fn new(predicted: &Moments, y: &Mat, log_density: &[f64]) -> Result<Self> {
        let rows = ("rows of the targets", predicted.mean.rows(), y.rows());
        let columns = ("columns of the targets", predicted.mean.cols(), y.cols());
        for (what, expected, found) in [rows, columns] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        let std: Vec<f64> = predicted.var.as_slice().iter().map(|v| v.sqrt()).collect();
        let (mean, y_flat) = (predicted.mean.as_slice(), y.as_slice());
        Ok(Self {
            rows: y.rows(),
            rmse: rmse(mean, y_flat)?,
            mae: mae(mean, y_flat)?,
            mean_log_density: mean_log_density(log_density)?,
            crps: mean_crps_normal(mean, &std, y_flat)?,
            coverage_95: central_coverage_normal(mean, &std, y_flat, 0.95)?,
        })
    }
}
