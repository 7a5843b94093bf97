//! The starting network: the paper's initialisation, and its counterpart for layers with a linear mean.
//!
//! | | first layer | layers above, zero mean | layers above, linear mean |
//! |---|---|---|---|
//! | inducing inputs | k-means centres | spread over [−1, 1] in every dimension | the centres, after the means below |
//! | lengthscales | median distance | long (e) | √D |
//!
//! Signal variances start at 1 (¼ in hidden layers with a linear mean, which only correct it), noise variances at 0.01.
//! Reference: Bui et al. (2015), section 5.

use super::distinct::distinct_rows_up_to;
use super::{kmeans, median_distance, principal_directions, sample_rows};
use crate::error::{Error, Result, expect_positive};
use crate::infer::Event;
use crate::kernel::{Eq, Kernel, Linear, Matern, Smoothness, SpectralMixture, Sum};
use crate::layer::{Layer, Mean};
use crate::likelihood::{Likelihood, Observation};
use crate::network::DeepGp;
use deepgp_numerics::linalg::{Mat, Op, mul};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Lengthscale of zero-mean layers above the first: long against inducing inputs in [−1, 1].
const LONG: f64 = std::f64::consts::E;
/// Noise variance of hidden layers at the start.
const HIDDEN_NOISE_VAR: f64 = 0.01;
/// Signal variance of hidden layers with a linear mean at the start.
const CORRECTION_VAR: f64 = 0.25;
/// Rows that are looked at for the means of hidden layers.
const MAX_ROWS: usize = 2000;
/// Width of the random shifts of inducing inputs that a linear mean pushed together.
const SHIFT: f64 = 0.01;

/// Stream of random numbers for starting values; minibatches count up from 0, and starting factors have another.
const STREAM: u64 = u64::MAX;

/// Random numbers for starting values: a stream of their own, since a training draws from the same seed.
pub fn starting_stream(seed: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    rng
}

/// Which kernel every layer gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelChoice {
    /// Exponentiated quadratic with a lengthscale per dimension (the paper's experiments).
    #[default]
    Eq,
    /// Linear.
    Linear,
    /// Exponentiated quadratic plus linear.
    EqLinear,
    /// Spectral mixture with this many components.
    SpectralMixture(usize),
    /// Matérn 3/2.
    Matern32,
    /// Matérn 5/2.
    Matern52,
}

/// Which mean function hidden layers get; the last layer always has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeanChoice {
    /// Zero mean (the paper's setting).
    #[default]
    Zero,
    /// Linear: the identity where widths agree, principal directions where they shrink, the identity padded with
    /// zeros where they grow.
    Linear,
}

/// The shape of a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Architecture {
    /// Widths of the hidden layers, first to last; none gives a sparse GP.
    pub hidden: Vec<usize>,
    /// Inducing inputs per layer.
    pub n_inducing: usize,
    /// Kernel of every layer.
    pub kernel: KernelChoice,
    /// Mean of the hidden layers.
    pub mean: MeanChoice,
    /// Whether more inducing inputs than distinct rows are an error; otherwise they are reduced, with an event.
    pub exact_inducing: bool,
}

impl Default for Architecture {
    fn default() -> Self {
        Self {
            hidden: vec![2],
            n_inducing: 50,
            kernel: KernelChoice::default(),
            mean: MeanChoice::default(),
            exact_inducing: false,
        }
    }
}

