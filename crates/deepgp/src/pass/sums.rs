//! Sums over points of log Z and of all that its derivatives need, and their flat layout, in which they can be sent and
//! added.

use super::Pass;
use crate::error::{Result, expect_size};
use crate::kernel::{KernelGrad, KernelScratch, Law, PointSums};
use crate::layer::{Inputs, LayerSums, Second};
use crate::network::DeepGp;
use crate::param::Parameters;
use deepgp_numerics::Mat;

/// Sums over points of log Z_n and of what its derivatives need, every point as often as its weight says.
#[derive(Debug, Clone)]
pub struct Sums {
    /// Number of points.
    pub n_points: usize,
    /// Σ log Z_n.
    pub log_z: f64,
    /// Per layer.
    pub layers: Vec<LayerSums>,
    /// Σ ∂log Z_n/∂(likelihood parameters).
    pub likelihood: Vec<f64>,
    /// Σ ∂log Z_n/∂(the network's constant); empty if it has none.
    pub constant: Vec<f64>,
}

impl Sums {
    /// Zeros of the right shape, for a first layer that is given `inputs`.
    pub fn zeros(network: &DeepGp, inputs: Inputs) -> Self {
        let of_layer = |(l, layer)| LayerSums::zeros(layer, Inputs::of_layer(l, inputs));
        Self {
            n_points: 0,
            log_z: 0.0,
            layers: network.layers().iter().enumerate().map(of_layer).collect(),
            likelihood: vec![0.0; network.likelihood().n_params()],
            constant: vec![0.0; network.constant().len()],
        }
    }

    /// Makes these sums anew if their first layer was given other inputs.
    pub fn expect_inputs(&mut self, network: &DeepGp, inputs: Inputs) {
        let found = match self.layers.first().map(|layer| &layer.second) {
            Some(Second::Exact(_)) => Inputs::Exact,
            _ => Inputs::Gaussian,
        };
        if found != inputs {
            *self = Self::zeros(network, inputs);
        }
    }

    /// Sets everything to zero, keeping the allocations.
    pub fn clear(&mut self) {
        self.n_points = 0;
        self.log_z = 0.0;
        self.layers.iter_mut().for_each(LayerSums::clear);
        self.likelihood.fill(0.0);
        self.constant.fill(0.0);
    }

    /// Adds another block's sums.
    ///
    /// # Panics
    /// If they are over inputs of the other kind.
    pub fn add(&mut self, other: &Sums) {
        for (mine, theirs) in self.layers.iter_mut().zip(&other.layers) {
            mine.add(theirs);
        }
        self.add_numbers(other);
    }

    /// Adds what does not belong to a layer.
    pub(super) fn add_numbers(&mut self, other: &Sums) {
        self.n_points += other.n_points;
        self.log_z += other.log_z;
        for (a, b) in self.likelihood.iter_mut().zip(&other.likelihood) {
            *a += b;
        }
        for (a, b) in self.constant.iter_mut().zip(&other.constant) {
            *a += b;
        }
    }

    /// How many numbers [`Sums::flatten`] writes for a network whose first layer is given `inputs`.
    pub fn flat_len(network: &DeepGp, inputs: Inputs) -> usize {
        let of_layer = |(l, layer): (usize, &crate::layer::Layer)| {
            let (m, d_out) = (layer.n_inducing(), layer.dim_out);
            let (rows, squares) = match Inputs::of_layer(l, inputs) {
                Inputs::Exact => (2 * d_out, d_out + 1),
                Inputs::Gaussian => (d_out, 2 * d_out),
            };
            rows * m + squares * (m * (m + 1) / 2) + m * layer.dim_in() + layer.kernel.n_params() + 2
        };
        let last = network.likelihood().n_params() + network.constant().len() + 2;
        network.layers().iter().enumerate().map(of_layer).sum::<usize>() + last
    }

