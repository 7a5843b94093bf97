//! Monotone transforms of a target that is far from normal, with the exact change of its density.
//!
//! ```text
//! t = (g(u) − a)/b        u the standardised target;  a, b make training targets have mean 0 and variance 1 again
//!
//! log           g = log(u + c)                                     c = μ/s, so that u + c = y/s; for positive targets
//! Yeo-Johnson   g = ((1 + u)^λ − 1)/λ,  u ≥ 0                      λ by maximum likelihood
//!                 = −((1 − u)^(2−λ) − 1)/(2 − λ),  u < 0
//! ranks         g linear between quantiles of the training targets, their extremes included, and the normal's
//!
//! log p(u) = log p(t) + log dt/du
//! ```
//! A little beyond the training targets g goes on as a straight line on either side: every number has an image, no
//! density vanishes, and expectations stay finite. Reference: Yeo & Johnson (2000), "A new family of power
//! transformations to improve normality or symmetry".

use deepgp::{Error, Result};
use deepgp_numerics::linalg::{GaussHermite, Mat};
use deepgp_numerics::optim::golden_section;
use deepgp_numerics::special::normal_quantile;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::sync::LazyLock;

/// Nodes of the quadrature for moments.
const NODES: usize = 48;
/// Least and most knots of the transform by ranks, and training targets to a knot.
const KNOTS: [usize; 2] = [5, 50];
const ROWS_PER_KNOT: usize = 20;
/// With fewer targets there is nothing to learn a shape from.
const LEAST_ROWS: usize = 20;
/// The largest share of targets that may be equal for a transform by ranks: the density at a number that many have is
/// an accident of where knots lie.
const MOST_TIED: f64 = 0.1;
/// Golden sections of the search for λ in [0, 2].
const GOLDEN_SECTIONS: usize = 40;

static RULE: LazyLock<GaussHermite> = LazyLock::new(|| GaussHermite::new(NODES));

/// A kind of transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarpKind {
    /// The logarithm, for positive targets.
    Log,
    /// A power on either side of the mean.
    YeoJohnson,
    /// Ranks, as normal scores.
    Ranks,
}

impl WarpKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Log, Self::YeoJohnson, Self::Ranks];
}

impl Display for WarpKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => "log",
            Self::YeoJohnson => "Yeo-Johnson",
            Self::Ranks => "rank",
        })
    }
}

/// g.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Log { shift: f64 },
    YeoJohnson { lambda: f64 },
    Ranks { u: Vec<f64>, score: Vec<f64> },
}

/// A transform of a standardised target, learnt from the training rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Warp {
    shape: Shape,
    /// a and b.
    centre: f64,
    scale: f64,
    /// Where straight lines take over.
    low: f64,
    high: f64,
}

/// The stored form, checked on the way in.
#[derive(Serialize, Deserialize)]
struct Parts {
    shape: Shape,
    centre: f64,
    scale: f64,
    low: f64,
    high: f64,
}

impl Warp {
    /// Learns a transform from standardised targets; `zero` is what a target of 0 becomes when it is standardised.
    /// Nothing if this kind does not suit them: too few, too few different ones, for the logarithm some that are not
    /// positive, for ranks more than a tenth of them equal.
    pub fn fit(kind: WarpKind, targets: &[f64], zero: f64) -> Option<Self> {
        let mut u = targets.to_vec();
        u.sort_by(f64::total_cmp);
        if u.len() < LEAST_ROWS {
            return None;
        }
        let (first, last) = (u[0], u[u.len() - 1]);
        let shape = match kind {
            WarpKind::Log => (first > zero).then_some(Shape::Log { shift: -zero })?,
            WarpKind::YeoJohnson => Shape::YeoJohnson { lambda: likeliest_lambda(&u) },
            WarpKind::Ranks => knots(&u)?,
        };
        let values: Vec<f64> = u.iter().map(|&u| shape.value(u)).collect();
        let n = values.len() as f64;
        let centre = values.iter().sum::<f64>() / n;
        let scale = (values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / n).sqrt();
        let (low, high) = match &shape {
            // The outermost pieces are straight anyway.
            Shape::Ranks { u, .. } => (u[0], u[u.len() - 1]),
            _ => (shape.inverse(shape.value(first) - scale), shape.inverse(shape.value(last) + scale)),
        };
        // Checked as if it came from a file: extreme targets can leave anything.
        Self::try_from(Parts { shape, centre, scale, low, high }).ok()
    }

