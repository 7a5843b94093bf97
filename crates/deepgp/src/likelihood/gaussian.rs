//! Gaussian noise: y = f + ε, ε ~ N(0, σ_d²).
//!
//! ```text
//! log ∫ N(f; m, v) N(y; f, σ²)^α df = −½α log(2πσ²) − ½ log(1 + αv/σ²) − ½αe²/(σ² + αv)        e = y − m
//! ```
//! With w = v + σ²/α this is −½α log(2πσ²) + ½ log(2πσ²/α) − ½ log(2πw) − ½e²/w, without its cancellation as α → 0.

use super::{Independent, Support, Tilted, assert_power};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::linalg::{Mat, sum_of_logs};
use deepgp_numerics::simd::wide;
use deepgp_numerics::special::{LN_2PI, ln_1p, ndtr, normal_log_density};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Gaussian observation noise with one variance per output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gaussian {
    /// σ_d², D numbers.
    pub noise_var: Vec<f64>,
}

impl Gaussian {
    /// Equal noise on all `dim_out` outputs.
    pub fn isotropic(dim_out: usize, noise_var: f64) -> Self {
        Self { noise_var: vec![noise_var; dim_out] }
    }
}

/// What log Z needs of an output's noise variance and of α alone.
struct Noise {
    s2: f64,
    inv_s2: f64,
    alpha: f64,
    /// α log 2πσ².
    log_scale: f64,
}

/// log Z without its logarithms, which are dear, and its derivatives.
struct Parts {
    /// αv/σ².
    growth: f64,
    /// αe²/(σ² + αv).
    square: f64,
    /// ∂/∂m, ∂/∂v and ∂/∂σ².
    mean: f64,
    var: f64,
    noise: f64,
}

impl Noise {
    fn new(s2: f64, alpha: f64) -> Self {
        Self { s2, inv_s2: 1.0 / s2, alpha, log_scale: alpha * (LN_2PI + s2.ln()) }
    }

    #[inline(always)]
    fn parts(&self, m: f64, v: f64, y: f64) -> Parts {
        let Self { s2, inv_s2, alpha, .. } = *self;
        // c = αw = σ² + αv
        let (e, c) = (y - m, s2 + alpha * v);
        let inv_c = 1.0 / c;
        // ∂/∂m = e/w,   ∂/∂v = ½(e²/w² − 1/w),   ∂/∂σ² = ½(1 − α)/σ² + (∂/∂v)/α
        let mean = alpha * e * inv_c;
        let var = 0.5 * (mean * mean - alpha * inv_c);
        // (1 − α)/σ² − 1/(σ² + αv), on one denominator so that α → 0 does not cancel
        let trace = alpha * (v - c) * inv_s2 * inv_c;
        Parts { growth: alpha * v * inv_s2, square: mean * e, mean, var, noise: 0.5 * (trace + mean * e * inv_c) }
    }

    /// Σ log Z of `n` points from Σ log(1 + αv/σ²) and Σ αe²/(σ² + αv).
    fn log_z(&self, n: usize, log_growth: f64, square: f64) -> f64 {
        -0.5 * (n as f64 * self.log_scale + log_growth + square)
    }
}

/// log ∫ N(f; m, v) N(y; f, σ²)^α df with its derivatives, and ∂/∂σ².
pub(super) fn of_noise(s2: f64, (m, v): (f64, f64), y: f64, alpha: f64) -> (Tilted, f64) {
    let noise = Noise::new(s2, alpha);
    let Parts { growth, square, mean, var, noise: noise_bar } = noise.parts(m, v, y);
    (Tilted { log_z: noise.log_z(1, ln_1p(growth), square), mean, var }, noise_bar)
}

/// Points that are taken together.
const TOGETHER: usize = 16;

/// Σ log(1 + x_i) of at most [`TOGETHER`] numbers that are not negative: the logarithm of a product, where rounding it
/// by a few ulp of 1 does not matter.
fn sum_of_ln_1p(x: &[f64]) -> f64 {
    const LARGE: f64 = 0.1;
    if x.iter().sum::<f64>() < LARGE {
        return x.iter().map(|x| ln_1p(*x)).sum();
    }
    let mut terms = [1.0; TOGETHER];
    terms.iter_mut().zip(x).for_each(|(term, x)| *term += x);
    sum_of_logs(&terms)
}

