//! Regression that is linear in the inputs, for labels and counts: logistic, multinomial, ordered and negative binomial.
//!
//! ```text
//! f_n = Wᵀx_n + c        maximise  Σ_n log p(y_n | f_n, θ) − ½λ ‖W‖²,   λ = 1, of standardised inputs
//! ```
//! by L-BFGS. It is the model to be beaten where targets are no numbers of a regression.

use crate::likelihood_choice::ConstantLaw;
use crate::predictive::Predictive;
use crate::row_info::RowInfo;
use crate::standardise::Standardiser;
use crate::standardised_data::StandardisedData;
use crate::task::Task;
use deepgp::gauss::DiagGaussian;
use deepgp::init::sample_rows;
use deepgp::likelihood::{Likelihood, Observation, Slopes, TiltedBar};
use deepgp::param::Parameters;
use deepgp::{Error, Result};
use deepgp_numerics::linalg::{Mat, axpy, dot};
use deepgp_numerics::optim::minimise;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Most features, and most rows that it learns from.
const MAX_FEATURES: usize = 1000;
const MAX_ROWS: usize = 20_000;
/// Evaluations of the objective, and the gain of a step, in nats, at which it is done.
const EVALUATIONS: usize = 200;
const TOLERANCE: f64 = 1e-4;
/// λ.
const PENALTY: f64 = 1.0;
/// Latent values are held within ± this: beyond it there is nothing to tell apart.
const MOST: f64 = 100.0;

/// Rows that it learns from.
#[derive(Debug, Clone, Copy)]
struct TrainingRows<'a> {
    x: &'a Mat,
    y: &'a Mat,
    /// What is added to the latent values.
    offset: Option<&'a Mat>,
    /// What each row counts for; none for once.
    weight: &'a [f64],
}

/// What exposures add to latent values.
fn offset(likelihood: &Likelihood, info: &RowInfo) -> Option<Mat> {
    Some(info.offset(likelihood, &Standardiser::identity(1), None)?.mean)
}

/// A linear model of the latent functions of labels or counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeneralisedLinear {
    /// W, D × K.
    weights: Mat,
    /// The likelihood, with c.
    law: ConstantLaw,
}

impl GeneralisedLinear {
    /// Fits it to standardised data; nothing for a regression, of more than a thousand features, or if it cannot be
    /// evaluated. Cost: O(N D K) an evaluation, of at most 20,000 rows.
    ///
    /// # Errors
    /// [`Error::Shape`] from matrices.
    pub fn fit(data: &StandardisedData) -> Result<Option<Self>> {
        let choice = match data.task() {
            Task::Regression => return Ok(None),
            Task::Classes { .. } => crate::LikelihoodChoice::Softmax,
            task @ (Task::Ordinal { .. } | Task::Counts | Task::Censored) => task.default_likelihood(),
        };
        if data.x().cols() > MAX_FEATURES {
            return Ok(None);
        }
        let rows = match data.x().rows() {
            n if n > MAX_ROWS => sample_rows(n, MAX_ROWS, &mut ChaCha8Rng::seed_from_u64(0)),
            n => (0..n).collect(),
        };
        let (x, y, info) = (data.x().select_rows(&rows), data.y().select_rows(&rows), data.info().of_rows(&rows));
        let mut law = choice.constant(&y, data.task().n_labels(), &info.exposure);
        law.constant = law.latent();
        let mut start = vec![0.0; x.cols() * law.constant.len()];
        start.extend(&law.constant);
        law.likelihood.read_free(&mut start);
        let model = Self { weights: Mat::zeros(x.cols(), law.constant.len()), law };
        let offset = offset(&model.law.likelihood, &info);
        let rows = TrainingRows { x: &x, y: &y, offset: offset.as_ref(), weight: &info.weight };
        let found = minimise(start, EVALUATIONS, TOLERANCE, |theta| model.at(theta).objective(rows));
        Ok(found.map(|minimum| model.at(&minimum.theta)))
    }

