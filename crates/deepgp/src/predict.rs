//! Prediction: an immutable, precomputed network that maps inputs to moments, samples and densities.

use crate::data::{Data, check_offset};
use crate::error::{Error, Result, expect_size};
use crate::fitted::Fitted;
use crate::gauss::DiagGaussian;
use crate::infer::{Context, Event, all_moments};
use crate::layer::{ExactTape, Inputs, POINTS_PER_BLOCK, Projection};
use crate::likelihood::Observation;
use crate::pass::{Stack, Tapes};
use deepgp_numerics::linalg::{Mat, axpy};
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

/// Rows to predict: inputs, and what is added to the latent values of each. Inputs alone are rows too, and so are
/// [`Data`], whose targets and weights are not looked at.
#[derive(Debug, Clone, Copy)]
pub struct Points<'a> {
    x: &'a Mat,
    offset: Option<&'a DiagGaussian>,
}

impl<'a> Points<'a> {
    /// Inputs, N × D_in.
    pub fn new(x: &'a Mat) -> Self {
        Self { x, offset: None }
    }

    /// Gaussians (N × K) that are added to the latent values of each row, as in [`Data::with_offset`].
    #[must_use]
    pub fn with_offset(self, offset: &'a DiagGaussian) -> Self {
        Self { offset: Some(offset), ..self }
    }
}

impl<'a> From<&'a Mat> for Points<'a> {
    fn from(x: &'a Mat) -> Self {
        Self::new(x)
    }
}

impl<'a> From<Data<'a>> for Points<'a> {
    fn from(data: Data<'a>) -> Self {
        Self { x: data.x(), offset: data.offset() }
    }
}

/// Moments of the latent function and of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Moments of f with the network's constant and the means of the offset, without observation noise of any kind.
    pub f: DiagGaussian,
    /// Moments of y, with observation noise, that of the offset included.
    pub y: DiagGaussian,
    /// Variances of what the likelihood saw, f with the variances of the offset, N × K; none if they are those of f.
    pub seen_var: Option<Mat>,
}

impl Prediction {
    /// Mean and variance of the latent values that the likelihood saw at row `n`: quantiles and densities of y are
    /// those of its law at these.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn seen(&self, n: usize) -> (&[f64], &[f64]) {
        (self.f.mean.row(n), self.seen_var.as_ref().unwrap_or(&self.f.var).row(n))
    }
}

