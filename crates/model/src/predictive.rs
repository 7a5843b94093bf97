//! What is predicted of each target: a mixture of normals, of the target itself or of a monotone transform of it.
//!
//! ```text
//! F(y) = Σ_k w_k Φ((g_k(y) − m_k)/√v_k)        quantiles y_p: F(y_p) = p
//! ```

use crate::mixture::mix_moments;
use deepgp::Result;
use deepgp::linalg::Mat;
use deepgp::metrics::{crps_normal, normal_quantile};
use deepgp::predict::Moments;
use deepgp::special::ndtr;
use deepgp_data::{Standardiser, Warp, unwarp_moments};
use std::f64::consts::PI;

/// Halvings of a bracket of a quantile, which is at first some standard deviations wide.
const HALVINGS: usize = 48;
/// Quantiles that stand for a transformed distribution in its ranked score.
const LEVELS: usize = 64;

/// The share of one network.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub weight: f64,
    /// Moments of transformed standardised targets.
    pub moments: Moments,
    /// The transforms, one for each target, or none.
    pub warps: Vec<Warp>,
}

/// Predictive distributions of the targets of some rows, in the targets' own units. Noise that is not normal is stood for by
/// normal noise of the same variance.
#[derive(Debug, Clone)]
pub struct Predictive {
    pub(crate) parts: Vec<Part>,
    pub(crate) targets: Standardiser,
}

