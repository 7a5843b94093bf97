//! The models to be beaten: a constant, and one that is linear in the inputs, both with constant noise.
//!
//! ```text
//! W = (XᵀX + λI)⁻¹ XᵀY,   λ = 1e-6 of the mean of the diagonal,   σ² = mean of (y − Wᵀx)²
//! ```
//! in standardised units, where there is no intercept to find.

use crate::generalised_linear::GeneralisedLinear;
use crate::likelihood_choice::ConstantLaw;
use crate::predictive::Predictive;
use crate::row_info::Rows;
use crate::standardise::Standardiser;
use crate::standardised_data::StandardisedData;
use crate::task::Task;
use deepgp::gauss::DiagGaussian;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::{Cholesky, Jitter, Mat, Op, mul};
use serde::{Deserialize, Serialize};

/// Most features: the normal equations have their square.
const MAX_FEATURES: usize = 1000;
/// Rows whose products are taken at a time.
const BLOCK_ROWS: usize = 256;
/// Least share of a target's variance that is called noise: an exact fit must still have a density.
const LEAST_VAR: f64 = 1e-12;

/// A linear model of standardised data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearModel {
    /// W, D × P.
    weights: Mat,
    /// Mean squared residual of each target over the training rows.
    noise_var: Vec<f64>,
}

impl LinearModel {
    /// Fits it to standardised data; nothing if there are more than a thousand features. Cost: O(N D (D + P)).
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] if rounding leaves the normal equations without a solution.
    pub fn fit(data: &StandardisedData) -> Result<Option<Self>> {
        let (x, y) = (data.x(), data.y());
        let (d, p) = (x.cols(), y.cols());
        if d > MAX_FEATURES {
            return Ok(None);
        }
        let (mut xx, mut xy) = (Mat::zeros(d, d), Mat::zeros(d, p));
        let (mut x_block, mut y_block, mut product) = (Mat::default(), Mat::default(), Mat::default());
        for_blocks(x.rows(), |rows| {
            x_block.gather_rows(x, rows);
            y_block.gather_rows(y, rows);
            for (right, sum) in [(&x_block, &mut xx), (&y_block, &mut xy)] {
                product.reset(d, right.cols());
                mul(&mut product, &x_block, Op::T, right, Op::Id);
                sum.add_scaled(1.0, &product);
            }
        });
        let scale = 1.0 / x.rows() as f64;
        xx.as_mut_slice().iter_mut().chain(xy.as_mut_slice()).for_each(|v| *v *= scale);
        let inverse =
            Cholesky::with_jitter(&xx, Jitter::Relative(1e-6), "normal equations of the linear model")?.inverse();
        let mut weights = Mat::zeros(d, p);
        mul(&mut weights, &inverse, Op::Id, &xy, Op::Id);
        let mut fitted = Self { weights, noise_var: vec![0.0; p] };
        let mut squares = vec![0.0; p];
        for_blocks(x.rows(), |rows| {
            x_block.gather_rows(x, rows);
            let mean = fitted.mean(&x_block);
            for (i, &n) in rows.iter().enumerate() {
                let residuals = mean.row(i).iter().zip(y.row(n)).map(|(m, y)| y - m);
                squares.iter_mut().zip(residuals).for_each(|(sum, r)| *sum += r * r);
            }
        });
        fitted.noise_var = squares.into_iter().map(|sum| (sum * scale).max(LEAST_VAR)).collect();
        Ok(Some(fitted))
    }

    /// Checks that it fits so many inputs and outputs and is finite, which nothing else guarantees of what came from a
    /// file.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::NotFinite`] or [`Error::Parameter`].
    pub fn check(&self, dim_in: usize, dim_out: usize) -> Result<()> {
        for (what, expected, found) in [
            ("rows of the linear model", dim_in, self.weights.rows()),
            ("columns of the linear model", dim_out, self.weights.cols()),
            ("noise variances of the linear model", dim_out, self.noise_var.len()),
        ] {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.weights.check_data("weights of the linear model")?;
        match self.noise_var.iter().position(|v| !(v.is_finite() && *v > 0.0)) {
            None => Ok(()),
            Some(entry) => {
                let (name, requirement) = ("noise_var of the linear model", "it must be positive and finite");
                let value = self.noise_var[entry];
                Err(Error::Parameter { name, layer: None, entry: Some(entry), value, requirement })
            }
        }
    }

    /// Moments of y for standardised inputs.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub fn predict(&self, x: &Mat) -> Result<DiagGaussian> {
        x.check_data("inputs")?;
        if x.cols() != self.weights.rows() {
            return Err(Error::Shape { what: "columns of the inputs", expected: self.weights.rows(), found: x.cols() });
        }
        let mean = self.mean(x);
        let var = Mat::from_fn(x.rows(), self.noise_var.len(), |_, p| self.noise_var[p]);
        Ok(DiagGaussian { mean, var })
    }

    fn mean(&self, x: &Mat) -> Mat {
        let mut mean = Mat::zeros(x.rows(), self.weights.cols());
        mul(&mut mean, x, Op::Id, &self.weights, Op::Id);
        mean
    }
}

