//! The sparse GP in closed form: the fixed point of power EP, to which every engine moves where inputs are exact and
//! noise is Gaussian.
//!
//! With t_n = L⁻¹k_n, L Lᵀ = K_zz + jitter, and the residual variance d_n = k(x_n, x_n) − t_nᵀt_n given the inducing
//! outputs,
//!
//! ```text
//! s_n = σ² + α d_n,   Λ = Σ_n t_n t_nᵀ/s_n,   η = Σ_n t_n y_n/s_n           S = (I + Λ)⁻¹,  μ = S η
//! log evidence = log N(y; 0, TᵀT + diag s) − (1 − α)/(2α) Σ_n log(1 + α d_n/σ²)
//!   log N = −½ [ N log 2π + Σ log s_n + log|I + Λ| + Σ y_n²/s_n − ηᵀμ ]
//! ```
//! with a sum over outputs, each with its own σ², of the log evidence.
//! α → 0 is the variational bound of Titsias (2009), α = 1 FITC; with Z = X, d = 0 and all of them are the exact GP.
//! Its gradient, with a_n = (y_n − t_nᵀμ)/s_n and c_n = 1/s_n − t_nᵀS t_n/s_n² (an entry of the inverse covariance):
//!
//! ```text
//! ∂/∂d_n = ½ α (a_n² − c_n) − ½ (1 − α)/s_n
//! ∂/∂σ²  = Σ_n ½ (a_n² − c_n) + ½ (1 − α) d_n/(s_n σ²)
//! ∂/∂t_n = a_n μ − S t_n/s_n − 2 t_n ∂/∂d_n,    ∂/∂k_n = L⁻ᵀ ∂/∂t_n,    LᵀL̄ = −Σ_n (∂/∂t_n) t_nᵀ
//! ```
//! Known noise of a row, the variance of its offset, is white noise of the GP, and adds to d_n wherever d_n stands above.
//! The offset's mean and the network's constant c are subtracted from y_n. A row that counts w_n times is that many equal
//! rows: each term of each sum over n counts w_n times, and ∂/∂t_n is that of all copies. ∂/∂c = Σ_n w_n a_n.
//! Rows are taken in blocks. What the first pass finds of them is kept for the second where N × M is small enough.
//! Cost: about 6 N M² flops for value and gradient, or 7 where nothing is kept.
//! Reference: Bui, Yan, Turner (2017), A unifying framework for Gaussian process pseudo-point approximations using
//! power expectation propagation, section 3 and appendix.

use super::{ClosedFit, all_but, check_data, known_var, maximise, parts};
use crate::data::Data;
use crate::error::{Error, Result};
use crate::fitted::Fitted;
use crate::gauss::{Factor, FullGaussian};
use crate::infer::{InferenceSettings, LEAST_ALPHA};
use crate::kernel::{KernelScratch, KernelSums, Law, PointSums};
use crate::layer::{Inducing, InducingScratch, Inputs, Layer};
use crate::network::{DeepGp, Gradient};
use deepgp_numerics::linalg::product::{Left, Part, product};
use deepgp_numerics::linalg::transpose::mirror;
use deepgp_numerics::linalg::{Mat, axpy, dot};
use deepgp_numerics::pool::{ThreadPool, by_index, for_each_index};
use deepgp_numerics::special::LN_2PI;

/// Rows of a block.
const EVIDENCE_BLOCK_ROWS: usize = 512;
/// Most numbers of k_n and t_n that are kept from the first pass to the second: 256 MiB.
const MOST_KEPT: usize = 1 << 25;

/// Maximises the evidence over hyperparameters and inducing inputs, from those of a network with one layer. `threads`
/// share the blocks of rows; the result does not depend on their number.
///
/// # Errors
/// As [`super::exact::fit`], and [`Error::Parameter`] if `alpha` is not in [0, 1].
pub fn fit(start: &DeepGp, data: Data<'_>, alpha: f64, max_evaluations: usize, threads: usize) -> Result<ClosedFit> {
    check(start, data, alpha)?;
    let mut gp = start.clone();
    let moves = all_but(&gp, &[]);
    let mut scratch = Scratch::for_gradients(&gp, Rows(data), threads);
    let (log_evidence, evaluations) =
        maximise(&mut gp, &moves, max_evaluations, |gp| log_evidence_of(gp, Rows(data), alpha, &mut scratch))?;
    Ok(ClosedFit { fitted: posterior_of(gp, Rows(data), alpha, &mut scratch)?, log_evidence, evaluations })
}

