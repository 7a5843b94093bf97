//! Ordered levels by a cumulative probit: level j is seen where f plus standard normal noise falls between two cut
//! points, c_j < f + ε ≤ c_{j+1}, with c_0 = −∞ and c_K = ∞.
//!
//! ```text
//! p(y = j | f) = Φ(b) − Φ(a)        a = c_j − f,   b = c_{j+1} − f
//! ∂ℓ/∂f = r_a − r_b                 r_x = φ(x)/(Φ(b) − Φ(a))
//! ∂ℓ/∂c_j = −r_a                    ∂ℓ/∂c_{j+1} = r_b
//! ```
//! For α = 1, f ~ N(m, v) adds to the noise: log Z is ℓ of f/√(1 + v) with cut points c/√(1 + v). Other powers of the
//! outermost levels are those of the probit, and those between are integrated by the rule of `nested`; p is log-concave
//! in f. Reference: McCullagh (1980); Chu and Ghahramani (2005).

use super::between::Between;
use super::independent::quadrature;
use super::probit::of_sign;
use super::{Independent, Support, Tilted};
use crate::error::{Error, Result, expect_positive, expect_size};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::{ndtr, normal_quantile};
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// Targets on the ordered levels 0, 1, …, K − 1, K ≥ 2, each with K − 1 learned cut points of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ordinal {
    /// c_1, the cut point between the levels 0 and 1, for each output; trained.
    pub first_cut: Vec<f64>,
    /// c_2 − c_1, c_3 − c_2, … for each output; positive, K − 2 of them; trained.
    pub gaps: Vec<Vec<f64>>,
}

impl Ordinal {
    /// One output with cut points at which the levels have the given frequencies when f ~ N(0, v); levels that are
    /// never seen get a little.
    pub fn from_frequencies(frequencies: &[f64], v: f64) -> Self {
        let (n, least) = (frequencies.len() as f64, 1e-3);
        let total: f64 = frequencies.iter().map(|p| p.max(0.0)).sum();
        let share = |p: f64| (p.max(0.0) / total.max(f64::MIN_POSITIVE) + least) / (1.0 + n * least);
        let mut below = 0.0;
        let cuts: Vec<f64> = frequencies[..frequencies.len().saturating_sub(1)]
            .iter()
            .map(|p| {
                below += share(*p);
                (1.0 + v).sqrt() * normal_quantile(below)
            })
            .collect();
        let gaps = cuts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        Self { first_cut: vec![cuts.first().copied().unwrap_or(0.0)], gaps: vec![gaps] }
    }

    /// K of an output.
    pub fn n_levels(&self, d: usize) -> usize {
        self.gaps[d].len() + 2
    }

    /// c_j of an output; infinite for 0 and K.
    fn cut(&self, d: usize, j: usize) -> f64 {
        match j {
            0 => f64::NEG_INFINITY,
            j if j >= self.n_levels(d) => f64::INFINITY,
            j => self.first_cut[d] + self.gaps[d][..j - 1].iter().sum::<f64>(),
        }
    }

    /// Of a level with noise of deviation `sd`: log p, its first two derivatives in f, and those in its cut points.
    fn level(&self, d: usize, f: f64, y: f64, sd: f64) -> ([f64; 3], [f64; 2]) {
        let j = y as usize;
        let (a, b) = ((self.cut(d, j) - f) / sd, (self.cut(d, j + 1) - f) / sd);
        let gap = j.checked_sub(1).and_then(|gap| self.gaps[d].get(gap)).copied().unwrap_or(f64::INFINITY);
        let Between { log_p, ratios: [r_a, r_b], slope, curvature } = Between::new(a, b, gap / sd);
        ([log_p, -slope / sd, curvature / (sd * sd)], [-r_a / sd, r_b / sd])
    }

