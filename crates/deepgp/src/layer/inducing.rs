//! What a layer's hyperparameters determine alone: K_zz, its factor, and the tables of the expectations.
//!
//! ```text
//! L Lᵀ = K_zz + jitter,   u = L v,   prior v ~ N(0, I)
//! ```

use super::{Inputs, Layer, LayerGrad, LayerSums};
use crate::error::Result;
use crate::kernel::{KernelGrad, KernelScratch, KernelSums, KernelTables, Law};
use deepgp_numerics::linalg::transpose::transpose_lower_into;
use deepgp_numerics::linalg::{Cholesky, Jitter, Mat};

/// The inducing inputs of a layer with everything derived from them and the kernel; refilled once per step.
#[derive(Debug, Clone, Default)]
pub struct Inducing {
    /// K_zz without jitter, M × M, its upper triangle at least ([`Law::half_gram`]).
    pub kzz: Mat,
    /// Its factor, with the jitter that was needed.
    pub chol: Cholesky,
    /// (K_zz + jitter)⁻¹, its lower triangle; empty where inputs are exact.
    pub kzz_inv: Mat,
    /// L⁻ᵀ.
    pub l_inv_t: Mat,
    /// Tables of the kernel's expectations.
    pub tables: KernelTables,
}

/// Working matrices of [`Inducing::adjoint`].
#[derive(Debug, Clone, Default)]
pub struct InducingScratch {
    half: Mat,
    kzz_bar: Mat,
    kernel: KernelScratch,
}

impl Inducing {
    /// Cost: O(M²D + M³).
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if K_zz cannot be factored even with the largest jitter.
    pub fn new(layer: &Layer, inputs: Inputs, jitter: Jitter) -> Result<Self> {
        let mut out = Self::default();
        out.refill(layer, inputs, jitter)?;
        Ok(out)
    }

    /// [`Inducing::new`] into existing memory; after an error the contents are not to be used.
    ///
    /// # Errors
    /// As [`Inducing::new`].
    pub fn refill(&mut self, layer: &Layer, inputs: Inputs, jitter: Jitter) -> Result<()> {
        match inputs {
            Inputs::Exact => layer.kernel.prepare_exact(&layer.z, &mut self.tables),
            Inputs::Gaussian => layer.kernel.prepare(&layer.z, &mut self.tables),
        }
        layer.kernel.half_gram(&self.tables, &mut self.kzz);
        self.chol.refill_with_jitter(&self.kzz, jitter, "K_zz")?;
        if inputs == Inputs::Gaussian {
            self.chol.half_inverse_into(&mut self.kzz_inv);
        }
        transpose_lower_into(self.chol.l_inv(), &mut self.l_inv_t);
        Ok(())
    }

    /// Adjoint: from Φ = LᵀL̄ (destroyed) and the sums over points to the layer's parameters.
    pub fn adjoint(
        &self,
        layer: &Layer,
        phi: &mut Mat,
        sums: &LayerSums,
        scratch: &mut InducingScratch,
        grad: &mut LayerGrad,
    ) {
        self.kernel_adjoint(layer, phi, &sums.psi, scratch, &mut grad.kernel);
        grad.noise_var += sums.noise_var;
    }

    /// The part of it that reaches the kernel and the inducing inputs.
    pub fn kernel_adjoint(
        &self,
        layer: &Layer,
        phi: &mut Mat,
        sums: &KernelSums,
        scratch: &mut InducingScratch,
        grad: &mut KernelGrad,
    ) {
        layer.kernel.finish(&self.tables, sums, grad, &mut scratch.kernel);
        self.chol.adjoint_whitened(phi, &mut scratch.half, &mut scratch.kzz_bar);
        let InducingScratch { kzz_bar, kernel, .. } = scratch;
        layer.kernel.gram_adjoint(&self.tables, &self.kzz, kzz_bar, grad, kernel);
    }
}
