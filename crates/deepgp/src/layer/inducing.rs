//! What a layer's hyperparameters determine alone: K_zz, its factor, and the tables of the expectations.
//!
//! ```text
//! L Lᵀ = K_zz + jitter,   u = L v,   prior v ~ N(0, I)
//! ```

use super::{Layer, LayerGrad, LayerSums};
use crate::error::Result;
use crate::kernel::{Law, PsiTables, gram_adjoint};
use crate::linalg::{Cholesky, Jitter, Mat};

/// The inducing inputs of a layer with everything derived from them and the kernel; built once per step.
#[derive(Debug, Clone)]
pub struct Inducing {
    /// K_zz without jitter, M × M.
    pub kzz: Mat,
    /// Its factor, with the jitter that was needed.
    pub chol: Cholesky,
    /// Tables of the kernel's expectations.
    pub tables: PsiTables,
}

impl Inducing {
    /// Cost: O(M²D + M³).
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if K_zz cannot be factored even with the largest jitter.
    pub fn new(layer: &Layer, jitter: Jitter) -> Result<Self> {
        let (mut kzz, mut tables) = (Mat::default(), PsiTables::default());
        layer.kernel.cross(&layer.z, &layer.z, &mut kzz);
        let chol = Cholesky::with_jitter(&kzz, jitter, "K_zz")?;
        layer.kernel.prepare(&layer.z, &mut tables);
        Ok(Self { kzz, chol, tables })
    }

    /// Adjoint: from ∂F/∂L and the sums over points to the layer's parameters.
    pub fn adjoint(&self, layer: &Layer, l_bar: &Mat, sums: &LayerSums, grad: &mut LayerGrad) {
        layer.kernel.finish(&self.tables, &sums.psi, &mut grad.kernel);
        let kzz_bar = self.chol.adjoint(l_bar);
        gram_adjoint(&layer.kernel, &layer.z, &self.kzz, &kzz_bar, &mut grad.kernel);
        grad.noise_var += sums.noise_var;
    }
}
