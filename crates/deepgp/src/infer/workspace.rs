//! The working memory of steps.
//!
//! What every engine needs before it acts is computed here, too.

use super::damping::DampingScratch;
use super::{Batch, Event, Step};
use crate::error::{Error, Result};
use crate::gauss::{self, Factor, FullGaussian};
use crate::kernel::PointSums;
use crate::layer::{Inducing, InducingScratch, Inputs, Layer, Projection, ProjectionBack, Wanted};
use crate::network::{DeepGp, Gradient};
use crate::pass::{Cores, Evaluate, Pass, Stack, Sums};
use deepgp_numerics::linalg::{Jitter, Mat};
use deepgp_numerics::pool::{by_index, for_each_index, try_for_each_index};

/// With at most this many points per inducing input, solving with a factor costs less than inverting it and
/// multiplying.
const SOLVE_UP_TO_POINTS_PER_INDUCING: usize = 2;

/// What the cavities of a pass are made of: prior × factorˢ.
#[derive(Clone, Copy)]
pub(super) struct CavityOf<'a> {
    /// (Λ, η) per layer and output.
    pub factors: &'a [Vec<Factor>],
    /// s, the share of them that stays.
    pub share: f64,
}

/// What passes are to come.
#[derive(Clone, Copy)]
pub(super) struct Passes {
    /// Points of each.
    pub n_points: usize,
    /// Whether they are for first-order sites by [`StepWorkspace::visit_batch`] alone.
    pub for_sites: bool,
}

/// Working memory of steps; made once for a network and used again and again.
#[derive(Debug)]
pub struct StepWorkspace {
    /// What the first layer is given.
    inputs: Inputs,
    pub(super) context: Context,
    pub(super) cavity: Vec<Vec<FullGaussian>>,
    /// Whether the cavities of the first layer are factored but not inverted.
    is_factored: bool,
    pub(super) projections: Vec<Projection>,
    pub(super) backs: Vec<ProjectionBack>,
    /// Where passes are made.
    evaluator: Box<dyn Evaluate>,
    pub(super) sums: Sums,
    /// Sums of a single point.
    pub(super) own: Sums,
    /// Σ Φ = Σ LᵀL̄ per layer over points visited one by one.
    pub(super) phi: Vec<Mat>,
    pub(super) inducing_scratch: Vec<InducingScratch>,
    /// Sites of the batch, per layer and output.
    pub(super) sites: Vec<Vec<Factor>>,
    /// Points that have a site, per layer and output, each as often as its weight says; in all as many as the batch has.
    pub(super) site_counts: Vec<Vec<f64>>,
    pub(super) damping: DampingScratch,
    pub(super) root: gauss::PivotScratch,
    /// How often the last step of a factor was halved, per layer and output.
    pub(super) halvings: Vec<Vec<usize>>,
    pub(super) gradient: Gradient,
    /// Memory for the next step's gradient in free parameters.
    free: Vec<f64>,
}

impl StepWorkspace {
    /// Memory for steps on `model` by the caller's thread alone.
    pub fn new(model: &DeepGp) -> Self {
        Self::with_threads(model, 1)
    }

    /// Memory for steps on `model` that this many threads share; the results do not depend on the number.
    pub fn with_threads(model: &DeepGp, threads: usize) -> Self {
        Self::with_evaluator(model, Box::new(Cores::new(model, Inputs::Exact, threads)))
    }

    /// Memory for steps on `model` whose passes are made elsewhere: by a device, or by many machines.
    pub fn with_evaluator(model: &DeepGp, evaluator: Box<dyn Evaluate>) -> Self {
        let layers = model.layers();
        let sites = |layer: &Layer| vec![Factor::zeros(layer.n_inducing()); layer.dim_out];
        Self {
            inputs: Inputs::Exact,
            context: Context::default(),
            cavity: layers.iter().map(|l| vec![FullGaussian::default(); l.dim_out]).collect(),
            is_factored: false,
            projections: vec![Projection::default(); layers.len()],
            backs: vec![ProjectionBack::default(); layers.len()],
            evaluator,
            sums: Sums::zeros(model, Inputs::Exact),
            own: Sums::zeros(model, Inputs::Exact),
            phi: layers.iter().map(|l| Mat::zeros(l.n_inducing(), l.n_inducing())).collect(),
            inducing_scratch: vec![InducingScratch::default(); layers.len()],
            sites: layers.iter().map(sites).collect(),
            site_counts: layers.iter().map(|l| vec![0.0; l.dim_out]).collect(),
            damping: DampingScratch::default(),
            root: gauss::PivotScratch::default(),
            halvings: layers.iter().map(|l| vec![0; l.dim_out]).collect(),
            gradient: Gradient::zeros(model),
            free: Vec::new(),
        }
    }

