//! Regression that is linear in the inputs, for labels and counts: logistic, multinomial, ordered and negative binomial.
//!
//! ```text
//! f_n = Wᵀx_n + c        maximise  Σ_n w_n log p(y_n | f_n, θ) − ½λ ‖W‖²,   of standardised inputs
//! ```
//! by L-BFGS. λ is the one of a few under which rows of five folds are likeliest, each predicted from the others. It is
//! the model to be beaten where targets are no numbers of a regression.

use crate::likelihood_choice::{ConstantLaw, LikelihoodChoice, Outcomes};
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
use deepgp_numerics::linalg::{Mat, Op, axpy, dot, mul};
use deepgp_numerics::optim::minimise;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Most features, and most rows that it learns from.
const MAX_FEATURES: usize = 1000;
const MAX_ROWS: usize = 20_000;
/// Evaluations of the objective, and the gain of a step, in nats, at which it is done.
const EVALUATIONS: usize = 200;
const TOLERANCE: f64 = 1e-4;
/// λ, from strong to weak; if two in a row are worse than the best, weaker ones are not tried.
const PENALTIES: [f64; 9] = [1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1];
/// λ where there is nothing to choose it by.
const PLAIN_PENALTY: f64 = 1.0;
/// Folds that choose it, most rows of these, most numbers of these times latent functions, and least rows.
const FOLDS: usize = 5;
const MOST_FOLD_ROWS: usize = 2000;
const MOST_FOLD_NUMBERS: usize = 1_500_000;
const LEAST_FOLD_ROWS: usize = 20;
/// Evaluations for each λ, from the answer to the one before it.
const FOLD_EVALUATIONS: usize = 60;
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

/// Rows that are owned.
#[derive(Debug)]
struct OwnRows {
    x: Mat,
    y: Mat,
    info: RowInfo,
    offset: Option<Mat>,
}

impl OwnRows {
    fn of(data: &StandardisedData, rows: &[usize], likelihood: &Likelihood) -> Self {
        let (x, y, info) = (data.x().select_rows(rows), data.y().select_rows(rows), data.info().of_rows(rows));
        let offset = offset(likelihood, &info);
        Self { x, y, info, offset }
    }

