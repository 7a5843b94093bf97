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
mod joint;
mod points;
mod sep;
pub mod site;
mod state;

pub use damping::Damping;
pub use joint::{EnergyGradient, Root};
pub use state::State;

use crate::error::{Error, Result};
use crate::gauss::{self, Factor, Moments};
use crate::layer::{Inducing, InducingScratch, Layer, Projection, ProjectionBack};
use crate::linalg::{Jitter, Mat};
use crate::network::{DeepGp, Gradient};
use crate::pass::{self, Sums};
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
pub struct Settings {
    /// The engine.
    pub engine: Engine,
    /// The power α in (0, 1]: 1 is EP, towards 0 the variational free energy.
    pub alpha: f64,
    /// The step ρ in (0, 1] of a site update.
    pub damping: f64,
    /// What is added to K_zz before it is factored.
    pub jitter: Jitter,
}

impl Settings {
    /// Plain settings for an engine: α = 0.7, and a damping that suits how often the engine updates a factor.
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

impl Default for Settings {
    fn default() -> Self {
        Self::of(Engine::Sep(Site::FirstOrder))
    }
}

/// The least power: the energy divides differences of log partitions by α.
const LEAST_ALPHA: f64 = 1e-6;

/// Something the algorithm expects to happen now and then, with the numbers that describe it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
#[non_exhaustive]
pub enum Event {
    /// K_zz needed more than the configured jitter.
    JitterRaised {
        /// The layer.
        layer: usize,
        /// The jitter used.
        jitter: Jitter,
        /// How often it was raised tenfold.
        raises: usize,
    },
    /// I + Λ would have lost definiteness: the step was shortened to this.
    DampingShrunk {
        /// The layer.
        layer: usize,
        /// The output.
        output: usize,
        /// The step that was taken.
        damping: f64,
    },
    /// No step was short enough: the factor stays as it was.
    SiteRejected {
        /// The layer.
        layer: usize,
        /// The output.
        output: usize,
    },
    /// A point's cavity or tilted distribution is not a proper Gaussian: the point was left out.
    PointSkipped {
        /// The row of the data.
        row: usize,
        /// The layer.
        layer: usize,
        /// The output.
        output: usize,
    },
    /// The energy rose far above its recent course: the damping is shrunk for the steps to come.
    EnergyJump {
        /// The energy of this step.
        energy: f64,
        /// Its recent mean.
        expected: f64,
        /// The damping from here on.
        damping: f64,
    },
    /// Rounding pushed output variances below the floor, where they are held.
    VariancesFloored {
        /// The layer.
        layer: usize,
        /// How many.
        count: usize,
    },
    /// A step gave a non-finite or impossible result and was undone.
    StepRejected {
        /// Why, in words.
        cause: String,
    },
    /// There were fewer distinct rows than inducing inputs asked for.
    InducingReduced {
        /// The number asked for.
        requested: usize,
        /// The number used.
        used: usize,
    },
}

/// Rows of a data set.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// All inputs, N × D_in.
    pub x: &'a Mat,
    /// All targets, N × D_out.
    pub y: &'a Mat,
    /// The rows that make up the batch.
    pub rows: &'a [usize],
    /// N, the size of the data set that the batch stands for; usually the number of rows of `x`.
    pub n_data: usize,
}

impl<'a> Batch<'a> {
    /// The given rows of a whole data set.
    pub fn of(x: &'a Mat, y: &'a Mat, rows: &'a [usize]) -> Self {
        Self { x, y, rows, n_data: x.rows() }
    }

    /// N/(αB), what the sum over the batch counts for.
    fn weight(&self, alpha: f64) -> f64 {
        self.n_data as f64 / (alpha * self.rows.len() as f64)
    }
}

/// What one step saw.
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
        self.energy.is_finite() && crate::simd::all_finite(&self.gradient)
    }
}

/// A checked engine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inference {
    settings: Settings,
}