/// The posterior at given hyperparameters and inducing inputs; threads as in [`fit`].
///
/// # Errors
/// As [`fit`].
pub fn posterior(gp: DeepGp, data: Data<'_>, alpha: f64, threads: usize) -> Result<Fitted> {
    check(&gp, data, alpha)?;
    posterior_of(gp, Rows(data), alpha, &mut Scratch::on(threads))
}

fn check(gp: &DeepGp, data: Data<'_>, alpha: f64) -> Result<()> {
    if !(0.0..=1.0).contains(&alpha) {
        let (name, requirement) = ("alpha", "it must lie between 0 and 1");
        return Err(Error::Parameter { name, layer: None, entry: None, value: alpha, requirement });
    }
    check_data(gp, data)
}

fn posterior_of(gp: DeepGp, rows: Rows<'_>, alpha: f64, scratch: &mut Scratch) -> Result<Fitted> {
    let (factors, _) = first_pass(&gp, rows, alpha, scratch)?;
    // A predictor has to factor K_zz in the same way. Engines know no α of 0.
    let alpha = alpha.max(LEAST_ALPHA);
    let inference =
        InferenceSettings { alpha, jitter: scratch.inducing.chol.jitter().0, ..InferenceSettings::default() };
    Ok(Fitted { factors: vec![factors], inference, network: gp })
}

/// The log evidence and its gradient with respect to the unconstrained coordinates.
///
/// # Errors
/// [`Error::NotPositiveDefinite`], and as [`fit`] for the network.
pub fn log_evidence(gp: &DeepGp, data: Data<'_>, alpha: f64) -> Result<(f64, Vec<f64>)> {
    let rows = Rows(data);
    log_evidence_of(gp, rows, alpha, &mut Scratch::for_gradients(gp, rows, 1))
}

/// The data, taken a block of rows at a time.
#[derive(Clone, Copy)]
struct Rows<'a>(Data<'a>);

/// A block of the data: inputs, targets less offset and constant, known noise variances and weights.
struct Block {
    x: Mat,
    y: Mat,
    known_var: Mat,
    weights: Vec<f64>,
}

impl Rows<'_> {
    fn blocks(&self) -> usize {
        self.0.x().rows().div_ceil(EVIDENCE_BLOCK_ROWS)
    }

    /// The block of the given rows.
    fn block(&self, rows: &[usize], constant: &[f64]) -> Block {
        let data = self.0;
        let (x, mut y) = (data.x().select_rows(rows), data.y().select_rows(rows));
        for (n, &row) in rows.iter().enumerate() {
            if let Some(offset) = data.offset() {
                axpy(-1.0, offset.mean.row(row), y.row_mut(n));
            }
            axpy(-1.0, constant, &mut y.row_mut(n)[..constant.len()]);
        }
        let known_var = Mat::from_fn(rows.len(), y.cols(), |n, d| known_var(data, rows[n], d));
        let weights = rows.iter().map(|&row| data.weights().map_or(1.0, |weights| weights[row])).collect();
        Block { x, y, known_var, weights }
    }

    /// Works on all blocks and adds up what they give, in order. As many are worked on at a time as there are threads,
    /// each with working memory of its own that the next ones use again: results have M × M numbers each. There is a
    /// [`Projected`] for every block, or one for every thread.
    fn sum<T: Default + Send>(
        &self,
        mut pool: Option<&mut ThreadPool>,
        projected: &mut [Projected],
        memory: &mut Vec<T>,
        constant: &[f64],
        of_block: impl Fn(&mut Projected, &mut T, &Block) + Sync,
        mut add: impl FnMut(&T),
    ) {
        let rows: Vec<usize> = (0..self.0.x().rows()).collect();
        let blocks: Vec<&[usize]> = rows.chunks(EVIDENCE_BLOCK_ROWS).collect();
        let is_kept = projected.len() == self.blocks();
        let at_a_time = pool.as_deref().map_or(1, ThreadPool::threads);
        memory.resize_with(at_a_time, T::default);
        for (i, some) in blocks.chunks(at_a_time).enumerate() {
            let projected = &mut projected[if is_kept { i * at_a_time } else { 0 }..][..some.len()];
            let memory = &mut memory[..some.len()];
            for_each_index(
                pool.as_deref_mut(),
                (by_index(projected), by_index(memory)),
                |block, (projected, memory)| {
                    of_block(projected, memory, &self.block(some[block], constant));
                },
            );
            memory.iter().for_each(&mut add);
        }
    }
}