    /// This model with other coordinates: W, c and the free parameters of the likelihood.
    fn at(&self, theta: &[f64]) -> Self {
        let mut model = self.clone();
        let (weights, rest) = theta.split_at(self.weights.as_slice().len());
        model.weights.as_mut_slice().copy_from_slice(weights);
        let (constant, free) = rest.split_at(self.law.constant.len());
        model.law.constant.copy_from_slice(constant);
        model.law.likelihood.write_free(free);
        model
    }

    /// f of a row.
    fn latent(&self, x: &[f64], f: &mut [f64]) {
        f.copy_from_slice(&self.law.constant);
        for (x, weights) in x.iter().zip(self.weights.iter_rows()) {
            axpy(*x, weights, f);
        }
        f.iter_mut().for_each(|f| *f = f.clamp(-MOST, MOST));
    }

    /// What is minimised, with its gradient; nothing where it is not finite.
    fn objective(&self, rows: TrainingRows<'_>) -> Option<(f64, Vec<f64>)> {
        let TrainingRows { x, y, offset, weight } = rows;
        let (k, likelihood) = (self.law.constant.len(), &self.law.likelihood);
        let (mut f, mut first, mut second, certain) = (vec![0.0; k], vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        let (mut params, mut weights_bar) = (vec![0.0; likelihood.n_params()], Mat::zeros(x.cols(), k));
        let (mut value, mut constant_bar, mut of_row) = (0.0, vec![0.0; k], params.clone());
        for (n, x) in x.iter_rows().enumerate() {
            self.latent(x, &mut f);
            if let Some(offset) = offset {
                axpy(1.0, offset.row(n), &mut f);
            }
            of_row.fill(0.0);
            let w = weight.get(n).copied().unwrap_or(1.0);
            value -= w * match y.row(n) {
                [y] => {
                    first.fill(0.0);
                    let slopes = Slopes { first: &mut first, second: &mut second, params: &mut of_row };
                    likelihood.log_likelihood(0, &f, *y, Some(slopes))
                }
                // Bounds: without latent variance log Z is the log likelihood.
                bounds => {
                    let bar = TiltedBar { mean: &mut first, var: &mut second, params: &mut of_row };
                    likelihood.log_z(&f, &certain, bounds, 1.0, bar)
                }
            };
            axpy(w, &of_row, &mut params);
            axpy(-w, &first, &mut constant_bar);
            for (d, x) in x.iter().enumerate() {
                axpy(-w * x, &first, weights_bar.row_mut(d));
            }
        }
        likelihood.chain_to_free(&mut params);
        let weights = self.weights.as_slice();
        value += 0.5 * PENALTY * dot(weights, weights);
        axpy(PENALTY, weights, weights_bar.as_mut_slice());
        let mut gradient = weights_bar.as_slice().to_vec();
        gradient.extend(constant_bar);
        gradient.extend(params.iter().map(|bar| -bar));
        (value.is_finite() && gradient.iter().all(|g| g.is_finite())).then_some((value, gradient))
    }

    /// The laws of standardised inputs.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`] for `x`.
    pub(crate) fn predictive(
        &self,
        task: Task,
        x: &Mat,
        targets: &Standardiser,
        info: Option<&RowInfo>,
    ) -> Result<Predictive> {
        x.check_data("inputs")?;
        if x.cols() != self.weights.rows() {
            return Err(Error::Shape { what: "columns of the inputs", expected: self.weights.rows(), found: x.cols() });
        }
        let k = self.law.constant.len();
        let mut mean = Mat::zeros(x.rows(), k);
        for (n, x) in x.iter_rows().enumerate() {
            self.latent(x, mean.row_mut(n));
        }
        if let Some(offset) = info.and_then(|info| offset(&self.law.likelihood, info)) {
            mean.add_scaled(1.0, &offset);
        }
        let f = DiagGaussian { var: Mat::zeros(x.rows(), k), mean };
        Ok(Predictive::of_latent(task, &self.law.likelihood, f, targets))
    }

    /// Checks one that came from a file.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::NotFinite`], and as [`ConstantLaw::check`].
    pub(crate) fn check(&self, inputs: usize) -> Result<()> {
        self.law.check()?;
        let sizes = [
            ("rows of the linear model", inputs, self.weights.rows()),
            ("columns of the linear model", self.law.latent().len(), self.weights.cols()),
            ("constants of the linear model", self.law.latent().len(), self.law.constant.len()),
        ];
        match sizes.into_iter().find(|(_, expected, found)| expected != found) {
            None => Ok(self.weights.check_data("weights of the linear model")?),
            Some((what, expected, found)) => Err(Error::Shape { what, expected, found }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scores::ScoreTally;

    fn wave(i: usize, a: f64) -> f64 {
        (a * i as f64).sin()
    }

    fn score(task: Task, x: &Mat, y: &Mat) -> Result<(f64, f64)> {
        let data = StandardisedData::for_task(task, x.clone(), y.clone())?;
        let linear = GeneralisedLinear::fit(&data)?.expect("a linear model");
        linear.check(x.cols())?;
        let of = |predictive: Predictive| {
            let mut tally = ScoreTally::new();
            tally.add(&predictive, y)?;
            Ok::<f64, Error>(tally.scores()?.mean_log_density)
        };
        let constant = task.constant(data.targets(), data.average_row(), x.rows(), None);
        Ok((of(linear.predictive(task, data.x(), data.targets(), None)?)?, of(constant)?))
    }

    #[test]
    fn every_task_has_a_linear_model_that_learns() -> Result<()> {
        let x = Mat::from_fn(300, 2, |i, j| 1.5 * wave(i, 0.7 + 0.4 * j as f64));
        let signal = |i: usize| 2.0 * x[(i, 0)] - x[(i, 1)] + 0.8 * wave(i, 3.1);
        for (task, outcome) in [
            (Task::Classes { count: 2 }, &(|i| if signal(i) > 0.3 { 1.0 } else { 0.0 }) as &dyn Fn(usize) -> f64),
            (Task::Classes { count: 3 }, &|i| {
                if signal(i) > 1.0 {
                    2.0
                } else if x[(i, 1)] > 0.0 {
                    1.0
                } else {
                    0.0
                }
            }),
            (Task::Ordinal { count: 4 }, &|i| (signal(i) + 2.0).clamp(0.0, 3.0).floor()),
            (Task::Counts, &|i| (0.7 * signal(i) + 1.0).exp().floor()),
        ] {
            let y = Mat::from_fn(300, 1, |i, _| outcome(i));
            let (linear, constant) = score(task, &x, &y)?;
            assert!(linear > constant + 0.3, "{task}: {linear} after {constant}");
        }
        Ok(())
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_objective() -> Result<()> {
        let x = Mat::from_fn(40, 2, |i, j| wave(i, 0.7 + 0.4 * j as f64));
        for (task, most) in [(Task::Ordinal { count: 4 }, 4), (Task::Counts, 9), (Task::Classes { count: 3 }, 3)] {
            let y = Mat::from_fn(40, 1, |i, _| ((i * i) % most) as f64);
            let data = StandardisedData::for_task(task, x.clone(), y.clone())?;
            let model = GeneralisedLinear::fit(&data)?.expect("a linear model");
            let mut theta: Vec<f64> = model.weights.as_slice().to_vec();
            theta.extend(&model.law.constant);
            model.law.likelihood.read_free(&mut theta);
            theta.iter_mut().enumerate().for_each(|(i, t)| *t += 0.3 * wave(i, 1.1));
            let rows = TrainingRows { x: data.x(), y: &y, offset: None, weight: &[] };
            let at = |theta: &[f64]| model.at(theta).objective(rows).expect("finite");
            let (_, gradient) = at(&theta);
            for i in 0..theta.len() {
                let shifted = |by: f64| {
                    let mut moved = theta.clone();
                    moved[i] += by;
                    at(&moved).0
                };
                let slope = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                assert!(
                    (gradient[i] - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{task}, {i}: {} {slope}",
                    gradient[i]
                );
            }
        }
        Ok(())
    }
}
