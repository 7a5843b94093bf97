//! Engines that visit one point after another: full expectation propagation and assumed density filtering.
//!
//! ```text
//! EP    cavity_n = q / site_n^α      site_n ← (1 − ρ) site_n + ρ (Λ_n, η_n)/α      q = prior · Π site_n
//! ADF   cavity_n = q                 q ← q · (Λ_n, η_n)^{1/α}
//! ```
//! ADF's log evidence is Σ log Z_n along the way, so its energy is −N/(αB) Σ log Z_n.

use super::damping::damped;
use super::{
    Batch, Context, Engine, Event, Inference, State, Step, all_moments, energy, floor_events, site, zero_l_bars,
};
use crate::error::Result;
use crate::gauss::{Factor, Moments, MomentsBar};
use crate::layer::Projection;
use crate::network::DeepGp;
use crate::pass::{Pass, Sums, Workspace};

pub(super) fn step(
    inference: &Inference,
    model: &DeepGp,
    context: &Context,
    state: &mut State,
    batch: Batch<'_>,
    ws: &mut Workspace,
) -> Result<Step> {
    let settings = inference.settings;
    let (alpha, per_point) = (settings.alpha, settings.engine == Engine::Ep);
    let rho = state.damping.current();
    let before = (state.factors.clone(), batch.rows.iter().map(|&n| state.points.get(n).cloned()).collect::<Vec<_>>());

    let (mut sums, mut l_bar, mut events) = (Sums::zeros(model), zero_l_bars(model), Vec::new());
    let (mut own, mut batch_sum, mut used) = (Sums::zeros(model), 0.0, 0_usize);
    let phi_before = energy::log_partition(&all_moments(&state.factors, 1.0)?);
    let mut phi = phi_before;
    for &row in batch.rows {
        let cavity = match cavity_of(state, per_point.then_some(row), alpha) {
            Ok(cavity) => cavity,
            Err((layer, output)) => {
                events.push(Event::PointSkipped { row, layer, output });
                continue;
            }
        };
        let projections = context.project(&cavity);
        let pass = Pass { model, inducing: &context.inducing, projections: &projections, alpha };
        own.clear();
        pass.run(batch.x, batch.y, &[row], ws, &mut own);
        batch_sum += own.log_z + if per_point { energy::log_partition(&cavity) - phi } else { 0.0 };
        used += 1;
        for (l, inducing) in context.inducing.iter().enumerate() {
            let bars = Projection::adjoint(inducing, &cavity[l], &own.layers[l], &mut l_bar[l]);
            for (d, bar) in bars.iter().enumerate() {
                match exact_site(context, &own, (l, d), &cavity[l][d], bar) {
                    Ok(site) => state.put_site(row, (l, d), &site, alpha, rho, &mut events),
                    Err(_) => events.push(Event::PointSkipped { row, layer: l, output: d }),
                }
            }
        }
        sums.add(&own);
        phi = energy::log_partition(&all_moments(&state.factors, 1.0)?);
    }
    floor_events(&sums, &mut events);

    // Points without a proper cavity are left out of the average, not counted as zero.
    let weight = batch.n_data as f64 / (alpha * used.max(1) as f64);
    let energy = energy::energy(if per_point { phi_before } else { 0.0 }, batch_sum, weight);
    let gradient = context.gradient(model, &sums, &l_bar, -weight);
    let mut step = Step { energy, gradient, events };
    if step.is_finite() {
        step.events.extend(state.damping.observe(step.energy));
    } else {
        state.factors = before.0;
        for (&row, points) in batch.rows.iter().zip(before.1) {
            if let Some(points) = points {
                state.points[row] = points;
            }
        }
    }
    Ok(step)
}

/// Moments of the cavity: q less the point's share (EP) or q itself (ADF); `Err` names the layer and output where it
/// is not a proper Gaussian.
fn cavity_of(
    state: &State,
    point: Option<usize>,
    alpha: f64,
) -> std::result::Result<Vec<Vec<Moments>>, (usize, usize)> {
    let mut all = Vec::with_capacity(state.factors.len());
    for (l, factors) in state.factors.iter().enumerate() {
        let mut layer = Vec::with_capacity(factors.len());
        for (d, factor) in factors.iter().enumerate() {
            let mut rest = factor.clone();
            if let Some(n) = point {
                rest.add_scaled(-alpha, &state.points[n][l][d]);
            }
            layer.push(rest.moments(1.0).map_err(|_| (l, d))?);
        }
        all.push(layer);
    }
    Ok(all)
}

/// The exact site of a single point.
fn exact_site(
    context: &Context,
    own: &Sums,
    (l, d): (usize, usize),
    cavity: &Moments,
    bar: &MomentsBar,
) -> Result<Factor> {
    let p = site::curvature(&context.inducing[l], &own.layers[l].outer[d], bar);
    site::exact(cavity, &p, &bar.mean)
}

impl State {
    /// Puts the site that moment matching gave (a factor to the power α) where the engine keeps it.
    fn put_site(
        &mut self,
        row: usize,
        (l, d): (usize, usize),
        site: &Factor,
        alpha: f64,
        rho: f64,
        events: &mut Vec<Event>,
    ) {
        let total = &self.factors[l][d];
        let own = self.points.get(row).map(|p| &p[l][d]);
        // How the total moves with a step of rho: by the change of the point's factor, or by the whole site.
        let candidate = |rho: f64| {
            let mut out = total.clone();
            out.add_scaled(rho / alpha, site);
            if let Some(own) = own {
                out.add_scaled(-rho, own);
            }
            out
        };
        let Some(new) = damped((l, d), rho, candidate, events) else { return };
        if own.is_some() {
            // site_n moves by exactly as much as the total did.
            let mut moved = new.clone();
            moved.add_scaled(-1.0, total);
            self.points[row][l][d].add_scaled(1.0, &moved);
        }
        self.factors[l][d] = new;
    }
}
