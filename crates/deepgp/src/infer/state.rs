//! The state that engines move: one factor per layer and output, and what an engine keeps besides.

use super::{Damping, Engine, Inference, Root};
use crate::gauss::{Factor, PivotScratch};
use crate::network::DeepGp;
use deepgp_numerics::linalg::{Mat, tri};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Precision of the first factors of a site engine: nearly uninformative.
const FIRST_PRECISION: f64 = 1e-3;

/// Factors of every layer and output, `[layer][output]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// (Λ, η) for all data together.
    factors: Vec<Vec<Factor>>,
    /// φ of prior × each of them, where it has been computed.
    #[serde(skip)]
    log_partitions: LogPartitionCache,
    /// EP only: the factors of each point, `[point][layer][output]`; they sum to `factors`.
    pub(super) points: Vec<Vec<Vec<Factor>>>,
    /// Joint energy only: Λ = RᵀR.
    pub(super) roots: Vec<Vec<Root>>,
    /// The damping and what it has seen.
    pub damping: Damping,
}

impl State {
    /// A state with the given factors for all data together; EP divides them evenly among the points, the joint
    /// energy takes their root (which needs Λ to be positive definite).
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if the engine is [`Engine::JointEnergy`] and a Λ has no root.
    pub fn new(factors: Vec<Vec<Factor>>, n_data: usize, inference: &Inference) -> crate::Result<Self> {
        let settings = inference.settings();
        let (mut points, mut roots) = (Vec::new(), Vec::new());
        match settings.engine {
            Engine::Ep => {
                let mut share: Vec<Vec<Factor>> = factors.clone();
                for f in share.iter_mut().flatten() {
                    let whole = f.clone();
                    f.add_scaled(1.0 / n_data as f64 - 1.0, &whole);
                }
                points = vec![share; n_data];
            }
            Engine::JointEnergy => {
                let one = |f: &Factor| Root::of(&f.precision);
                roots = factors
                    .iter()
                    .map(|layer| layer.iter().map(one).collect::<crate::Result<Vec<_>>>())
                    .collect::<crate::Result<Vec<_>>>()?;
            }
            Engine::Sep(_) | Engine::Adf => {}
        }
        let damping = Damping::new(settings.damping);
        Ok(Self { factors, log_partitions: LogPartitionCache::default(), points, roots, damping })
    }

    /// (Λ, η) for all data together, `[layer][output]`.
    pub fn factors(&self) -> &[Vec<Factor>] {
        &self.factors
    }

    /// Puts other factors in the place of all of them.
    pub(crate) fn set_factors(&mut self, factors: Vec<Vec<Factor>>) {
        (self.factors, self.log_partitions) = (factors, LogPartitionCache::default());
    }

    /// Puts a factor whose φ is known in its place, and what was there into `factor`.
    pub(super) fn swap_factor(&mut self, (l, d): (usize, usize), factor: &mut Factor, log_partition: f64) {
        std::mem::swap(&mut self.factors[l][d], factor);
        *self.log_partitions.of(&self.factors, (l, d)) = Some(log_partition);
    }

    /// Σ φ over layers and outputs; those that are not known yet cost a factorisation.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`] if I + Λ is not.
    pub(super) fn log_partition(&mut self, root: &mut PivotScratch) -> crate::Result<f64> {
        let mut sum = 0.0;
        for (l, factors) in self.factors.iter().enumerate() {
            for (d, factor) in factors.iter().enumerate() {
                let known = self.log_partitions.of(&self.factors, (l, d));
                sum += match *known {
                    Some(phi) => phi,
                    None => {
                        let phi = factor.log_partition(0.0, root).map_err(|e| e.in_output(d).in_layer(l))?;
                        *known.insert(phi)
                    }
                };
            }
        }
        Ok(sum)
    }

    /// Bytes of all factors: O(M²) for each layer and output, times N more in EP.
    pub fn bytes(&self) -> usize {
        let numbers = |f: &Factor| f.precision.as_slice().len() + f.linear.len();
        let all: usize = self.points.iter().chain([&self.factors]).flatten().flatten().map(numbers).sum();
        all * size_of::<f64>()
    }

    /// Whether the factors are all there is, so that a copy of them is a copy of the state.
    pub(crate) fn is_factors_alone(&self) -> bool {
        self.points.is_empty() && self.roots.is_empty()
    }

    /// A random start: linear terms are drawn, since equal ones would leave all hidden units equal for ever.
    ///
    /// The first layer gets larger linear terms than those above it. Precisions are nearly zero but for the joint
    /// energy, which starts from a random root.
    ///
    /// # Errors
    /// As [`State::new`].
    pub fn random(model: &DeepGp, n_data: usize, inference: &Inference, rng: &mut impl Rng) -> crate::Result<Self> {
        if inference.settings().engine == Engine::JointEnergy {
            return Self::random_roots(model, inference, rng);
        }
        let mut factors = Vec::new();
        for (l, layer) in model.layers().iter().enumerate() {
            let m = layer.n_inducing();
            let mut one = || {
                let linear = normals(m, 0.1 * first_scale(l), rng);
                let precision = Mat::from_fn(m, m, |i, j| if i == j { FIRST_PRECISION } else { 0.0 });
                Factor { precision, linear }
            };
            factors.push((0..layer.dim_out).map(|_| one()).collect());
        }
        Self::new(factors, n_data, inference)
    }