    /// Writes the sums of a pass as plain numbers, in an order that depends on the network alone. Sums of parts of a
    /// batch add up number by number.
    ///
    /// ```text
    /// per layer   Σ g and, of exact inputs, Σ P μ        a row of M per output each
    ///             Σ P or S̄, then Φ = LᵀL̄                 exact inputs: lower triangles row by row, one per
    ///                                                    output, then one
    ///             Σ g gᵀ, then C̄ = Σ b Ψ₂                Gaussian inputs: lower triangles, one per output each
    ///             Z̄ through k(x, Z)                      M × D_in
    ///             gradient in the kernel's parameters    in their order
    ///             Σ b, number of floored variances
    /// then        gradient in the likelihood's parameters, in the constant if there is one, Σ log Z, number of points
    /// ```
    pub fn flatten(&self, pass: &Pass<'_>, flat: &mut Vec<f64>) {
        flat.clear();
        let (stack, mut scratch) = (&pass.stack, KernelScratch::default());
        for ((layer, inducing), sums) in stack.network.layers().iter().zip(stack.inducing).zip(&self.layers) {
            flat.extend_from_slice(sums.sum_g.as_slice());
            let squares: Vec<&Mat> = match &sums.second {
                Second::Exact(second) => second.p_or_cov_bar.iter().chain([&second.phi]).collect(),
                Second::Gaussian(second) => second.outer.iter().chain(&second.c).collect(),
            };
            for square in squares {
                for i in 0..square.rows() {
                    let row = &square.row(i)[..=i];
                    // Before the first block they have no meaning yet.
                    flat.extend(row.iter().map(|v| if sums.fresh { 0.0 } else { *v }));
                }
            }
            let mut grad = KernelGrad::zeros(layer.n_inducing(), layer.dim_in(), layer.kernel.n_params());
            layer.kernel.finish(&inducing.tables, &sums.psi, &mut grad, &mut scratch);
            flat.extend_from_slice(grad.z.as_slice());
            flat.extend_from_slice(&grad.params);
            flat.extend([sums.noise_var, sums.floored as f64]);
        }
        flat.extend_from_slice(&self.likelihood);
        flat.extend_from_slice(&self.constant);
        flat.extend([self.log_z, self.n_points as f64]);
    }

    /// Takes the sums of a pass over a batch of `n_batch` points from plain numbers in the order of [`Sums::flatten`].
    ///
    /// # Errors
    /// [`crate::Error::Shape`] unless there are as many numbers as that order has.
    pub fn unflatten(&mut self, pass: &Pass<'_>, n_batch: usize, flat: &[f64]) -> Result<()> {
        let network = pass.stack.network;
        expect_size("numbers of flat sums", Self::flat_len(network, pass.stack.inputs), flat.len())?;
        self.expect_inputs(network, pass.stack.inputs);
        let mut rest = flat;
        for sums in &mut self.layers {
            sums.psi.clear();
            sums.fresh = false;
            take(&mut rest, sums.sum_g.as_mut_slice());
            let squares: Vec<&mut Mat> = match &mut sums.second {
                Second::Exact(second) => {
                    second.wanted = pass.wanted;
                    second.p_or_cov_bar.iter_mut().chain([&mut second.phi]).collect()
                }
                Second::Gaussian(second) => {
                    second.whitened = n_batch <= sums.sum_g.cols();
                    second.outer.iter_mut().chain(&mut second.c).collect()
                }
            };
            for square in squares {
                (0..square.rows()).for_each(|i| take(&mut rest, &mut square.row_mut(i)[..=i]));
            }
            let grad = sums.psi.grad_mut();
            take(&mut rest, grad.z.as_mut_slice());
            take(&mut rest, &mut grad.params);
            let mut numbers = [0.0; 2];
            take(&mut rest, &mut numbers);
            (sums.noise_var, sums.floored) = (numbers[0], numbers[1] as usize);
        }
        take(&mut rest, &mut self.likelihood);
        take(&mut rest, &mut self.constant);
        (self.log_z, self.n_points) = (rest[0], rest[1] as usize);
        Ok(())
    }
}

/// Takes as many numbers from the front as there is room for.
fn take(from: &mut &[f64], to: &mut [f64]) {
    let (front, rest) = from.split_at(to.len());
    to.copy_from_slice(front);
    *from = rest;
}
