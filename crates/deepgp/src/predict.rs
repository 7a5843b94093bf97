//! Prediction: an immutable, precomputed network that maps inputs to moments, samples and densities.

use crate::error::{Error, Result, expect_size};
use crate::fitted::Fitted;
use crate::gauss::DiagGaussian;
use crate::infer::{Context, Event, all_moments};
use crate::layer::{ExactTape, Inputs, POINTS_PER_BLOCK, Projection};
use crate::likelihood::Observation;
use crate::pass::{Stack, Tapes};
use deepgp_numerics::linalg::Mat;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use std::ops::Range;

/// A trained network ready to predict. It never changes, so threads can share it.
///
/// Every method works through the rows in blocks: beside what it returns it needs memory for one block, or for one
/// draw of the mixture where it samples.
#[derive(Debug)]
pub struct Predictor {
    fitted: Fitted,
    inputs: Inputs,
    context: Context,
    projections: Vec<Projection>,
}

/// Moments of the latent function and of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Moments of f, without observation noise.
    pub f: DiagGaussian,
    /// Moments of y, with observation noise.
    pub y: DiagGaussian,
}

impl Predictor {
    /// Precomputes the posterior of a trained network. Cost: O(M³) per layer and output.
    ///
    /// # Errors
    /// As [`Fitted::check`], and [`crate::Error::NotPositiveDefinite`] if K_zz or I + Λ cannot be factored.
    pub fn new(fitted: Fitted) -> Result<Self> {
        Self::with_inputs(fitted, Inputs::Exact)
    }

    /// A predictor for inputs that may have variances ([`Predictor::predict_gaussian`]). Exact ones are then predicted
    /// as Gaussian ones with variances of 0, at a higher price.
    ///
    /// # Errors
    /// As [`Predictor::new`].
    pub fn for_gaussian_inputs(fitted: Fitted) -> Result<Self> {
        Self::with_inputs(fitted, Inputs::Gaussian)
    }

    fn with_inputs(fitted: Fitted, inputs: Inputs) -> Result<Self> {
        fitted.check()?;
        let context = Context::new(&fitted.network, inputs, fitted.inference.jitter)?;
        let projections = context.project(inputs, &all_moments(&fitted.factors, 1.0)?);
        Ok(Self { fitted, inputs, context, projections })
    }

