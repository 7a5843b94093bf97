//! Sums over points that a layer's adjoint and its site updates need: all that a block of points leaves behind.

use super::{Inputs, Layer, Wanted};
use crate::kernel::{KernelGrad, KernelSums, Law, PointSums};
use crate::param::Parameters;
use deepgp_numerics::linalg::{Mat, add_scaled_lower};

/// ∂ℒ/∂(parameters) of one layer, natural values.
#[derive(Debug, Clone, Default)]
pub struct LayerGrad {
    /// Kernel parameters and Z.
    pub kernel: KernelGrad,
    /// Noise variance.
    pub noise_var: f64,
}

impl LayerGrad {
    /// Sets everything to zero, keeping the allocations.
    pub fn clear(&mut self) {
        self.kernel.z.fill_zero();
        self.kernel.params.fill(0.0);
        self.noise_var = 0.0;
    }

    /// Zeros of the right shape.
    pub fn zeros(layer: &Layer) -> Self {
        let params = layer.kernel.n_params();
        Self { kernel: KernelGrad::zeros(layer.n_inducing(), layer.dim_in(), params), noise_var: 0.0 }
    }
}

/// Sums over points for one layer, where a = ∂log Z/∂m and b = ∂log Z/∂v of an output.
#[derive(Debug, Clone)]
pub struct LayerSums {
    /// Σ g, one row of M per output: g = ∂log Z/∂μ of a point, or g̃ = ∂log Z/∂A = L g where [`Second`] says so. Then,
    /// where inputs are exact, as many rows of Σ P μ, if Σ P is wanted.
    pub sum_g: Mat,
    /// Sums of second order, as far as they are wanted.
    pub second: Second,
    /// Whether the M × M sums have no meaning yet: the first block sets them, which spares clearing them.
    pub fresh: bool,
    /// What the kernel's adjoint gathers.
    pub psi: KernelSums,
    /// Σ b over points and outputs.
    pub noise_var: f64,
    /// How many output variances were held at the floor.
    pub floored: usize,
}

/// Sums of second order, by the kind of the layer's inputs. Sums of one kind are never added to those of the other.
#[derive(Debug, Clone)]
pub enum Second {
    /// On the whitened scale.
    Exact(ExactSums),
    /// Partly on the scale of kernel values, where that costs less.
    Gaussian(GaussianSums),
}

/// Sums of second order over exact inputs.
#[derive(Debug, Clone)]
pub struct ExactSums {
    /// Σ P = Σ (a² − 2b) t tᵀ or S̄ = Σ b t tᵀ, M × M per output; the lower triangle has meaning.
    pub p_or_cov_bar: Vec<Mat>,
    /// Which of the two it is.
    pub wanted: Wanted,
    /// Φ = LᵀL̄ = −Σ t̄ tᵀ, M × M; the lower triangle has meaning.
    pub phi: Mat,
}

/// Sums of second order over Gaussian inputs.
#[derive(Debug, Clone)]
pub struct GaussianSums {
    /// Σ g gᵀ or Σ g̃ g̃ᵀ, M × M per output; the lower triangle has meaning.
    pub outer: Vec<Mat>,
    /// Whether g was whitened point by point, which takes fewer multiplications where there are fewer points than
    /// inducing inputs.
    pub whitened: bool,
    /// C̄ = Σ b Ψ₂, M × M per output; the lower triangle has meaning.
    pub c: Vec<Mat>,
}

impl Second {
    /// The sums over exact inputs.
    ///
    /// # Panics
    /// If the inputs were Gaussian.
    pub fn exact(&self) -> &ExactSums {
        match self {
            Second::Exact(sums) => sums,
            Second::Gaussian(_) => panic!("these are sums over Gaussian inputs, not over exact ones"),
        }
    }

    /// [`Second::exact`], mutable.
    ///
    /// # Panics
    /// As [`Second::exact`].
    pub fn exact_mut(&mut self) -> &mut ExactSums {
        match self {
            Second::Exact(sums) => sums,
            Second::Gaussian(_) => panic!("these are sums over Gaussian inputs, not over exact ones"),
        }
    }

    /// The sums over Gaussian inputs.
    ///
    /// # Panics
    /// If the inputs were exact.
    pub fn gaussian(&self) -> &GaussianSums {
        match self {
            Second::Gaussian(sums) => sums,
            Second::Exact(_) => panic!("these are sums over exact inputs, not over Gaussian ones"),
        }
    }

    /// [`Second::gaussian`], mutable.
    ///
    /// # Panics
    /// As [`Second::gaussian`].
    pub fn gaussian_mut(&mut self) -> &mut GaussianSums {
        match self {
            Second::Gaussian(sums) => sums,
            Second::Exact(_) => panic!("these are sums over exact inputs, not over Gaussian ones"),
        }
    }
}

impl LayerSums {
    /// Zeros of the right shape.
    pub fn zeros(layer: &Layer, inputs: Inputs) -> Self {
        let (m, d_out) = (layer.n_inducing(), layer.dim_out);
        let squares = || vec![Mat::zeros(m, m); d_out];
        let (rows, second) = match inputs {
            Inputs::Exact => (
                2 * d_out,
                Second::Exact(ExactSums { p_or_cov_bar: squares(), wanted: Wanted::Sites, phi: Mat::zeros(m, m) }),
            ),
            Inputs::Gaussian => {
                (d_out, Second::Gaussian(GaussianSums { outer: squares(), whitened: false, c: squares() }))
            }
        };
        let psi = layer.kernel.zero_sums(m);
        Self { sum_g: Mat::zeros(rows, m), second, fresh: true, psi, noise_var: 0.0, floored: 0 }
    }

    /// Starts anew, keeping the allocations.
    pub fn clear(&mut self) {
        self.sum_g.fill_zero();
        self.fresh = true;
        self.psi.clear();
        self.noise_var = 0.0;
        self.floored = 0;
    }

    /// Adds another block's sums.
    ///
    /// # Panics
    /// If they are over inputs of the other kind.
    pub fn add(&mut self, other: &LayerSums) {
        self.sum_g.add_scaled(1.0, &other.sum_g);
        let add = |mine: &mut Mat, theirs: &Mat| match self.fresh {
            true => mine.clone_from(theirs),
            false => add_scaled_lower(mine, 1.0, theirs),
        };
        let add_all = |mine: &mut [Mat], theirs: &[Mat]| mine.iter_mut().zip(theirs).for_each(|(m, t)| add(m, t));
        match &mut self.second {
            Second::Exact(mine) => {
                let theirs = other.second.exact();
                add_all(&mut mine.p_or_cov_bar, &theirs.p_or_cov_bar);
                add(&mut mine.phi, &theirs.phi);
                mine.wanted = theirs.wanted;
            }
            Second::Gaussian(mine) => {
                let theirs = other.second.gaussian();
                add_all(&mut mine.outer, &theirs.outer);
                mine.whitened = theirs.whitened;
                add_all(&mut mine.c, &theirs.c);
            }
        }
        self.fresh = false;
        self.psi.add(&other.psi);
        self.noise_var += other.noise_var;
        self.floored += other.floored;
    }
}