    /// Checks that model, factors, batch and this memory fit together, and gets ready for the kind of the batch's
    /// inputs; the cost does not depend on the data's size.
    pub(super) fn check(&mut self, model: &DeepGp, factors: &[Vec<Factor>], batch: Batch<'_>) -> Result<()> {
        let expect = crate::error::expect_size;
        expect("layers of the workspace", model.layers().len(), self.sites.len())?;
        expect("layers of the factors", model.layers().len(), factors.len())?;
        for (l, (layer, (factors, sites))) in model.layers().iter().zip(factors.iter().zip(&self.sites)).enumerate() {
            let fits = || {
                expect("outputs of the workspace", layer.dim_out, sites.len())?;
                expect("inputs of the workspace", layer.dim_in(), self.sums.layers[l].psi.grad().z.cols())?;
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
        expect("columns of the targets", model.n_columns(), batch.y.cols())?;
        expect("rows of the targets", batch.x.rows(), batch.y.rows())?;
        expect("sums by the constant", model.constant().len(), self.sums.constant.len())?;
        if let Some(offset) = batch.offset {
            for moments in [&offset.mean, &offset.var] {
                expect("rows of the offset", batch.x.rows(), moments.rows())?;
                expect("columns of the offset", model.n_latent(), moments.cols())?;
            }
        }
        if let Some(weights) = batch.weights {
            expect("weights", batch.x.rows(), weights.len())?;
        }
        if let Some(x_var) = batch.x_var {
            expect("rows of the inputs' variances", batch.x.rows(), x_var.rows())?;
            expect("columns of the inputs' variances", batch.x.cols(), x_var.cols())?;
        }
        if self.inputs != batch.inputs() {
            self.inputs = batch.inputs();
            self.sums.expect_inputs(model, self.inputs);
            self.own.expect_inputs(model, self.inputs);
        }
        if batch.n_batch == 0 {
            return Err(Error::Empty { what: "batch", rows: 0, columns: batch.x.cols() });
        }
        match batch.rows.iter().find(|&&row| row >= batch.x.rows()) {
            Some(&row) => {
                Err(Error::Shape { what: "rows that a batch may name", expected: batch.x.rows(), found: row })
            }
            None => Ok(()),
        }
    }

    /// All that passes need: `context` for the model, `cavity` and `projections` of prior × factorˢ. For first-order
    /// sites alone the layers above the first do without the covariances of their cavities, and where points are few
    /// the first does so too.
    pub(super) fn prepare(
        &mut self,
        model: &DeepGp,
        jitter: Jitter,
        cavity_of: CavityOf<'_>,
        passes: Passes,
    ) -> Result<()> {
        let Self { inputs: first, context, cavity, is_factored, projections, evaluator, .. } = self;
        let (CavityOf { factors, share }, Passes { n_points, for_sites }) = (cavity_of, passes);
        let (n_points, for_sites, first) = (n_points, for_sites, *first);
        *is_factored = for_sites
            && first == Inputs::Exact
            && n_points <= SOLVE_UP_TO_POINTS_PER_INDUCING * model.layers()[0].n_inducing();
        let memory = ((by_index(context.sized(model)), by_index(cavity)), by_index(projections));
        try_for_each_index(evaluator.pool(n_points), memory, |l, ((inducing, cavity), projection)| {
            let inputs = Inputs::of_layer(l, first);
            inducing.refill(&model.layers()[l], inputs, jitter).map_err(|e| e.in_layer(l))?;
            let is_factored = if inputs == Inputs::Exact { *is_factored } else { for_sites };
            for (d, (factor, q)) in factors[l].iter().zip(cavity.iter_mut()).enumerate() {
                let refilled = if is_factored { q.refill_factored(factor, share) } else { q.refill(factor, share) };
                refilled.map_err(|e| e.in_output(d).in_layer(l))?;
            }
            match is_factored {
                true => projection.refill_factored(inducing, inputs, cavity),
                false => projection.refill(inducing, inputs, cavity),
            }
            Ok(())
        })
    }

    /// Passes a batch through the projections of `cavity`: sums over its points go to `sums`, the derivatives in the
    /// cavities' moments to `backs`, those in the layers' parameters to `gradient`. Where sites are wanted, the
    /// projections must have been made for them.
    ///
    /// # Errors
    /// The errors of the evaluator.
    pub(super) fn visit_batch(&mut self, model: &DeepGp, alpha: f64, wanted: Wanted, batch: Batch<'_>) -> Result<()> {
        let Self { inputs, context, cavity, is_factored, projections, backs, evaluator, sums, .. } = self;
        let (factored, inputs) = (is_factored.then_some(&cavity[0][..]), *inputs);
        let stack = Stack { network: model, inducing: &context.inducing, projections, factored, inputs };
        evaluator.evaluate(&Pass { stack, alpha, wanted }, batch, sums)?;
        let Self { inducing_scratch, gradient, .. } = self;
        let memory = (
            (by_index(&mut sums.layers), by_index(backs)),
            (by_index(inducing_scratch), by_index(&mut gradient.layers)),
        );
        for_each_index(evaluator.pool(batch.n_batch), memory, |l, ((sums, back), (scratch, grad))| {
            let (inducing, q) = (&context.inducing[l], (wanted == Wanted::Sites).then_some(&cavity[l][..]));
            projections[l].adjoint_solving(q, inducing, sums, back);
            grad.clear();
            inducing.adjoint(&model.layers()[l], &mut back.phi, sums, scratch, grad);
        });
        Ok(())
    }

    /// Passes one point through the projections of `cavity`: its sums go to `own` and are added to `sums` and `phi`,
    /// the derivatives in the cavities' moments stand in `backs`. Returns log Z.
    ///
    /// # Errors
    /// The errors of the evaluator.
    pub(super) fn visit_point(&mut self, model: &DeepGp, alpha: f64, batch: Batch<'_>, row: usize) -> Result<f64> {
        let Self { inputs, context, projections, backs, evaluator, sums, own, phi, .. } = self;
        let stack = Stack { network: model, inducing: &context.inducing, projections, factored: None, inputs: *inputs };
        let point = Batch { rows: &[row], n_batch: 1, ..batch };
        evaluator.evaluate(&Pass { stack, alpha, wanted: Wanted::Sites }, point, own)?;
        sums.add(own);
        for (l, inducing) in context.inducing.iter().enumerate() {
            projections[l].adjoint(inducing, &mut own.layers[l], &mut backs[l]);
            phi[l].add_scaled(1.0, &backs[l].phi);
        }
        Ok(own.log_z)
    }

    /// From the sums over points visited one by one, and their Φ, to `gradient`.
    pub(super) fn end_visits(&mut self, model: &DeepGp) {
        let Self { context, sums, phi, inducing_scratch, gradient, .. } = self;
        for (l, (layer, grad)) in model.layers().iter().zip(&mut gradient.layers).enumerate() {
            grad.clear();
            context.inducing[l].adjoint(layer, &mut phi[l], &sums.layers[l], &mut inducing_scratch[l], grad);
        }
    }

    /// From `gradient` and the sums over points to ∂energy/∂(free parameters), where energy = `scale` · Σ log Z.
    pub(super) fn free_gradient(&mut self, model: &DeepGp, scale: f64) -> Vec<f64> {
        let Self { sums, gradient, free, .. } = self;
        gradient.likelihood.clone_from(&sums.likelihood);
        gradient.constant.clone_from(&sums.constant);
        let mut out = std::mem::take(free);
        gradient.free_into(model, scale, &mut out);
        out
    }

    /// Undoes the exchanges of memory that a step by first-order sites made, so that the next one works where this one
    /// did.
    pub(super) fn give_back(&mut self) {
        let Self { backs, sums, sites, .. } = self;
        for (l, (back, sites)) in backs.iter_mut().zip(sites).enumerate() {
            for (site, p) in sites.iter_mut().zip(&mut back.curvature) {
                std::mem::swap(&mut site.precision, p);
            }
            back.give_back(&mut sums.layers[l]);
        }
    }

    /// Takes back the memory of a step that has been looked at, for the next one.
    pub fn recycle(&mut self, step: Step) {
        self.free = step.gradient;
    }
}

/// What a step or a prediction needs of the hyperparameters alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    pub(super) inducing: Vec<Inducing>,
}

impl Context {
    pub(crate) fn new(model: &DeepGp, inputs: Inputs, jitter: Jitter) -> Result<Self> {
        let mut out = Self::default();
        out.refill(model, inputs, jitter)?;
        Ok(out)
    }

