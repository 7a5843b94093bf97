//! log Z over one to three Gaussian latent functions, by one trapezium rule inside another.
//!
//! ```text
//! log ∫ N(f; m, diag v) e^{w(f)} df        f_k = m_k + √v_k z_k,   z_k = c_k + s_k sinh t,   t = jh
//! ```
//! The last latent function is outermost. What it integrates is the integral over those before it, so that every rule
//! has its nodes where the mass is given the functions outside of it: a narrow p(y | f) whose place or width depends on
//! another function is met everywhere. c is the maximum of the integrand and s = (−curvature there)^{−½}, at most 1;
//! sinh reaches from a narrow maximum into wide tails with few nodes. The step is halved until the log integral rests:
//! for analytic integrands a change of ε means an error of about ε². With L_k the log of what rule k integrates, slope
//! and curvature in z_k are averages that the rules inside have taken,
//!
//! ```text
//! L_k' = −z_k + √v_k ⟨w_k⟩        L_k'' = −1 + v_k (⟨w_kk + w_k²⟩ − ⟨w_k⟩²)
//! ```
//! Where the maximum is narrow against N(m_k, v_k), these are small differences of large numbers, and Stein's identity
//! gives them instead, ⟨w_k⟩ = ⟨z_k⟩/√v_k and ⟨w_kk + w_k²⟩ = ⟨z_k² − 1⟩/v_k, which in turn would cancel where v_k is
//! small. v_k = 0 leaves one node, f_k = m_k. Limits: the integrand is taken to have one maximum in each function given
//! those outside of it, and no feature narrower in f than 1e-12 of its distance from 0.

use super::{Slopes, TiltedBar};
use deepgp_numerics::special::LN_2PI;

/// Most latent functions that quadrature takes: its cost is their power of some tens of nodes.
pub const MAX_LATENT: usize = 3;

/// First step in t; with a normal density its half is exact to rounding.
const FIRST_STEP_T: f64 = 0.25;

/// Most halvings of the step for one, two and three rules.
const HALVINGS: [u32; MAX_LATENT] = [10, 6, 3];

/// The step is halved no more when this is all that it changed.
const CHANGE: f64 = 1e-8;

/// Terms smaller than the largest by exp(−this) are left out.
const CUTOFF: f64 = 50.0;

/// Largest |t|.
const MAX_T: f64 = 40.0;

/// The maximum is found to this part of its width.
const MODE_TOLERANCE: f64 = 0.1;

/// A maximum is narrow if its width, in standard deviations, is below this.
const NARROW: f64 = 0.7;

/// Most steps towards a maximum.
const MODE_STEPS: usize = 200;

/// log ∫ N(f; m, diag v) p(f)^α df and its derivatives, those in the parameters added; NaN for more than [`MAX_LATENT`]
/// functions.
///
/// `log_p` gives log p(f) and adds its derivatives to slopes that are zero.
pub(super) fn tilted(
    (mean, var): (&[f64], &[f64]),
    alpha: f64,
    bar: TiltedBar<'_>,
    log_p: &mut dyn FnMut(&[f64], Slopes<'_>) -> f64,
) -> f64 {
    let k = mean.len();
    let mut averages = vec![0.0; 2 * k + bar.params.len()];
    let mut weight = |f: &[f64], statistics: &mut [f64]| {
        statistics.fill(0.0);
        let (first, rest) = statistics.split_at_mut(k);
        let (second, params) = rest.split_at_mut(k);
        let log_p = log_p(f, Slopes { first, second, params });
        statistics.iter_mut().for_each(|s| *s *= alpha);
        for d in 0..k {
            // αℓ'' + (αℓ')²
            statistics[k + d] += statistics[d] * statistics[d];
        }
        alpha * log_p
    };
    let log_z = Rules { mean, var }.integrate(&mut weight, &mut averages);
    bar.mean.copy_from_slice(&averages[..k]);
    bar.var.iter_mut().zip(&averages[k..]).for_each(|(var, average)| *var = 0.5 * average);
    bar.params.iter_mut().zip(&averages[2 * k..]).for_each(|(param, average)| *param += average);
    log_z
}

/// w(f), with statistics to be averaged: w_k for all k, w_kk + w_k² for all k, and what else there is.
type Weight<'a> = dyn FnMut(&[f64], &mut [f64]) -> f64 + 'a;

/// One rule for every latent function, the first innermost.
struct Rules<'a> {
    mean: &'a [f64],
    var: &'a [f64],
}

/// Working memory of one rule.
struct Memory {
    /// Where the last maximum was.
    mode: f64,
    sum: Sum,
    statistics: Vec<f64>,
}

/// Σ exp l_j, Σ exp l_j z_j, Σ exp l_j z_j² and Σ exp l_j s_j relative to the largest l_j, so that they neither
/// overflow nor underflow.
struct Sum {
    largest: f64,
    total: f64,
    z: f64,
    z_squared: f64,
    sums: Vec<f64>,
}

impl Sum {
    fn clear(&mut self) {
        (self.largest, self.total, self.z, self.z_squared) = (f64::NEG_INFINITY, 0.0, 0.0, 0.0);
        self.sums.fill(0.0);
    }

