//! The parameters of the exponentiated quadratic law.

use crate::kernel::radial;
use crate::param::{Block, BlockMut, Parameters};
use serde::{Deserialize, Serialize};

/// Exponentiated quadratic (Gaussian, RBF) covariance with one lengthscale per input dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Eq {
    /// ℓ_q, D numbers.
    pub lengthscale: Vec<f64>,
    /// s².
    pub signal_var: f64,
}

impl Eq {
    /// Equal lengthscales in all `dim_in` dimensions.
    pub fn isotropic(dim_in: usize, lengthscale: f64, signal_var: f64) -> Self {
        Self { lengthscale: vec![lengthscale; dim_in], signal_var }
    }
}

impl Parameters for Eq {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        radial::visit(&self.lengthscale, &self.signal_var, visit);
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        radial::visit_mut(&mut self.lengthscale, &mut self.signal_var, visit);
    }
}