/// Working memory, which the next evaluation uses again.
#[derive(Default)]
struct Scratch {
    /// Nothing for one thread.
    pool: Option<ThreadPool>,
    inducing: Inducing,
    /// One for every block if they are kept from the first pass to the second, otherwise one for every thread.
    projected: Vec<Projected>,
    first: Vec<FirstPass>,
    posteriors: Vec<FullGaussian>,
    covariances: Vec<Mat>,
    second: Vec<SecondPass>,
}

impl Scratch {
    /// Empty, for so many threads.
    fn on(threads: usize) -> Self {
        Self { pool: (threads > 1).then(|| ThreadPool::new(threads)), ..Self::default() }
    }

    fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, ThreadPool::threads)
    }

    /// Memory that keeps the first pass for the second, if that is not too much.
    fn for_gradients(gp: &DeepGp, rows: Rows<'_>, threads: usize) -> Self {
        let inducing = gp.layers().first().map_or(0, Layer::n_inducing);
        let mut scratch = Self::on(threads);
        if inducing.saturating_mul(rows.0.x().rows()) <= MOST_KEPT / 2 {
            scratch.projected.resize_with(rows.blocks(), Projected::default);
        }
        scratch
    }
}

/// k_n, t_n (rows) and d_n of a block.
#[derive(Default)]
struct Projected {
    k: Mat,
    t: Mat,
    residual_var: Vec<f64>,
    kernel: KernelScratch,
}

impl Projected {
    fn set(&mut self, layer: &Layer, inducing: &Inducing, x: &Mat) {
        let Self { k, t, residual_var, kernel } = self;
        layer.kernel.cross_from_tables(&inducing.tables, x, k, kernel);
        product(t, false, Left::plain(k, Part::Full), (&inducing.l_inv_t, Part::Upper), Part::Full);
        residual_var.clear();
        // Rounding must not make it negative.
        residual_var.extend((0..x.rows()).map(|n| (layer.kernel.diag(x.row(n)) - dot(t.row(n), t.row(n))).max(0.0)));
    }
}

/// What a block gives to (Λ, η) of each output and to the log evidence.
#[derive(Default)]
struct FirstPass {
    scaled: Mat,
    factors: Vec<Factor>,
    total: f64,
}

/// What a block gives to the gradient, with `phi` for −LᵀL̄.
#[derive(Default)]
struct SecondPass {
    s_t: Mat,
    t_bar: Mat,
    k_bar: Mat,
    residual_var_bar: Vec<f64>,
    noise_bar: Vec<f64>,
    constant_bar: Vec<f64>,
    phi: Mat,
    sums: KernelSums,
}

/// log(1 + α x)/α, with its limit x at α = 0.
fn log_excess(alpha: f64, x: f64) -> f64 {
    if alpha == 0.0 { x } else { (alpha * x).ln_1p() / alpha }
}

