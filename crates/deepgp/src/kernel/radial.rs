//! The parameters of a law of Σ_q (x_q − x'_q)²/ℓ_q²: lengthscales, then the signal variance.

use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain};

/// Visits the lengthscales, then the variance.
pub(super) fn visit(lengthscale: &[f64], signal_var: &f64, visit: &mut dyn FnMut(Block<'_>)) {
    visit(Block { name: "lengthscale", domain: Domain::Positive, values: lengthscale });
    visit(Block { name: "signal_var", domain: Domain::Positive, values: std::slice::from_ref(signal_var) });
}

/// Visits the parameters of a radial kernel, writable.
pub(super) fn visit_mut(lengthscale: &mut [f64], signal_var: &mut f64, visit: &mut dyn FnMut(BlockMut<'_>)) {
    visit(BlockMut { name: "lengthscale", domain: Domain::Positive, values: lengthscale });
    visit(BlockMut { name: "signal_var", domain: Domain::Positive, values: std::slice::from_mut(signal_var) });
}

/// Checks that all of them are positive.
pub(super) fn check(lengthscale: &[f64], signal_var: f64) -> Result<()> {
    for (q, &l) in lengthscale.iter().enumerate() {
        expect_positive("lengthscale", Some(q), l)?;
    }
    expect_positive("signal_var", None, signal_var)
}