/// Calls `work` with the numbers of the rows, a block at a time.
fn for_blocks(n_rows: usize, mut work: impl FnMut(&[usize])) {
    let mut rows = Vec::with_capacity(BLOCK_ROWS);
    for start in (0..n_rows).step_by(BLOCK_ROWS) {
        rows.clear();
        rows.extend(start..n_rows.min(start + BLOCK_ROWS));
        work(&rows);
    }
}

/// A model that is linear in the inputs, of whatever the targets are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Linear {
    /// Of labels or counts.
    Generalised(GeneralisedLinear),
    /// Of numbers.
    Plain(LinearModel),
}

impl Linear {
    /// Fits it to standardised data; nothing if there are more than a thousand features.
    ///
    /// # Errors
    /// As [`LinearModel::fit`] and [`GeneralisedLinear::fit`].
    pub fn fit(data: &StandardisedData) -> Result<Option<Self>> {
        if data.task() != Task::Regression {
            return Ok(GeneralisedLinear::fit(data)?.map(Self::Generalised));
        }
        Ok(LinearModel::fit(data)?.map(Self::Plain))
    }

    /// Checks one that came from a file.
    ///
    /// # Errors
    /// As [`LinearModel::check`].
    pub(crate) fn check(&self, task: Task, inputs: usize, targets: usize) -> Result<()> {
        match self {
            Self::Generalised(linear) if task != Task::Regression => linear.check(inputs),
            Self::Plain(linear) if task == Task::Regression => linear.check(inputs, targets),
            _ => Err(Error::Shape { what: "targets of the linear model", expected: targets, found: 0 }),
        }
    }
}

/// What models to compare with are made of.
#[derive(Debug, Clone, Copy)]
pub struct Baselines<'a> {
    /// What the targets are.
    pub task: Task,
    /// How inputs are standardised.
    pub inputs: &'a Standardiser,
    /// How targets are standardised.
    pub targets: &'a Standardiser,
    /// The law of the training targets, where they are no numbers of a regression.
    pub average_row: Option<&'a ConstantLaw>,
    /// The linear model, if there is one.
    pub linear: Option<&'a Linear>,
}

impl<'a> Baselines<'a> {
    /// Those of training data and a linear model of them.
    pub fn of(data: &'a StandardisedData, linear: Option<&'a Linear>) -> Self {
        let (task, inputs, targets, average_row) = (data.task(), data.inputs(), data.targets(), data.average_row());
        Self { task, inputs, targets, average_row, linear }
    }

    /// What they say of raw rows: "constant", which knows the training targets and no inputs, and "linear" where
    /// there is one.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub fn predictive<'r>(&self, rows: impl Into<Rows<'r>>) -> Result<Vec<(&'static str, Predictive)>> {
        let Self { task, inputs, targets, average_row, linear } = *self;
        let Rows { x, info } = rows.into();
        let mut all = vec![("constant", task.constant(targets, average_row, x.rows(), info))];
        if let Some(linear) = linear {
            let x = inputs.apply(x, "inputs")?;
            let predictive = match linear {
                Linear::Plain(linear) => Predictive::normal(targets.invert_moments(&linear.predict(&x)?)?),
                Linear::Generalised(linear) => linear.predictive(task, &x, targets, info)?,
            };
            all.push(("linear", predictive));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_and_its_noise_measured() -> Result<()> {
        // Noise that is orthogonal to both inputs by symmetry.
        let sign = |i: usize, bit: usize| if i >> bit & 1 == 0 { 1.0 } else { -1.0 };
        let x = Mat::from_fn(800, 3, |i, j| 5.0 + 2.0 * sign(i, j) * if j == 2 { 0.0 } else { 1.0 });
        let y = Mat::from_fn(800, 1, |i, _| 7.0 + 3.0 * x[(i, 0)] - x[(i, 1)] + 0.5 * sign(i, 3));
        let data = StandardisedData::new(x, y)?;
        let linear = LinearModel::fit(&data)?.expect("few features");
        linear.check(3, 1)?;
        let noise_std = linear.noise_var[0].sqrt() * data.targets().scale()[0];
        assert!((noise_std - 0.5).abs() < 1e-5, "{noise_std}");
        let first = linear.predict(&data.x().select_rows(&[0]))?;
        let mean = data.targets().invert_mean(&first.mean)?[(0, 0)];
        assert!((mean - (7.0 + 3.0 * 7.0 - 7.0)).abs() < 1e-4, "{mean}");
        Ok(())
    }

    #[test]
    fn what_is_not_a_model_is_refused() {
        let sound = LinearModel { weights: Mat::zeros(2, 1), noise_var: vec![1.0] };
        assert_eq!(sound.check(2, 1), Ok(()));
        assert!(sound.check(3, 1).is_err() && sound.check(2, 2).is_err());
        assert!(LinearModel { noise_var: vec![0.0], ..sound.clone() }.check(2, 1).is_err());
        assert!(LinearModel { weights: Mat::from_fn(2, 1, |_, _| f64::NAN), ..sound.clone() }.check(2, 1).is_err());
        assert!(sound.predict(&Mat::zeros(1, 3)).is_err());
    }
}
