//! The pass over data: forward through the layers, log Z, backward through the layers, a block of points at a time.
//!
//! The first layer sees known inputs and works on a block at once; above it each point goes up and down alone, while
//! its Ψ₂ is in cache. Nothing of the size of the data is kept: a block leaves its [`Sums`] behind, and blocks are
//! added in order, so that the result does not depend on who computed them.

use crate::kernel::InputBar;
use crate::layer::{Inducing, KnownTape, LayerSums, Projection, RandomTape};
use crate::likelihood::{Observation, TiltedBar};
use crate::linalg::Mat;
use crate::network::DeepGp;
use crate::param::Parameters;

/// Number of points in a block.
pub const BLOCK: usize = 32;

/// Sums over points of log Z_n and of what its derivatives need.
#[derive(Debug, Clone)]
pub struct Sums {
    /// Number of points.
    pub n_points: usize,
    /// Σ log Z_n.
    pub log_z: f64,
    /// Per layer.
    pub layers: Vec<LayerSums>,
    /// Σ ∂log Z_n/∂(likelihood parameters).
    pub likelihood: Vec<f64>,
}

impl Sums {
    /// Zeros of the right shape.
    pub fn zeros(model: &DeepGp) -> Self {
        Self {
            n_points: 0,
            log_z: 0.0,
            layers: model.layers().iter().map(LayerSums::zeros).collect(),
            likelihood: vec![0.0; model.likelihood().n_params()],
        }
    }

    /// Sets everything to zero, keeping the allocations.
    pub fn clear(&mut self) {
        self.n_points = 0;
        self.log_z = 0.0;
        self.layers.iter_mut().for_each(LayerSums::clear);
        self.likelihood.fill(0.0);
    }

    /// Adds another block's sums.
    pub fn add(&mut self, other: &Sums) {
        self.n_points += other.n_points;
        self.log_z += other.log_z;
        for (mine, theirs) in self.layers.iter_mut().zip(&other.layers) {
            mine.add(theirs);
        }
        for (a, b) in self.likelihood.iter_mut().zip(&other.likelihood) {
            *a += b;
        }
    }
}

/// Working memory of a pass; one per worker.
#[derive(Debug, Clone)]
pub struct Workspace {
    known: KnownTape,
    random: Vec<RandomTape>,
    x: Mat,
    mean_bar: Mat,
    var_bar: Mat,
    block: Sums,
}

impl Workspace {
    /// Memory for passes through `model`.
    pub fn new(model: &DeepGp) -> Self {
        Self {
            known: KnownTape::default(),
            random: model.layers()[1..].iter().map(RandomTape::new).collect(),
            x: Mat::default(),
            mean_bar: Mat::default(),
            var_bar: Mat::default(),
            block: Sums::zeros(model),
        }
    }
}

/// A network with one Gaussian per layer and output, cavity or posterior, ready to take data.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// The network.
    pub model: &'a DeepGp,
    /// Per layer: K_zz and its factor.
    pub inducing: &'a [Inducing],
    /// Per layer: A, B, C.
    pub projections: &'a [Projection],
    /// The power α of log Z.
    pub alpha: f64,
}

impl Pass<'_> {
    /// Adds the sums over the given rows of `x`, `y` to `sums`.
    pub fn run(&self, x: &Mat, y: &Mat, rows: &[usize], ws: &mut Workspace, sums: &mut Sums) {
        for rows in rows.chunks(BLOCK) {
            self.block(x, y, rows, ws);
            sums.add(&ws.block);
        }
    }

    /// One block of points, into `ws.block`.
    fn block(&self, x: &Mat, y: &Mat, rows: &[usize], ws: &mut Workspace) {
        let Workspace { known, random, x: x_block, mean_bar, var_bar, block } = ws;
        let layers = self.model.layers();
        block.clear();
        block.n_points = rows.len();
        x_block.gather_rows(x, rows);
        known.forward(&layers[0], &self.inducing[0], &self.projections[0], x_block);
        mean_bar.reset(rows.len(), layers[0].dim_out);
        var_bar.reset(rows.len(), layers[0].dim_out);
        for (n, &row) in rows.iter().enumerate() {
            let hidden = (known.mean.row(n), known.var.row(n));
            let hidden_bar = InputBar { mean: mean_bar.row_mut(n), var: var_bar.row_mut(n) };
            self.point(hidden, y.row(row), hidden_bar, random, block);
        }
        known.backward(
            &layers[0],
            &self.inducing[0],
            &self.projections[0],
            x_block,
            (mean_bar, var_bar),
            &mut block.layers[0],
        );
        for (tape, sums) in random.iter_mut().zip(&mut block.layers[1..]) {
            tape.end_block(sums);
        }
    }

    /// One point from the first layer's output moments up to log Z and back down to ∂log Z/∂(those moments).
    fn point(
        &self,
        hidden: (&[f64], &[f64]),
        y: &[f64],
        hidden_bar: InputBar<'_>,
        tapes: &mut [RandomTape],
        sums: &mut Sums,
    ) {
        let (layers, likelihood) = (self.model.layers(), self.model.likelihood());
        for t in 0..tapes.len() {
            let (below, rest) = tapes.split_at_mut(t);
            let input = below.last().map_or(hidden, |b| (&b.mean[..], &b.var[..]));
            rest[0].forward(&layers[t + 1], &self.inducing[t + 1], &self.projections[t + 1], input);
        }
        let params = &mut sums.likelihood[..];
        let Some(top) = tapes.last_mut() else {
            let bar = TiltedBar { mean: hidden_bar.mean, var: hidden_bar.var, params };
            sums.log_z += likelihood.log_z(hidden.0, hidden.1, y, self.alpha, bar);
            return;
        };
        let bar = TiltedBar { mean: &mut top.mean_bar, var: &mut top.var_bar, params };
        sums.log_z += likelihood.log_z(&top.mean, &top.var, y, self.alpha, bar);
        let mut hidden_bar = Some(hidden_bar);
        for t in (0..tapes.len()).rev() {
            let (below, rest) = tapes.split_at_mut(t);
            let (input, bar) = match below.last_mut() {
                Some(b) => ((&b.mean[..], &b.var[..]), InputBar { mean: &mut b.mean_bar, var: &mut b.var_bar }),
                // The lowest tape is reached exactly once.
                None => match hidden_bar.take() {
                    Some(bar) => (hidden, bar),
                    None => return,
                },
            };
            let l = t + 1;
            rest[0].backward(&layers[l], &self.inducing[l], &self.projections[l], input, bar, &mut sums.layers[l]);
        }
    }
}
