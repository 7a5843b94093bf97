//! A model with rows and columns to ask it about.

use crate::stats::quantile;
use deepgp::Result;
use deepgp::gauss::DiagGaussian;
use deepgp_numerics::linalg::Mat;
use deepgp_task::Model;

/// A column with no more values than this is one of a few cases rather than a quantity.
const FEW_VALUES: usize = 15;

/// A model with rows and columns to ask it about.
pub(crate) struct Probe<'a> {
    pub model: &'a Model,
    pub x: &'a Mat,
    pub y: &'a Mat,
    pub features: &'a [String],
    pub targets: &'a [String],
    /// Names of the labels, if the target has labels.
    pub labels: &'a [String],
    /// Median of each column.
    pub medians: Vec<f64>,
    /// Columns, most relevant first.
    pub by_relevance: Vec<usize>,
}

impl Probe<'_> {
    /// Moments of every layer for raw inputs, hidden ones in their own units.
    pub fn hidden(&self, x: &Mat) -> Result<Vec<DiagGaussian>> {
        self.model.layers(x)
    }

    /// Evenly spaced values of a column: over all of its range if it is the only one, else over all but its tails.
    pub fn grid(&self, column: usize, points: usize) -> Vec<f64> {
        let tail = if self.x.cols() == 1 { 0.0 } else { 0.01 };
        let values = self.x.column(column);
        let (mut low, mut high) = (quantile(&values, tail), quantile(&values, 1.0 - tail));
        if high <= low {
            // A constant column still has a neighbourhood, of the size that the model measures it in.
            let scale = self.model.inputs().scale()[column];
            (low, high) = (low - scale, high + scale);
        }
        (0..points).map(|i| low + (high - low) * i as f64 / (points - 1) as f64).collect()
    }

    /// Rows that run along a column, others at their medians.
    pub fn along(&self, column: usize, at: &[f64]) -> Mat {
        Mat::from_fn(at.len(), self.medians.len(), |n, c| if c == column { at[n] } else { self.medians[c] })
    }

    /// The median of a column; of one that has only a few values, one of them.
    pub fn median(&self, column: usize) -> f64 {
        let mut values = self.x.column(column);
        match self.few_values(column) {
            None => quantile(&values, 0.5),
            Some(_) => {
                values.sort_unstable_by(f64::total_cmp);
                values[(values.len() - 1) / 2]
            }
        }
    }

    /// The values of a column that has only a few.
    pub fn few_values(&self, column: usize) -> Option<Vec<f64>> {
        let mut few: Vec<f64> = Vec::new();
        for n in 0..self.x.rows() {
            let v = self.x[(n, column)];
            if !few.contains(&v) {
                few.push(v);
            }
            if few.len() > FEW_VALUES {
                return None;
            }
        }
        few.sort_unstable_by(f64::total_cmp);
        // So few rows that every column looks like one of cases tell nothing.
        (self.x.rows() > 2 * FEW_VALUES && few.len() > 1).then_some(few)
    }
}
