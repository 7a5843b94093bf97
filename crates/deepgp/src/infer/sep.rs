//! Stochastic expectation propagation: one tied factor, moved by damped moment matching on minibatches.
//!
//! ```text
//! (Λ, η) ← (1 − ρ) (Λ, η) + ρ · N/(αB) · Σ_{n ∈ batch} w_n (Λ_n, η_n)
//! ```
//! w_n is what row n counts for, 1 without weights: w_n equal rows have equal sites.
//! Reference: Bui et al. (2015), section 3, with (Λ_n, η_n) from [`super::site`].

use super::damping::{shorten_until_definite, try_candidate};
use super::workspace::{CavityOf, Passes};
use super::{Batch, Event, Inference, InferenceSettings, Site, State, Step, StepWorkspace, energy, floor_events, site};
use crate::error::Result;
use crate::gauss::Factor;
use crate::layer::Wanted;
use crate::network::DeepGp;
use deepgp_numerics::linalg::Mat;

pub(super) fn step(
    inference: &Inference,
    kind: Site,
    model: &DeepGp,
    state: &mut State,
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
) -> Result<Step> {
    let InferenceSettings { alpha, jitter, .. } = inference.settings;
    let (n_data, weight) = (batch.n_data as f64, batch.weight(alpha));
    let phi = state.log_partition(&mut ws.root)?;
    let passes = match kind {
        Site::FirstOrder => Passes { n_points: batch.n_batch, for_sites: true },
        Site::Exact => Passes { n_points: 1, for_sites: false },
    };
    let cavity_of = CavityOf { factors: state.factors(), share: 1.0 - alpha / batch.total_weight() };
    ws.prepare(model, jitter, cavity_of, passes)?;

    let mut events = Vec::new();
    match kind {
        Site::FirstOrder => first_order_sites(model, alpha, batch, ws)?,
        Site::Exact => exact_sites(model, alpha, batch, ws, &mut events)?,
    }
    floor_events(&ws.sums, &mut events);

    let energy = energy::tied_energy(phi, energy::log_partition(&ws.cavity), &ws.sums, batch.mean_weight, weight);
    let gradient = ws.free_gradient(model, -weight);
    let mut step = Step { energy, gradient, events };
    if step.is_finite() {
        step.events.extend(state.damping.observe(step.energy));
        commit(state, n_data / alpha, ws, &mut step.events);
    }
    if kind == Site::FirstOrder {
        ws.give_back();
    }
    Ok(step)
}

/// Moves the factors towards the batch's sites, as far as definiteness allows. `whole` is N/α.
fn commit(state: &mut State, whole: f64, ws: &mut StepWorkspace, events: &mut Vec<Event>) {
    let rho = state.damping.current();
    for (l, sites) in ws.sites.iter().enumerate() {
        for (d, site) in sites.iter().enumerate() {
            // Points without a site are left out of the average, not counted as zero.
            let n_points = ws.site_counts[l][d];
            if n_points == 0.0 {
                continue;
            }
            let (weight, factor) = (whole / n_points, &state.factors()[l][d]);
            let candidate = |rho: f64, out: &mut Factor| out.combine(1.0 - rho, factor, rho * weight, site);
            // A factor at the edge of definiteness, which every site pushes further out, would be stuck there while the
            // parameters move on: it is drawn towards the prior, (Λ, η) ← (1 − ρ) (Λ, η), until sites fit again.
            let forget = |_: f64, out: &mut Factor| out.combine(1.0 - rho, factor, 0.0, site);
            let (scratch, halvings) = (&mut ws.damping, &mut ws.halvings[l][d]);
            if shorten_until_definite((l, d), rho, candidate, scratch, halvings, events)
                || try_candidate(rho, forget, scratch)
            {
                state.swap_factor((l, d), &mut scratch.factor, scratch.log_partition);
            }
        }
    }
}

/// The summed first-order sites of the whole batch, from sums over its points.
fn first_order_sites(model: &DeepGp, alpha: f64, batch: Batch<'_>, ws: &mut StepWorkspace) -> Result<()> {
    ws.site_counts.iter_mut().flatten().for_each(|n| *n = batch.n_batch as f64);
    ws.visit_batch(model, alpha, Wanted::Sites, batch)?;
    for (back, sites) in ws.backs.iter_mut().zip(&mut ws.sites) {
        for (d, site) in sites.iter_mut().enumerate() {
            site::first_order(back, d, site);
        }
    }
    Ok(())
}

/// The summed exact sites of the batch, from each point's own sums.
fn exact_sites(
    model: &DeepGp,
    alpha: f64,
    batch: Batch<'_>,
    ws: &mut StepWorkspace,
    events: &mut Vec<Event>,
) -> Result<()> {
    ws.site_counts.iter_mut().flatten().for_each(|n| *n = 0.0);
    ws.sites.iter_mut().flatten().for_each(Factor::clear);
    ws.phi.iter_mut().for_each(Mat::fill_zero);
    ws.sums.clear();
    let batch_weight: f64 = batch.rows.iter().map(|&row| batch.row_weight(row)).sum();
    for &row in batch.rows {
        ws.visit_point(model, alpha, batch, row)?;
        let weight = batch.row_weight(row);
        for (l, back) in ws.backs.iter_mut().enumerate() {
            for (d, (bar, p)) in back.bars.iter_mut().zip(&mut back.curvature).enumerate() {
                if batch.weights.is_some() {
                    // The site of one of the row's copies.
                    let copies = bar.mean.iter_mut().chain(p.as_mut_slice());
                    copies.for_each(|derivative| *derivative /= weight);
                }
                match site::exact(&ws.cavity[l][d], p, &bar.mean) {
                    Ok(site) => {
                        ws.sites[l][d].add_scaled(weight, &site);
                        ws.site_counts[l][d] += weight * (batch.rows.len() as f64 / batch_weight);
                    }
                    Err(_) => events.push(Event::PointSkipped { row, layer: l, output: d }),
                }
            }
        }
    }
    ws.end_visits(model);
    Ok(())
}
