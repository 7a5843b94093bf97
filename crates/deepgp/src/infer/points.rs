//! Engines that visit one point after another: full expectation propagation and assumed density filtering.
//!
//! ```text
//! EP    cavity_n = q / site_n^α      site_n ← (1 − ρ) site_n + ρ (Λ_n, η_n)/α      q = prior · Π site_n
//! ADF   cavity_n = q                 q ← q · (Λ_n, η_n)^{1/α}
//! ```
//! ADF's log evidence is Σ log Z_n along the way, so its energy is −N/(αB) Σ log Z_n.

use super::damping::{DampingScratch, shorten_until_definite};
use super::{Batch, Engine, Event, Inference, State, Step, StepWorkspace, energy, floor_events, site};
use crate::error::Result;
use crate::gauss::{Factor, FullGaussian};
use crate::layer::Inputs;
use crate::network::DeepGp;
use deepgp_numerics::linalg::Mat;

pub(super) fn step(
    inference: &Inference,
    model: &DeepGp,
    state: &mut State,
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
) -> Result<Step> {
    let settings = inference.settings;
    let inputs = batch.inputs();
    ws.context.refill(model, inputs, settings.jitter)?;
    let (alpha, per_point) = (settings.alpha, settings.engine == Engine::Ep);
    let rho = state.damping.current();
    let before = Before::of(state, batch.rows);

    let (mut events, mut batch_sum, mut used) = (Vec::new(), 0.0, 0_usize);
    let phi_before = state.log_partition(&mut ws.root)?;
    let mut phi = phi_before;
    ws.sums.clear();
    ws.phi.iter_mut().for_each(Mat::fill_zero);
    for &row in batch.rows {
        if let Err((layer, output)) = cavity_of(state, per_point.then_some(row), alpha, &mut ws.cavity) {
            events.push(Event::PointSkipped { row, layer, output });
            continue;
        }
        for (l, inducing) in ws.context.inducing.iter().enumerate() {
            ws.projections[l].refill(inducing, Inputs::of_layer(l, inputs), &ws.cavity[l]);
        }
        let log_z = match ws.visit_point(model, alpha, batch, row) {
            Ok(log_z) => log_z,
            Err(error) => {
                before.restore(state);
                return Err(error);
            }
        };
        batch_sum += log_z + if per_point { energy::log_partition(&ws.cavity) - phi } else { 0.0 };
        used += 1;
        for (l, back) in ws.backs.iter().enumerate() {
            for (d, bar) in back.bars.iter().enumerate() {
                match site::exact(&ws.cavity[l][d], &back.curvature[d], &bar.mean) {
                    Ok(site) => state.put_site(row, (l, d), &site, alpha, rho, &mut ws.damping, &mut events),
                    Err(_) => events.push(Event::PointSkipped { row, layer: l, output: d }),
                }
            }
        }
        // `shorten_until_definite` lets only definite factors in.
        phi = state.log_partition(&mut ws.root).unwrap_or(f64::NAN);
    }
    floor_events(&ws.sums, &mut events);

    // Points without a proper cavity are left out of the average, not counted as zero.
    let weight = batch.n_data as f64 / (alpha * used.max(1) as f64);
    let energy = energy::energy(if per_point { phi_before } else { 0.0 }, batch_sum, weight);
    ws.end_visits(model);
    let gradient = ws.free_gradient(model, -weight);
    let mut step = Step { energy, gradient, events };
    if step.is_finite() {
        step.events.extend(state.damping.observe(step.energy));
    } else {
        before.restore(state);
    }
    Ok(step)
}

/// What a step changes of a state, as it was before.
struct Before {
    factors: Vec<Vec<Factor>>,
    /// EP only: rows, and the factors of their points.
    points: Vec<(usize, Vec<Vec<Factor>>)>,
}

impl Before {
    fn of(state: &State, rows: &[usize]) -> Self {
        let point = |&row: &usize| Some((row, state.points.get(row)?.clone()));
        Self { factors: state.factors().to_vec(), points: rows.iter().filter_map(point).collect() }
    }

    fn restore(self, state: &mut State) {
        state.set_factors(self.factors);
        for (row, factors) in self.points {
            state.points[row] = factors;
        }
    }
}

/// Moments of the cavity: q less the point's share (EP) or q itself (ADF); `Err` names the layer and output where it
/// is not a proper Gaussian.
fn cavity_of(
    state: &State,
    point: Option<usize>,
    alpha: f64,
    cavity: &mut [Vec<FullGaussian>],
) -> std::result::Result<(), (usize, usize)> {
    for (l, (factors, cavity)) in state.factors().iter().zip(cavity).enumerate() {
        for (d, (factor, q)) in factors.iter().zip(cavity).enumerate() {
            let mut rest = factor.clone();
            if let Some(n) = point {
                rest.add_scaled(-alpha, &state.points[n][l][d]);
            }
            q.refill(&rest, 1.0).map_err(|_| (l, d))?;
        }
    }
    Ok(())
}

impl State {
    /// Puts the site that moment matching gave (a factor to the power α) where the engine keeps it.
    #[expect(clippy::too_many_arguments, reason = "which site, how far it moves, and what receives the outcome")]
    fn put_site(
        &mut self,
        row: usize,
        (l, d): (usize, usize),
        site: &Factor,
        alpha: f64,
        rho: f64,
        scratch: &mut DampingScratch,
        events: &mut Vec<Event>,
    ) {
        let total = &self.factors()[l][d];
        let own = self.points.get(row).map(|p| &p[l][d]);
        // How the total moves with a step of rho: by the change of the point's factor, or by the whole site.
        let candidate = |rho: f64, out: &mut Factor| {
            out.combine(1.0, total, rho / alpha, site);
            if let Some(own) = own {
                out.add_scaled(-rho, own);
            }
        };
        if !shorten_until_definite((l, d), rho, candidate, scratch, &mut 0, events) {
            return;
        }
        if own.is_some() {
            // site_n moves by exactly as much as the total did.
            let mut moved = scratch.factor.clone();
            moved.add_scaled(-1.0, total);
            self.points[row][l][d].add_scaled(1.0, &moved);
        }
        self.swap_factor((l, d), &mut scratch.factor, scratch.log_partition);
    }
}
