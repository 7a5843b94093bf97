//! Several classes by the softmax: p(y = k | f) = e^{f_k}/S, S = Σ_j e^{f_j}, one latent function for each class.
//!
//! A power of S is an integral of exponentials of S, which are products over classes. With x_k = e^{f_k − t},
//!
//! ```text
//! S^{−α} = ∫ e^{−αt} exp(−S e^{−t}) dt / Γ(α)
//! Z = E e^{αf_y} S^{−α} = ∫ E[x_y^α e^{−x_y}] Π_{k≠y} E[e^{−x_k}] dt / Γ(α)
//! ```
//! so K latent functions cost K integrals over a line ([`super::gumbel`]) and one over t: exact, and linear in K. For
//! fixed f the trapezium rule with step h errs by 2|Γ(α + 2πi/h)|/Γ(α), about 1e-11 here, and for random f by no more.
//! With λ_k the logs of the factors and ⟨·⟩ the average under the integrand,
//!
//! ```text
//! ∂log Z/∂m_k = ⟨∂λ_k/∂m⟩        ∂log Z/∂v_k = ⟨∂λ_k/∂v⟩
//! ```
//! Without e^{α(m_y − t)} the product F of the factors tends to 1, and the integral's right tail is that of e^{−αt}. On a
//! grid integration by parts lifts it, which halves the nodes; shifting all functions shifts t, so that F' is at hand:
//!
//! ```text
//! ∫ e^{−αt} F dt = ∫ e^{−αt} F' dt / α        F' = −F Σ_k ∂log F_k/∂m
//! ```
//! With α = 1 the integrands of all y are derivatives of one product, −(∂λ_y/∂m) Π_k E e^{−x_k}: one pass gives the
//! probabilities of all classes.
//!
//! The expectations at all t are sums over a grid of f with the same step, of which e^{−x} needs the differences alone;
//! narrow Gaussians take a rule of their own. Variances above 100 are integrated one node after the other, as far as
//! 3,200 nodes go. Two classes are those of the logit at m_y − m_k, v_y + v_k.

use super::gumbel::{laplace, smoothed};
use super::logit;
use super::robust_max::{check_classes, drawn, moments, up_to};
use super::{Observation, Slopes, Support, TiltedBar, assert_power, assert_sizes};
use crate::error::Result;
use crate::param::{Block, BlockMut, Parameters};
use deepgp_numerics::linalg::GaussHermite;
use deepgp_numerics::simd::{convolve, exp_in_place, wide};
use deepgp_numerics::special::{LN_2PI, log_gamma};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// One target on the labels 0, 1, …, K − 1, with K latent functions. It has no parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Softmax {
    /// K, at least 2.
    pub n_classes: usize,
}

/// Step of t, and of f where the Gaussian is wide enough for it.
const STEP: f64 = 1.0 / 3.0;

/// Largest variance that the narrow rule takes.
const NARROW: f64 = 0.2;

/// Largest variance on a grid, and most nodes of it.
const WIDEST: f64 = 100.0;
const MOST_NODES: f64 = 4096.0;

/// How far from its mean, in standard deviations, a Gaussian is summed.
const REACH: f64 = 7.0;

/// Terms smaller than the largest by exp(−this) are left out of the integral over t.
const CUTOFF: f64 = 27.0;

/// Averages under a narrow Gaussian.
static NARROW_RULE: LazyLock<GaussHermite> = LazyLock::new(|| GaussHermite::new(14));

/// The factors of the integrand over t: E[x^α e^{−x}] for the class that was seen, if one was, and E e^{−x} for others.
struct Factors<'a> {
    mean: &'a [f64],
    var: &'a [f64],
    seen: Option<(usize, f64)>,
}