/// (Λ, η) per output, and the part of the log evidence that is a sum over rows.
fn first_pass(gp: &DeepGp, rows: Rows<'_>, alpha: f64, scratch: &mut Scratch) -> Result<(Vec<Factor>, f64)> {
    let (layer, noise) = parts(gp)?;
    let threads = scratch.threads();
    let Scratch { pool, inducing, projected, first, .. } = scratch;
    inducing.refill(layer, Inputs::Exact, InferenceSettings::default().jitter)?;
    let m = layer.z.rows();
    if projected.len() != rows.blocks() {
        projected.resize_with(threads, Projected::default);
    }
    let of_block = |projected: &mut Projected, block: &mut FirstPass, rows: &Block| {
        projected.set(layer, inducing, &rows.x);
        let Projected { t, residual_var, .. } = projected;
        let FirstPass { scaled, factors, total } = block;
        *total = 0.0;
        factors.resize_with(noise.noise_var.len(), || Factor::zeros(m));
        for (d, (&noise_var, factor)) in noise.noise_var.iter().zip(factors).enumerate() {
            let white = |n: usize| residual_var[n] + rows.known_var[(n, d)];
            let s = |n: usize| noise_var + alpha * white(n);
            scaled.reshape(t.rows(), m);
            scaled.set_scaled_rows(t, |n| rows.weights[n] / s(n));
            product(&mut factor.precision, false, Left::transposed(t, Part::Full), (scaled, Part::Full), Part::Upper);
            factor.linear.fill(0.0);
            for n in 0..t.rows() {
                let (y, half) = (rows.y[(n, d)], 0.5 * rows.weights[n]);
                axpy(y, scaled.row(n), &mut factor.linear);
                *total -= half * (LN_2PI + s(n).ln() + y * y / s(n));
                *total -= half * (1.0 - alpha) * log_excess(alpha, white(n) / noise_var);
            }
        }
    };
    let mut factors = vec![Factor::zeros(m); noise.noise_var.len()];
    let mut total = 0.0;
    rows.sum(pool.as_mut(), projected, first, gp.constant(), of_block, |block| {
        total += block.total;
        factors.iter_mut().zip(&block.factors).for_each(|(sum, factor)| sum.add_scaled(1.0, factor));
    });
    factors.iter_mut().for_each(|factor| mirror(&mut factor.precision, Part::Upper));
    Ok((factors, total))
}

fn log_evidence_of(gp: &DeepGp, rows: Rows<'_>, alpha: f64, scratch: &mut Scratch) -> Result<(f64, Vec<f64>)> {
    let (layer, noise) = parts(gp)?;
    let m = layer.z.rows();
    let (factors, mut total) = first_pass(gp, rows, alpha, scratch)?;
    let Scratch { pool, inducing, projected, posteriors, covariances, second, .. } = scratch;
    posteriors.resize_with(factors.len(), FullGaussian::default);
    covariances.resize_with(factors.len(), Mat::default);
    for ((factor, q), cov) in factors.iter().zip(&mut *posteriors).zip(&mut *covariances) {
        q.refill(factor, 1.0)?;
        q.precision.inverse_into(cov);
    }
    // ½ (ηᵀμ − log|I + Λ|) is φ.
    total += posteriors.iter().map(|q| q.log_partition).sum::<f64>();
    let is_kept = projected.len() == rows.blocks();
    let no_sums = || layer.kernel.zero_sums(m);
    let of_block = |projected: &mut Projected, block: &mut SecondPass, rows: &Block| {
        let x = &rows.x;
        if !is_kept {
            projected.set(layer, inducing, x);
        }
        let Projected { k, t, residual_var, kernel } = projected;
        let SecondPass { s_t, t_bar, k_bar, residual_var_bar, noise_bar, constant_bar, phi, sums } = block;
        t_bar.reset(t.rows(), m);
        residual_var_bar.clear();
        residual_var_bar.resize(t.rows(), 0.0);
        noise_bar.clear();
        constant_bar.clear();
        let moments = posteriors.iter().map(|q| &q.mean).zip(&*covariances);
        for (d, (&noise_var, (mu, cov))) in noise.noise_var.iter().zip(moments).enumerate() {
            product(s_t, false, Left::plain(t, Part::Full), (cov, Part::Full), Part::Full);
            let (mut bar, mut sum_of_a) = (0.0, 0.0);
            for n in 0..t.rows() {
                let (white, weight) = (residual_var[n] + rows.known_var[(n, d)], rows.weights[n]);
                let (var, half) = (noise_var + alpha * white, 0.5 * weight);
                let a = (rows.y[(n, d)] - dot(t.row(n), mu)) / var;
                let c = 1.0 / var - dot(s_t.row(n), t.row(n)) / (var * var);
                residual_var_bar[n] += half * (alpha * (a * a - c) - (1.0 - alpha) / var);
                bar += half * (a * a - c + (1.0 - alpha) * white / (var * noise_var));
                sum_of_a += weight * a;
                let (a, var) = (weight * a, var / weight);
                for ((bar, mu), s_t) in t_bar.row_mut(n).iter_mut().zip(mu).zip(s_t.row(n)) {
                    *bar += a * mu - s_t / var;
                }
            }
            noise_bar.push(bar);
            constant_bar.push(sum_of_a);
        }
        for (n, residual_var_bar) in residual_var_bar.iter().enumerate() {
            axpy(-2.0 * residual_var_bar, t.row(n), t_bar.row_mut(n));
        }
        product(k_bar, false, Left::plain(t_bar, Part::Full), (inducing.chol.l_inv(), Part::Lower), Part::Full);
        product(phi, false, Left::transposed(t_bar, Part::Full), (t, Part::Full), Part::Lower);
        *sums = no_sums();
        layer.kernel.cross_from_tables_adjoint(&inducing.tables, x, k, k_bar, sums, kernel);
        layer.kernel.diags_adjoint(x, residual_var_bar, &mut sums.grad_mut().params);
    };
    let (mut gradient, mut phi, mut sums) = (Gradient::zeros(gp), Mat::zeros(m, m), no_sums());
    rows.sum(pool.as_mut(), projected, second, gp.constant(), of_block, |block| {
        sums.add(&block.sums);
        phi.add_scaled(-1.0, &block.phi);
        gradient.likelihood.iter_mut().zip(&block.noise_bar).for_each(|(sum, bar)| *sum += bar);
        gradient.constant.iter_mut().zip(&block.constant_bar).for_each(|(sum, bar)| *sum += bar);
    });
    let grad = &mut gradient.layers[0].kernel;
    inducing.kernel_adjoint(layer, &mut phi, &sums, &mut InducingScratch::default(), grad);
    Ok((total, gradient.to_free(gp, 1.0)))
}

