//! Passes on the threads of this process: blocks of points, forward and back, into sums that do not depend on who did
//! what.
//!
//! Nothing of the size of the data is kept: a block adds to the [`Sums`] of its slot, and slots are added in order, so
//! that the result does not depend on how many threads shared the work.

use super::{Batch, Evaluate, Pass, Sums, Tapes};
use crate::error::Result;
use crate::gauss::DiagGaussian;
use crate::layer::{Inputs, Layer, POINTS_PER_BLOCK, PointBars};
use crate::likelihood::{Observation, TiltedBar};
use crate::network::DeepGp;
use deepgp_numerics::Mat;
use deepgp_numerics::linalg::axpy;
use deepgp_numerics::pool::{ThreadPool, by_index, for_each_index};
use deepgp_numerics::simd::{PAD, prefetch};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Block b belongs to slot b mod this, whoever works on it; the slots of each half are added in order, then the halves.
const SLOTS: usize = 8;
/// Most numbers of a table that stays in the second-level cache beside the memory of a step.
const CACHED_NUMBERS: usize = 1 << 15;
/// Inducing inputs of a layer whose factorisations take longer than it takes to give them to another thread.
const LARGE_INDUCING: usize = 64;
/// [`LARGE_INDUCING`] where threads share the passes too, so that they are awake and have its matrices in their caches.
const LARGE_INDUCING_IF_SHARED: usize = 32;

/// The threads of this process, with the working memory of passes.
#[derive(Debug)]
pub struct Cores {
    /// One for every thread, which finds its own in its cache, with the sums of the slot that it works on. Nobody ever
    /// waits for one. Each thread has asked for its own memory, since two that write to the same cache line wait for
    /// each other.
    workers: Vec<Mutex<Box<(Worker, Sums)>>>,
    halves: [Mutex<Half>; 2],
    pool: Option<ThreadPool>,
    /// Inducing inputs of the largest layer.
    largest: usize,
}

/// Working memory of a thread.
#[derive(Debug, Clone)]
struct Worker {
    tapes: Tapes,
    /// ∂log Z/∂(what a group gives to the lowest of the layers that it goes up through).
    below_bar: DiagGaussian,
    /// ∂log Z/∂(outputs of the first layer), of a whole block.
    first_bar: DiagGaussian,
    /// What the likelihood sees of a group, where that is not the outputs of the last layer.
    seen: DiagGaussian,
    /// What each row of a block counts for, where there are weights.
    weights: Vec<f64>,
    /// ∂log Z/∂(the likelihood's parameters) of one point, where there are weights.
    params: Vec<f64>,
}