    /// Adds ∂/∂first and ∂/∂gaps of what has these derivatives in the cut points of a level: all cut points move with
    /// the first one, and with each gap those from there on.
    fn add_by_cuts(&self, d: usize, y: f64, [lower, upper]: [f64; 2], params: &mut [f64]) {
        let (j, n) = (y as usize, self.first_cut.len());
        let gaps = n + self.gaps[..d].iter().map(Vec::len).sum::<usize>();
        for (cut, bar) in [(j, lower), (j + 1, upper)] {
            if cut > 0 && cut < self.n_levels(d) {
                params[d] += bar;
                params[gaps..][..cut - 1].iter_mut().for_each(|param| *param += bar);
            }
        }
    }
}

impl Parameters for Ordinal {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "first_cut", domain: Domain::Real, values: &self.first_cut });
        self.gaps.iter().for_each(|values| visit(Block { name: "gaps", domain: Domain::Positive, values }));
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "first_cut", domain: Domain::Real, values: &mut self.first_cut });
        self.gaps.iter_mut().for_each(|values| visit(BlockMut { name: "gaps", domain: Domain::Positive, values }));
    }
}

impl Independent for Ordinal {
    fn n_outputs(&self) -> usize {
        self.first_cut.len()
    }

    fn check(&self) -> Result<()> {
        expect_size("lists of gaps", self.first_cut.len(), self.gaps.len())?;
        if let Some((d, &value)) = self.first_cut.iter().enumerate().find(|(_, cut)| !cut.is_finite()) {
            let (name, requirement) = ("first_cut", "it must be finite");
            return Err(Error::Parameter { name, layer: None, entry: Some(d), value, requirement });
        }
        let gaps = self.gaps.iter().flatten();
        gaps.enumerate().try_for_each(|(j, &gap)| expect_positive("gaps", Some(j), gap))
    }

    fn support(&self, d: usize) -> Support {
        Support::Labels(self.n_levels(d))
    }

    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        let (of_f, of_cuts) = self.level(d, f, y, 1.0);
        if let Some(params) = params {
            self.add_by_cuts(d, y, of_cuts, params);
        }
        of_f
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        self.moments(d, f, 0.0)
    }

    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        self.cdf(d, f, 0.0, y)
    }

    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let z: f64 = StandardNormal.sample(rng);
        (1..self.n_levels(d)).filter(|j| f + z > self.cut(d, *j)).count() as f64
    }

    /// At α = 1, with s = √(1 + v):  ∂/∂v = ½ ∂²Z/∂m² / Z = ½ (ℓ'' + ℓ'²) for noise of deviation s.
    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        let is_first = y == 0.0;
        let (tilted, of_cuts) = if alpha == 1.0 {
            let ([log_z, slope, second], of_cuts) = self.level(d, m, y, (1.0 + v).sqrt());
            (Tilted { log_z, mean: slope, var: 0.5 * (second + slope * slope) }, of_cuts)
        } else if is_first || y as usize + 1 == self.n_levels(d) {
            // Φ(c − f) or Φ(f − c)
            let sign = if is_first { -1.0 } else { 1.0 };
            let cut = self.cut(d, y as usize + usize::from(is_first));
            let tilted = of_sign(sign * (m - cut), v, alpha);
            let mean = sign * tilted.mean;
            (Tilted { mean, ..tilted }, if is_first { [0.0, -mean] } else { [-mean, 0.0] })
        } else {
            return quadrature(self, d, (m, v), y, alpha, params);
        };
        if let Some(params) = params {
            self.add_by_cuts(d, y, of_cuts, params);
        }
        tilted
    }

    /// E y and the average square about it, as sums over levels.
    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        let sd = (1.0 + v).sqrt();
        let p = |j: usize| self.level(d, m, j as f64, sd).0[0].exp();
        let mean: f64 = (0..self.n_levels(d)).map(|j| j as f64 * p(j)).sum();
        (mean, (0..self.n_levels(d)).map(|j| (j as f64 - mean).powi(2) * p(j)).sum())
    }

    /// P(y ≤ j) = Φ((c_{j+1} − m)/√(1 + v)).
    fn cdf(&self, d: usize, m: f64, v: f64, y: f64) -> f64 {
        if y < 0.0 {
            return 0.0;
        }
        // Levels beyond the last are below infinity.
        let j = y.floor().min(self.n_levels(d) as f64) as usize;
        ndtr((self.cut(d, j + 1) - m) / (1.0 + v).sqrt())
    }
}
