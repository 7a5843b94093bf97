//! Stochastic expectation propagation: one tied factor, moved by damped moment matching on minibatches.
//!
//! ```text
//! (Λ, η) ← (1 − ρ) (Λ, η) + ρ · N/(αB) · Σ_{n ∈ batch} (Λ_n, η_n)
//! ```
//! Reference: Bui et al. (2015), section 3, with (Λ_n, η_n) from [`super::site`].

use super::damping::damped;
use super::{
    Batch, Context, Engine, Inference, Site, State, Step, all_moments, energy, floor_events, site, zero_l_bars,
};
use crate::error::Result;
use crate::gauss::{Factor, Moments};
use crate::layer::{Layer, Projection};
use crate::linalg::Mat;
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
    let alpha = inference.settings.alpha;
    let (n_data, n_batch, weight) = (batch.n_data as f64, batch.rows.len() as f64, batch.weight(alpha));
    let posterior = all_moments(&state.factors, 1.0)?;
    let cavity = all_moments(&state.factors, 1.0 - alpha / n_data)?;
    let projections = context.project(&cavity);
    let pass = Pass { model, inducing: &context.inducing, projections: &projections, alpha };

    let mut gathered = Gathered::new(model);
    let mut events = Vec::new();
    match inference.settings.engine {
        Engine::Sep(Site::Exact) => {
            let mut own = Sums::zeros(model);
            for &row in batch.rows {
                own.clear();
                pass.run(batch.x, batch.y, &[row], ws, &mut own);
                gathered.add_exact(context, &cavity, &own, row, &mut events);
            }
        }
        _ => {
            pass.run(batch.x, batch.y, batch.rows, ws, &mut gathered.sums);
            gathered.add_first_order(context, &cavity, batch.rows.len());
        }
    }
    floor_events(&gathered.sums, &mut events);

    let (phi, phi_cavity) = (energy::log_partition(&posterior), energy::log_partition(&cavity));
    let energy = energy::energy(phi, gathered.sums.log_z + n_batch * (phi_cavity - phi), weight);
    let gradient = context.gradient(model, &gathered.sums, &gathered.l_bar, -weight);
    let step = Step { energy, gradient, events };
    Ok(if step.is_finite() { commit(state, &gathered.sites, n_data / alpha, step) } else { step })
}

/// Moves the factors towards the batch's sites, as far as definiteness allows. `whole` is N/α.
fn commit(state: &mut State, sites: &[Vec<SiteSum>], whole: f64, mut step: Step) -> Step {
    step.events.extend(state.damping.observe(step.energy));
    let rho = state.damping.current();
    for (l, (factors, sites)) in state.factors.iter_mut().zip(sites).enumerate() {
        for (d, (factor, site)) in factors.iter_mut().zip(sites).enumerate() {
            // A batch none of whose points has a site here says nothing.
            if site.n_points == 0 {
                continue;
            }
            let weight = whole / site.n_points as f64;
            let candidate = |rho: f64| {
                let mut out = factor.clone();
                out.add_scaled(-rho, factor);
                out.add_scaled(rho * weight, &site.sum);
                out
            };
            if let Some(new) = damped((l, d), rho, candidate, &mut step.events) {
                *factor = new;
            }
        }
    }
    step
}

/// Sum of the sites of some points, for one layer and output. Points without a site are left out of the average, not
/// counted as zero.
struct SiteSum {
    sum: Factor,
    n_points: usize,
}

/// Sums over a batch: of log Z and its derivatives, and of the sites.
struct Gathered {
    sums: Sums,
    l_bar: Vec<Mat>,
    sites: Vec<Vec<SiteSum>>,
}

impl Gathered {
    fn new(model: &DeepGp) -> Self {
        let none = |m: usize| SiteSum { sum: Factor::zeros(m), n_points: 0 };
        let sites = |layer: &Layer| (0..layer.dim_out).map(|_| none(layer.n_inducing())).collect();
        Self { sums: Sums::zeros(model), l_bar: zero_l_bars(model), sites: model.layers().iter().map(sites).collect() }
    }

    /// The summed first-order sites of the whole batch of `n_points`, from `self.sums`.
    fn add_first_order(&mut self, context: &Context, cavity: &[Vec<Moments>], n_points: usize) {
        for (l, inducing) in context.inducing.iter().enumerate() {
            let bars = Projection::adjoint(inducing, &cavity[l], &self.sums.layers[l], &mut self.l_bar[l]);
            for (d, bar) in bars.iter().enumerate() {
                let p = site::curvature(inducing, &self.sums.layers[l].outer[d], bar);
                self.sites[l][d] = SiteSum { sum: site::first_order(&cavity[l][d], p, &bar.mean), n_points };
            }
        }
    }

    /// The exact site of one point, whose sums are `own`.
    fn add_exact(
        &mut self,
        context: &Context,
        cavity: &[Vec<Moments>],
        own: &Sums,
        row: usize,
        events: &mut Vec<super::Event>,
    ) {
        self.sums.add(own);
        for (l, inducing) in context.inducing.iter().enumerate() {
            let bars = Projection::adjoint(inducing, &cavity[l], &own.layers[l], &mut self.l_bar[l]);
            for (d, bar) in bars.iter().enumerate() {
                let p = site::curvature(inducing, &own.layers[l].outer[d], bar);
                match site::exact(&cavity[l][d], &p, &bar.mean) {
                    Ok(site) => {
                        self.sites[l][d].sum.add_scaled(1.0, &site);
                        self.sites[l][d].n_points += 1;
                    }
                    Err(_) => events.push(super::Event::PointSkipped { row, layer: l, output: d }),
                }
            }
        }
    }
}