impl Worker {
    fn new(network: &DeepGp, inputs: Inputs) -> Self {
        let tapes = Tapes::new(network, inputs);
        let below_bar = DiagGaussian::zeros(tapes.group_size, tapes.below.dim());
        let (first_bar, seen) = (DiagGaussian::default(), DiagGaussian::default());
        Self { tapes, below_bar, first_bar, seen, weights: Vec::new(), params: Vec::new() }
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
    /// With memory for as many slots as may have to wait: for a thread that works alone none, otherwise all but the
    /// first.
    fn new(network: &DeepGp, inputs: Inputs, is_shared: bool) -> Self {
        let most = if is_shared { SLOTS.div_ceil(2) - 1 } else { 0 };
        let spare = vec![Sums::zeros(network, inputs); most];
        Self { total: Sums::zeros(network, inputs), added: 0, waiting: Vec::with_capacity(most), spare }
    }

    /// Starts anew, keeping the allocations; something waits only after a panic.
    fn clear(&mut self) {
        self.added = 0;
        self.spare.extend(self.waiting.drain(..).map(|(_, sums)| sums));
    }

    /// Adds the sums of slot number `k` of the half as soon as it is their turn, and leaves other memory in their
    /// place.
    fn add_in_order(&mut self, k: usize, sums: &mut Sums) {
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

impl Cores {
    /// Memory for passes through `network` on this many threads (0 and 1: the caller's alone). Results do not depend on
    /// the number. Should the system refuse threads, the caller's is used.
    pub fn new(network: &DeepGp, inputs: Inputs, threads: usize) -> Self {
        let pool = (threads > 1).then(|| ThreadPool::new(threads.min(SLOTS)));
        let mut cores = Self {
            workers: Vec::new(),
            halves: std::array::from_fn(|_| Mutex::new(Half::new(network, inputs, pool.is_some()))),
            pool,
            largest: network.layers().iter().map(Layer::n_inducing).max().unwrap_or(0),
        };
        cores.make_workers(network, inputs);
        cores
    }

    /// Memory for each thread.
    fn make_workers(&mut self, network: &DeepGp, inputs: Inputs) {
        let own = || Mutex::new(Box::new((Worker::new(network, inputs), Sums::zeros(network, inputs))));
        self.workers = self.pool.as_mut().map_or_else(|| vec![own()], |pool| pool.each_makes(own));
    }

    /// Makes new memory if the present one is for inputs of the other kind.
    fn ensure_inputs(&mut self, network: &DeepGp, inputs: Inputs) {
        if get_mut(&mut self.workers[0]).0.tapes.inputs() != inputs {
            self.make_workers(network, inputs);
            let is_shared = self.pool.is_some();
            self.halves = std::array::from_fn(|_| Mutex::new(Half::new(network, inputs, is_shared)));
        }
    }
}

/// The value of a lock that no other thread can hold.
fn get_mut<T>(lock: &mut Mutex<T>) -> &mut T {
    lock.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Number of blocks of `n` points.
fn n_blocks(n: usize) -> usize {
    n.div_ceil(POINTS_PER_BLOCK)
}

/// The points of block `b` of `n`, none if there are fewer blocks: whole vectors, as many in one block as in another or
/// one more, so that threads have as much to do as each other.
fn points_of(b: usize, n: usize) -> Range<usize> {
    let start = |b: usize| (PAD * (b * n.div_ceil(PAD) / n_blocks(n).max(1))).min(n);
    start(b)..start(b + 1)
}

/// Asks for the data of a block of these rows, if there is one, which random rows of a large table would otherwise wait
/// for.
pub fn fetch_block(x: &Mat, y: &Mat, rows: &[usize], block: usize) {
    if x.as_slice().len() <= CACHED_NUMBERS {
        return;
    }
    for &row in &rows[points_of(block, rows.len())] {
        prefetch(x.row(row));
        prefetch(y.row(row));
    }
}

impl Evaluate for Cores {
    fn evaluate(&mut self, pass: &Pass<'_>, batch: Batch<'_>, sums: &mut Sums) -> Result<()> {
        let (network, inputs, rows) = (pass.stack.network, pass.stack.inputs, batch.rows);
        self.ensure_inputs(network, inputs);
        sums.expect_inputs(network, inputs);
        let blocks = n_blocks(rows.len());
        let used = blocks.clamp(1, SLOTS);
        let middle = used.div_ceil(2);
        let Self { workers, halves, pool, .. } = self;
        if used == 1 {
            // One slot is the sum, and stands where it stood at the last step.
            sums.clear();
            if !rows.is_empty() {
                pass.block(batch, 0..rows.len(), &mut get_mut(&mut workers[0]).0, sums);
            }
            return Ok(());
        }
        halves.iter_mut().for_each(|half| get_mut(half).clear());
        let work = |thread: usize, s: usize| {
            let mut worker = workers[thread].lock().unwrap_or_else(PoisonError::into_inner);
            let (worker, sums) = &mut **worker;
            sums.clear();
            for b in (s..blocks).step_by(SLOTS) {
                // What comes next if this thread is alone.
                fetch_block(batch.x, batch.y, rows, if b + SLOTS < blocks { b + SLOTS } else { s + 1 });
                pass.block(batch, points_of(b, rows.len()), worker, sums);
            }
            let (half, k) = if s < middle { (&halves[0], s) } else { (&halves[1], s - middle) };
            half.lock().unwrap_or_else(PoisonError::into_inner).add_in_order(k, sums);
        };
        match pool {
            Some(pool) => pool.run(used, &work),
            None => (0..used).for_each(|s| work(0, s)),
        }
        let [first, second] = halves.each_mut().map(|half| &mut get_mut(half).total);
        std::mem::swap(sums, first);
        if used > middle {
            sums.add_numbers(second);
            for_each_index(pool.as_mut(), by_index(&mut sums.layers), |l, mine| mine.add(&second.layers[l]));
        }
        Ok(())
    }

    fn pool(&mut self, n_points: usize) -> Option<&mut ThreadPool> {
        let least = if n_blocks(n_points) > 1 { LARGE_INDUCING_IF_SHARED } else { LARGE_INDUCING };
        self.pool.as_mut().filter(|_| self.largest >= least)
    }
}

impl Pass<'_> {
    /// A block of the points of a batch, added to the slot's sums.
    fn block(&self, batch: Batch<'_>, block: Range<usize>, worker: &mut Worker, sums: &mut Sums) {
        let rows = &batch.rows[block];
        let Worker { tapes, below_bar, first_bar, seen, weights, params } = worker;
        let (stack, layers) = (&self.stack, self.stack.network.layers());
        let n_exact = usize::from(tapes.inputs() == Inputs::Exact);
        sums.n_points += rows.len();
        first_bar.reshape(rows.len(), layers[0].dim_out);
        stack.forward(tapes, batch.x, batch.x_var, rows, |tapes, points| {
            let group = Batch { rows: &rows[points.clone()], ..batch };
            self.group_backward(tapes, group, (below_bar, seen, params), sums);
            if n_exact > 0 {
                first_bar.copy_points(points.start, below_bar, 0..points.len());
            }
        });
        weights.clear();
        if batch.weights.is_some() {
            weights.extend(rows.iter().map(|&row| batch.row_weight(row)));
        }
        let Tapes { first, above, x, .. } = tapes;
        if let Some(first) = first {
            let (sums, bar) = (&mut sums.layers[0], PointBars { bar: first_bar, weights });
            first.backward(&layers[0], &stack.inducing[0], &stack.projections[0], x, bar, self.wanted, sums);
        }
        let upper = stack.inducing[n_exact..].iter().zip(&mut sums.layers[n_exact..]);
        for (tape, (inducing, sums)) in above.iter_mut().zip(upper) {
            tape.end_block(inducing, batch.n_batch, weights, sums);
        }
    }

    /// log Z of a group that has reached the top, and the way back down to ∂log Z/∂(what it gave to the lowest of these
    /// layers).
    ///
    /// ```text
    /// the likelihood sees N(m + c + o, v + s²), c the network's constant, N(o, s²) the row's offset
    /// ```
    /// Derivatives by m and v are those by what is seen; what a row counts for multiplies all of them.
    fn group_backward(
        &self,
        tapes: &mut Tapes,
        group: Batch<'_>,
        (below_bar, seen, params): (&mut DiagGaussian, &mut DiagGaussian, &mut Vec<f64>),
        sums: &mut Sums,
    ) {
        let (network, layers) = (self.stack.network, self.stack.network.layers());
        let n_exact = usize::from(tapes.first.is_some());
        let Tapes { above, below, .. } = tapes;
        let (f, f_bar) = match above.last_mut() {
            Some(top) => (&top.out, &mut top.out_bar),
            None => (&*below, &mut *below_bar),
        };
        let f = if group.offset.is_none() && network.constant().is_empty() {
            f
        } else {
            see(f, network, group, seen);
            &*seen
        };
        if group.weights.is_none() {
            let (moments, bars) = ((&f.mean, &f.var), (&mut f_bar.mean, &mut f_bar.var));
            let targets = (group.y, group.rows);
            sums.log_z += network.likelihood().log_z_sum(moments, targets, self.alpha, bars, &mut sums.likelihood);
        } else {
            sums.log_z += self.weighted_log_z(f, group, f_bar, params, &mut sums.likelihood);
        }
        // ∂log Z/∂c = Σ ∂log Z/∂m
        if !sums.constant.is_empty() {
            for g in 0..group.rows.len() {
                sums.constant.iter_mut().zip(f_bar.mean.row(g)).for_each(|(sum, bar)| *sum += bar);
            }
        }
        for t in (0..above.len()).rev() {
            let (lower, rest) = above.split_at_mut(t);
            let (input, bar) = match lower.last_mut() {
                Some(tape) => (&tape.out, &mut tape.out_bar),
                None => (&*below, &mut *below_bar),
            };
            let (l, stack) = (n_exact + t, &self.stack);
            rest[0].backward(&layers[l], &stack.inducing[l], &stack.projections[l], input, bar, &mut sums.layers[l]);
        }
    }

    /// Σ w_n log Z_n of a group, and w_n times the derivatives of each point.
    fn weighted_log_z(
        &self,
        f: &DiagGaussian,
        group: Batch<'_>,
        f_bar: &mut DiagGaussian,
        params: &mut Vec<f64>,
        params_sum: &mut [f64],
    ) -> f64 {
        let mut log_z = 0.0;
        for (g, &row) in group.rows.iter().enumerate() {
            params.clear();
            params.resize(params_sum.len(), 0.0);
            let (mean, var) = f.point(g);
            let (mean_bar, var_bar) = (f_bar.mean.row_mut(g), f_bar.var.row_mut(g));
            let bar = TiltedBar { mean: &mut *mean_bar, var: &mut *var_bar, params: &mut *params };
            let weight = group.row_weight(row);
            log_z += weight * self.stack.network.likelihood().log_z(mean, var, group.y.row(row), self.alpha, bar);
            mean_bar.iter_mut().chain(var_bar).for_each(|bar| *bar *= weight);
            axpy(weight, params, params_sum);
        }
        log_z
    }
}

/// What the likelihood sees of a group: its latent moments with the network's constant and the rows' offset.
fn see(f: &DiagGaussian, network: &DeepGp, group: Batch<'_>, seen: &mut DiagGaussian) {
    let (n, k) = (group.rows.len(), f.dim());
    seen.reshape(n, k);
    seen.copy_points(0, f, 0..n);
    for (g, &row) in group.rows.iter().enumerate() {
        if !network.constant().is_empty() {
            axpy(1.0, network.constant(), seen.mean.row_mut(g));
        }
        if let Some(offset) = group.offset {
            axpy(1.0, offset.mean.row(row), seen.mean.row_mut(g));
            axpy(1.0, offset.var.row(row), seen.var.row_mut(g));
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
                assert!(points.len() <= POINTS_PER_BLOCK, "block {b} of {n} points: {points:?}");
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
        let mut half = Half::new(&model, Inputs::Exact, true);
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 0, 3, 1]] {
            half.clear();
            let mut sums = Sums::zeros(&model, Inputs::Exact);
            for k in order {
                sums.clear();
                (sums.n_points, sums.log_z) = (k + 1, log_z[k]);
                half.add_in_order(k, &mut sums);
            }
            let (added, waiting) = (half.added, half.waiting.len());
            assert_eq!((added, waiting, half.total.n_points, half.total.log_z), (4, 0, 10, 0.0), "{order:?}");
        }
        assert_eq!(half.spare.len(), 3, "nothing is lost");
        Ok(())
    }
}