    /// For a first layer that is given `inputs`.
    pub(super) fn refill(&mut self, model: &DeepGp, inputs: Inputs, jitter: Jitter) -> Result<()> {
        for (l, (layer, inducing)) in model.layers().iter().zip(self.sized(model)).enumerate() {
            inducing.refill(layer, Inputs::of_layer(l, inputs), jitter).map_err(|e| e.in_layer(l))?;
        }
        Ok(())
    }

    /// Memory for as many layers as the model has.
    fn sized(&mut self, model: &DeepGp) -> &mut [Inducing] {
        self.inducing.resize_with(model.layers().len(), Inducing::default);
        &mut self.inducing
    }

    /// Events for factors that needed more jitter than was configured.
    pub(crate) fn jitter_events(&self, events: &mut Vec<Event>) {
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

    /// The projections of every layer for the given Gaussians, with a first layer that is given `inputs`.
    pub(crate) fn project(&self, inputs: Inputs, q: &[Vec<FullGaussian>]) -> Vec<Projection> {
        let one = |(l, (inducing, q)): (usize, (&Inducing, &Vec<FullGaussian>))| {
            Projection::new(inducing, Inputs::of_layer(l, inputs), q)
        };
        self.inducing.iter().zip(q).enumerate().map(one).collect()
    }
}

/// Moments of prior × factorˢ for every layer and output.
pub(crate) fn all_moments(factors: &[Vec<Factor>], share: f64) -> Result<Vec<Vec<FullGaussian>>> {
    let one = |(d, f): (usize, &Factor)| f.moments(share).map_err(|e| e.in_output(d));
    let layer = |(l, f): (usize, &Vec<Factor>)| {
        f.iter().enumerate().map(one).collect::<Result<Vec<_>>>().map_err(|e| e.in_layer(l))
    };
    factors.iter().enumerate().map(layer).collect()
}
