//! Means and standard deviations of targets, numbers and levels alike.

use crate::errors::Failure;
use deepgp_numerics::linalg::Mat;
use deepgp_task::{Predictive, Task, label_moments};

/// The numbers that levels are, if they are.
pub fn level_values(levels: &[String]) -> Option<Vec<f64>> {
    levels.iter().map(|level| level.parse().ok().filter(|value: &f64| value.is_finite())).collect()
}

/// Means and standard deviations of targets, of levels by their `values`.
///
/// # Errors
/// [`Failure`] for moments that are not finite, and for labels that are no numbers.
pub fn moments(predictive: &Predictive, values: Option<&[f64]>) -> Result<[Mat; 2], Failure> {
    match (predictive.task(), values) {
        (Task::Regression | Task::Counts | Task::Censored, _) => {
            let mut y = predictive.moments()?;
            y.var.as_mut_slice().iter_mut().for_each(|v| *v = v.sqrt());
            Ok([y.mean, y.var])
        }
        (Task::Ordinal { .. }, Some(values)) => {
            let (p, mut mean) = (predictive.probabilities(), Mat::zeros(predictive.rows(), 1));
            let mut std = mean.clone();
            for n in 0..p.rows() {
                let (m, v) = label_moments(p.row(n), values);
                (mean[(n, 0)], std[(n, 0)]) = (m, v.sqrt());
            }
            Ok([mean, std])
        }
        _ => Err(Failure::data("labels that are no numbers have no mean; ask for their probabilities")),
    }
}