    /// Its kind.
    pub fn kind(&self) -> WarpKind {
        match self.shape {
            Shape::Log { .. } => WarpKind::Log,
            Shape::YeoJohnson { .. } => WarpKind::YeoJohnson,
            Shape::Ranks { .. } => WarpKind::Ranks,
        }
    }

    /// t of u.
    pub fn forward(&self, u: f64) -> f64 {
        let inside = u.clamp(self.low, self.high);
        (self.shape.value(inside) - self.centre + self.shape.slope(inside) * (u - inside)) / self.scale
    }

    /// u of t.
    pub fn inverse(&self, t: f64) -> f64 {
        let value = self.centre + self.scale * t;
        let ends = [self.low, self.high].map(|end| (end, self.shape.value(end)));
        let straight = |(end, at): (f64, f64)| end + (value - at) / self.shape.slope(end);
        match value {
            v if v < ends[0].1 => straight(ends[0]),
            v if v > ends[1].1 => straight(ends[1]),
            v => self.shape.inverse(v),
        }
    }

    /// log dt/du.
    pub fn log_slope(&self, u: f64) -> f64 {
        (self.shape.slope(u.clamp(self.low, self.high)) / self.scale).ln()
    }

    /// Mean and variance of u where t is normal, by quadrature: to about 1e-3 of the standard deviation for ranks,
    /// which have corners, and far closer for the others.
    pub fn moments(&self, mean: f64, var: f64) -> (f64, f64) {
        let std = var.sqrt();
        // About a point in the middle, so that a small variance does not drown.
        let middle = self.inverse(mean);
        let sum = |power: i32, about: f64| {
            let term = |(x, w): (&f64, &f64)| w * (self.inverse(mean + std * x) - about).powi(power);
            RULE.nodes.iter().zip(&RULE.weights).map(term).sum::<f64>()
        };
        let mean_u = middle + sum(1, middle);
        (mean_u, sum(2, mean_u))
    }
}

impl Shape {
    fn value(&self, u: f64) -> f64 {
        match self {
            Self::Log { shift } => (u + shift).ln(),
            Self::YeoJohnson { lambda } if u >= 0.0 => power(u, *lambda),
            Self::YeoJohnson { lambda } => -power(-u, 2.0 - lambda),
            Self::Ranks { u: from, score: to } => along(from, to, u),
        }
    }

    fn inverse(&self, value: f64) -> f64 {
        match self {
            Self::Log { shift } => value.exp() - shift,
            Self::YeoJohnson { lambda } if value >= 0.0 => root(value, *lambda),
            Self::YeoJohnson { lambda } => -root(-value, 2.0 - lambda),
            Self::Ranks { u: to, score: from } => along(from, to, value),
        }
    }

    /// dg/du.
    fn slope(&self, u: f64) -> f64 {
        match self {
            Self::Log { shift } => 1.0 / (u + shift),
            Self::YeoJohnson { lambda } if u >= 0.0 => ((lambda - 1.0) * u.ln_1p()).exp(),
            Self::YeoJohnson { lambda } => ((1.0 - lambda) * (-u).ln_1p()).exp(),
            Self::Ranks { u: from, score: to } => {
                let piece = piece(from, u);
                (to[piece + 1] - to[piece]) / (from[piece + 1] - from[piece])
            }
        }
    }
}

/// ((1 + u)^λ − 1)/λ for u ≥ 0.
fn power(u: f64, lambda: f64) -> f64 {
    if lambda == 0.0 { u.ln_1p() } else { (lambda * u.ln_1p()).exp_m1() / lambda }
}

