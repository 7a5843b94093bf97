//! Sums over points that a layer's adjoint and its site updates need: all that a block of points leaves behind.

use super::{Inputs, Layer};
use crate::kernel::{KernelGrad, PsiSums};
use crate::linalg::tile::{Part, mirror};
use crate::linalg::{Mat, axpy, tri};
use crate::param::Parameters;
use crate::simd::PAD;

/// ∂F/∂(parameters) of one layer, natural values.
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

/// Sums over points for one layer, where a = ∂log Z/∂m and b = ∂log Z/∂v of an output and g̃ = ∂log Z/∂A of a point.
#[derive(Debug, Clone)]
pub struct LayerSums {
    /// Σ g̃, one row of M per output.
    pub a: Mat,
    /// Σ b Ψ₂ per output, packed, with room for vectors to write zeros past the end.
    pub c: Vec<Vec<f64>>,
    /// Σ g̃ g̃ᵀ, M × M per output; its upper triangle has meaning.
    pub outer: Vec<Mat>,
    /// What the kernel's adjoint gathers.
    pub psi: PsiSums,
    /// Σ b over points and outputs.
    pub noise_var: f64,
    /// How many output variances were held at the floor.
    pub floored: usize,
}

impl LayerSums {
    /// Zeros of the right shape.
    pub fn zeros(layer: &Layer, inputs: Inputs) -> Self {
        let (m, d_out) = (layer.n_inducing(), layer.dim_out);
        Self {
            a: Mat::zeros(d_out, m),
            c: vec![vec![0.0; tri::packed_len(m) + PAD]; d_out],
            outer: vec![Mat::zeros(m, m); d_out],
            psi: match inputs {
                Inputs::Known => PsiSums::without_pairs(m, layer.dim_in(), layer.kernel.n_params()),
                Inputs::Random => PsiSums::zeros(m, layer.dim_in(), layer.kernel.n_params()),
            },
            noise_var: 0.0,
            floored: 0,
        }
    }

    /// Sets everything to zero, keeping the allocations.
    pub fn clear(&mut self) {
        self.a.fill_zero();
        self.c.iter_mut().for_each(|c| c.fill(0.0));
        self.outer.iter_mut().for_each(Mat::fill_zero);
        self.psi.clear();
        self.noise_var = 0.0;
        self.floored = 0;
    }

    /// Adds another block's sums.
    pub fn add(&mut self, other: &LayerSums) {
        self.a.add_scaled(1.0, &other.a);
        for (mine, theirs) in self.c.iter_mut().zip(&other.c) {
            axpy(1.0, theirs, mine);
        }
        for (mine, theirs) in self.outer.iter_mut().zip(&other.outer) {
            mine.add_scaled(1.0, theirs);
        }
        self.psi.add(&other.psi);
        self.noise_var += other.noise_var;
        self.floored += other.floored;
    }

    /// Σ g̃ g̃ᵀ of output `d` as a full symmetric matrix.
    pub fn outer_full(&self, d: usize, full: &mut Mat) {
        full.clone_from(&self.outer[d]);
        mirror(full, Part::Upper);
    }

    /// Σ b Ψ₂ of output `d` as a full symmetric matrix.
    pub fn c_full(&self, d: usize, full: &mut Mat) {
        full.reshape(self.a.cols(), self.a.cols());
        tri::unpack(&self.c[d], full);
    }
}
