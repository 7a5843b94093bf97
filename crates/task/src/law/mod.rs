//! Predictive laws: the distribution of one target of one row, and what is asked of it.
//!
//! A law is that of a normal number ([`Normal`]), that of an observation by any likelihood ([`Observed`]), or made of
//! other laws by an operation:
//!
//! ```text
//! Transformed   t = g(u) with g monotone       F(u) = F_t(g(u))             a target that was transformed for training
//! Coded         u as numbers of its own        F(u) = F_t((u − a)/b)        labels and whole numbers for a network
//! Mixture       Σ_k w_k p_k                    F(u) = Σ_k w_k F_k(u)        several networks
//! Affine        y = a + b u                    F(y) = F_u((y − a)/b)        a target in its own unit
//! ```
//! What stays normal is answered in closed form. Everything else is asked of the distribution function: a quantile is
//! its root, a ranked score an integral of it. Laws of whole numbers have whole quantiles, and sums for integrals
//! ([`whole`]).

mod affine;
mod coded;
mod mixture;
mod network;
mod normal;
mod observed;
mod transformed;
mod whole;

pub(crate) use affine::Affine;
pub(crate) use coded::Coded;
pub use mixture::mix_log_densities;
pub(crate) use mixture::{Mixture, draw_member};
pub(crate) use network::{NetworkLaw, NetworkLaws, is_continuous};
pub use normal::Normal;
pub(crate) use transformed::Transformed;

use deepgp_numerics::optim::root;
use deepgp_numerics::special::normal_quantile;
use rand::Rng;

/// How closely quantiles are found, beside the range that they are looked for in, or beside the standard deviation.
const CLOSENESS: f64 = 1e-14;
/// The Gauss–Legendre rule of four nodes, exact for polynomials of degree 7: its positive nodes in (−1, 1), each with
/// its weight. Reference: Abramowitz and Stegun (1964), table 25.4.
const RULE: [(f64, f64); 2] =
    [(0.339_981_043_584_856_3, 0.652_145_154_862_546_1), (0.861_136_311_594_052_6, 0.347_854_845_137_453_9)];

/// A probability, with the quantile of the standard normal that belongs to it: found once, it serves many laws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    probability: f64,
    score: f64,
}

impl Level {
    /// The level of a probability between 0 and 1.
    pub fn new(probability: f64) -> Self {
        Self { probability, score: normal_quantile(probability) }
    }
}

/// A central interval: as much probability lies below it as above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    probability: f64,
    /// Half its width, of the standard normal.
    half_width: f64,
}

impl Interval {
    /// The central interval of a given probability, between 0 and 1.
    pub fn central(probability: f64) -> Self {
        Self { probability, half_width: -normal_quantile(0.5 * (1.0 - probability)) }
    }
}

/// The distribution of a number y.
pub trait PredictiveLaw {
    /// Mean and variance.
    fn moments(&self) -> (f64, f64);

    /// F(y), the probability of at most y.
    fn cdf(&self, y: f64) -> f64;

    /// Log of the density at y, or of the probability of y where y takes separate values, in nats.
    fn log_prob(&self, y: f64) -> f64;

    /// Draws y.
    fn draw(&self, rng: &mut dyn Rng) -> f64;

    /// Breakpoints for the quadrature of the CRPS: between them F is smooth enough for a rule of few nodes, and beyond
    /// them there is next to no probability.
    fn landmarks(&self) -> Vec<f64>;

    /// This law as a normal, if it is one.
    fn as_normal(&self) -> Option<Normal> {
        None
    }

    /// Whether y takes whole numbers only, which stand for themselves or for labels.
    fn is_whole(&self) -> bool {
        false
    }

    /// The number that y stays below with a given probability; of whole numbers the least that y does not exceed with
    /// that probability.
    ///
    /// It is the root of F(y) = p between the bounds of Cantelli's inequality, which hold for every law:
    ///
    /// ```text
    /// m − s √((1 − p)/p)  ≤  y_p  ≤  m + s √(p/(1 − p))
    /// ```
    fn quantile(&self, level: Level) -> f64 {
        let (p, (mean, var)) = (level.probability, self.moments());
        let (std, odds) = (var.sqrt(), p / (1.0 - p));
        let (low, high) = (mean - std / odds.sqrt(), mean + std * odds.sqrt());
        if self.is_whole() {
            return whole::quantile((low, high), p, |y| self.cdf(y));
        }
        root(low, high, CLOSENESS * std, |y| self.cdf(y) - p)
    }

    /// Continuous ranked probability score of an observation y, in its unit; smaller is better.
    ///
    /// ```text
    /// CRPS = ∫ (F(u) − 1[u ≥ y])² du = E|Y − y| − ½ E|Y − Y′|
    /// ```
    /// In closed form for a normal, else by a rule of four nodes between any two of y and the landmarks; a sum for
    /// whole numbers.
    fn crps(&self, y: f64) -> f64 {
        match self.as_normal() {
            Some(normal) => normal.ranked_score(y),
            None if self.is_whole() => whole::ranked_score(self, y),
            None => ranked_score(self, y),
        }
    }

    /// Whether y lies in each of some central intervals, ends included.
    fn is_inside<const K: usize>(&self, y: f64, intervals: [Interval; K]) -> [bool; K] {
        if self.is_whole() {
            let (below, up_to) = (self.cdf(y - 1.0), self.cdf(y));
            return intervals.map(|interval| whole::is_inside(below, up_to, interval.probability));
        }
        if let Some(Normal { mean, var }) = self.as_normal() {
            let (error, std) = ((y - mean).abs(), var.sqrt());
            return intervals.map(|interval| error <= interval.half_width * std);
        }
        let off_centre = (2.0 * self.cdf(y) - 1.0).abs();
        intervals.map(|interval| off_centre <= interval.probability)
    }
}

/// The integral of a ranked score, between landmarks and y.
fn ranked_score<L: PredictiveLaw + ?Sized>(law: &L, y: f64) -> f64 {
    let mut ends = law.landmarks();
    ends.push(y);
    ends.sort_unstable_by(f64::total_cmp);
    let panel = |ends: &[f64]| {
        let step = if ends[0] >= y { 1.0 } else { 0.0 };
        let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
        let square = |u: f64| (law.cdf(u) - step).powi(2);
        half * RULE.iter().map(|(x, w)| w * (square(middle - half * x) + square(middle + half * x))).sum::<f64>()
    };
    ends.windows(2).map(panel).sum()
}
