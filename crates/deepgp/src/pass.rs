//! The pass over data: forward through the layers, log Z, backward through the layers, a block of points at a time.
//!
//! The first layer sees known inputs and works on a block at once; above it a few points go up and down together, while
//! their Ψ₂ is in cache. Nothing of the size of the data is kept: a block adds to the [`Sums`] of its slot, and slots are
//! added in order, so that the result does not depend on how many threads shared the work.

use crate::gauss::{DiagGaussian, FullGaussian};
use crate::layer::{Inducing, Inputs, KnownTape, Layer, LayerSums, Projection, RandomTape, Wanted};
use crate::likelihood::Observation;
use crate::network::DeepGp;
use crate::param::Parameters;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::pool::{ThreadPool, each, lent};
use deepgp_numerics::simd::{PAD, prefetch};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Most points in a block.
pub const BLOCK: usize = 64;
/// Block b belongs to slot b mod this, whoever works on it; the slots of each half are added in order, then the halves.
const SLOTS: usize = 8;
/// Numbers of a table that stays in the second-level cache, beside what a step works with.
const NEAR: usize = 1 << 15;
/// Inducing inputs of a layer whose factorisations take longer than it takes to give them to another thread.
const LARGE: usize = 64;
/// The same where threads share the passes too, so that they are awake and have its matrices in their caches.
const LARGE_IF_SHARED: usize = 32;

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
            layers: model
                .layers()
                .iter()
                .enumerate()
                .map(|(l, layer)| LayerSums::zeros(layer, Inputs::of(l)))
                .collect(),
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
        for (mine, theirs) in self.layers.iter_mut().zip(&other.layers) {
            mine.add(theirs);
        }
        self.add_numbers(other);
    }

    /// Adds what does not belong to a layer.
    fn add_numbers(&mut self, other: &Sums) {
        self.n_points += other.n_points;
        self.log_z += other.log_z;
        for (a, b) in self.likelihood.iter_mut().zip(&other.likelihood) {
            *a += b;
        }
    }
}

/// Working memory of passes, and the threads that share them.
#[derive(Debug)]
pub struct PassWorkspace {
    /// One for every thread, which finds its own in its cache, with the sums of the slot that it works on. Nobody ever waits for one.
    /// Each thread has asked for its own memory, since two that write to the same cache line wait for each other.
    workers: Vec<Mutex<Box<(Worker, Sums)>>>,
    halves: [Mutex<Half>; 2],
    pool: Option<ThreadPool>,
    /// Inducing inputs of the largest layer.
    largest: usize,
}

/// Working memory of a thread.
#[derive(Debug, Clone)]
struct Worker {
    known: KnownTape,
    random: Vec<RandomTape>,
    /// Points that go up and down together.
    group_size: usize,
    x: Mat,
    mean_bar: Mat,
    var_bar: Mat,
    hidden: DiagGaussian,
    hidden_bar: DiagGaussian,
}

impl Worker {
    fn new(model: &DeepGp) -> Self {
        let width = model.layers()[0].dim_out;
        let upper = &model.layers()[1..];
        let group_size = RandomTape::group_size(upper);
        Self {
            known: KnownTape::default(),
            random: upper.iter().map(|layer| RandomTape::new(layer, group_size)).collect(),
            group_size,
            x: Mat::default(),
            mean_bar: Mat::default(),
            var_bar: Mat::default(),
            hidden: DiagGaussian::zeros(group_size, width),
            hidden_bar: DiagGaussian::zeros(group_size, width),
        }
    }
}

/// The sums of half of the slots, added in order whichever is done first.
#[derive(Debug)]
struct Half {
    total: Sums,
    /// How many of the slots are in it.
    added: usize,
    /// Slots that were done before their turn, by their number in the half.
    waiting: Vec<(usize, Sums)>,
    /// Memory for these.
    spare: Vec<Sums>,
}