#[cfg(test)]
mod tests {
    use super::super::exact;
    use super::*;
    use crate::gauss::DiagGaussian;
    use crate::init::{Architecture, KernelChoice, network};
    use crate::likelihood::{Gaussian, Likelihood};
    use crate::param::Parameters;
    use crate::predict::Predictor;
    use deepgp_numerics::linalg::Cholesky;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// More rows than a block has, so that sums over blocks are seen.
    const ROWS: usize = EVIDENCE_BLOCK_ROWS + 40;

    fn data(n: usize) -> (Mat, Mat) {
        let x = Mat::from_fn(n, 2, |i, j| (0.7 * (i * (j + 1)) as f64).sin() * 1.5);
        let y = Mat::from_fn(n, 2, |i, d| {
            (1.5 * x[(i, 0)]).sin() + 0.3 * x[(i, d)] + 0.3 * (12.9 * i as f64 + d as f64).sin()
        });
        (x, y)
    }

    fn start(x: &Mat, n_inducing: usize, kernel: KernelChoice) -> DeepGp {
        let shape = Architecture { hidden: Vec::new(), n_inducing, kernel, ..Architecture::default() };
        let likelihood = Likelihood::Gaussian(Gaussian { noise_var: vec![0.05, 0.2] });
        network(x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(3)).expect("a network").0
    }