    /// The roots themselves are drawn: Λ = RᵀR of a large random R is singular but for rounding, so that R could not be
    /// had back from it.
    fn random_roots(model: &DeepGp, inference: &Inference, rng: &mut impl Rng) -> crate::Result<Self> {
        let (mut factors, mut roots) = (Vec::new(), Vec::new());
        for (l, layer) in model.layers().iter().enumerate() {
            let (m, scale) = (layer.n_inducing(), first_scale(l));
            let (mut own_factors, mut own_roots) = (Vec::new(), Vec::new());
            for _ in 0..layer.dim_out {
                let root = Root::from_packed(m, normals(tri::packed_len(m), scale, rng))?;
                let precision = Root::square(&root.matrix());
                own_factors.push(Factor { precision, linear: normals(m, scale, rng) });
                own_roots.push(root);
            }
            factors.push(own_factors);
            roots.push(own_roots);
        }
        let damping = Damping::new(inference.settings().damping);
        Ok(Self { factors, log_partitions: LogPartitionCache::default(), points: Vec::new(), roots, damping })
    }

    /// Checks that this is a state of the given engine for as many data.
    pub(super) fn check(&self, engine: Engine, n_data: usize) -> crate::Result<()> {
        let points = if engine == Engine::Ep { n_data } else { 0 };
        crate::error::expect_size("points of the state", points, self.points.len())?;
        let layers = if engine == Engine::JointEnergy { self.factors.len() } else { 0 };
        crate::error::expect_size("layers of the state's roots", layers, self.roots.len())
    }

    /// Checks everything that a state which came from a file could have wrong, at the cost of reading it once.
    ///
    /// # Errors
    /// [`crate::Error::Shape`], [`crate::Error::NotFinite`] or [`crate::Error::Parameter`].
    pub(crate) fn check_all(&self, model: &DeepGp, inference: &Inference, n_data: usize) -> crate::Result<()> {
        let settings = inference.settings();
        model.check_factors(&self.factors)?;
        self.check(settings.engine, n_data)?;
        self.points.iter().try_for_each(|factors| model.check_factors(factors))?;
        for (roots, layer) in self.roots.iter().zip(model.layers()) {
            crate::error::expect_size("outputs of the state's roots", layer.dim_out, roots.len())?;
            roots.iter().try_for_each(|root| root.check(layer.n_inducing()))?;
        }
        self.damping.check(settings.damping)
    }

    /// Appends the coordinates that descend the energy like hyperparameters: none but for the joint energy.
    pub fn read_free(&self, free: &mut Vec<f64>) {
        for (roots, factors) in self.roots.iter().zip(&self.factors) {
            for (root, factor) in roots.iter().zip(factors) {
                free.extend_from_slice(root.packed());
                free.extend_from_slice(&factor.linear);
            }
        }
    }

    /// Sets those coordinates.
    pub fn write_free(&mut self, mut free: &[f64]) {
        if !self.roots.is_empty() {
            self.log_partitions = LogPartitionCache::default();
        }
        for (roots, factors) in self.roots.iter_mut().zip(&mut self.factors) {
            for (root, factor) in roots.iter_mut().zip(factors) {
                let (packed, rest) = free.split_at(root.packed().len());
                let (linear, rest) = rest.split_at(factor.linear.len());
                root.set(packed);
                factor.precision = Root::square(&root.matrix());
                factor.linear.copy_from_slice(linear);
                free = rest;
            }
        }
    }
}

/// Cached φ of prior × factor, `[layer][output]`, where it has been computed; ignored when states are compared.
#[derive(Debug, Clone, Default)]
struct LogPartitionCache(Vec<Vec<Option<f64>>>);

impl PartialEq for LogPartitionCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl LogPartitionCache {
    /// The entry of one factor.
    fn of(&mut self, factors: &[Vec<Factor>], (l, d): (usize, usize)) -> &mut Option<f64> {
        if self.0.is_empty() {
            self.0.extend(factors.iter().map(|layer| vec![None; layer.len()]));
        }
        &mut self.0[l][d]
    }
}

/// Scale of the first draws in layer `l`.
fn first_scale(l: usize) -> f64 {
    if l == 0 { 1.0 } else { 0.1 }
}

/// `n` normal draws with the given standard deviation.
fn normals(n: usize, std: f64, rng: &mut impl Rng) -> Vec<f64> {
    (0..n).map(|_| std * Distribution::<f64>::sample(&StandardNormal, rng)).collect()
}
