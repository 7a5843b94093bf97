//! The pass over data: forward through the layers, log Z, backward through the layers.
//!
//! [`Stack::forward`] is the one way forward: training, prediction and the picture of every layer take it. What a pass
//! leaves behind are the [`Sums`] over its points. [`Evaluate`] is the seam at which these may come from elsewhere:
//! [`Cores`] are the threads of this process; a device or many machines may stand in their place.

mod cores;
mod propagate;
mod sums;

pub use cores::{Cores, fetch_block};
pub use propagate::{Stack, Tapes};
pub use sums::Sums;

use crate::data::Data;
use crate::error::Result;
use crate::gauss::DiagGaussian;
use crate::layer::{Inputs, Wanted};
use deepgp_numerics::Mat;
use deepgp_numerics::pool::ThreadPool;

/// Rows of a data set that make up a batch, and what they stand for.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// All inputs that are here, N × D_in.
    pub x: &'a Mat,
    /// Their variances, N × D_in, if they are not exact.
    pub x_var: Option<&'a Mat>,
    /// All targets that are here, N × the likelihood's columns.
    pub y: &'a Mat,
    /// What is added to the latent values of all rows that are here, N × K.
    pub offset: Option<&'a DiagGaussian>,
    /// What each row that is here counts for, N numbers, if not once.
    pub weights: Option<&'a [f64]>,
    /// The rows of these that make up the batch, or this part of it.
    pub rows: &'a [usize],
    /// B, the points of the whole batch; more than `rows` where others hold the rest of it.
    pub n_batch: usize,
    /// N, the size of the data set that the batch stands for; usually the number of rows of `x`.
    pub n_data: usize,
    /// W/N, what a row of that data set counts for on average; 1 without weights.
    pub mean_weight: f64,
}

impl<'a> Batch<'a> {
    /// The given rows of a whole data set.
    pub fn of(data: Data<'a>, rows: &'a [usize]) -> Self {
        Self {
            x: data.x(),
            x_var: None,
            y: data.y(),
            offset: data.offset(),
            weights: data.weights(),
            rows,
            n_batch: rows.len(),
            n_data: data.x().rows(),
            mean_weight: data.total_weight() / data.x().rows() as f64,
        }
    }

    /// What the first layer is given.
    pub fn inputs(&self) -> Inputs {
        if self.x_var.is_some() { Inputs::Gaussian } else { Inputs::Exact }
    }

    /// What row `row` counts for.
    pub fn row_weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// W, the sum of the weights of the data set that the batch stands for; N without weights.
    pub fn total_weight(&self) -> f64 {
        self.mean_weight * self.n_data as f64
    }

    /// N/(αB), what the sum over the batch counts for.
    pub fn weight(&self, alpha: f64) -> f64 {
        self.n_data as f64 / (alpha * self.n_batch as f64)
    }
}

/// A network that is ready to take data, and what for.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// The layers with one Gaussian per output: the cavity.
    pub stack: Stack<'a>,
    /// The power α of log Z.
    pub alpha: f64,
    /// What the sums are for.
    pub wanted: Wanted,
}

/// Takes a batch through a network, from parameters and projections to sums over points.
///
/// Implementations agree but for rounding; one and the same gives the same bits for the same arguments.
pub trait Evaluate: std::fmt::Debug + Send {
    /// Sums over the whole batch, wherever its points are, into `sums`, which take the kind of the batch's inputs.
    ///
    /// # Errors
    /// What keeps a device or another machine from doing its part. The threads of this process have no errors.
    fn evaluate(&mut self, pass: &Pass<'_>, batch: Batch<'_>, sums: &mut Sums) -> Result<()>;

    /// Threads for what a step does between passes of so many points, where it pays to share that out.
    fn pool(&mut self, _n_points: usize) -> Option<&mut ThreadPool> {
        None
    }
}