impl Half {
    /// With memory for as many slots as may have to wait: for a thread that works alone none, otherwise all but the first.
    fn new(model: &DeepGp, is_shared: bool) -> Self {
        let most = if is_shared { SLOTS.div_ceil(2) - 1 } else { 0 };
        let spare = vec![Sums::zeros(model); most];
        Self { total: Sums::zeros(model), added: 0, waiting: Vec::with_capacity(most), spare }
    }

    /// Starts anew, keeping the allocations; something waits only after a panic.
    fn clear(&mut self) {
        self.added = 0;
        self.spare.extend(self.waiting.drain(..).map(|(_, sums)| sums));
    }

    /// Takes the sums of slot number `k` of the half, and leaves other memory in their place.
    fn take(&mut self, k: usize, sums: &mut Sums) {
        if k != self.added {
            let Some(spare) = self.spare.pop() else { unreachable!("there is memory for all slots but the first") };
            self.waiting.push((k, std::mem::replace(sums, spare)));
            return;
        }
        if k == 0 {
            std::mem::swap(&mut self.total, sums);
        } else {
            self.total.add(sums);
        }
        self.added += 1;
        while let Some(at) = self.waiting.iter().position(|(k, _)| *k == self.added) {
            let (_, sums) = self.waiting.swap_remove(at);
            self.total.add(&sums);
            self.added += 1;
            self.spare.push(sums);
        }
    }
}

impl PassWorkspace {
    /// Memory for passes through `model` on this many threads (0 and 1: the caller's alone). Results do not depend on
    /// the number. Should the system refuse threads, the caller's is used.
    pub fn new(model: &DeepGp, threads: usize) -> Self {
        let mut pool = (threads > 1).then(|| ThreadPool::new(threads.min(SLOTS)));
        let own = || Mutex::new(Box::new((Worker::new(model), Sums::zeros(model))));
        let workers = pool.as_mut().map_or_else(|| vec![own()], |pool| pool.each_makes(own));
        let halves = std::array::from_fn(|_| Mutex::new(Half::new(model, pool.is_some())));
        let largest = model.layers().iter().map(Layer::n_inducing).max().unwrap_or(0);
        Self { workers, halves, pool, largest }
    }

    /// The threads, for what a step does between passes of so many points, if it pays to share that out.
    pub fn pool(&mut self, n_points: usize) -> Option<&mut ThreadPool> {
        let least = if n_blocks(n_points) > 1 { LARGE_IF_SHARED } else { LARGE };
        self.pool.as_mut().filter(|_| self.largest >= least)
    }
}

/// What a lock guards, where nobody else can hold it.
fn alone<T>(lock: &mut Mutex<T>) -> &mut T {
    lock.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// A network with one Gaussian per layer and output, cavity or posterior, ready to take data.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// The network.
    pub model: &'a DeepGp,
    /// Per layer: K_zz and its factor.
    pub inducing: &'a [Inducing],
    /// Per layer: N(μ, S), and A and B where inputs are random.
    pub projections: &'a [Projection],
    /// The power α of log Z.
    pub alpha: f64,
    /// What the sums are for.
    pub wanted: Wanted,
}

/// Number of blocks of `n` points.
fn n_blocks(n: usize) -> usize {
    n.div_ceil(BLOCK)
}

/// The points of block `b` of `n`, none if there are fewer blocks: whole vectors, as many in one block as in another or one more, so that
/// threads have as much to do as each other.
fn points_of(b: usize, n: usize) -> Range<usize> {
    let start = |b: usize| (PAD * (b * n.div_ceil(PAD) / n_blocks(n).max(1))).min(n);
    start(b)..start(b + 1)
}

/// Asks for the data of a block of these rows, if there is one, which random rows of a large table would otherwise wait for.
pub fn fetch_block(x: &Mat, y: &Mat, rows: &[usize], block: usize) {
    if x.as_slice().len() <= NEAR {
        return;
    }
    for &row in &rows[points_of(block, rows.len())] {
        prefetch(x.row(row));
        prefetch(y.row(row));
    }
}