impl Parameters for Gaussian {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "noise_var", domain: Domain::Positive, values: &self.noise_var });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "noise_var", domain: Domain::Positive, values: &mut self.noise_var });
    }
}

impl Independent for Gaussian {
    fn n_outputs(&self) -> usize {
        self.noise_var.len()
    }

    fn check(&self) -> Result<()> {
        self.noise_var.iter().enumerate().try_for_each(|(d, &s2)| expect_positive("noise_var", Some(d), s2))
    }

    fn support(&self, _d: usize) -> Support {
        Support::Real
    }

    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        let (s2, e) = (self.noise_var[d], y - f);
        if let Some(params) = params {
            params[d] += 0.5 * (e * e / s2 - 1.0) / s2;
        }
        [normal_log_density(y, f, s2), e / s2, -1.0 / s2]
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        (f, self.noise_var[d])
    }

    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        ndtr((y - f) / self.noise_var[d].sqrt())
    }

    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        f + self.noise_var[d].sqrt() * z
    }

    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        let (tilted, noise_bar) = of_noise(self.noise_var[d], (m, v), y, alpha);
        if let Some(params) = params {
            params[d] += noise_bar;
        }
        tilted
    }

    /// Some points at a time, so that vectors serve them and what depends on the noise alone is computed once. A target
    /// that is missing, which is NaN, shows in the sums; only then is it looked for.
    fn log_z_sum(
        &self,
        (mean, var): (&Mat, &Mat),
        (y, rows): (&Mat, &[usize]),
        alpha: f64,
        (mean_bar, var_bar): (&mut Mat, &mut Mat),
        params: &mut [f64],
    ) -> f64 {
        assert_power(alpha);
        assert!([mean, var, mean_bar, var_bar].iter().all(|table| table.rows() >= rows.len()), "a row for every point");
        let mut log_z = 0.0;
        for (d, (s2, param)) in self.noise_var.iter().zip(params).enumerate() {
            let noise = Noise::new(*s2, alpha);
            for (some, rows) in (0..).step_by(TOGETHER).zip(rows.chunks(TOGETHER)) {
                let (mut m, mut v, mut targets) = ([0.0; TOGETHER], [0.0; TOGETHER], [0.0; TOGETHER]);
                let moments = mean.rows_from(some).zip(var.rows_from(some));
                let places = m.iter_mut().zip(&mut v).zip(&mut targets);
                for ((row, (mean, var)), ((m, v), target)) in rows.iter().zip(moments).zip(places) {
                    (*m, *v, *target) = (mean[d], var[d], y[(*row, d)]);
                }
                let (mut growth, mut square, mut noise_bar) = ([0.0; TOGETHER], [0.0; TOGETHER], [0.0; TOGETHER]);
                wide(|| {
                    for g in 0..TOGETHER {
                        let parts = noise.parts(m[g], v[g], targets[g]);
                        (growth[g], square[g], noise_bar[g]) = (parts.growth, parts.square, parts.noise);
                        (m[g], v[g]) = (parts.mean, parts.var);
                    }
                });
                let few = |numbers: &[f64; TOGETHER]| numbers[..rows.len()].iter().sum::<f64>();
                let mut n = rows.len();
                let mut squares = few(&square);
                if squares.is_nan() {
                    for g in (0..rows.len()).filter(|g| targets[*g].is_nan()) {
                        (m[g], v[g], growth[g], square[g], noise_bar[g]) = (0.0, 0.0, 0.0, 0.0, 0.0);
                        n -= 1;
                    }
                    squares = few(&square);
                }
                let bars = mean_bar.rows_from_mut(some).zip(var_bar.rows_from_mut(some)).take(rows.len());
                for ((mean, var), (m, v)) in bars.zip(m.iter().zip(&v)) {
                    (mean[d], var[d]) = (*m, *v);
                }
                *param += few(&noise_bar);
                log_z += noise.log_z(n, sum_of_ln_1p(&growth[..rows.len()]), squares);
            }
        }
        log_z
    }

    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        (m, v + self.noise_var[d])
    }

    fn cdf(&self, d: usize, m: f64, v: f64, y: f64) -> f64 {
        ndtr((y - m) / (v + self.noise_var[d]).sqrt())
    }
}