/// A network of the given shape for standardised inputs `x` (N × D), and the events of its construction.
///
/// # Errors
/// [`Error::Parameter`] for a width, number of components or number of inducing inputs of 0;
/// [`Error::TooManyInducing`] where reducing them was forbidden; [`Error::Empty`] or [`Error::NotFinite`] for `x`.
pub fn network(
    x: &Mat,
    likelihood: Likelihood,
    shape: &Architecture,
    rng: &mut impl Rng,
) -> Result<(DeepGp, Vec<Event>)> {
    x.check_data("inputs")?;
    expect_positive("n_inducing", None, shape.n_inducing as f64)?;
    for (l, &width) in shape.hidden.iter().enumerate() {
        expect_positive("width", None, width as f64).map_err(|e| e.in_layer(l))?;
    }
    let mut events = Vec::new();
    let distinct = distinct_rows_up_to(x, shape.n_inducing);
    let requested = shape.n_inducing;
    let n_inducing = requested.min(distinct);
    if n_inducing < requested {
        if shape.exact_inducing {
            return Err(Error::TooManyInducing { requested, distinct });
        }
        events.push(Event::InducingReduced { requested, used: n_inducing });
    }

    let mut centres = kmeans(x, n_inducing, rng)?;
    // What layers above the first know of the data: enough rows for principal directions, whatever their number.
    let mut hidden = x.select_rows(&sample_rows(x.rows(), MAX_ROWS, rng));
    let widths: Vec<usize> = shape.hidden.iter().copied().chain([likelihood.n_latent()]).collect();
    let mut layers = Vec::with_capacity(widths.len());
    for (l, &dim_out) in widths.iter().enumerate() {
        let (first, last) = (l == 0, l + 1 == widths.len());
        let dim_in = hidden.cols();
        let (z, lengthscale) = match (first, shape.mean) {
            (true, _) => (centres.clone(), median_distance(x, rng)?),
            (false, MeanChoice::Zero) => (spread(n_inducing, dim_in, rng), LONG),
            (false, MeanChoice::Linear) => (shifted(&centres, rng), (dim_in as f64).sqrt()),
        };
        let mean = match shape.mean {
            MeanChoice::Linear if !last => Mean::Linear(linear_mean(&hidden, dim_out)?),
            _ => Mean::Zero,
        };
        let signal_var = if mean == Mean::Zero { 1.0 } else { CORRECTION_VAR };
        let kernel = kernel(shape.kernel, dim_in, lengthscale, signal_var, rng)?;
        // Without a linear mean there is no telling where the data will go: the layers above see only widths.
        let pushed = |rows: &Mat| match mean.weights() {
            Some(w) => product(rows, w),
            None => Mat::zeros(rows.rows(), dim_out),
        };
        (centres, hidden) = (pushed(&centres), pushed(&hidden));
        let noise_var = if last { 0.0 } else { HIDDEN_NOISE_VAR };
        layers.push(Layer { kernel, z, dim_out, noise_var, mean });
    }
    Ok((DeepGp::new(layers, likelihood)?, events))
}

/// The chosen kernel at its starting values.
fn kernel(
    choice: KernelChoice,
    dim_in: usize,
    lengthscale: f64,
    signal_var: f64,
    rng: &mut impl Rng,
) -> Result<Kernel> {
    let eq = || Kernel::Eq(Eq::isotropic(dim_in, lengthscale, signal_var));
    // On standardised inputs Σ_q a x_q² has mean D a.
    let linear = || Kernel::Linear(Linear { variance: vec![signal_var / dim_in as f64; dim_in] });
    let matern = |smoothness| Kernel::Matern(Matern { smoothness, lengthscale: vec![lengthscale; dim_in], signal_var });
    Ok(match choice {
        KernelChoice::Eq => eq(),
        KernelChoice::Linear => linear(),
        KernelChoice::EqLinear => Kernel::Sum(Sum { parts: vec![eq(), linear()] }),
        KernelChoice::SpectralMixture(n) => {
            expect_positive("components", None, n as f64)?;
            // The first component has no frequency, so the kernel starts out close to an exponentiated quadratic.
            let frequency = Mat::from_fn(n, dim_in, |c, _| {
                let draw: f64 = StandardNormal.sample(rng);
                if c == 0 { 0.0 } else { draw / lengthscale }
            });
            Kernel::SpectralMixture(SpectralMixture {
                weight: vec![signal_var / n as f64; n],
                frequency,
                lengthscale: Mat::from_fn(n, dim_in, |_, _| lengthscale),
            })
        }
        KernelChoice::Matern32 => matern(Smoothness::ThreeHalves),
        KernelChoice::Matern52 => matern(Smoothness::FiveHalves),
    })
}

/// W for a layer whose inputs look like `hidden`.
fn linear_mean(hidden: &Mat, dim_out: usize) -> Result<Mat> {
    if dim_out < hidden.cols() {
        principal_directions(hidden, dim_out)
    } else {
        Ok(Mat::identity(hidden.cols(), dim_out))
    }
}

/// M points in [−1, 1]^D: evenly spaced in every dimension, in an order of its own in each after the first.
fn spread(m: usize, dim: usize, rng: &mut impl Rng) -> Mat {
    let mut z = Mat::zeros(m, dim);
    let mut order: Vec<usize> = (0..m).collect();
    for q in 0..dim {
        for (i, &at) in order.iter().enumerate() {
            z[(i, q)] = if m == 1 { 0.0 } else { 2.0 * at as f64 / (m - 1) as f64 - 1.0 };
        }
        order.shuffle(rng);
    }
    z
}

/// The rows, shifted a little at random: a mean that shrinks the width can put several in one place.
fn shifted(rows: &Mat, rng: &mut impl Rng) -> Mat {
    Mat::from_fn(rows.rows(), rows.cols(), |i, j| rows[(i, j)] + SHIFT * (2.0 * rng.random::<f64>() - 1.0))
}

/// a · b.
fn product(a: &Mat, b: &Mat) -> Mat {
    let mut out = Mat::default();
    mul(&mut out, a, Op::Id, b, Op::Id);
    out
}