impl Predictive {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.parts[0].moments.mean.rows()
    }

    /// Number of targets.
    pub fn columns(&self) -> usize {
        self.targets.columns()
    }

    /// The distributions of one target alone.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn of_target(&self, column: usize) -> Self {
        let pick = |m: &Mat| Mat::from_fn(m.rows(), 1, |n, _| m[(n, column)]);
        let part = |part: &Part| Part {
            weight: part.weight,
            moments: Moments { mean: pick(&part.moments.mean), var: pick(&part.moments.var) },
            warps: part.warps.get(column).cloned().into_iter().collect(),
        };
        Self { parts: self.parts.iter().map(part).collect(), targets: self.targets.of_column(column) }
    }

    /// Whether every distribution is a normal one.
    pub fn is_normal(&self) -> bool {
        matches!(&self.parts[..], [part] if part.warps.is_empty())
    }

    /// Means and variances.
    ///
    /// # Errors
    /// [`deepgp::Error::NotFinite`] for moments beyond all numbers.
    pub fn moments(&self) -> Result<Moments> {
        let (weights, members): (Vec<f64>, Vec<Moments>) = self
            .parts
            .iter()
            .map(|part| {
                let mut moments = part.moments.clone();
                unwarp_moments(&part.warps, &mut moments);
                (part.weight, moments)
            })
            .unzip();
        self.targets.invert_moments(&mix_moments(&weights, &members))
    }

    /// Probability that target `column` of row `row` is at most `y`.
    pub fn cdf(&self, row: usize, column: usize, y: f64) -> f64 {
        self.standard_cdf(row, column, self.standard(column, y))
    }

    /// The value that target `column` of row `row` stays below with the given probability, strictly between 0 and 1.
    pub fn quantile(&self, row: usize, column: usize, probability: f64) -> f64 {
        self.own_unit(column, self.standard_quantile(row, column, probability, normal_quantile(probability)))
    }

    /// Quantiles of all rows and targets.
    pub fn quantiles(&self, probability: f64) -> Mat {
        let z = normal_quantile(probability);
        Mat::from_fn(self.rows(), self.columns(), |n, p| self.own_unit(p, self.standard_quantile(n, p, probability, z)))
    }

    /// Continuous ranked probability score, in the target's unit; smaller is better.
    ///
    /// ```text
    /// CRPS = E|Y − y| − ½ E|Y − Y′|
    /// ```
    /// In closed form for normals (Grimit et al. 2006); a transformed target is stood for by quantiles.
    pub fn crps(&self, row: usize, column: usize, y: f64) -> f64 {
        let observed = self.standard(column, y);
        let of = |part: &Part| (part.weight, part.moments.mean[(row, column)], part.moments.var[(row, column)]);
        let standard = if let [part] = &self.parts[..]
            && part.warps.is_empty()
        {
            let (_, mean, var) = of(part);
            crps_normal(mean, var.sqrt(), observed)
        } else if self.parts.iter().all(|part| part.warps.is_empty()) {
            let apart = |mean: f64, var: f64| {
                // E|X| of a normal.
                let std = var.sqrt();
                let z = mean / std;
                mean * (2.0 * ndtr(z) - 1.0) + 2.0 * std * (-0.5 * z * z).exp() / (2.0 * PI).sqrt()
            };
            let mut score = 0.0;
            for (w, m, v) in self.parts.iter().map(of) {
                score += w * apart(observed - m, v);
                for (other_w, other_m, other_v) in self.parts.iter().map(of) {
                    score -= 0.5 * w * other_w * apart(m - other_m, v + other_v);
                }
            }
            score
        } else {
            let level = |j: usize| (j as f64 + 0.5) / LEVELS as f64;
            // Quantile scores: CRPS = 2 ∫ (1[y < q_p] − p)(q_p − y) dp.
            let term = |p: f64| {
                let q = self.standard_quantile(row, column, p, normal_quantile(p));
                2.0 * (f64::from(u8::from(observed < q)) - p) * (q - observed)
            };
            (0..LEVELS).map(|j| term(level(j))).sum::<f64>() / LEVELS as f64
        };
        self.targets.scale()[column] * standard
    }

    fn standard(&self, column: usize, y: f64) -> f64 {
        (y - self.targets.mean()[column]) / self.targets.scale()[column]
    }

    fn own_unit(&self, column: usize, u: f64) -> f64 {
        self.targets.mean()[column] + self.targets.scale()[column] * u
    }

    fn standard_cdf(&self, row: usize, column: usize, u: f64) -> f64 {
        let share = |part: &Part| {
            let t = part.warps.get(column).map_or(u, |warp| warp.forward(u));
            let Moments { mean, var } = &part.moments;
            part.weight * ndtr((t - mean[(row, column)]) / var[(row, column)].sqrt())
        };
        self.parts.iter().map(share).sum()
    }

    /// The quantile of a standardised target; `z` is that of the standard normal.
    fn standard_quantile(&self, row: usize, column: usize, probability: f64, z: f64) -> f64 {
        let of_part = |part: &Part| {
            let Moments { mean, var } = &part.moments;
            let t = mean[(row, column)] + var[(row, column)].sqrt() * z;
            part.warps.get(column).map_or(t, |warp| warp.inverse(t))
        };
        // A mixture's quantile lies between those of its parts.
        let (mut low, mut high) = self
            .parts
            .iter()
            .map(of_part)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), q| (low.min(q), high.max(q)));
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.standard_cdf(row, column, middle) < probability { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_data::WarpKind;

    fn part(weight: f64, mean: f64, var: f64, warps: Vec<Warp>) -> Part {
        let one = |v: f64| Mat::from_fn(1, 1, |_, _| v);
        Part { weight, moments: Moments { mean: one(mean), var: one(var) }, warps }
    }

    fn targets() -> (Vec<f64>, Standardiser) {
        let y: Vec<f64> = (0..200).map(|i| (0.8 * normal_quantile((f64::from(i) + 0.5) / 200.0)).exp()).collect();
        let targets = Standardiser::fit(&Mat::from_fn(200, 1, |i, _| y[i]), "targets").expect("a standardiser");
        let u = y.iter().map(|y| (y - targets.mean()[0]) / targets.scale()[0]).collect();
        (u, targets)
    }

    fn mixtures() -> Vec<Predictive> {
        let (u, targets) = targets();
        let zero = -targets.mean()[0] / targets.scale()[0];
        let log = || vec![Warp::fit(WarpKind::Log, &u, zero).expect("a transform")];
        let with = |parts| Predictive { parts, targets: targets.clone() };
        vec![
            with(vec![part(1.0, 0.3, 0.5, vec![])]),
            with(vec![part(0.03, -1.0, 2.0, vec![]), part(0.97, 0.2, 0.01, vec![])]),
            with(vec![part(0.6, 0.3, 0.2, log()), part(0.4, 0.1, 0.1, vec![])]),
        ]
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        for mixture in mixtures() {
            let mut last = f64::NEG_INFINITY;
            for p in [0.001, 0.025, 0.25, 0.5, 0.75, 0.975, 0.999] {
                let q = mixture.quantile(0, 0, p);
                assert!(q > last && (mixture.cdf(0, 0, q) - p).abs() < 1e-9, "{p}: {q}");
                last = q;
                assert_eq!(q, mixture.quantiles(p)[(0, 0)]);
            }
        }
    }

    #[test]
    fn intervals_are_those_of_the_mixture_and_not_of_its_moments() -> Result<()> {
        // A little of something wide: moments see a wide normal, the mixture has a narrow middle.
        let mixture = &mixtures()[1];
        let width = mixture.quantile(0, 0, 0.75) - mixture.quantile(0, 0, 0.25);
        let of_moments = 2.0 * 0.674_489_75 * mixture.moments()?.var[(0, 0)].sqrt();
        assert!(width < 0.5 * of_moments, "{width} {of_moments}");
        Ok(())
    }

    #[test]
    fn moments_and_ranked_scores_are_integrals_of_the_distribution() -> Result<()> {
        for (mixture, tolerance) in mixtures().iter().zip([1e-6, 1e-6, 0.01]) {
            let observed = 1.7;
            let (mut mean, mut square, mut crps) = (0.0, 0.0, 0.0);
            let width = 1e-3;
            for i in -20_000..40_000 {
                let y = width * f64::from(i);
                let (before, after) = (mixture.cdf(0, 0, y), mixture.cdf(0, 0, y + width));
                let (middle, mass) = (y + 0.5 * width, after - before);
                (mean, square) = (mean + mass * middle, square + mass * middle * middle);
                let step = f64::from(u8::from(middle >= observed));
                crps += width * (0.5 * (before + after) - step).powi(2);
            }
            let moments = mixture.moments()?;
            let std = moments.var[(0, 0)].sqrt();
            assert!((moments.mean[(0, 0)] - mean).abs() < 1e-4 * std);
            assert!((std - (square - mean * mean).sqrt()).abs() < 1e-3 * std);
            let score = mixture.crps(0, 0, observed);
            assert!((score - crps).abs() < 1e-4 + tolerance * crps, "{score} {crps}");
        }
        Ok(())
    }
}