    /// What was met in the precomputation: a K_zz that needed more jitter than was configured.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        self.context.jitter_events(&mut events);
        events
    }

    /// The trained network.
    pub fn fitted(&self) -> &Fitted {
        &self.fitted
    }

    /// Moments of f and y for the rows of `x` (N × D_in), by propagation of moments through the layers.
    ///
    /// A row gets the same numbers, to the last bit, whatever rows it comes with.
    ///
    /// # Errors
    /// [`crate::Error::Empty`], [`crate::Error::Shape`] or [`crate::Error::NotFinite`] for `x`.
    pub fn predict(&self, x: &Mat) -> Result<Prediction> {
        self.predict_with(x, None)
    }

    /// Moments of f and y where the inputs themselves are uncertain: row n is N(mean_n, diag var_n). Only for a
    /// predictor that was made by [`Predictor::for_gaussian_inputs`].
    ///
    /// # Errors
    /// As [`Predictor::predict`]; [`crate::Error::Shape`] if there is not a variance for every input,
    /// [`crate::Error::Parameter`] for one that is negative or not finite, and for a predictor of exact inputs.
    pub fn predict_gaussian(&self, x: &DiagGaussian) -> Result<Prediction> {
        let refused =
            |name, entry, value, requirement| Error::Parameter { name, layer: None, entry, value, requirement };
        if self.inputs == Inputs::Exact {
            let requirement = "this predictor takes exact inputs only; make one for Gaussian inputs";
            return Err(refused("variances of the inputs", None, 0.0, requirement));
        }
        expect_size("rows of the inputs' variances", x.mean.rows(), x.var.rows())?;
        expect_size("columns of the inputs' variances", x.mean.cols(), x.var.cols())?;
        let vars = x.var.as_slice();
        if let Some(i) = vars.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            return Err(refused("variances of the inputs", Some(i), vars[i], "they must be finite and not negative"));
        }
        self.predict_with(&x.mean, Some(&x.var))
    }

    fn predict_with(&self, x: &Mat, x_var: Option<&Mat>) -> Result<Prediction> {
        self.fitted.network.check_inputs(x)?;
        let network = &self.fitted.network;
        let mut f = DiagGaussian::zeros(x.rows(), network.n_latent());
        let mut y = DiagGaussian::zeros(x.rows(), network.n_targets());
        self.for_latents(x, x_var, |n, mean, var| {
            f.set_point(n, mean, var);
            network.likelihood().observe(mean, var, y.mean.row_mut(n), y.var.row_mut(n));
        })?;
        Ok(Prediction { f, y })
    }

    /// Moments of every layer's output, first to last, noise of hidden layers included.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn layers(&self, x: &Mat) -> Result<Vec<DiagGaussian>> {
        let layers = self.fitted.network.layers();
        let mut all: Vec<DiagGaussian> = layers.iter().map(|l| DiagGaussian::zeros(x.rows(), l.dim_out)).collect();
        self.forward(x, None, |tapes, rows| {
            for (l, moments) in all.iter_mut().enumerate() {
                moments.copy_points(rows.start, tapes.outputs(l), 0..rows.len());
            }
        })?;
        Ok(all)
    }

    /// Log density of each row's targets under the predicted moments, in nats: of those that are not missing, 0 if all
    /// are.
    ///
    /// # Errors
    /// As [`Predictor::predict`], and for targets that do not fit.
    pub fn log_density(&self, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        self.fitted.network.check_data(x, y)?;
        let mut out = vec![0.0; x.rows()];
        self.for_latents(x, None, |n, mean, var| {
            out[n] = self.fitted.network.likelihood().log_density(mean, var, y.row(n));
        })?;
        Ok(out)
    }

    /// Latent moments at the last layer for `n_samples` draws of the hidden layers: a Gaussian mixture for f at each
    /// row.
    ///
    /// Rows are drawn independently of each other. With no hidden layer all draws are equal.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn sample_mixture(&self, x: &Mat, n_samples: usize, rng: &mut impl Rng) -> Result<Vec<DiagGaussian>> {
        self.fitted.network.check_inputs(x)?;
        let n_latent = self.fitted.network.n_latent();
        let mut draws = vec![DiagGaussian::zeros(x.rows(), n_latent); n_samples];
        let (mut tape, mut block) = (ExactTape::default(), Mat::default());
        let mut rows = Vec::new();
        for start in (0..x.rows()).step_by(POINTS_PER_BLOCK) {
            rows.clear();
            rows.extend(start..x.rows().min(start + POINTS_PER_BLOCK));
            for draw in &mut draws {
                block.gather_rows(x, &rows);
                for (l, layer) in self.fitted.network.layers().iter().enumerate() {
                    tape.forward(layer, &self.context.inducing()[l], &self.projections[l], &block);
                    if l + 1 == self.fitted.network.layers().len() {
                        break;
                    }
                    block.reset(rows.len(), layer.dim_out);
                    let moments = tape.out.mean.as_slice().iter().zip(tape.out.var.as_slice());
                    for (h, (mean, var)) in block.as_mut_slice().iter_mut().zip(moments) {
                        let noise: f64 = StandardNormal.sample(rng);
                        *h = mean + var.sqrt() * noise;
                    }
                }
                for (i, &n) in rows.iter().enumerate() {
                    draw.set_point(n, tape.out.mean.row(i), tape.out.var.row(i));
                }
            }
        }
        Ok(draws)
    }

    /// Draws of y at each row of `x`, one matrix (N × T) per sample.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn sample(&self, x: &Mat, n_samples: usize, rng: &mut impl Rng) -> Result<Vec<Mat>> {
        let mut draws = Vec::with_capacity(n_samples);
        for _ in 0..n_samples {
            let moments = self.sample_mixture(x, 1, rng)?.remove(0);
            let (mut f, mut y) = (moments.mean, Mat::zeros(x.rows(), self.fitted.network.n_targets()));
            for n in 0..f.rows() {
                for (f, var) in f.row_mut(n).iter_mut().zip(moments.var.row(n)) {
                    let noise: f64 = StandardNormal.sample(rng);
                    *f += var.sqrt() * noise;
                }
                self.fitted.network.likelihood().sample(f.row(n), rng, y.row_mut(n));
            }
            draws.push(y);
        }
        Ok(draws)
    }

    /// Log density of each row's targets under a mixture over draws of the hidden layers.
    ///
    /// ```text
    /// log p(y) ≈ log (1/S) Σ_s p(y | draw s)
    /// ```
    /// Where it differs much from [`Predictor::log_density`], propagation of moments is not to be trusted.
    ///
    /// # Errors
    /// As [`Predictor::log_density`].
    pub fn mixture_log_density(&self, x: &Mat, y: &Mat, n_samples: usize, rng: &mut impl Rng) -> Result<Vec<f64>> {
        self.fitted.network.check_data(x, y)?;
        crate::error::expect_positive("n_samples", None, n_samples as f64)?;
        // A running log-sum-exp per row: the mixture itself is never stored.
        let (mut top, mut sum) = (vec![f64::NEG_INFINITY; x.rows()], vec![0.0; x.rows()]);
        for _ in 0..n_samples {
            for draw in self.sample_mixture(x, 1, rng)? {
                for n in 0..x.rows() {
                    let log_p =
                        self.fitted.network.likelihood().log_density(draw.mean.row(n), draw.var.row(n), y.row(n));
                    if log_p == f64::NEG_INFINITY {
                        continue;
                    }
                    let new_top = top[n].max(log_p);
                    sum[n] = sum[n] * (top[n] - new_top).exp() + (log_p - new_top).exp();
                    top[n] = new_top;
                }
            }
        }
        let log_n = (n_samples as f64).ln();
        Ok(top.iter().zip(&sum).map(|(top, sum)| top + sum.ln() - log_n).collect())
    }

    /// Calls `visit` with row and moments of f.
    fn for_latents(&self, x: &Mat, x_var: Option<&Mat>, mut visit: impl FnMut(usize, &[f64], &[f64])) -> Result<()> {
        let last = self.fitted.network.layers().len() - 1;
        self.forward(x, x_var, |tapes, rows| {
            for (g, n) in rows.enumerate() {
                let (mean, var) = tapes.outputs(last).point(g);
                visit(n, mean, var);
            }
        })
    }

    /// Takes all rows forward, a group at a time; `visit` reads what the layers have made of one, and which rows it is.
    fn forward(&self, x: &Mat, x_var: Option<&Mat>, mut visit: impl FnMut(&Tapes, Range<usize>)) -> Result<()> {
        let Self { fitted, inputs, context, projections } = self;
        let network = &fitted.network;
        network.check_inputs(x)?;
        let stack = Stack { network, inducing: context.inducing(), projections, factored: None, inputs: *inputs };
        let mut tapes = Tapes::forward_only(network, *inputs, x.rows());
        let mut rows = Vec::new();
        for start in (0..x.rows()).step_by(POINTS_PER_BLOCK) {
            rows.clear();
            rows.extend(start..x.rows().min(start + POINTS_PER_BLOCK));
            stack.forward(&mut tapes, x, x_var, &rows, |tapes, points| {
                visit(tapes, start + points.start..start + points.end);
            });
        }
        Ok(())
    }
}
