//! What is predicted of each target: a mixture of normals, of the target itself or of a monotone transform of it.
//!
//! ```text
//! F(y) = Σ_k w_k Φ((g_k(y) − m_k)/√v_k)        quantiles y_p: F(y_p) = p
//! ```

use crate::mixture::{mix_log_densities, mix_moments};
use crate::scores::normal_log_densities;
use crate::standardise::Standardiser;
use crate::warp::{Warp, unwarp_moments, warp_targets, with_log_slopes};
use deepgp::gauss::DiagGaussian;
use deepgp::metrics::{crps_normal, normal_quantile};
use deepgp::{Error, Result};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::optim::root;
use deepgp_numerics::special::{ndtr, phi};

/// How closely quantiles are found, beside the range of those of the parts.
const CLOSENESS: f64 = 1e-14;
/// Normal scores of the quantiles between which distribution functions are smooth enough for a rule of few nodes; what is beyond the
/// outermost ones has a probability of 10⁻⁹.
const PANELS: [f64; 9] = [-6.0, -3.5, -2.0, -1.0, 0.0, 1.0, 2.0, 3.5, 6.0];
/// The Gauss–Legendre rule of four nodes, exact for polynomials of degree 7: its positive nodes in (−1, 1), each with its weight.
/// Reference: Abramowitz and Stegun (1964), table 25.4.
const RULE: [(f64, f64); 2] =
    [(0.339_981_043_584_856_3, 0.652_145_154_862_546_1), (0.861_136_311_594_052_6, 0.347_854_845_137_453_9)];

/// The share of one network.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub weight: f64,
    /// Moments of transformed standardised targets.
    pub moments: DiagGaussian,
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
            moments: DiagGaussian { mean: pick(&part.moments.mean), var: pick(&part.moments.var) },
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
    pub fn moments(&self) -> Result<DiagGaussian> {
        let (weights, members): (Vec<f64>, Vec<DiagGaussian>) = self
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

    /// The distributions of some rows.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn of_rows(&self, rows: &[usize]) -> Self {
        let pick = |m: &DiagGaussian| DiagGaussian { mean: m.mean.select_rows(rows), var: m.var.select_rows(rows) };
        let part = |part: &Part| Part { weight: part.weight, moments: pick(&part.moments), warps: part.warps.clone() };
        Self { parts: self.parts.iter().map(part).collect(), targets: self.targets.clone() }
    }

    /// The same distributions with standard deviations multiplied by a factor before transforms are undone.
    pub(crate) fn widened(mut self, factor: f64) -> Self {
        let variances = self.parts.iter_mut().flat_map(|part| part.moments.var.as_mut_slice());
        variances.for_each(|v| *v *= factor * factor);
        self
    }

    /// Log density of each row of `y`, jointly over targets, in nats per row of the targets' own units. Shapes: `y` rows × columns.
    ///
    /// ```text
    /// log p(y) = log Σ_k w_k Π_p N(g_kp(y_p); m_kp, v_kp) g_kp'(y_p)
    /// ```
    ///
    /// # Errors
    /// [`Error::Shape`] if there are not as many rows and columns, [`Error::NotFinite`] for a target that is not a number or whose
    /// transform is none.
    pub fn log_density(&self, y: &Mat) -> Result<Vec<f64>> {
        if y.rows() != self.rows() {
            return Err(Error::Shape { what: "rows of the targets", expected: self.rows(), found: y.rows() });
        }
        let u = self.targets.apply(y, "targets")?;
        let of_part = |part: &Part| {
            let mut t = u.clone();
            warp_targets(&part.warps, &mut t)?;
            Ok(with_log_slopes(&part.warps, &u, normal_log_densities(&part.moments, &t)))
        };
        let all = self.parts.iter().map(of_part).collect::<Result<Vec<Vec<f64>>>>()?;
        let weights: Vec<f64> = self.parts.iter().map(|part| part.weight).collect();
        let standard = mix_log_densities(&weights, &all);
        Ok(standard.into_iter().map(|l| self.targets.invert_log_density(l)).collect())
    }

    /// Continuous ranked probability score, in the target's unit; smaller is better.
    ///
    /// ```text
    /// CRPS = E|Y − y| − ½ E|Y − Y′|
    /// ```
    /// In closed form for normals (Grimit et al. 2006), by quadrature with a transformed target.
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
                mean * (2.0 * ndtr(z) - 1.0) + 2.0 * std * phi(z)
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
            self.standard_crps(row, column, observed)
        };
        self.targets.scale()[column] * standard
    }

    /// The score of any mixture, in standardised units, between quantiles of its parts and the observation:
    ///
    /// ```text
    /// CRPS = ∫ (F(u) − 1[u ≥ y])² du
    /// ```
    fn standard_crps(&self, row: usize, column: usize, observed: f64) -> f64 {
        let of_part = |part| PANELS.map(|z| part_quantile(part, row, column, z));
        let mut ends: Vec<f64> = self.parts.iter().flat_map(of_part).chain([observed]).collect();
        ends.sort_unstable_by(f64::total_cmp);
        let panel = |ends: &[f64]| {
            let step = if ends[0] >= observed { 1.0 } else { 0.0 };
            let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
            let square = |u: f64| (self.standard_cdf(row, column, u) - step).powi(2);
            half * RULE.iter().map(|(x, w)| w * (square(middle - half * x) + square(middle + half * x))).sum::<f64>()
        };
        ends.windows(2).map(panel).sum()
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
            let DiagGaussian { mean, var } = &part.moments;
            part.weight * ndtr((t - mean[(row, column)]) / var[(row, column)].sqrt())
        };
        // Weights may add up to a little more than 1.
        self.parts.iter().map(share).sum::<f64>().min(1.0)
    }

    /// The quantile of a standardised target; `z` is that of the standard normal.
    fn standard_quantile(&self, row: usize, column: usize, probability: f64, z: f64) -> f64 {
        // A mixture's quantile lies between those of its parts.
        let (low, high) = self
            .parts
            .iter()
            .map(|part| part_quantile(part, row, column, z))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), q| (low.min(q), high.max(q)));
        match self.parts.len() {
            1 => low,
            _ => root(low, high, CLOSENESS * (high - low), |u| self.standard_cdf(row, column, u) - probability),
        }
    }
}