impl Factors<'_> {
    /// m, v and α of every class.
    fn each(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let power = |k: usize| self.seen.map_or(0.0, |(y, alpha)| if k == y { alpha } else { 0.0 });
        self.mean.iter().zip(self.var).enumerate().map(move |(k, (m, v))| (*m, *v, power(k)))
    }

    /// Σ λ roughly.
    fn laplace(&self, t: f64) -> f64 {
        self.each().map(|(m, v, alpha)| laplace(t - m, v, alpha).0).sum()
    }

    /// Roughly where the integrand is largest: Σ q = α, by Newton's method for the log of the sum inside of a bracket.
    /// At its ends one class alone has q = α, or none has more than α/K.
    fn maximum(&self, alpha: f64) -> f64 {
        // log q + v q = m + αv − t
        let place = |q: f64| {
            let of_class = |(m, v, alpha): (f64, f64, f64)| m + (alpha - q) * v - q.ln();
            self.each().map(of_class).fold(f64::NEG_INFINITY, f64::max)
        };
        let (mut low, mut high) = (place(alpha), place(alpha / self.mean.len() as f64));
        let mut t = high;
        for _ in 0..100 {
            let (mut total, mut slope) = (0.0, 0.0);
            for (m, v, alpha) in self.each() {
                let q = laplace(t - m, v, alpha).1.exp();
                (total, slope) = (total + q, slope + q / (1.0 + v * q));
            }
            let excess = (total / alpha).ln();
            if excess > 0.0 {
                low = t;
            } else {
                high = t;
            }
            // The curvature is about Σ q/(1 + v q); a tenth of the width will do.
            let (step, near) = (excess * total / slope, 0.1 / slope.sqrt());
            if step.abs() < near || high - low < near {
                break;
            }
            t += step;
            if !(low < t && t < high) {
                t = 0.5 * (low + high);
            }
        }
        t
    }

    /// How far from t, to one side, Σ λ falls to `lowest`; up to half as far again.
    fn distance(&self, t: f64, sign: f64, lowest: f64) -> f64 {
        let (mut near, mut far) = (0.0, 1.0);
        while self.laplace(t + sign * far) > lowest && far < 1e300 {
            (near, far) = (far, 2.0 * far);
        }
        let middle = 0.5 * (near + far);
        if self.laplace(t + sign * middle) > lowest { far } else { middle }
    }

    /// Whether one grid serves all classes.
    fn fits_a_grid(&self, low: f64, high: f64) -> bool {
        self.var.iter().all(|v| *v <= WIDEST) && (high - low) / STEP < MOST_NODES
    }

    /// log ∫ of the product dt, with averages of ∂λ_k/∂m and ∂λ_k/∂v, which are written.
    fn integrate(&self, (y, alpha): (usize, f64), by_mean: &mut [f64], by_var: &mut [f64]) -> f64 {
        let maximum = self.maximum(alpha);
        let lowest = self.laplace(maximum) - CUTOFF;
        let low = maximum - self.distance(maximum, -1.0, lowest);
        // With F' ≤ Σ_k E x_k the integrand by parts is below e^{−α(t − m_y) + ½α²v_y} Σ_k e^{m_k + ½v_k − t}/α, with
        // m_y + αv_y for the class that was seen.
        let (m, v) = (self.mean[y], self.var[y]);
        let exponent = |(m, v, alpha): (f64, f64, f64)| m + (alpha + 0.5) * v;
        let largest = self.each().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let log_sum = largest + self.each().map(|class| (exponent(class) - largest).exp()).sum::<f64>().ln();
        let outside = alpha * m + 0.5 * alpha * alpha * v - lowest;
        let high = ((outside + log_sum - alpha.ln()) / (1.0 + alpha)).min(outside / alpha).max(maximum + 1.0);
        if self.fits_a_grid(low, high) {
            return Grid::new(low, high).integrate(self, (y, alpha), by_mean, by_var);
        }
        let high = maximum + self.distance(maximum, 1.0, lowest);
        let mut nodes = 200;
        let mut value = self.node_by_node((maximum, low, high), nodes, by_mean, by_var);
        while nodes < 3200 {
            nodes *= 2;
            let before = value;
            value = self.node_by_node((maximum, low, high), nodes, by_mean, by_var);
            let change = (value - before).abs();
            if change <= 1e-8 * alpha || change.is_nan() {
                break;
            }
        }
        value
    }

    /// With nodes t = maximum + s sinh u, which reach as far as need be, each by itself.
    fn node_by_node(
        &self,
        (maximum, low, high): (f64, f64, f64),
        nodes: usize,
        by_mean: &mut [f64],
        by_var: &mut [f64],
    ) -> f64 {
        let scale = (0.02 * (high - maximum).min(maximum - low)).max(f64::MIN_POSITIVE);
        let (left, right) = (((maximum - low) / scale).asinh(), ((high - maximum) / scale).asinh());
        let step = (left + right) / nodes as f64;
        let mut values = vec![[0.0; 3]; self.mean.len()];
        let (mut largest, mut sum) = (f64::NEG_INFINITY, 0.0);
        by_mean.fill(0.0);
        by_var.fill(0.0);
        for j in 0..=nodes {
            let u = -left + step * j as f64;
            let t = maximum + scale * u.sinh();
            let mut l = (scale * u.cosh()).ln();
            for (value, (m, v, alpha)) in values.iter_mut().zip(self.each()) {
                *value = smoothed(t - m, v, alpha);
                l += value[0];
            }
            if l <= largest - CUTOFF || l.is_nan() {
                continue;
            }
            if l > largest {
                let shrink = (largest - l).exp();
                sum *= shrink;
                // What is far below may be infinite there.
                let shrunk = |s: &mut f64| *s = if shrink > 0.0 { *s * shrink } else { 0.0 };
                by_mean.iter_mut().chain(&mut *by_var).for_each(shrunk);
                largest = l;
            }
            let weight = (l - largest).exp();
            sum += weight;
            for ((value, by_mean), by_var) in values.iter().zip(&mut *by_mean).zip(&mut *by_var) {
                *by_mean += weight * value[1];
                *by_var += weight * value[2];
            }
        }
        by_mean.iter_mut().chain(by_var).for_each(|s| *s /= sum);
        largest + (step * sum).ln()
    }
}