    fn add(&mut self, l: f64, z: f64, statistics: &[f64]) {
        if l == f64::NEG_INFINITY {
            return;
        }
        let mut weight = 1.0;
        if l > self.largest {
            // The new term becomes the unit.
            let shrink = (self.largest - l).exp();
            [&mut self.total, &mut self.z, &mut self.z_squared].into_iter().for_each(|s| *s *= shrink);
            self.sums.iter_mut().for_each(|s| *s *= shrink);
            self.largest = l;
        } else {
            weight = (l - self.largest).exp();
        }
        self.total += weight;
        self.z += weight * z;
        self.z_squared += weight * z * z;
        self.sums.iter_mut().zip(statistics).for_each(|(sum, s)| *sum += weight * s);
    }
}

impl Rules<'_> {
    /// The log integral; averages under the normalised integrand are written. All are NaN if a moment is.
    fn integrate(&self, weight: &mut Weight<'_>, averages: &mut [f64]) -> f64 {
        let k = self.mean.len();
        if k > MAX_LATENT || self.mean.iter().chain(self.var).any(|moment| !moment.is_finite()) {
            averages.fill(f64::NAN);
            return f64::NAN;
        }
        let zeros = || vec![0.0; averages.len()];
        let new = |_| Memory {
            mode: 0.0,
            sum: Sum { largest: 0.0, total: 0.0, z: 0.0, z_squared: 0.0, sums: zeros() },
            statistics: zeros(),
        };
        let mut memory: Vec<Memory> = (0..k).map(new).collect();
        self.inside(&mut memory, &mut self.mean.to_vec(), weight, averages)
    }

    /// The log integral over the first functions, as many as there is memory, at given values of the others.
    fn inside(&self, memory: &mut [Memory], f: &mut [f64], weight: &mut Weight<'_>, averages: &mut [f64]) -> f64 {
        let Some((own, inner)) = memory.split_last_mut() else { return weight(f, averages) };
        let k = inner.len();
        let sd = self.var[k].sqrt();
        if sd == 0.0 {
            f[k] = self.mean[k];
            return self.inside(inner, f, weight, averages);
        }
        let Memory { mode, sum, statistics } = own;
        let (count, curved) = (self.mean.len(), self.var[k]);
        let mut at = |z: f64, statistics: &mut [f64]| {
            f[k] = self.mean[k] + sd * z;
            self.inside(inner, f, weight, statistics) - 0.5 * z * z
        };
        let (centre, width) = maximum(*mode, |z| {
            at(z, statistics);
            let (first, second) = (statistics[k], statistics[count + k]);
            (sd * first - z, curved * (second - first * first) - 1.0)
        });
        *mode = centre;
        let mut term = |t: f64, sum: &mut Sum| {
            let z = centre + width * t.sinh();
            let l = at(z, statistics) + t.cosh().ln();
            sum.add(l, z, statistics);
            l
        };
        sum.clear();
        // The coarsest step finds how far the integrand reaches on either side.
        let mut l = term(0.0, sum);
        let mut reach = [0_i64; 2];
        for (side, sign) in [1.0, -1.0].into_iter().enumerate() {
            let mut small = 0;
            while small < 2 && !l.is_nan() && FIRST_STEP_T * (reach[side] as f64) < MAX_T {
                reach[side] += 1;
                l = term(sign * FIRST_STEP_T * reach[side] as f64, sum);
                small = if l < sum.largest - CUTOFF { small + 1 } else { 0 };
            }
        }
        let log_integral = |step: f64, sum: &Sum| sum.largest + (step * width * sum.total).ln() - 0.5 * LN_2PI;
        let (mut step, mut value) = (FIRST_STEP_T, log_integral(FIRST_STEP_T, sum));
        for halving in 0..HALVINGS[count - 1] {
            let scale = f64::from(1_u32 << halving);
            let (low, high) = (-(reach[1] as f64) * scale, reach[0] as f64 * scale);
            let mut j = low;
            while j < high {
                term((j + 0.5) * step, sum);
                j += 1.0;
            }
            step *= 0.5;
            let finer = log_integral(step, sum);
            let change = (finer - value).abs();
            value = finer;
            // An integral of 0, or one that is not a number, gets no better.
            if !finer.is_finite() || change <= CHANGE {
                break;
            }
        }
        if sum.total == 0.0 {
            // p vanishes wherever it was looked for.
            averages.fill(0.0);
            return if l.is_nan() { f64::NAN } else { f64::NEG_INFINITY };
        }
        averages.iter_mut().zip(&sum.sums).for_each(|(average, s)| *average = s / sum.total);
        if width < NARROW {
            averages[k] = sum.z / sum.total / sd;
            averages[count + k] = (sum.z_squared / sum.total - 1.0) / curved;
        }
        value
    }
}