impl Inference {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`Error::Parameter`] if α or the damping is outside (0, 1], or the jitter is negative or not finite.
    pub fn new(settings: Settings) -> Result<Self> {
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
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// One step on a batch: energy and gradient at the state before it, and the state after it.
    ///
    /// On an error or a result that is not [`Step::is_finite`] the state is as it was before.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Empty`] if model, state, batch and workspace do not fit together;
    /// [`Error::NotPositiveDefinite`] if K_zz or a posterior cannot be factored.
    pub fn step(&self, model: &DeepGp, state: &mut State, batch: Batch<'_>, ws: &mut Workspace) -> Result<Step> {
        ws.check(model, &state.factors, batch)?;
        state.check(self.settings.engine, batch.n_data)?;
        ws.context.refill(model, self.settings.jitter)?;
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
        ws: &mut Workspace,
    ) -> Result<EnergyGradient> {
        ws.check(model, factors, batch)?;
        ws.context.refill(model, self.settings.jitter)?;
        joint::sep_energy(self.settings.alpha, model, factors, batch, ws)
    }
}

/// Working memory of steps; made once for a network and used again and again.
#[derive(Debug)]
pub struct Workspace {
    context: Context,
    cavity: Vec<Vec<Moments>>,
    projections: Vec<Projection>,
    backs: Vec<ProjectionBack>,
    pass: pass::Workspace,
    sums: Sums,
    /// Sums of a single point.
    own: Sums,
    /// Φ = LᵀL̄ per layer.
    phi: Vec<Mat>,
    inducing_scratch: InducingScratch,
    site_scratch: site::Scratch,
    /// Sites of the batch, per layer and output.
    sites: Vec<Vec<Factor>>,
    /// Points that have a site, per layer and output.
    site_counts: Vec<Vec<usize>>,
    room: damping::Room,
    root: gauss::PivotScratch,
    gradient: Gradient,
}

impl Workspace {
    /// Memory for steps on `model` by the caller's thread alone.
    pub fn new(model: &DeepGp) -> Self {
        Self::with_threads(model, 1)
    }

    /// Memory for steps on `model` that this many threads share; the results do not depend on the number.
    pub fn with_threads(model: &DeepGp, threads: usize) -> Self {
        let layers = model.layers();
        let sites = |layer: &Layer| vec![Factor::zeros(layer.n_inducing()); layer.dim_out];
        Self {
            context: Context::default(),
            cavity: layers.iter().map(|l| vec![Moments::default(); l.dim_out]).collect(),
            projections: vec![Projection::default(); layers.len()],
            backs: vec![ProjectionBack::default(); layers.len()],
            pass: pass::Workspace::new(model, threads),
            sums: Sums::zeros(model),
            own: Sums::zeros(model),
            phi: layers.iter().map(|l| Mat::zeros(l.n_inducing(), l.n_inducing())).collect(),
            inducing_scratch: InducingScratch::default(),
            site_scratch: site::Scratch::default(),
            sites: layers.iter().map(sites).collect(),
            site_counts: layers.iter().map(|l| vec![0; l.dim_out]).collect(),
            room: damping::Room::default(),
            root: gauss::PivotScratch::default(),
            gradient: Gradient::zeros(model),
        }
    }

    /// Checks that model, factors, batch and this memory fit together; the cost does not depend on the data's size.
    fn check(&self, model: &DeepGp, factors: &[Vec<Factor>], batch: Batch<'_>) -> Result<()> {
        let expect = crate::error::expect_size;
        expect("layers of the workspace", model.layers().len(), self.sites.len())?;
        expect("layers of the factors", model.layers().len(), factors.len())?;
        for (l, (layer, (factors, sites))) in model.layers().iter().zip(factors.iter().zip(&self.sites)).enumerate() {
            let fits = || {
                expect("outputs of the workspace", layer.dim_out, sites.len())?;
                expect("inputs of the workspace", layer.dim_in(), self.sums.layers[l].psi.grad.z.cols())?;
                expect("inducing inputs of the workspace", layer.n_inducing(), sites[0].linear.len())?;
                expect("outputs of the factors", layer.dim_out, factors.len())?;
                factors.iter().try_for_each(|f| {
                    expect("entries of a factor", layer.n_inducing(), f.linear.len())?;
                    expect("rows of a factor", layer.n_inducing(), f.precision.rows())?;
                    expect("columns of a factor", layer.n_inducing(), f.precision.cols())
                })
            };
            fits().map_err(|e| e.in_layer(l))?;
        }
        expect("columns of the inputs", model.dim_in(), batch.x.cols())?;
        expect("columns of the targets", model.dim_out(), batch.y.cols())?;
        expect("rows of the targets", batch.x.rows(), batch.y.rows())?;
        if batch.rows.is_empty() {
            return Err(Error::Empty { what: "batch", rows: 0, columns: batch.x.cols() });
        }
        match batch.rows.iter().find(|&&row| row >= batch.x.rows()) {
            Some(&row) => {
                Err(Error::Shape { what: "rows that a batch may name", expected: batch.x.rows(), found: row })
            }
            None => Ok(()),
        }
    }