/// Equidistant values of t.
struct Grid {
    start: f64,
    nodes: usize,
}

/// E[e^{−x}], E[∂/∂m] and E[∂/∂v] of one class at all t, after e^{α(m − t) + ½α²v} is taken out: with x^α, the Gaussian
/// moves to m + αv.
struct Table(Vec<f64>);

impl Table {
    fn parts(&self) -> [&[f64]; 3] {
        let (value, rest) = self.0.split_at(self.0.len() / 3);
        let (by_mean, by_var) = rest.split_at(value.len());
        [value, by_mean, by_var]
    }
}

impl Grid {
    fn new(low: f64, high: f64) -> Self {
        Self { start: low, nodes: ((high - low) / STEP).ceil() as usize + 1 }
    }

    /// The tables of all classes.
    fn tables(&self, factors: &Factors<'_>) -> Vec<Table> {
        let end = self.start + STEP * self.nodes as f64;
        // e^{−e^{−hd}} for all d that are met: from f where no mass is left to f where e^{−x} is 0
        let range = |(m, v, alpha): (f64, f64, f64)| {
            let (centre, sd) = (m + alpha * v, v.sqrt());
            // At the left end the mass is at m + v (α − q), and at D to its left smaller by more than e^{−D²/2v − q(D − 1)}.
            let q = laplace(self.start - m, v, alpha).1.exp();
            let (square, vq) = (v * (REACH * REACH + 2.0 * q), v * q);
            let (low, high) = (centre - (vq * vq + square).sqrt(), (centre + REACH * sd).min(end + 7.0));
            let index = |f: f64| (f - self.start) / STEP;
            (index(low).floor() as i64, index(high).ceil() as i64)
        };
        let is_there = |(m, v, alpha): (f64, f64, f64)| alpha > 0.0 || m + REACH * v.sqrt() > self.start - 37.0;
        let wide_ranges: Vec<Option<(i64, i64)>> =
            factors.each().map(|class| (class.1 > NARROW && is_there(class)).then(|| range(class))).collect();
        let first = wide_ranges.iter().flatten().map(|(first, _)| *first).min().unwrap_or(0);
        let last = wide_ranges.iter().flatten().map(|(_, last)| *last).max().unwrap_or(-1);
        let mut gumbel: Vec<f64> = Vec::new();
        if first <= last {
            // d = j − i from −last to nodes − 1 − first
            gumbel.extend((-last..self.nodes as i64 - first).map(|d| -STEP * d as f64));
            exp_in_place(&mut gumbel);
            gumbel.iter_mut().for_each(|x| *x = -*x);
            exp_in_place(&mut gumbel);
        }
        let mut decay: Vec<f64> = (0..self.nodes).map(|j| -STEP * j as f64).collect();
        exp_in_place(&mut decay);
        let mut memory = vec![0.0; self.nodes];
        factors
            .each()
            .zip(wide_ranges)
            .map(|(class, range)| {
                let mut table = vec![0.0; 3 * self.nodes];
                match range {
                    Some(range) => self.convolve(class, range, last, &gumbel, &mut table),
                    None if is_there(class) => self.narrow(class, &decay, &mut memory, &mut table),
                    // x is 0 to rounding.
                    None => table[..self.nodes].fill(1.0),
                }
                Table(table)
            })
            .collect()
    }