/// Maximum and width of a function with one maximum, from its slope and curvature: Newton's method with steps that grow
/// while the maximum lies ahead, and halved brackets once it lies between two points.
fn maximum(start: f64, mut slopes: impl FnMut(f64) -> (f64, f64)) -> (f64, f64) {
    let (mut z, mut low, mut high) = (start, f64::NEG_INFINITY, f64::INFINITY);
    let (mut stretch, mut last, mut width) = (1.0, 0.0, 1.0);
    for _ in 0..MODE_STEPS {
        let (slope, curvature) = slopes(z);
        if slope.is_nan() {
            break;
        }
        let newton = -slope / curvature;
        let is_peaked = curvature < 0.0 && newton.is_finite();
        width = if is_peaked { (-curvature).powf(-0.5).min(1.0) } else { 1.0 };
        if is_peaked && newton.abs() <= MODE_TOLERANCE * width {
            return (z + newton, width);
        }
        if slope > 0.0 {
            low = z;
        } else {
            high = z;
        }
        let step = if is_peaked { newton } else { slope.signum() };
        stretch = if step * last > 0.0 { 2.0 * stretch } else { 1.0 };
        last = step;
        let mut next = z + stretch * step;
        if !(low < next && next < high) {
            next = 0.5 * (low + high);
        }
        if next == z || !next.is_finite() {
            break;
        }
        z = next;
    }
    (z, width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::special::normal_log_density;
    use deepgp_oracle::{Tolerance, assert_all_close};

    /// Derivatives of log Z for y = Σ_k w_k f_k + ε, ε ~ N(0, s2): log Z, ∂m, ∂v and ∂s2.
    fn linear(w: &[f64], m: &[f64], v: &[f64], (y, s2, alpha): (f64, f64, f64)) -> Vec<f64> {
        let (mut mean, mut var, mut params) = (vec![0.0; m.len()], vec![0.0; m.len()], [0.0]);
        let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut params };
        let log_z = tilted((m, v), alpha, bar, &mut |f, slopes| {
            let e = y - f.iter().zip(w).map(|(f, w)| f * w).sum::<f64>();
            for (k, w) in w.iter().enumerate() {
                slopes.first[k] += w * e / s2;
                slopes.second[k] -= w * w / s2;
            }
            slopes.params[0] += 0.5 * (e * e / s2 - 1.0) / s2;
            normal_log_density(e, 0.0, s2)
        });
        [log_z].into_iter().chain(mean).chain(var).chain(params).collect()
    }

    /// What docs/LIKELIHOODS.md says of the cost.
    #[test]
    fn some_tens_of_nodes_a_function_are_enough() {
        let mut calls = [0; MAX_LATENT];
        for (k, calls) in (1..).zip(&mut calls) {
            let (mut mean, mut var) = (vec![0.0; k], vec![0.0; k]);
            let bar = TiltedBar { mean: &mut mean, var: &mut var, params: &mut [] };
            tilted((&vec![0.3; k], &vec![0.8; k]), 0.7, bar, &mut |f, slopes| {
                *calls += 1;
                // Counts with the rate exp Σ f: y Σ f − exp Σ f
                let rate = f.iter().sum::<f64>().exp();
                slopes.first.iter_mut().for_each(|s| *s += 3.0 - rate);
                slopes.second.iter_mut().for_each(|s| *s -= rate);
                3.0 * f.iter().sum::<f64>() - rate
            });
        }
        assert!(calls[0] < 150 && calls[1] < 8_000 && calls[2] < 500_000, "{calls:?}");
    }

    #[test]
    fn sums_of_normal_functions_give_the_closed_form() {
        let (w, m) = ([0.7, -1.2, 0.4], [0.3, -0.8, 2.0]);
        for (v, y, s2, alpha) in [
            ([0.5, 2.0, 1.0], 0.4, 0.3, 1.0),
            ([1e-12, 1e-3, 0.0], -3.0, 0.3, 0.5),
            ([30.0, 4.0, 100.0], 2.0, 1e-4, 0.7),
            ([0.5, 1e4, 1e-9], 40.0, 1e-2, 1.0),
        ] {
            for k in 1..=MAX_LATENT {
                let (w, m, v) = (&w[..k], &m[..k], &v[..k]);
                let e = y - w.iter().zip(m).map(|(w, m)| w * m).sum::<f64>();
                let total = w.iter().zip(v).map(|(w, v)| w * w * v).sum::<f64>();
                let c = s2 + alpha * total;
                let log_z = -0.5 * (alpha * (LN_2PI + s2.ln()) + (alpha * total / s2).ln_1p() + alpha * e * e / c);
                let slope = alpha * e / c;
                let curve = 0.5 * (slope * slope - alpha / c);
                let theta = 0.5 * ((1.0 - alpha) / s2 - 1.0 / c + alpha * e * e / (c * c));
                let expected: Vec<f64> = [log_z]
                    .into_iter()
                    .chain(w.iter().map(|w| w * slope))
                    .chain(w.iter().map(|w| w * w * curve))
                    .chain([theta])
                    .collect();
                let what = format!("{k} functions, v {v:?}, y {y}, s2 {s2}, α {alpha}");
                let found = linear(w, m, v, (y, s2, alpha));
                for (found, expected) in found.iter().zip(&expected) {
                    assert_all_close(&what, &[*found], &[*expected], Tolerance::Value);
                }
            }
        }
    }
}
