//! Prediction: an immutable, precomputed network that maps inputs to moments, samples and densities.

use crate::error::Result;
use crate::gauss::DiagGaussian;
use crate::infer::{Context, Event, all_moments};
use crate::layer::{KnownTape, Projection, RandomTape};
use crate::likelihood::Observation;
use crate::pass::BLOCK;
use crate::train::Fitted;
use deepgp_numerics::linalg::Mat;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

/// A trained network ready to predict. It never changes, so threads can share it.
///
/// Every method works through the rows in blocks: beside what it returns it needs memory for one block, or for one
/// draw of the mixture where it samples.
#[derive(Debug)]
pub struct Predictor {
    fitted: Fitted,
    context: Context,
    projections: Vec<Projection>,
}

/// Moments of the latent function and of an observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Of f, without observation noise.
    pub f: DiagGaussian,
    /// Of y, with it.
    pub y: DiagGaussian,
}

impl Predictor {
    /// Precomputes the posterior of a trained network. Cost: O(M³) per layer and output.
    ///
    /// # Errors
    /// As [`Fitted::check`], and [`crate::Error::NotPositiveDefinite`] if K_zz or I + Λ cannot be factored.
    pub fn new(fitted: Fitted) -> Result<Self> {
        fitted.check()?;
        let context = Context::new(&fitted.network, fitted.inference.jitter)?;
        let projections = context.project(&all_moments(&fitted.factors, 1.0)?);
        Ok(Self { fitted, context, projections })
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
        let d_out = self.fitted.network.dim_out();
        let (mut f, mut y) = (DiagGaussian::zeros(x.rows(), d_out), DiagGaussian::zeros(x.rows(), d_out));
        self.propagate(x, |n, mean, var| {
            f.set_point(n, mean, var);
            self.fitted.network.likelihood().observe(mean, var, y.mean.row_mut(n), y.var.row_mut(n));
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
        self.walk(x, |l, n, mean, var| all[l].set_point(n, mean, var))?;
        Ok(all)
    }

    /// Log density of each row's targets under the predicted moments, in nats.
    ///
    /// # Errors
    /// As [`Predictor::predict`], and for targets that do not fit.
    pub fn log_density(&self, x: &Mat, y: &Mat) -> Result<Vec<f64>> {
        self.fitted.network.check_data(x, y)?;
        let mut out = vec![0.0; x.rows()];
        self.propagate(x, |n, mean, var| {
            out[n] = self.fitted.network.likelihood().log_density(mean, var, y.row(n));
        })?;
        Ok(out)
    }

    /// Latent moments at the last layer for `n_samples` draws of the hidden layers: a Gaussian mixture for f at each row.
    ///
    /// Rows are drawn independently of each other. With no hidden layer all draws are equal.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn sample_mixture(&self, x: &Mat, n_samples: usize, rng: &mut impl Rng) -> Result<Vec<DiagGaussian>> {
        self.fitted.network.check_inputs(x)?;
        let d_out = self.fitted.network.dim_out();
        let mut draws = vec![DiagGaussian::zeros(x.rows(), d_out); n_samples];
        let (mut tape, mut block) = (KnownTape::default(), Mat::default());
        let mut rows = Vec::new();
        for start in (0..x.rows()).step_by(BLOCK) {
            rows.clear();
            rows.extend(start..x.rows().min(start + BLOCK));
            for draw in &mut draws {
                block.gather_rows(x, &rows);
                for (l, layer) in self.fitted.network.layers().iter().enumerate() {
                    tape.forward(layer, &self.context.inducing()[l], &self.projections[l], &block);
                    if l + 1 == self.fitted.network.layers().len() {
                        break;
                    }
                    block.reset(rows.len(), layer.dim_out);
                    let moments = tape.mean.as_slice().iter().zip(tape.var.as_slice());
                    for (h, (mean, var)) in block.as_mut_slice().iter_mut().zip(moments) {
                        let noise: f64 = StandardNormal.sample(rng);
                        *h = mean + var.sqrt() * noise;
                    }
                }
                for (i, &n) in rows.iter().enumerate() {
                    draw.set_point(n, tape.mean.row(i), tape.var.row(i));
                }
            }
        }
        Ok(draws)
    }

    /// Draws of y at each row of `x`, one matrix (N × D_out) per sample.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn sample(&self, x: &Mat, n_samples: usize, rng: &mut impl Rng) -> Result<Vec<Mat>> {
        let mut draws = Vec::with_capacity(n_samples);
        for _ in 0..n_samples {
            let moments = self.sample_mixture(x, 1, rng)?.remove(0);
            let (mut f, mut y) = (moments.mean, Mat::zeros(x.rows(), moments.var.cols()));
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
    fn propagate(&self, x: &Mat, mut visit: impl FnMut(usize, &[f64], &[f64])) -> Result<()> {
        let last = self.fitted.network.layers().len() - 1;
        self.walk(x, |l, n, mean, var| {
            if l == last {
                visit(n, mean, var);
            }
        })
    }

    /// Calls `visit` with layer, row and moments of that layer's output.
    fn walk(&self, x: &Mat, mut visit: impl FnMut(usize, usize, &[f64], &[f64])) -> Result<()> {
        self.fitted.network.check_inputs(x)?;
        let (layers, inducing) = (self.fitted.network.layers(), self.context.inducing());
        let (mut known, mut block, mut rows) = (KnownTape::default(), Mat::default(), Vec::new());
        let group_size = RandomTape::group_size(&layers[1..]).min(x.rows());
        let mut tapes: Vec<RandomTape> =
            layers[1..].iter().map(|layer| RandomTape::forward_only(layer, group_size)).collect();
        let mut hidden = DiagGaussian::zeros(group_size, layers[0].dim_out);
        for start in (0..x.rows()).step_by(BLOCK) {
            rows.clear();
            rows.extend(start..x.rows().min(start + BLOCK));
            block.gather_rows(x, &rows);
            known.forward(&layers[0], &inducing[0], &self.projections[0], &block);
            for (group, rows) in rows.chunks(group_size).enumerate() {
                for (g, &n) in rows.iter().enumerate() {
                    let i = group * group_size + g;
                    hidden.set_point(g, known.mean.row(i), known.var.row(i));
                    visit(0, n, known.mean.row(i), known.var.row(i));
                }
                for t in 0..tapes.len() {
                    let (below, rest) = tapes.split_at_mut(t);
                    let input = below.last().map_or((&hidden.mean, &hidden.var), |b| (&b.mean, &b.var));
                    rest[0].forward(&layers[t + 1], &inducing[t + 1], &self.projections[t + 1], input, rows.len());
                    for (g, &n) in rows.iter().enumerate() {
                        visit(t + 1, n, rest[0].mean.row(g), rest[0].var.row(g));
                    }
                }
            }
        }
        Ok(())
    }
}