    /// With f on the same grid:
    ///
    /// ```text
    /// E(t_j) = h Σ_i N(f_i; m + αv, v) exp(−e^{−h(j − i)})     ∂/∂m: e/v     ∂/∂v: ½ (e²/v − 1)/v     e = f − m
    /// ```
    fn convolve(
        &self,
        (m, v, alpha): (f64, f64, f64),
        (first, last): (i64, i64),
        offset: i64,
        gumbel: &[f64],
        table: &mut [f64],
    ) {
        let (value, rest) = table.split_at_mut(self.nodes);
        let (by_mean, by_var) = rest.split_at_mut(self.nodes);
        let scale = STEP / (LN_2PI.exp() * v).sqrt();
        let weights = |i: i64| {
            let e = self.start + STEP * i as f64 - m;
            let z = e - alpha * v;
            let weight = scale * (-0.5 * z * z / v).exp();
            [weight, weight * e / v, 0.5 * weight * (e * e / v - 1.0) / v]
        };
        // From the last node on, since d = j − i.
        let weights: Vec<[f64; 3]> = (first..=last).rev().map(weights).collect();
        let gumbel = &gumbel[(offset - last) as usize..];
        convolve(&weights, gumbel, [value, by_mean, by_var]);
    }

    /// With nodes in f, and e^{−t} in `decay`:
    ///
    /// ```text
    /// E e^{−x}        ∂/∂m: α − x        ∂/∂v: ½ ((α − x)² − x)
    /// ```
    fn narrow(&self, (m, v, alpha): (f64, f64, f64), decay: &[f64], memory: &mut [f64], table: &mut [f64]) {
        let (value, rest) = table.split_at_mut(self.nodes);
        let (by_mean, by_var) = rest.split_at_mut(self.nodes);
        for (z, weight) in NARROW_RULE.nodes.iter().zip(&NARROW_RULE.weights) {
            let largest = (m + alpha * v + v.sqrt() * z - self.start).min(300.0).exp();
            memory.iter_mut().zip(decay).for_each(|(x, decay)| *x = -(largest * decay));
            exp_in_place(memory);
            wide(|| {
                let places = value.iter_mut().zip(&mut *by_mean).zip(&mut *by_var);
                for ((g, decay), ((value, by_mean), by_var)) in memory.iter().zip(decay).zip(places) {
                    let (mass, x) = (weight * g, largest * decay);
                    let pull = alpha - x;
                    *value += mass;
                    *by_mean += mass * pull;
                    *by_var += 0.5 * mass * (pull * pull - x);
                }
            });
        }
    }

    /// log ∫ of the product by parts, with averages of ∂λ_k/∂m and ∂λ_k/∂v, which are written.
    ///
    /// λ_y is α(m_y − t) + ½α²v_y + log F_y, the other λ_k are log F_k:
    ///
    /// ```text
    /// Σ_j e^{−αt_j} F(t_j) = −Σ_j e^{−αt_j} F Σ_k ∂log F_k/∂m / α
    /// ```
    fn integrate(
        &self,
        factors: &Factors<'_>,
        (y, alpha): (usize, f64),
        by_mean: &mut [f64],
        by_var: &mut [f64],
    ) -> f64 {
        let tables = self.tables(factors);
        let mut product: Vec<f64> = (0..self.nodes).map(|j| -alpha * STEP * j as f64).collect();
        exp_in_place(&mut product);
        for table in &tables {
            product.iter_mut().zip(table.parts()[0]).for_each(|(product, value)| *product *= value);
        }
        for ((table, by_mean), by_var) in tables.iter().zip(&mut *by_mean).zip(&mut *by_var) {
            (*by_mean, *by_var) = average(&product, table, 1.0);
        }
        // From λ_y to log F_y.
        let (total, half_square) = (product.iter().sum::<f64>(), 0.5 * alpha * alpha);
        by_mean[y] -= alpha * total;
        by_var[y] -= half_square * total;
        let sum = -by_mean.iter().sum::<f64>() / alpha;
        by_mean.iter_mut().chain(&mut *by_var).for_each(|bar| *bar /= sum);
        by_mean[y] += alpha;
        by_var[y] += half_square;
        let outside = alpha * (factors.mean[y] - self.start) + 0.5 * alpha * alpha * factors.var[y];
        outside + (STEP * sum).ln()
    }
}