    fn rows(&self) -> TrainingRows<'_> {
        TrainingRows { x: &self.x, y: &self.y, offset: self.offset.as_ref(), weight: &self.info.weight }
    }
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
    /// evaluated. Cost: O(N D K) an evaluation, of at most 20,000 rows; of at most 2000 for the choice of λ.
    ///
    /// # Errors
    /// [`Error::Shape`] from matrices.
    pub fn fit(data: &StandardisedData) -> Result<Option<Self>> {
        let penalty = Self::best_penalty(data)?;
        Self::fit_with(data, penalty)
    }

    /// Fits it with a given λ.
    fn fit_with(data: &StandardisedData, penalty: f64) -> Result<Option<Self>> {
        let rows = match data.x().rows() {
            n if n > MAX_ROWS => sample_rows(n, MAX_ROWS, &mut ChaCha8Rng::seed_from_u64(0)),
            n => (0..n).collect(),
        };
        let Some(model) = Self::start(data, &rows)? else { return Ok(None) };
        let own = OwnRows::of(data, &rows, &model.law.likelihood);
        let found = minimise(model.coordinates(), EVALUATIONS, TOLERANCE, |theta| {
            model.at(theta).objective(own.rows(), penalty)
        });
        Ok(found.map(|minimum| model.at(&minimum.theta)))
    }

    /// W = 0 and the law of an average row among these; nothing where there is no such model.
    fn start(data: &StandardisedData, rows: &[usize]) -> Result<Option<Self>> {
        let choice = match data.task() {
            Task::Regression => return Ok(None),
            Task::Classes { .. } => LikelihoodChoice::Softmax,
            task @ (Task::Ordinal { .. } | Task::Counts | Task::Censored) => task.default_likelihood(),
        };
        if data.x().cols() > MAX_FEATURES {
            return Ok(None);
        }
        let (y, info) = (data.y().select_rows(rows), data.info().of_rows(rows));
        let RowInfo { exposure, weight, .. } = &info;
        let mut law = choice.constant(Outcomes { y: &y, classes: data.task().n_labels(), exposure, weight });
        law.constant = law.latent();
        Ok(Some(Self { weights: Mat::zeros(data.x().cols(), law.constant.len()), law }))
    }

    /// The λ under which rows are likeliest that others predict; groups of rows stay together.
    fn best_penalty(data: &StandardisedData) -> Result<f64> {
        let all: Vec<usize> = (0..data.x().rows()).collect();
        let Some(model) = Self::start(data, &all[..all.len().min(LEAST_FOLD_ROWS)])? else { return Ok(PLAIN_PENALTY) };
        let (numbers, mut rng) = (model.weights.as_slice().len().max(1), ChaCha8Rng::seed_from_u64(0));
        let most = MOST_FOLD_ROWS.min(MOST_FOLD_NUMBERS / numbers);
        let mut order = if all.len() > most { sample_rows(all.len(), most, &mut rng) } else { all };
        if order.len() < LEAST_FOLD_ROWS {
            return Ok(PLAIN_PENALTY);
        }
        order.shuffle(&mut rng);
        let fold_of = folds(&order, &data.info().group);
        let mut scores = [0.0; PENALTIES.len()];
        let mut parts = Vec::new();
        for fold in 0..FOLDS {
            let (test, train): (Vec<usize>, Vec<usize>) = order.iter().partition(|row| fold_of[*row] == fold);
            if test.is_empty() || train.is_empty() {
                continue;
            }
            let Some(model) = Self::start(data, &train)? else { continue };
            let of = |rows: &[usize]| OwnRows::of(data, rows, &model.law.likelihood);
            let (train, test, theta) = (of(&train), of(&test), model.coordinates());
            parts.push((model, train, test, theta));
        }
        let mut best = 0;
        for (k, penalty) in PENALTIES.into_iter().enumerate() {
            for (model, train, test, theta) in &mut parts {
                let found = minimise(theta.clone(), FOLD_EVALUATIONS, TOLERANCE, |theta| {
                    model.at(theta).objective(train.rows(), penalty)
                });
                let Some(found) = found else { return Ok(PLAIN_PENALTY) };
                *theta = found.theta;
                let loss = model.at(theta).objective(test.rows(), 0.0).map_or(f64::INFINITY, |(loss, _)| loss);
                scores[k] -= loss;
            }
            if scores[k] > scores[best] {
                best = k;
            } else if k >= best + 2 {
                break;
            }
        }
        Ok(if parts.is_empty() { PLAIN_PENALTY } else { PENALTIES[best] })
    }

    /// W, c and the free parameters of the likelihood.
    fn coordinates(&self) -> Vec<f64> {
        let mut theta = self.weights.as_slice().to_vec();
        theta.extend(&self.law.constant);
        self.law.likelihood.read_free(&mut theta);
        theta
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

    /// f of each row, N × K.
    fn latent(&self, x: &Mat) -> Mat {
        let mut f = Mat::zeros(x.rows(), self.law.constant.len());
        mul(&mut f, x, Op::Id, &self.weights, Op::Id);
        for n in 0..f.rows() {
            let of_row = f.row_mut(n).iter_mut().zip(&self.law.constant);
            of_row.for_each(|(f, constant)| *f = (*f + constant).clamp(-MOST, MOST));
        }
        f
    }

    /// What is minimised, with its gradient; nothing where it is not finite.
    fn objective(&self, rows: TrainingRows<'_>, penalty: f64) -> Option<(f64, Vec<f64>)> {
        let TrainingRows { x, y, offset, weight } = rows;
        let (k, likelihood) = (self.law.constant.len(), &self.law.likelihood);
        let (mut first, mut second, certain) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        let (mut params, mut slopes_of_rows) = (vec![0.0; likelihood.n_params()], Mat::zeros(x.rows(), k));
        let (mut value, mut constant_bar, mut of_row) = (0.0, vec![0.0; k], params.clone());
        let mut latent = self.latent(x);
        if let Some(offset) = offset {
            latent.add_scaled(1.0, offset);
        }
        for (n, f) in latent.iter_rows().enumerate() {
            of_row.fill(0.0);
            let w = weight.get(n).copied().unwrap_or(1.0);
            value -= w * match y.row(n) {
                [y] => {
                    first.fill(0.0);
                    let slopes = Slopes { first: &mut first, second: &mut second, params: &mut of_row };
                    likelihood.log_likelihood(0, f, *y, Some(slopes))
                }
                // Bounds: without latent variance log Z is the log likelihood.
                bounds => {
                    let bar = TiltedBar { mean: &mut first, var: &mut second, params: &mut of_row };
                    likelihood.log_z(f, &certain, bounds, 1.0, bar)
                }
            };
            axpy(w, &of_row, &mut params);
            axpy(-w, &first, &mut constant_bar);
            slopes_of_rows.row_mut(n).iter_mut().zip(&first).for_each(|(slope, first)| *slope = -w * first);
        }
        let mut weights_bar = Mat::zeros(x.cols(), k);
        mul(&mut weights_bar, x, Op::T, &slopes_of_rows, Op::Id);
        likelihood.chain_to_free(&mut params);
        let weights = self.weights.as_slice();
        value += 0.5 * penalty * dot(weights, weights);
        axpy(penalty, weights, weights_bar.as_mut_slice());
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
        let mut mean = self.latent(x);
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

/// The fold of each row: rows in order take turns, those of a group together.
fn folds(order: &[usize], group: &[u64]) -> HashMap<usize, usize> {
    let (mut of_group, mut next) = (HashMap::new(), 0);
    let mut deal = || {
        next += 1;
        (next - 1) % FOLDS
    };
    let fold = |row: &usize| match group.get(*row) {
        None => (*row, deal()),
        Some(id) => (*row, *of_group.entry(*id).or_insert_with(&mut deal)),
    };
    order.iter().map(fold).collect()
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

    /// Labels by a formula that other programs know as well; scikit-learn 1.9.1,
    /// `LogisticRegression(C=2/lambda, tol=1e-10)` of two classes, whose coefficients are differences of ours, and
    /// `C=1` of three, of inputs divided by their deviations: `coef_` and the mean log probability of the labels.
    #[test]
    fn coefficients_are_those_of_other_programs() -> Result<()> {
        let x = |i: usize, j: usize| {
            let (i, j) = (i as f64, j as f64);
            (0.7 * (i + 1.0) * (j + 1.0) + 0.3 * j).sin() + 0.5 * (1.3 * i - 0.9 * j).cos()
        };
        let signal = |i: usize| x(i, 0) - 0.5 * x(i, 1) + 0.8 * wave(i, 2.9);
        let fit = |count: usize, penalty: f64, label: &dyn Fn(usize) -> f64| {
            let (x, y) = (Mat::from_fn(60, 4, x), Mat::from_fn(60, 1, |i, _| label(i)));
            let data = StandardisedData::for_task(Task::Classes { count }, x, y)?;
            let model = GeneralisedLinear::fit_with(&data, penalty)?.expect("a linear model");
            let mut tally = ScoreTally::new();
            tally.add(&model.predictive(data.task(), data.x(), data.targets(), None)?, data.y())?;
            Ok::<_, Error>((model.weights, tally.scores()?.mean_log_density))
        };
        for (penalty, expected, log_p) in [
            (1.0, [2.63905884, -1.22515884, -0.08682577, 0.58198192], -0.2806916494825724),
            (10.0, [1.26143652, -0.54024742, 0.01852741, 0.17213431], -0.3743695130887969),
        ] {
            let (weights, found) = fit(2, penalty, &|i| f64::from(u8::from(signal(i) > 0.2)))?;
            for (d, expected) in expected.into_iter().enumerate() {
                let coefficient = weights[(d, 1)] - weights[(d, 0)];
                assert!((coefficient - expected).abs() < 0.02, "{penalty}: {coefficient} is not {expected}");
            }
            assert!((found - log_p).abs() < 1e-3, "{penalty}: {found} is not {log_p}");
        }
        let (weights, found) = fit(3, 1.0, &|i| match (signal(i) > 0.7, x(i, 2) > 0.0) {
            (true, _) => 2.0,
            (false, second) => f64::from(u8::from(second)),
        })?;
        for (d, expected) in [-0.7209665, 0.29027741, -1.7637569, -0.08763894].into_iter().enumerate() {
            assert!((weights[(d, 0)] - expected).abs() < 0.02, "{} is not {expected}", weights[(d, 0)]);
        }
        assert!((found + 0.3714384350898595).abs() < 1e-3, "{found}");
        Ok(())
    }

    #[test]
    fn many_inputs_that_say_nothing_get_a_strong_penalty() -> Result<()> {
        let x = Mat::from_fn(120, 50, |i, j| wave(i * i, 1.7 + 0.37 * j as f64));
        let (own, fresh): (Vec<usize>, Vec<usize>) = (0..120).partition(|&row| row < 60);
        let y = Mat::from_fn(120, 1, |i, _| f64::from(u8::from(x[(i, 0)] + 0.5 * wave(i, 2.3) > 0.0)));
        let task = Task::Classes { count: 2 };
        let data = StandardisedData::for_task(task, x.select_rows(&own), y.select_rows(&own))?;
        let penalty = GeneralisedLinear::best_penalty(&data)?;
        let x = data.inputs().apply(&x.select_rows(&fresh), "inputs")?;
        let score = |penalty: f64| {
            let linear = GeneralisedLinear::fit_with(&data, penalty)?.expect("a linear model");
            let mut tally = ScoreTally::new();
            tally.add(&linear.predictive(task, &x, data.targets(), None)?, &y.select_rows(&fresh))?;
            Ok::<f64, Error>(tally.scores()?.mean_log_density)
        };
        let (chosen, weak) = (score(penalty)?, score(0.1)?);
        assert!(penalty > 1.0 && chosen > weak + 0.2, "{penalty}: {chosen} after {weak}");
        Ok(())
    }

    #[test]
    fn a_weight_is_as_many_rows() -> Result<()> {
        let x = Mat::from_fn(60, 2, |i, j| wave(i, 0.7 + 0.4 * j as f64));
        let y = Mat::from_fn(60, 1, |i, _| (2.0 * x[(i, 0)] + 1.5 * wave(i, 3.1) + 1.5).clamp(0.0, 3.0).floor());
        let weight: Vec<f64> = (0..60).map(|i| [1.0, 3.0, 2.0][i % 3]).collect();
        let rows: Vec<usize> = (0..60).flat_map(|i| std::iter::repeat_n(i, weight[i] as usize)).collect();
        let task = Task::Ordinal { count: 4 };
        let info = RowInfo { weight, ..RowInfo::default() };
        let one = StandardisedData::for_rows(task, x.clone(), y.clone(), info)?;
        let other = StandardisedData::for_task(task, x.select_rows(&rows), y.select_rows(&rows))?;
        let fit = |data: &StandardisedData| Ok::<_, Error>(GeneralisedLinear::fit_with(data, 1.0)?.expect("a model"));
        let (a, b) = (fit(&one)?, fit(&other)?);
        let (a, b) = (a.weights.as_slice(), b.weights.as_slice());
        // Both end where a step gains less than 1e-4 nats.
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-2), "{a:?} {b:?}");
        Ok(())
    }

    #[test]
    fn the_gradient_is_the_slope_of_the_objective() -> Result<()> {
        let x = Mat::from_fn(40, 2, |i, j| wave(i, 0.7 + 0.4 * j as f64));
        for (task, most) in [(Task::Ordinal { count: 4 }, 4), (Task::Counts, 9), (Task::Classes { count: 3 }, 3)] {
            let y = Mat::from_fn(40, 1, |i, _| ((i * i) % most) as f64);
            let data = StandardisedData::for_task(task, x.clone(), y.clone())?;
            let model = GeneralisedLinear::fit(&data)?.expect("a linear model");
            let mut theta = model.coordinates();
            theta.iter_mut().enumerate().for_each(|(i, t)| *t += 0.3 * wave(i, 1.1));
            let rows = TrainingRows { x: data.x(), y: &y, offset: None, weight: &[] };
            let at = |theta: &[f64]| model.at(theta).objective(rows, 0.7).expect("finite");
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
