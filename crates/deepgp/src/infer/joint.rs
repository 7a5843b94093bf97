//! Joint minimisation of the SEP energy in the factors and the hyperparameters (Bui et al., ICML 2016).
//!
//! ```text
//! Λ = Rᵀ R with R upper triangular ([`Root`]); its packed entries, the diagonal as logarithms, and η descend E
//! ```

use super::workspace::{CavityOf, Passes};
use super::{
    Batch, Event, Inference, InferenceSettings, State, Step, StepWorkspace, all_moments, energy, floor_events,
};
use crate::error::Result;
use crate::gauss::{Factor, FullGaussianBar};
use crate::layer::Wanted;
use crate::network::DeepGp;
use deepgp_numerics::linalg::Mat;

/// The SEP energy of a batch with its derivatives.
#[derive(Debug, Clone)]
pub struct EnergyGradient {
    /// The energy; its negative approximates the log evidence.
    pub energy: f64,
    /// ∂energy/∂(the model's free parameters), (Λ, η) held fixed.
    pub model: Vec<f64>,
    /// ∂energy/∂(Λ, η), symmetric in Λ, per layer and output.
    pub factors: Vec<Vec<Factor>>,
    /// What happened.
    pub events: Vec<Event>,
}

pub(super) fn step(
    inference: &Inference,
    model: &DeepGp,
    state: &mut State,
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
) -> Result<Step> {
    let EnergyGradient { energy, model: mut gradient, factors, events } =
        sep_energy(inference, model, state.factors(), batch, ws)?;
    for (roots, bars) in state.roots.iter().zip(&factors) {
        for (root, bar) in roots.iter().zip(bars) {
            root.adjoint(&bar.precision, &mut gradient);
            gradient.extend_from_slice(&bar.linear);
        }
    }
    Ok(Step { energy, gradient, events })
}

/// The SEP energy and its gradient in the model's free parameters and in each (Λ, η).
///
/// ```text
/// E = (W/α − 1) φ(q) − (W/α) φ(cavity) − N/(αB) Σ w_n log Z_n          W = Σ w_n over all data; N without weights
/// ```
pub(super) fn sep_energy(
    inference: &Inference,
    model: &DeepGp,
    factors: &[Vec<Factor>],
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
) -> Result<EnergyGradient> {
    let InferenceSettings { alpha, jitter, .. } = inference.settings;
    let total_weight = batch.total_weight();
    let (weight, share) = (batch.weight(alpha), 1.0 - alpha / total_weight);
    let posterior = all_moments(factors, 1.0)?;
    ws.prepare(model, jitter, CavityOf { factors, share }, Passes { n_points: batch.n_batch, for_sites: false })?;
    ws.visit_batch(model, alpha, Wanted::Gradient, batch)?;

    let StepWorkspace { cavity, backs, sums, .. } = &mut *ws;
    let mut factor_bars = Vec::with_capacity(factors.len());
    for (l, back) in backs.iter_mut().enumerate() {
        let mut outputs = Vec::with_capacity(back.bars.len());
        for (d, bar) in back.bars.iter_mut().enumerate() {
            bar.mean.iter_mut().for_each(|g| *g *= -weight);
            bar.cov.as_mut_slice().iter_mut().for_each(|g| *g *= -weight);
            bar.log_partition = -total_weight / alpha;
            let mut total = cavity[l][d].adjoint(share, bar);
            let m = bar.mean.len();
            let of_posterior = FullGaussianBar {
                mean: vec![0.0; m],
                cov: Mat::zeros(m, m),
                log_partition: total_weight / alpha - 1.0,
            };
            total.add_scaled(1.0, &posterior[l][d].adjoint(1.0, &of_posterior));
            outputs.push(total);
        }
        factor_bars.push(outputs);
    }
    let mut events = Vec::new();
    floor_events(sums, &mut events);
    let (phi, phi_cavity) = (energy::log_partition(&posterior), energy::log_partition(cavity));
    let energy = energy::tied_energy(phi, phi_cavity, sums, batch.mean_weight, weight);
    let model = ws.free_gradient(model, -weight);
    Ok(EnergyGradient { energy, model, factors: factor_bars, events })
}