/// The inverse of [`power`], for values that it takes.
fn root(value: f64, lambda: f64) -> f64 {
    if lambda == 0.0 { value.exp_m1() } else { ((lambda * value).ln_1p() / lambda).exp_m1() }
}

/// Number of the piece that `x` lies in, the outermost for what lies outside.
fn piece(from: &[f64], x: f64) -> usize {
    from.partition_point(|&knot| knot <= x).clamp(1, from.len() - 1) - 1
}

/// The polygon through the knots, with its outermost pieces prolonged.
fn along(from: &[f64], to: &[f64], x: f64) -> f64 {
    let k = piece(from, x);
    to[k] + (to[k + 1] - to[k]) / (from[k + 1] - from[k]) * (x - from[k])
}

/// λ that maximises the likelihood of normal transformed targets: −½n log var g + (λ − 1) Σ sign(u) log(1 + |u|), by
/// golden sections.
fn likeliest_lambda(u: &[f64]) -> f64 {
    let n = u.len() as f64;
    let slope_sum: f64 = u.iter().map(|u| u.signum() * u.abs().ln_1p()).sum();
    let log_likelihood = |lambda: f64| {
        let shape = Shape::YeoJohnson { lambda };
        let values: Vec<f64> = u.iter().map(|&u| shape.value(u)).collect();
        let mean = values.iter().sum::<f64>() / n;
        let var = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        -0.5 * n * var.ln() + (lambda - 1.0) * slope_sum
    };
    golden_section(0.0, 2.0, GOLDEN_SECTIONS, log_likelihood)
}

/// Knots at evenly spaced quantiles of ascending targets and at both extremes, which keeps outliers near; equal ones
/// share the mean of their scores. Nothing if only a few differ, or many are the same.
fn knots(ascending: &[f64]) -> Option<Shape> {
    let n = ascending.len();
    if ascending.chunk_by(|a, b| a == b).any(|tied| tied.len() as f64 > MOST_TIED * n as f64) {
        return None;
    }
    let count = (n / ROWS_PER_KNOT).clamp(KNOTS[0], KNOTS[1]);
    let (mut u, mut score, mut equal) = (Vec::new(), Vec::<f64>::new(), 0.0);
    let end = 0.5 / n as f64;
    let inner = (0..count).map(|j| (j as f64 + 0.5) / count as f64);
    for p in [end].into_iter().chain(inner).chain([1.0 - end]) {
        // Between the two order statistics around p, of which that of number i is a quantile for (i + ½)/n.
        let at = (p * n as f64 - 0.5).clamp(0.0, (n - 1) as f64);
        let (below, share) = (at.floor() as usize, at.fract());
        let value = ascending[below] + share * (ascending[(below + 1).min(n - 1)] - ascending[below]);
        match (u.last(), score.last_mut()) {
            (Some(last), Some(mean)) if value <= *last => {
                equal += 1.0;
                *mean += (normal_quantile(p) - *mean) / equal;
            }
            _ => {
                (equal, _) = (1.0, u.push(value));
                score.push(normal_quantile(p));
            }
        }
    }
    (u.len() >= KNOTS[0]).then_some(Shape::Ranks { u, score })
}

/// Standardised targets, one transform for each column; none at all leaves them as they are.
///
/// # Errors
/// [`Error::NotFinite`] with row and column for a target that does not stay finite.
pub fn warp_targets(warps: &[Warp], targets: &mut Mat) -> Result<()> {
    for row in 0..targets.rows() {
        for (column, (entry, warp)) in targets.row_mut(row).iter_mut().zip(warps).enumerate() {
            *entry = warp.forward(*entry);
            if !entry.is_finite() {
                return Err(Error::NotFinite { what: "targets", row, column, value: *entry });
            }
        }
    }
    Ok(())
}