impl Pass<'_> {
    /// Sums over the given rows of `x`, `y`, into `sums`.
    pub fn run(&self, x: &Mat, y: &Mat, rows: &[usize], ws: &mut PassWorkspace, sums: &mut Sums) {
        self.run_factored(None, (x, y), rows, ws, sums);
    }

    /// The same with the first layer's Gaussians, if it is to be propagated by their precisions' factors: its projection then has only μ.
    pub(crate) fn run_factored(
        &self,
        factored: Option<&[FullGaussian]>,
        (x, y): (&Mat, &Mat),
        rows: &[usize],
        ws: &mut PassWorkspace,
        sums: &mut Sums,
    ) {
        let blocks = n_blocks(rows.len());
        let used = blocks.clamp(1, SLOTS);
        let middle = used.div_ceil(2);
        let PassWorkspace { workers, halves, pool, .. } = ws;
        if used == 1 {
            // One slot is the sum, and stands where it stood at the last step.
            sums.clear();
            return self.block(factored, (x, y), rows, 0..rows.len(), &mut alone(&mut workers[0]).0, sums);
        }
        halves.iter_mut().for_each(|half| alone(half).clear());
        let work = |thread: usize, s: usize| {
            let mut worker = workers[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let (worker, sums) = &mut **worker;
            sums.clear();
            for b in (s..blocks).step_by(SLOTS) {
                // What comes next if this thread is alone.
                fetch_block(x, y, rows, if b + SLOTS < blocks { b + SLOTS } else { s + 1 });
                self.block(factored, (x, y), rows, points_of(b, rows.len()), worker, sums);
            }
            let (half, k) = if s < middle { (&halves[0], s) } else { (&halves[1], s - middle) };
            half.lock().unwrap_or_else(PoisonError::into_inner).take(k, sums);
        };
        match pool {
            Some(pool) => pool.run(used, &work),
            None => (0..used).for_each(|s| work(0, s)),
        }
        let [first, second] = halves.each_mut().map(|half| &mut alone(half).total);
        std::mem::swap(sums, first);
        if used > middle {
            sums.add_numbers(second);
            each(pool.as_mut(), lent(&mut sums.layers), |l, mine| mine.add(&second.layers[l]));
        }
    }

    /// A block of the points of a pass, added to the slot's sums.
    fn block(
        &self,
        factored: Option<&[FullGaussian]>,
        (x, y): (&Mat, &Mat),
        all: &[usize],
        block: Range<usize>,
        worker: &mut Worker,
        sums: &mut Sums,
    ) {
        let rows = &all[block];
        let Worker { known, random, group_size, x: x_block, mean_bar, var_bar, hidden, hidden_bar } = worker;
        let layers = self.model.layers();
        sums.n_points += rows.len();
        x_block.gather_rows(x, rows);
        let (layer, inducing, projection) = (&layers[0], &self.inducing[0], &self.projections[0]);
        match factored {
            Some(q) => known.forward_solving(layer, inducing, projection, q, x_block),
            None => known.forward(layer, inducing, projection, x_block),
        }
        mean_bar.reshape(rows.len(), layers[0].dim_out);
        var_bar.reshape(rows.len(), layers[0].dim_out);
        for (start, group) in rows.chunks(*group_size).enumerate() {
            let (start, n) = (start * *group_size, group.len());
            hidden.mean.copy_rows(0, &known.mean, start..start + n);
            hidden.var.copy_rows(0, &known.var, start..start + n);
            self.group(hidden, y, group, hidden_bar, random, sums);
            mean_bar.copy_rows(start, &hidden_bar.mean, 0..n);
            var_bar.copy_rows(start, &hidden_bar.var, 0..n);
        }
        let bar = (&*mean_bar, &*var_bar);
        let sums_below = &mut sums.layers[0];
        known.backward(layer, inducing, projection, x_block, bar, self.wanted, sums_below);
        for ((tape, inducing), sums) in random.iter_mut().zip(&self.inducing[1..]).zip(&mut sums.layers[1..]) {
            tape.end_block(inducing, all.len(), sums);
        }
    }

    /// A group of points from the first layer's output moments up to log Z and back down to ∂log Z/∂(those moments).
    fn group(
        &self,
        hidden: &DiagGaussian,
        y: &Mat,
        rows: &[usize],
        hidden_bar: &mut DiagGaussian,
        tapes: &mut [RandomTape],
        sums: &mut Sums,
    ) {
        let (layers, likelihood) = (self.model.layers(), self.model.likelihood());
        for t in 0..tapes.len() {
            let (below, rest) = tapes.split_at_mut(t);
            let input = below.last().map_or((&hidden.mean, &hidden.var), |b| (&b.mean, &b.var));
            rest[0].forward(&layers[t + 1], &self.inducing[t + 1], &self.projections[t + 1], input, rows.len());
        }
        let (mean, var, mean_bar, var_bar) = match tapes.last_mut() {
            Some(top) => (&top.mean, &top.var, &mut top.mean_bar, &mut top.var_bar),
            None => (&hidden.mean, &hidden.var, &mut hidden_bar.mean, &mut hidden_bar.var),
        };
        sums.log_z +=
            likelihood.log_z_sum((mean, var), (y, rows), self.alpha, (mean_bar, var_bar), &mut sums.likelihood);
        for t in (0..tapes.len()).rev() {
            let (below, rest) = tapes.split_at_mut(t);
            let (input, bar) = match below.last_mut() {
                Some(b) => ((&b.mean, &b.var), (&mut b.mean_bar, &mut b.var_bar)),
                None => ((&hidden.mean, &hidden.var), (&mut hidden_bar.mean, &mut hidden_bar.var)),
            };
            let l = t + 1;
            rest[0].backward(&layers[l], &self.inducing[l], &self.projections[l], input, bar, &mut sums.layers[l]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::{Architecture, network};
    use crate::likelihood::{Gaussian, Likelihood};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Blocks cover all points, none has too many, and no two differ by more than a vector.
    #[test]
    fn blocks_share_the_points() {
        for n in (0..700).chain([1000, 4096, 100_001]) {
            let (blocks, mut end) = (n_blocks(n), 0);
            for b in 0..blocks {
                let points = points_of(b, n);
                assert_eq!(points.start, end, "block {b} of {n} points");
                assert!(points.len() <= BLOCK, "block {b} of {n} points: {points:?}");
                let (fewest, last) = (n.div_ceil(PAD) / blocks * PAD, b + 1 == blocks);
                assert!(points.len() >= if last { fewest + 1 - PAD } else { fewest }, "block {b} of {n}: {points:?}");
                end = points.end;
            }
            assert_eq!((end, points_of(blocks, n)), (n, n..n), "{n} points");
        }
    }

    #[test]
    fn slots_are_added_in_order_whichever_is_done_first() -> crate::Result<()> {
        let x = Mat::from_fn(5, 2, |i, j| (3 * i + j) as f64);
        let likelihood = Likelihood::Gaussian(Gaussian { noise_var: vec![0.1] });
        let architecture = Architecture { n_inducing: 3, ..Architecture::default() };
        let (model, _) = network(&x, likelihood, &architecture, &mut ChaCha8Rng::seed_from_u64(1))?;
        // Sums that depend on the order.
        let log_z = [1.0, 1e16, 1.0, -1e16];
        let mut half = Half::new(&model, true);
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            half.clear();
            let mut sums = Sums::zeros(&model);
            for k in order {
                sums.clear();
                (sums.n_points, sums.log_z) = (k + 1, log_z[k]);
                half.take(k, &mut sums);
            }
            let (added, waiting) = (half.added, half.waiting.len());
            assert_eq!((added, waiting, half.total.n_points, half.total.log_z), (4, 0, 10, 0.0), "{order:?}");
        }
        assert_eq!(half.spare.len(), 3, "nothing is lost");
        Ok(())
    }
}
