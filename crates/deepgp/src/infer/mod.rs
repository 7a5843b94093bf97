//! Inference engines: how the factors (Λ, η) of every layer and output are moved.
//!
//! | engine | cavity of point n | where its site goes | memory |
//! |---|---|---|---|
//! | [`Engine::Sep`] (the paper) | posterior less one of N equal factors | damped into the tied factor | O(M²) |
//! | [`Engine::Ep`] | posterior less the point's own factor | replaces that factor, damped | O(N M²) |
//! | [`Engine::Adf`] | the posterior itself | multiplied into it for good | O(M²) |
//! | [`Engine::JointEnergy`] (ICML 2016) | as SEP | none: (Λ, η) descend the energy like a hyperparameter | O(M²) |
//!
//! All share one propagation ([`crate::pass`]), one energy ([`energy`]) and one step interface ([`Inference::step`]).

mod damping;
pub mod energy;
mod event;
mod joint;
mod points;
mod root;
mod sep;
pub mod site;
mod state;
mod workspace;

pub use crate::pass::Batch;
pub use damping::Damping;
pub use event::Event;
pub use joint::EnergyGradient;
pub use root::Root;
pub use state::State;
pub use workspace::StepWorkspace;
pub(crate) use workspace::{Context, all_moments};

use crate::error::{Error, Result};
use crate::gauss::Factor;
use crate::network::DeepGp;
use crate::pass;
use deepgp_numerics::linalg::Jitter;
use event::floor_events;
use serde::{Deserialize, Serialize};

/// Which engine moves the factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Stochastic expectation propagation with explicit moment matching.
    Sep(Site),
    /// Expectation propagation with a factor per point.
    Ep,
    /// Assumed density filtering. Each pass over the data counts it once more.
    Adf,
    /// Descent on the SEP energy in the factors themselves.
    JointEnergy,
}

/// How a point's site is formed from the derivatives of its log Z; see [`site`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Site {
    /// To first order in the site: sums over points suffice.
    FirstOrder,
    /// Exact moment matching: an M × M factorisation per point, layer and output.
    Exact,
}

/// Settings of an engine, not yet checked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct InferenceSettings {
    /// The engine.
    pub engine: Engine,
    /// The power α in (0, 1]: 1 is EP, towards 0 the variational free energy.
    pub alpha: f64,
    /// The step ρ in (0, 1] of a site update.
    pub damping: f64,
    /// What is added to K_zz before it is factored.
    pub jitter: Jitter,
}

impl InferenceSettings {
    /// Default settings of an engine: α = 0.7, and a damping that suits how often the engine updates a factor.
    pub fn of(engine: Engine) -> Self {
        let damping = match engine {
            // Every batch moves the one tied factor, and large steps diverge (docs/DESIGN.md).
            Engine::Sep(_) | Engine::JointEnergy => 0.02,
            // A point's own factor is visited once an epoch.
            Engine::Ep => 0.5,
            Engine::Adf => 1.0,
        };
        Self { engine, alpha: 0.7, damping, jitter: Jitter::default() }
    }
}

impl Default for InferenceSettings {
    fn default() -> Self {
        Self::of(Engine::Sep(Site::FirstOrder))
    }
}

/// The least power: the energy divides differences of log partitions by α.
pub(crate) const LEAST_ALPHA: f64 = 1e-6;

/// Energy, gradient and events of one step.
#[derive(Debug, Clone)]
pub struct Step {
    /// Estimate of the energy at the state before the step; −energy approximates the log evidence.
    pub energy: f64,
    /// ∂energy/∂(unconstrained parameters): the model's, then the state's ([`State::read_free`]).
    pub gradient: Vec<f64>,
    /// What happened.
    pub events: Vec<Event>,
}

impl Step {
    /// Whether energy and gradient are finite.
    pub fn is_finite(&self) -> bool {
        self.energy.is_finite() && deepgp_numerics::simd::all_finite(&self.gradient)
    }
}

/// A checked engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inference {
    settings: InferenceSettings,
}

impl Inference {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Parameter`] if α or the damping is outside (0, 1], or the jitter is negative or not finite.
    pub fn new(settings: InferenceSettings) -> Result<Self> {
        let unit = [("alpha", settings.alpha), ("damping", settings.damping)];
        for (name, value) in unit {
            if !(value > 0.0 && value <= 1.0) {
                let requirement = "it must be greater than 0 and at most 1";
                return Err(Error::Parameter { name, layer: None, entry: None, value, requirement });
            }
        }
        if settings.alpha < LEAST_ALPHA {
            let requirement = "below 1e-6 the energy is lost in rounding";
            let value = settings.alpha;
            return Err(Error::Parameter { name: "alpha", layer: None, entry: None, value, requirement });
        }
        let (Jitter::Absolute(jitter) | Jitter::Relative(jitter)) = settings.jitter;
        if !(jitter >= 0.0 && jitter.is_finite()) {
            let requirement = "it must be finite and not negative";
            return Err(Error::Parameter { name: "jitter", layer: None, entry: None, value: jitter, requirement });
        }
        Ok(Self { settings })
    }

    /// The settings.
    pub fn settings(&self) -> InferenceSettings {
        self.settings
    }

    /// Checks that the engine can take weights, if there are some.
    ///
    /// # Errors
    /// [`Error::Parameter`] for full EP and ADF.
    pub(crate) fn check_weights(&self, weights: Option<&[f64]>) -> Result<()> {
        let Some(weights) = weights else { return Ok(()) };
        match self.settings.engine {
            Engine::Sep(_) | Engine::JointEnergy => Ok(()),
            Engine::Ep | Engine::Adf => {
                let value = weights.first().copied().unwrap_or(f64::NAN);
                let requirement = "full EP and ADF visit every row as one and take no weights; SEP and the joint \
                                   energy do";
                Err(Error::Parameter { name: "weights", layer: None, entry: None, value, requirement })
            }
        }
    }

    /// One step on a batch: energy and gradient at the state before it, and the state after it.
    ///
    /// On an error or a result that is not [`Step::is_finite`] the state is as it was before.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Empty`] if model, state, batch and workspace do not fit together;
    /// [`Error::Parameter`] for weights with an engine that takes none; [`Error::NotPositiveDefinite`] if K_zz or a
    /// posterior cannot be factored.
    pub fn step(&self, model: &DeepGp, state: &mut State, batch: Batch<'_>, ws: &mut StepWorkspace) -> Result<Step> {
        ws.check(model, state.factors(), batch)?;
        state.check(self.settings.engine, batch.n_data)?;
        self.check_weights(batch.weights)?;
        pass::fetch_block(batch.x, batch.y, batch.rows, 0);
        let mut step = match self.settings.engine {
            Engine::Sep(site) => sep::step(self, site, model, state, batch, ws)?,
            Engine::Ep | Engine::Adf => points::step(self, model, state, batch, ws)?,
            Engine::JointEnergy => joint::step(self, model, state, batch, ws)?,
        };
        ws.context.jitter_events(&mut step.events);
        Ok(step)
    }

    /// The SEP energy of a batch at the given factors with all its derivatives, whatever the engine; nothing moves.
    ///
    /// # Errors
    /// As [`Inference::step`].
    pub fn sep_energy(
        &self,
        model: &DeepGp,
        factors: &[Vec<Factor>],
        batch: Batch<'_>,
        ws: &mut StepWorkspace,
    ) -> Result<EnergyGradient> {
        ws.check(model, factors, batch)?;
        joint::sep_energy(self, model, factors, batch, ws)
    }
}