/// Averages of ∂λ/∂m and ∂λ/∂v under the product.
fn average(product: &[f64], table: &Table, sum: f64) -> (f64, f64) {
    let [value, by_mean, by_var] = table.parts();
    let (mut first, mut second) = (0.0, 0.0);
    for (((product, value), by_mean), by_var) in product.iter().zip(value).zip(by_mean).zip(by_var) {
        // Where a factor is 0 the product is, too.
        if *product > 0.0 {
            let weight = product / value;
            first += weight * by_mean;
            second += weight * by_var;
        }
    }
    (first / sum, second / sum)
}

impl Softmax {
    /// log Z of the label `y`, with ∂/∂m and ∂/∂v, which are written.
    fn tilted(&self, mean: &[f64], var: &[f64], y: usize, alpha: f64, by_mean: &mut [f64], by_var: &mut [f64]) -> f64 {
        if mean.iter().chain(var).any(|moment| !moment.is_finite()) {
            by_mean.fill(f64::NAN);
            by_var.fill(f64::NAN);
            return f64::NAN;
        }
        if self.n_classes == 2 {
            let tilted = logit::of_sign(mean[y] - mean[1 - y], var[0] + var[1], alpha);
            (by_mean[y], by_mean[1 - y]) = (tilted.mean, -tilted.mean);
            by_var.fill(tilted.var);
            return tilted.log_z;
        }
        let seen = (y, alpha);
        Factors { mean, var, seen: Some(seen) }.integrate(seen, by_mean, by_var) - log_gamma(alpha)
    }

    /// Probabilities of all classes for f ~ N(mean, diag var).
    fn all(&self, mean: &[f64], var: &[f64]) -> Vec<f64> {
        let mut p = vec![0.0; self.n_classes];
        let factors = Factors { mean, var, seen: None };
        let is_finite = mean.iter().chain(var).all(|moment| moment.is_finite());
        // E x is e^{−CUTOFF} at the right end, and the product at the left one.
        let high = mean.iter().zip(var).map(|(m, v)| m + 0.5 * v).fold(f64::NEG_INFINITY, f64::max) + CUTOFF;
        let low = if is_finite { high - factors.distance(high, -1.0, -CUTOFF) } else { high };
        if is_finite && self.n_classes > 2 && factors.fits_a_grid(low, high) {
            let grid = Grid::new(low, high);
            let tables = grid.tables(&factors);
            let mut product = vec![1.0; grid.nodes];
            for table in &tables {
                product.iter_mut().zip(table.parts()[0]).for_each(|(product, value)| *product *= value);
            }
            p.iter_mut().zip(&tables).for_each(|(p, table)| *p = -average(&product, table, 1.0).0);
        } else {
            let (mut by_mean, mut by_var) = (vec![0.0; self.n_classes], vec![0.0; self.n_classes]);
            for (y, p) in p.iter_mut().enumerate() {
                *p = self.tilted(mean, var, y, 1.0, &mut by_mean, &mut by_var).exp();
            }
        }
        let total: f64 = p.iter().sum();
        p.iter_mut().for_each(|p| *p /= total);
        p
    }
}

/// log Σ exp f_k.
fn log_sum_exp(f: &[f64]) -> f64 {
    let largest = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + f.iter().map(|f| (f - largest).exp()).sum::<f64>().ln()
}

/// e^{f_k}/S.
fn softmax(f: &[f64]) -> Vec<f64> {
    let log_s = log_sum_exp(f);
    f.iter().map(|f| (f - log_s).exp()).collect()
}