    /// Dense N × N matrices of repeated rows throughout.
    fn evidence_directly(gp: &DeepGp, data: Data<'_>, alpha: f64) -> Result<f64> {
        let (layer, noise) = parts(gp)?;
        let times = |i: usize| data.weights().map_or(1.0, |weights| weights[i]) as usize;
        let rows: Vec<usize> = (0..data.x().rows()).flat_map(|i| std::iter::repeat_n(i, times(i))).collect();
        let x = &data.x().select_rows(&rows);
        let (mut k_xz, mut k_zz) = (Mat::default(), Mat::default());
        layer.kernel.cross(x, &layer.z, &mut k_xz);
        layer.kernel.cross(&layer.z, &layer.z, &mut k_zz);
        let inverse = Cholesky::with_jitter(&k_zz, InferenceSettings::default().jitter, "K")?.inverse();
        let q = Mat::from_fn(x.rows(), x.rows(), |i, j| {
            (0..layer.z.rows()).map(|a| k_xz[(i, a)] * dot(inverse.row(a), k_xz.row(j))).sum()
        });
        let mut total = 0.0;
        for (d, noise_var) in noise.noise_var.iter().enumerate() {
            let known = |n: usize| data.offset().map_or(0.0, |offset| offset.var[(rows[n], d)]);
            let residual_var = |n: usize| layer.kernel.diag(x.row(n)) - q[(n, n)] + known(n);
            let mut c = q.clone();
            (0..x.rows()).for_each(|n| c[(n, n)] += noise_var + alpha * residual_var(n));
            let chol = Cholesky::new(&c, "C")?;
            let moved = data.offset().map_or_else(|| Mat::zeros(data.x().rows(), 2), |offset| offset.mean.clone());
            let constant = gp.constant().get(d).unwrap_or(&0.0);
            let y: Vec<f64> = rows.iter().map(|&row| data.y()[(row, d)] - moved[(row, d)] - constant).collect();
            let inverse = chol.inverse();
            let quadratic: f64 = (0..x.rows()).map(|n| y[n] * dot(inverse.row(n), &y)).sum();
            total -= 0.5 * (quadratic + chol.log_det() + x.rows() as f64 * (2.0 * std::f64::consts::PI).ln());
            for n in 0..x.rows() {
                total -= match alpha {
                    0.0 => 0.5 * residual_var(n) / noise_var,
                    _ => 0.5 * (1.0 - alpha) / alpha * (1.0 + alpha * residual_var(n) / noise_var).ln(),
                };
            }
        }
        Ok(total)
    }

