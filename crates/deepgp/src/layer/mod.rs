//! One layer of the network: a sparse Gaussian process with inducing inputs shared by its outputs.

mod exact_inputs;
mod gaussian_inputs;
mod inducing;
mod projection;
mod sums;

pub use exact_inputs::{ExactTape, PointBars};
pub use gaussian_inputs::GaussianTape;
pub use inducing::{Inducing, InducingScratch};
pub use projection::{Projection, ProjectionBack, whiten};
pub use sums::{ExactSums, GaussianSums, LayerGrad, LayerSums, Second};

use crate::error::{Error, Result, expect_size};
use crate::kernel::{Kernel, Law};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};

/// What a layer is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// Points without variances: mostly the data, at the first layer.
    Exact,
    /// Independent normals: the outputs of the layer below, or data with variances.
    Gaussian,
}

impl Inputs {
    /// What layer `l` of a network is given whose first layer is given `first`.
    pub fn of_layer(l: usize, first: Inputs) -> Self {
        if l == 0 { first } else { Inputs::Gaussian }
    }
}

/// What sums of second order are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Sites: Σ P.
    Sites,
    /// The gradient in the factors: S̄.
    Gradient,
}

/// Mean function of a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mean {
    /// h = f(x), the paper's setting.
    Zero,
    /// h = Wᵀx + f(x) with a fixed D_in × D_out matrix W.
    Linear(Mat),
}

impl Mean {
    /// W, if there is one.
    pub fn weights(&self) -> Option<&Mat> {
        match self {
            Mean::Zero => None,
            Mean::Linear(w) => Some(w),
        }
    }
}

/// A layer: D_out Gaussian processes on D_in inputs with one kernel and one set of M inducing inputs, plus noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// k, shared by the outputs.
    pub kernel: Kernel,
    /// Z, M × D_in, shared by the outputs.
    pub z: Mat,
    /// Number of outputs D_out.
    pub dim_out: usize,
    /// σ², noise added to each output; 0 for none (the last layer: observation noise belongs to the likelihood).
    pub noise_var: f64,
    /// The mean function.
    pub mean: Mean,
}

impl Layer {
    /// Number of inputs.
    pub fn dim_in(&self) -> usize {
        self.z.cols()
    }

    /// Number of inducing inputs.
    pub fn n_inducing(&self) -> usize {
        self.z.rows()
    }

    /// Checks sizes and domains.
    ///
    /// # Errors
    /// [`Error::Shape`], [`Error::Parameter`], [`Error::NotFinite`] or [`Error::Empty`].
    pub fn check(&self) -> Result<()> {
        if self.dim_out == 0 {
            let requirement = "a layer needs at least one output";
            return Err(Error::Parameter { name: "width", layer: None, entry: None, value: 0.0, requirement });
        }
        self.z.check_data("inducing inputs")?;
        expect_size("kernel inputs", self.dim_in(), self.kernel.dim_in())?;
        self.kernel.check()?;
        if !(self.noise_var >= 0.0 && self.noise_var.is_finite()) {
            let requirement = "it must be finite and not negative";
            let value = self.noise_var;
            return Err(Error::Parameter { name: "noise_var", layer: None, entry: None, value, requirement });
        }
        if let Mean::Linear(w) = &self.mean {
            expect_size("rows of the linear mean", self.dim_in(), w.rows())?;
            expect_size("columns of the linear mean", self.dim_out, w.cols())?;
            w.check_data("linear mean")?;
        }
        Ok(())
    }
}

/// Order: the kernel's blocks, Z, the noise variance (absent when it is 0).
impl Parameters for Layer {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        self.kernel.visit(visit);
        visit(Block { name: "z", domain: Domain::Real, values: self.z.as_slice() });
        if self.noise_var > 0.0 {
            let values = std::slice::from_ref(&self.noise_var);
            visit(Block { name: "noise_var", domain: Domain::Positive, values });
        }
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        self.kernel.visit_mut(visit);
        visit(BlockMut { name: "z", domain: Domain::Real, values: self.z.as_mut_slice() });
        if self.noise_var > 0.0 {
            let values = std::slice::from_mut(&mut self.noise_var);
            visit(BlockMut { name: "noise_var", domain: Domain::Positive, values });
        }
    }
}

/// Most points that are worked on together.
pub const POINTS_PER_BLOCK: usize = 64;

/// A layer's output variance is kept at or above this share of ψ₀, before noise; rounding can push it below zero.
pub(crate) const VARIANCE_FLOOR: f64 = 1e-10;