impl Parameters for Softmax {
    fn visit(&self, _visit: &mut dyn FnMut(Block<'_>)) {}

    fn visit_mut(&mut self, _visit: &mut dyn FnMut(BlockMut<'_>)) {}
}

impl Observation for Softmax {
    fn n_latent(&self) -> usize {
        self.n_classes
    }

    fn n_targets(&self) -> usize {
        1
    }

    fn check(&self) -> Result<()> {
        check_classes(self.n_classes)
    }

    fn support(&self, _target: usize) -> Support {
        Support::Labels(self.n_classes)
    }

    /// ℓ = f_y − log S,  ∂ℓ/∂f_k = [k = y] − p_k,  ∂²ℓ/∂f_k² = −p_k (1 − p_k)
    fn log_likelihood(&self, _target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        let log_s = log_sum_exp(f);
        if let Some(slopes) = slopes {
            for (k, f) in f.iter().enumerate() {
                let p = (f - log_s).exp();
                slopes.first[k] += f64::from(u8::from(k == y as usize)) - p;
                slopes.second[k] -= p * (1.0 - p);
            }
        }
        f[y as usize] - log_s
    }

    fn moments_given(&self, _target: usize, f: &[f64]) -> (f64, f64) {
        moments(&softmax(f))
    }

    fn cdf_given(&self, _target: usize, f: &[f64], y: f64) -> f64 {
        up_to(y, &softmax(f))
    }

    fn draw(&self, _target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        drawn(&softmax(f), rng)
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(self.n_classes, [mean.len(), var.len(), bar.mean.len(), bar.var.len()]);
        assert_sizes(1, [y.len()]);
        if y[0].is_nan() {
            bar.mean.fill(0.0);
            bar.var.fill(0.0);
            return 0.0;
        }
        self.tilted(mean, var, y[0] as usize, alpha, bar.mean, bar.var)
    }

    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(self.n_classes, [mean.len(), var.len()]);
        assert!(target == 0, "there is no target {target}");
        if y.is_nan() { f64::NAN } else { up_to(y, &self.all(mean, var)) }
    }

    fn log_density_of(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert!(target == 0, "there is no target {target}");
        self.log_density(mean, var, &[y])
    }

    fn probabilities(&self, target: usize, mean: &[f64], var: &[f64], out: &mut [f64]) {
        assert_sizes(self.n_classes, [mean.len(), var.len(), out.len()]);
        assert!(target == 0, "there is no target {target}");
        out.copy_from_slice(&self.all(mean, var));
    }

    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(self.n_classes, [mean.len(), var.len()]);
        assert_sizes(1, [y_mean.len(), y_var.len()]);
        (y_mean[0], y_var[0]) = moments(&self.all(mean, var));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_all_close};

    #[test]
    fn the_grid_and_single_nodes_agree() {
        for (mean, var) in [
            ([0.3, -1.1, 2.0, 0.0], [0.5, 2.0, 0.01, 1e-9]),
            ([40.0, -7.0, 39.0, 0.0], [90.0, 3.0, 1.0, 0.19]),
            ([-500.0, 0.0, 3.0, 800.0], [1.0, 60.0, 0.21, 0.3]),
        ] {
            for (y, alpha) in [(0, 1.0), (1, 0.5), (2, 0.07)] {
                let seen = (y, alpha);
                let factors = Factors { mean: &mean, var: &var, seen: Some(seen) };
                let mut found = [0.0; 9];
                let (log_z, bars) = found.split_at_mut(1);
                let (by_mean, by_var) = bars.split_at_mut(4);
                log_z[0] = factors.integrate(seen, by_mean, by_var);
                let maximum = factors.maximum(alpha);
                let lowest = factors.laplace(maximum) - CUTOFF;
                let ends = [-1.0, 1.0].map(|sign| maximum + sign * factors.distance(maximum, sign, lowest));
                let mut expected = [0.0; 9];
                let (log_z, bars) = expected.split_at_mut(1);
                let (by_mean, by_var) = bars.split_at_mut(4);
                log_z[0] = factors.node_by_node((maximum, ends[0], ends[1]), 1600, by_mean, by_var);
                let what = format!("m {mean:?} v {var:?} y {y} α {alpha}");
                assert_all_close(&what, &found[..1], &expected[..1], Tolerance::Value);
                assert_all_close(&what, &found[1..], &expected[1..], Tolerance::Quadrature);
            }
        }
    }
}