    #[test]
    fn the_evidence_and_its_gradient_are_right() -> Result<()> {
        let (x, y) = data(ROWS);
        let offset = DiagGaussian {
            mean: Mat::from_fn(ROWS, 2, |i, d| (3.1 * i as f64 + d as f64).cos()),
            var: Mat::from_fn(ROWS, 2, |i, d| 0.1 * ((i + d) % 4) as f64),
        };
        let weights: Vec<f64> = (0..ROWS).map(|i| if i % 50 == 7 { 3.0 } else { 1.0 }).collect();
        let plain = Data::new(&x, &y);
        let all = plain.with_offset(&offset).with_weights(&weights);
        for (alpha, kernel, data, constant) in [
            (0.0, KernelChoice::Eq, plain, vec![]),
            (0.5, KernelChoice::Matern52, plain, vec![]),
            (1.0, KernelChoice::Eq, plain, vec![]),
            (0.0, KernelChoice::Eq, all, vec![0.3, -0.2]),
            (0.5, KernelChoice::Eq, all, vec![0.3, -0.2]),
            (1.0, KernelChoice::Eq, all, vec![]),
        ] {
            let mut gp = start(&x, 7, kernel).with_constant(constant)?;
            let (value, gradient) = log_evidence(&gp, data, alpha)?;
            let direct = evidence_directly(&gp, data, alpha)?;
            assert!((value - direct).abs() < 1e-8 * direct.abs(), "α {alpha}: {value} is not {direct}");
            let mut theta = Vec::new();
            gp.read_free(&mut theta);
            for (i, slope) in gradient.iter().enumerate() {
                const STEP: f64 = 1e-4;
                let mut at = |shift: f64| {
                    let mut moved = theta.clone();
                    moved[i] += shift;
                    gp.write_free(&moved);
                    log_evidence(&gp, data, alpha).map(|(value, _)| value)
                };
                let two = |step: f64, at: &mut dyn FnMut(f64) -> Result<f64>| -> Result<f64> {
                    Ok((at(step)? - at(-step)?) / (2.0 * step))
                };
                let expected = (4.0 * two(STEP, &mut at)? - two(2.0 * STEP, &mut at)?) / 3.0;
                assert!(
                    (slope - expected).abs() < 1e-5 * (1.0 + expected.abs()),
                    "α {alpha}, {i}: {slope}, {expected}"
                );
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_kept_changes_nothing() -> Result<()> {
        let (x, y) = data(ROWS);
        let (gp, rows) = (start(&x, 7, KernelChoice::Eq), Rows(Data::new(&x, &y)));
        let evidence = |mut scratch: Scratch| log_evidence_of(&gp, rows, 0.5, &mut scratch);
        assert_eq!(Scratch::for_gradients(&gp, rows, 1).projected.len(), 2);
        // With as many threads as blocks there would be a place for each in any case.
        assert_eq!(evidence(Scratch::for_gradients(&gp, rows, 1))?, evidence(Scratch::default())?);
        Ok(())
    }

    #[test]
    fn with_an_inducing_input_on_every_row_it_is_the_exact_gp() -> Result<()> {
        let (x, y) = data(40);
        let exact = exact::fit(&start(&x, 5, KernelChoice::Eq), Data::new(&x, &y), 30)?;
        for alpha in [0.0, 0.5, 1.0] {
            let (value, _) = log_evidence(&exact.fitted.network, Data::new(&x, &y), alpha)?;
            assert!((value - exact.log_evidence).abs() < 0.05, "{value} is not {}", exact.log_evidence);
        }
        Ok(())
    }

    /// As α → 0 the energy of SEP is the negative bound, at the same factors.
    #[test]
    fn the_bound_is_the_energy_of_the_engine() -> Result<()> {
        let (x, y) = data(100);
        let found = fit(&start(&x, 8, KernelChoice::Eq), Data::new(&x, &y), 0.0, 20, 1)?;
        let mut fitted = found.fitted;
        fitted.inference.alpha = 1e-5;
        let energy = crate::train::energy(&fitted, Data::new(&x, &y))?;
        assert!((energy + found.log_evidence).abs() < 0.01, "{energy} is not -{}", found.log_evidence);
        Ok(())
    }

    #[test]
    fn the_bound_of_weighted_noisy_rows_is_the_energy_of_the_engine() -> Result<()> {
        let (x, y) = data(60);
        let offset = DiagGaussian {
            mean: Mat::from_fn(60, 2, |i, d| (3.1 * i as f64 + d as f64).cos()),
            var: Mat::from_fn(60, 2, |i, d| 0.1 * ((i + d) % 4) as f64),
        };
        let weights: Vec<f64> = (0..60).map(|i| 0.4 + 0.3 * (i % 5) as f64).collect();
        let data = Data::new(&x, &y).with_offset(&offset).with_weights(&weights);
        let gp = start(&x, 6, KernelChoice::Eq).with_constant(vec![0.3, -0.2])?;
        let fitted = posterior(gp, data, 1e-5, 1)?;
        let energy = crate::train::energy(&fitted, data)?;
        let (value, _) = log_evidence(&fitted.network, data, 1e-5)?;
        assert!((energy + value).abs() < 0.01, "{energy} is not -{value}");
        Ok(())
    }

    #[test]
    fn more_inducing_inputs_predict_better_and_threads_change_nothing() -> Result<()> {
        let (x, y) = data(ROWS);
        let error = |m: usize, threads: usize| -> Result<(f64, f64)> {
            let found = fit(&start(&x, m, KernelChoice::Eq), Data::new(&x, &y), 0.5, 25, threads)?;
            let predicted = Predictor::new(found.fitted)?.predict(&x)?.f.mean;
            let squares = predicted.as_slice().iter().zip(y.as_slice()).map(|(m, y)| (m - y).powi(2));
            Ok((squares.sum::<f64>(), found.log_evidence))
        };
        let (few, many) = (error(3, 1)?, error(30, 1)?);
        assert!(many.1 > few.1 + 1.0 && many.0 < few.0, "{few:?}, {many:?}");
        assert_eq!(many, error(30, 2)?);
        Ok(())
    }

    #[test]
    fn powers_outside_are_refused() {
        let (x, y) = data(20);
        for alpha in [-0.1, 1.1, f64::NAN] {
            assert!(fit(&start(&x, 3, KernelChoice::Eq), Data::new(&x, &y), alpha, 5, 1).is_err());
        }
    }
}