/// Moments of the latent values of one row.
struct Latent<'a> {
    mean: &'a [f64],
    var: &'a [f64],
    /// With known noise.
    seen_var: &'a [f64],
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
        // A share of 1: the posterior, where training projects the cavity.
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

    /// Moments of f and y for the given rows, by propagation of moments through the layers.
    ///
    /// A row gets the same numbers, to the last bit, whatever rows it comes with.
    ///
    /// # Errors
    /// [`crate::Error::Empty`], [`crate::Error::Shape`] or [`crate::Error::NotFinite`] for the inputs; what
    /// [`Data::check`] says of the offset.
    pub fn predict<'a>(&self, points: impl Into<Points<'a>>) -> Result<Prediction> {
        self.predict_points(points.into(), None)
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
        self.predict_points(Points::new(&x.mean), Some(&x.var))
    }

    fn predict_points(&self, points: Points<'_>, x_var: Option<&Mat>) -> Result<Prediction> {
        self.check_points(points)?;
        let (network, n_points) = (&self.fitted.network, points.x.rows());
        let mut f = DiagGaussian::zeros(n_points, network.n_latent());
        let mut y = DiagGaussian::zeros(n_points, network.n_targets());
        let mut seen = points.offset.map(|_| Mat::zeros(n_points, network.n_latent()));
        self.for_latents(points, x_var, |n, Latent { mean, var, seen_var }| {
            f.set_point(n, mean, var);
            if let Some(seen) = &mut seen {
                seen.row_mut(n).copy_from_slice(seen_var);
            }
            network.likelihood().observe(mean, seen_var, y.mean.row_mut(n), y.var.row_mut(n));
        })?;
        Ok(Prediction { f, y, seen_var: seen })
    }

    /// Checks rows to predict.
    fn check_points(&self, points: Points<'_>) -> Result<()> {
        self.fitted.network.check_inputs(points.x)?;
        points.offset.map_or(Ok(()), |offset| check_offset(&self.fitted.network, points.x.rows(), offset))
    }

    /// Adds the network's constant and the mean of its offset to the latent mean of row `n`.
    fn add_means(&self, points: Points<'_>, n: usize, mean: &mut [f64]) {
        mean.iter_mut().zip(self.fitted.network.constant()).for_each(|(mean, constant)| *mean += constant);
        if let Some(offset) = points.offset {
            axpy(1.0, offset.mean.row(n), mean);
        }
    }

    /// Moments of every layer's output, first to last, noise of hidden layers included; the last are those of f, with
    /// the network's constant and the means of the offset.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn layers<'a>(&self, points: impl Into<Points<'a>>) -> Result<Vec<DiagGaussian>> {
        let points = points.into();
        self.check_points(points)?;
        let (layers, x) = (self.fitted.network.layers(), points.x);
        let mut all: Vec<DiagGaussian> = layers.iter().map(|l| DiagGaussian::zeros(x.rows(), l.dim_out)).collect();
        self.forward(x, None, |tapes, rows| {
            for (l, moments) in all.iter_mut().enumerate() {
                moments.copy_points(rows.start, tapes.outputs(l), 0..rows.len());
            }
        })?;
        if let Some(f) = all.last_mut() {
            (0..x.rows()).for_each(|n| self.add_means(points, n, f.mean.row_mut(n)));
        }
        Ok(all)
    }

    /// Log density of each row's targets under the predicted moments, in nats: of those that are not missing, 0 if all
    /// are.
    ///
    /// # Errors
    /// As [`Predictor::predict`], and for targets that do not fit.
    pub fn log_density<'a>(&self, points: impl Into<Points<'a>>, y: &Mat) -> Result<Vec<f64>> {
        let points = points.into();
        self.check_points(points)?;
        self.fitted.network.check_data(points.x, y)?;
        let mut out = vec![0.0; y.rows()];
        self.for_latents(points, None, |n, Latent { mean, seen_var, .. }| {
            out[n] = self.fitted.network.likelihood().log_density(mean, seen_var, y.row(n));
        })?;
        Ok(out)
    }

    /// Latent moments at the last layer for `n_samples` draws of the hidden layers: a Gaussian mixture for f at each
    /// row, f as in [`Prediction`].
    ///
    /// Rows are drawn independently of each other. With no hidden layer all draws are equal.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn sample_mixture<'a>(
        &self,
        points: impl Into<Points<'a>>,
        n_samples: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<DiagGaussian>> {
        let points = points.into();
        self.check_points(points)?;
        let x = points.x;
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
                    self.add_means(points, n, draw.mean.row_mut(n));
                }
            }
        }
        Ok(draws)
    }

    /// [`Predictor::sample_mixture`] of what the likelihood sees: variances of the offset are added.
    fn sample_seen(&self, points: Points<'_>, rng: &mut impl Rng) -> Result<DiagGaussian> {
        let mut seen = self.sample_mixture(points, 1, rng)?.remove(0);
        if let Some(offset) = points.offset {
            seen.var.add_scaled(1.0, &offset.var);
        }
        Ok(seen)
    }

    /// Draws of y at each of the given rows, one matrix (N × T) per sample.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn sample<'a>(&self, points: impl Into<Points<'a>>, n_samples: usize, rng: &mut impl Rng) -> Result<Vec<Mat>> {
        let points = points.into();
        let mut draws = Vec::with_capacity(n_samples);
        for _ in 0..n_samples {
            let moments = self.sample_seen(points, rng)?;
            let (mut f, mut y) = (moments.mean, Mat::zeros(points.x.rows(), self.fitted.network.n_targets()));
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
    pub fn mixture_log_density<'a>(
        &self,
        points: impl Into<Points<'a>>,
        y: &Mat,
        n_samples: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<f64>> {
        let points = points.into();
        self.fitted.network.check_data(points.x, y)?;
        crate::error::expect_positive("n_samples", None, n_samples as f64)?;
        // A running log-sum-exp per row: the mixture itself is never stored.
        let (mut top, mut sum) = (vec![f64::NEG_INFINITY; y.rows()], vec![0.0; y.rows()]);
        for _ in 0..n_samples {
            let draw = self.sample_seen(points, rng)?;
            for n in 0..y.rows() {
                let log_p = self.fitted.network.likelihood().log_density(draw.mean.row(n), draw.var.row(n), y.row(n));
                if log_p == f64::NEG_INFINITY {
                    continue;
                }
                let new_top = top[n].max(log_p);
                sum[n] = sum[n] * (top[n] - new_top).exp() + (log_p - new_top).exp();
                top[n] = new_top;
            }
        }
        let log_n = (n_samples as f64).ln();
        Ok(top.iter().zip(&sum).map(|(top, sum)| top + sum.ln() - log_n).collect())
    }

    /// Calls `visit` with row and moments of its latent values.
    fn for_latents(
        &self,
        points: Points<'_>,
        x_var: Option<&Mat>,
        mut visit: impl FnMut(usize, Latent<'_>),
    ) -> Result<()> {
        let last = self.fitted.network.layers().len() - 1;
        let (mut with_means, mut with_noise) = (Vec::new(), Vec::new());
        self.forward(points.x, x_var, |tapes, rows| {
            for (g, n) in rows.enumerate() {
                let (mean, var) = tapes.outputs(last).point(g);
                with_means.clear();
                with_means.extend_from_slice(mean);
                self.add_means(points, n, &mut with_means);
                with_noise.clear();
                with_noise.extend_from_slice(var);
                if let Some(offset) = points.offset {
                    axpy(1.0, offset.var.row(n), &mut with_noise);
                }
                visit(n, Latent { mean: &with_means, var, seen_var: &with_noise });
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