/// Log densities of rows of standardised targets, log p(t) + Σ log dt/du, from those of transformed ones.
pub fn with_log_slopes(warps: &[Warp], targets: &Mat, mut log_densities: Vec<f64>) -> Vec<f64> {
    for (log_p, row) in log_densities.iter_mut().zip(targets.iter_rows()) {
        *log_p += row.iter().zip(warps).map(|(&u, warp)| warp.log_slope(u)).sum::<f64>();
    }
    log_densities
}

impl From<Warp> for Parts {
    fn from(warp: Warp) -> Self {
        let Warp { shape, centre, scale, low, high } = warp;
        Self { shape, centre, scale, low, high }
    }
}

impl TryFrom<Parts> for Warp {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self> {
        let Parts { shape, centre, scale, low, high } = parts;
        let error = |name, value, requirement| Error::Parameter { name, layer: None, entry: None, value, requirement };
        if !centre.is_finite() {
            return Err(error("centre of a transform", centre, "it must be finite"));
        }
        if !(scale > 1e-6 && scale.is_finite()) {
            return Err(error("scale of a transform", scale, "it must be positive and finite"));
        }
        if !(low < high && low.is_finite() && high.is_finite()) {
            return Err(error("ends of a transform", high - low, "they must be finite and ascend"));
        }
        match &shape {
            Shape::YeoJohnson { lambda } if !(0.0..=2.0).contains(lambda) => {
                return Err(error("power of a transform", *lambda, "it must lie between 0 and 2"));
            }
            Shape::Ranks { u, score } => {
                let ascend = |v: &[f64]| v.windows(2).all(|w| w[0] < w[1]) && v.iter().all(|v| v.is_finite());
                if u.len() < 2 || u.len() != score.len() || !ascend(u) || !ascend(score) {
                    return Err(error("knots of a transform", u.len() as f64, "they must ascend on both sides"));
                }
            }
            _ => {}
        }
        let warp = Self { shape, centre, scale, low, high };
        let is_sound = |u: f64| warp.forward(u).is_finite() && warp.log_slope(u).is_finite();
        let knots = if let Shape::Ranks { u, .. } = &warp.shape { u.as_slice() } else { &[] };
        // Between knots the slope is that at their middle.
        let middles = knots.windows(2).map(|pair| 0.5 * pair[0] + 0.5 * pair[1]);
        match [low, 0.5 * low + 0.5 * high, high].into_iter().chain(middles).find(|&u| !is_sound(u)) {
            None => Ok(warp),
            Some(u) => Err(error("slope of a transform", u, "it must be positive and finite between the ends")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_close};

    /// Standardised targets, positive before: exp of a normal's quantiles; and where their zero is.
    fn skewed(n: usize) -> (Vec<f64>, f64) {
        let y: Vec<f64> = (0..n).map(|i| (0.9 * normal_quantile((i as f64 + 0.5) / n as f64)).exp()).collect();
        let mean = y.iter().sum::<f64>() / n as f64;
        let std = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        (y.iter().map(|y| (y - mean) / std).collect(), -mean / std)
    }

    fn all(n: usize) -> Vec<Warp> {
        let (u, zero) = skewed(n);
        WarpKind::ALL.iter().map(|&kind| Warp::fit(kind, &u, zero).expect("a transform")).collect()
    }

    #[test]
    fn the_inverse_undoes_it_and_the_slope_is_its_derivative() {
        for warp in all(300) {
            let mut last = f64::NEG_INFINITY;
            // Far beyond the training targets on both sides, and below zero.
            for i in -40..200 {
                let u = 0.1 * f64::from(i) + 0.0137;
                let t = warp.forward(u);
                assert!(t > last, "{warp:?} at {u}");
                last = t;
                assert_close("inverse", warp.inverse(t), u, Tolerance::Value);
                let h = 1e-6;
                let slope = (warp.forward(u + h) - warp.forward(u - h)) / (2.0 * h);
                assert!((slope.ln() - warp.log_slope(u)).abs() < 1e-4, "{warp:?} at {u}");
            }
        }
    }

    #[test]
    fn training_targets_become_normal() {
        let (u, _) = skewed(400);
        let skewness = |v: &[f64]| v.iter().map(|v| v.powi(3)).sum::<f64>() / v.len() as f64;
        assert!(skewness(&u) > 2.0);
        for warp in all(400) {
            let t: Vec<f64> = u.iter().map(|&u| warp.forward(u)).collect();
            let mean = t.iter().sum::<f64>() / 400.0;
            let var = t.iter().map(|t| t * t).sum::<f64>() / 400.0;
            assert!(mean.abs() < 1e-6 && (var - 1.0).abs() < 1e-6, "{:?}: {mean} {var}", warp.kind());
            // A power about the mean does not undo an exponential.
            let most = if warp.kind() == WarpKind::YeoJohnson { 0.8 } else { 0.2 };
            assert!(skewness(&t).abs() < most, "{:?}: {}", warp.kind(), skewness(&t));
        }
    }

    #[test]
    fn densities_integrate_to_one_and_moments_are_theirs() {
        for warp in all(300) {
            let (mean, std) = (0.4_f64, 0.6_f64);
            let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
            // Narrow, since the density of ranks jumps at its knots.
            let width = 2e-4;
            for i in -50_000..200_000 {
                let u = width * (f64::from(i) + 0.5);
                let z = (warp.forward(u) - mean) / std;
                let log_p = -0.5 * z * z - (std * (2.0 * std::f64::consts::PI).sqrt()).ln() + warp.log_slope(u);
                let p = log_p.exp() * width;
                (mass, first, second) = (mass + p, first + u * p, second + u * u * p);
            }
            let (m, v) = warp.moments(mean, std * std);
            assert!((mass - 1.0).abs() < 1e-4, "{:?}: mass {mass}", warp.kind());
            assert!((m - first).abs() < 3e-3 * v.sqrt(), "{:?}: {m} {first}", warp.kind());
            assert!((v - (second - first * first)).abs() < 0.01 * v, "{:?}: {v}", warp.kind());
        }
    }

    #[test]
    fn what_suits_no_transform_gets_none() {
        let few: Vec<f64> = (0..10).map(f64::from).collect();
        let same = vec![0.0; 100];
        let signed: Vec<f64> = (0..100).map(|i| f64::from(i) / 30.0 - 1.6).collect();
        for kind in WarpKind::ALL {
            assert_eq!(Warp::fit(kind, &few, -1.0), None);
            assert_eq!(Warp::fit(kind, &same, -1.0), None, "{kind}");
        }
        assert_eq!(Warp::fit(WarpKind::Log, &signed, 0.0), None);
        let two: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(Warp::fit(WarpKind::Ranks, &two, -1.0), None);
        // Marks from 3 to 8, most of them 5 or 6.
        let marks: Vec<f64> = (0..100).map(|i| [5.0, 6.0, 5.0, 6.0, 7.0, 4.0, 3.0, 8.0][i % 8]).collect();
        assert_eq!(Warp::fit(WarpKind::Ranks, &marks, -1.0), None);
    }

    #[test]
    fn stored_forms_are_checked() {
        let warp = all(300).remove(2);
        let text = serde_json::to_string(&warp).expect("JSON");
        assert_eq!(serde_json::from_str::<Warp>(&text).expect("a transform"), warp);
        for bad in [
            r#"{"shape":{"log":{"shift":0.0}},"centre":0.0,"scale":1.0,"low":-1.0,"high":1.0}"#,
            r#"{"shape":{"log":{"shift":2.0}},"centre":0.0,"scale":0.0,"low":-1.0,"high":1.0}"#,
            r#"{"shape":{"yeo_johnson":{"lambda":3.0}},"centre":0.0,"scale":1.0,"low":-1.0,"high":1.0}"#,
            r#"{"shape":{"ranks":{"u":[0.0,1.0],"score":[1.0,0.0]}},"centre":0.0,"scale":1.0,"low":0.0,"high":1.0}"#,
        ] {
            assert!(serde_json::from_str::<Warp>(bad).is_err(), "{bad}");
        }
    }
}