/// The quantile of a standardised target by one part alone that belongs to the quantile `z` of the standard normal.
fn part_quantile(part: &Part, row: usize, column: usize, z: f64) -> f64 {
    let DiagGaussian { mean, var } = &part.moments;
    let t = mean[(row, column)] + var[(row, column)].sqrt() * z;
    part.warps.get(column).map_or(t, |warp| warp.inverse(t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warp::WarpKind;

    fn part(weight: f64, mean: f64, var: f64, warps: Vec<Warp>) -> Part {
        let one = |v: f64| Mat::from_fn(1, 1, |_, _| v);
        Part { weight, moments: DiagGaussian { mean: one(mean), var: one(var) }, warps }
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
            // Parts that do not agree, and one much narrower than another.
            with(vec![part(0.5, -1.5, 0.09, log()), part(0.5, 1.5, 0.09, log())]),
            with(vec![part(0.5, 0.2, 4e-4, log()), part(0.5, 0.0, 1.0, log())]),
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
    fn densities_are_slopes_of_the_distribution() -> Result<()> {
        for mixture in mixtures() {
            let width = 1e-5;
            for y in [0.4, 1.1, 1.7, 4.0] {
                let slope = (mixture.cdf(0, 0, y + width) - mixture.cdf(0, 0, y - width)) / (2.0 * width);
                let log_density = mixture.log_density(&Mat::from_fn(1, 1, |_, _| y))?[0];
                assert!(
                    (log_density - slope.ln()).abs() < 1e-5 * (1.0 + log_density.abs()),
                    "{y}: {log_density} {slope}"
                );
            }
            assert!(matches!(mixture.log_density(&Mat::zeros(2, 1)), Err(Error::Shape { .. })));
            assert!(matches!(mixture.log_density(&Mat::from_fn(1, 1, |_, _| f64::NAN)), Err(Error::NotFinite { .. })));
        }
        Ok(())
    }

    /// Of parts whose weights add up to 1 + 2⁻⁵².
    #[test]
    fn nothing_is_more_than_certain() {
        let Predictive { mut parts, targets } = mixtures().swap_remove(2);
        parts.push(parts[1].clone());
        parts.iter_mut().zip([0.4, 0.1, 0.1]).for_each(|(part, weight)| part.weight = weight / (0.4 + 0.1 + 0.1));
        assert!(parts.iter().map(|part| part.weight).sum::<f64>() > 1.0);
        let mixture = Predictive { parts, targets };
        assert_eq!(mixture.cdf(0, 0, 1e3), 1.0);
        assert!((mixture.crps(0, 0, 1e3) - 1e3).abs() < 3.0 && mixture.quantile(0, 0, 1.0 - 1e-16).is_finite());
    }

    /// Far out the score is the distance but for what is the distribution's own.
    #[test]
    fn ranked_scores_of_extreme_targets_are_distances() {
        for mixture in mixtures() {
            let score = |y: f64| mixture.crps(0, 0, y);
            for y in [1e3, 1e6] {
                assert!(
                    ((score(y + 1.0) - score(y)) - 1.0).abs() < 1e-6
                        && ((score(-y - 1.0) - score(-y)) - 1.0).abs() < 1e-6
                );
            }
            assert!(score(1e300).is_finite() && score(f64::NAN).is_nan());
        }
    }

    #[test]
    fn moments_and_ranked_scores_are_integrals_of_the_distribution() -> Result<()> {
        for mixture in mixtures() {
            let observed = 1.7;
            let (mut mean, mut square, mut crps) = (0.0, 0.0, 0.0);
            let width = 1e-3;
            for i in -20_000..40_000 {
                let y = width * f64::from(i);
                let (before, after) = (mixture.cdf(0, 0, y), mixture.cdf(0, 0, y + width));
                let (middle, mass) = (y + 0.5 * width, after - before);
                (mean, square) = (mean + mass * middle, square + mass * middle * middle);
                let step = f64::from(u8::from(middle >= observed));
                crps += width * (mixture.cdf(0, 0, middle) - step).powi(2);
            }
            let moments = mixture.moments()?;
            let std = moments.var[(0, 0)].sqrt();
            assert!((moments.mean[(0, 0)] - mean).abs() < 1e-4 * std);
            assert!((std - (square - mean * mean).sqrt()).abs() < 1e-3 * std);
            let score = mixture.crps(0, 0, observed);
            assert!((score - crps).abs() < 2e-5 * crps, "{score} {crps}");
        }
        Ok(())
    }
}