    /// Makes `cavity` and `projections` those of prior × factorˢ.
    fn project(&mut self, factors: &[Vec<Factor>], share: f64) -> Result<()> {
        for (l, (factors, cavity)) in factors.iter().zip(&mut self.cavity).enumerate() {
            for (d, (factor, q)) in factors.iter().zip(cavity.iter_mut()).enumerate() {
                q.refill(factor, share).map_err(|e| e.in_output(d).in_layer(l))?;
            }
            self.projections[l].refill(&self.context.inducing[l], cavity);
        }
        Ok(())
    }

    /// Σ φ(q) over layers and outputs.
    fn log_partition(&mut self, factors: &[Vec<Factor>]) -> Result<f64> {
        let mut sum = 0.0;
        for (l, factors) in factors.iter().enumerate() {
            for (d, factor) in factors.iter().enumerate() {
                sum += factor.log_partition(0.0, &mut self.root).map_err(|e| e.in_output(d).in_layer(l))?;
            }
        }
        Ok(sum)
    }

    /// From Φ and the sums over points to ∂energy/∂(free parameters), where energy = `scale` · Σ log Z.
    fn free_gradient(&mut self, model: &DeepGp, scale: f64) -> Vec<f64> {
        let Self { context, sums, phi, inducing_scratch, gradient, .. } = self;
        for (l, layer) in model.layers().iter().enumerate() {
            let grad = &mut gradient.layers[l];
            grad.clear();
            context.inducing[l].adjoint(layer, &mut phi[l], &sums.layers[l], inducing_scratch, grad);
        }
        gradient.likelihood.clone_from(&sums.likelihood);
        gradient.to_free(model, scale)
    }
}

/// What a step or a prediction needs of the hyperparameters alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    inducing: Vec<Inducing>,
}

impl Context {
    pub(crate) fn new(model: &DeepGp, jitter: Jitter) -> Result<Self> {
        let mut out = Self::default();
        out.refill(model, jitter)?;
        Ok(out)
    }

    fn refill(&mut self, model: &DeepGp, jitter: Jitter) -> Result<()> {
        self.inducing.resize_with(model.layers().len(), Inducing::default);
        for (l, (layer, inducing)) in model.layers().iter().zip(&mut self.inducing).enumerate() {
            inducing.refill(layer, jitter).map_err(|e| e.in_layer(l))?;
        }
        Ok(())
    }

    /// Events for factors that needed more jitter than was configured.
    fn jitter_events(&self, events: &mut Vec<Event>) {
        for (layer, inducing) in self.inducing.iter().enumerate() {
            let (jitter, raises) = inducing.chol.jitter();
            if raises > 0 {
                events.push(Event::JitterRaised { layer, jitter, raises });
            }
        }
    }

    pub(crate) fn inducing(&self) -> &[Inducing] {
        &self.inducing
    }

    /// A, B, C of every layer for the given Gaussians.
    pub(crate) fn project(&self, q: &[Vec<Moments>]) -> Vec<Projection> {
        self.inducing.iter().zip(q).map(|(inducing, q)| Projection::new(inducing, q)).collect()
    }
}

/// Moments of prior × factorˢ for every layer and output.
pub(crate) fn all_moments(factors: &[Vec<Factor>], share: f64) -> Result<Vec<Vec<Moments>>> {
    let one = |(d, f): (usize, &Factor)| f.moments(share).map_err(|e| e.in_output(d));
    let layer = |(l, f): (usize, &Vec<Factor>)| {
        f.iter().enumerate().map(one).collect::<Result<Vec<_>>>().map_err(|e| e.in_layer(l))
    };
    factors.iter().enumerate().map(layer).collect()
}

/// Events for variances held at the floor.
fn floor_events(sums: &Sums, events: &mut Vec<Event>) {
    for (layer, sums) in sums.layers.iter().enumerate().filter(|(_, s)| s.floored > 0) {
        events.push(Event::VariancesFloored { layer, count: sums.floored });
    }
}
