//! Averages of any function under a Gaussian of one to three dimensions, by one adaptive Gauss–Kronrod rule inside
//! another.
//!
//! ```text
//! E s(f) = ∫ N(f; m, diag v) s(f) df        f_k = m_k + √v_k z_k
//! ```
//! The line of each z_k is cut into panels, and a panel is halved where its 15 nodes and the 7 among them disagree: a
//! distribution function, given f, may be a step under a wide Gaussian, and then no rule with nodes fixed beforehand
//! will do. Averages of what grows as exp(a z) are right while |a| is below about 10. Reference: Kronrod (1965); nodes
//! and weights as in QUADPACK (1983).

use super::MAX_LATENT;
use deepgp_numerics::special::phi;

/// Where the line of z is cut at first; beyond the ends the Gaussian is taken for 0.
const CUTS: [f64; 7] = [-20.0, -6.0, -2.0, 0.0, 2.0, 6.0, 20.0];

/// A panel is halved while the two rules differ by more than this share of the integral: one for the innermost rule,
/// one for those outside of it, which must not take the error of that for a feature.
const SHARES: [f64; 2] = [1e-12, 1e-10];

/// Differences below this never matter: densities and probabilities are of the order of 1.
const SMALL: f64 = 1e-15;

/// Most halvings of a panel.
const HALVINGS: u32 = 30;

/// Positive nodes of the 15-point Kronrod rule on [−1, 1], outermost first, then 0; every second one is of the 7-point
/// Gauss rule.
const NODES: [f64; 8] = [
    0.991_455_371_120_812_6,
    0.949_107_912_342_758_5,
    0.864_864_423_359_769_1,
    0.741_531_185_599_394_4,
    0.586_087_235_467_691_1,
    0.405_845_151_377_397_2,
    0.207_784_955_007_898_47,
    0.0,
];

/// Their weights.
const KRONROD: [f64; 8] = [
    0.022_935_322_010_529_224,
    0.063_092_092_629_978_55,
    0.104_790_010_322_250_18,
    0.140_653_259_715_525_92,
    0.169_004_726_639_267_9,
    0.190_350_578_064_785_4,
    0.204_432_940_075_298_89,
    0.209_482_141_084_727_83,
];

/// The weights of the second, fourth, sixth and eighth in the Gauss rule.
const GAUSS: [f64; 4] =
    [0.129_484_966_168_869_7, 0.279_705_391_489_276_64, 0.381_830_050_505_118_9, 0.417_959_183_673_469_4];

/// E s(f) for f ~ N(m, diag v); NaN for more than [`MAX_LATENT`] dimensions, or if a moment is not finite.
pub(super) fn expectation(mean: &[f64], var: &[f64], s: &mut dyn FnMut(&[f64]) -> f64) -> f64 {
    if mean.len() > MAX_LATENT || mean.iter().chain(var).any(|moment| !moment.is_finite()) {
        return f64::NAN;
    }
    inside(mean, var, &mut mean.to_vec(), mean.len(), s)
}

/// The average over the first `k` coordinates of `f`.
fn inside(mean: &[f64], var: &[f64], f: &mut [f64], k: usize, s: &mut dyn FnMut(&[f64]) -> f64) -> f64 {
    let Some(own) = k.checked_sub(1) else { return s(f) };
    let sd = var[own].sqrt();
    if sd == 0.0 {
        f[own] = mean[own];
        return inside(mean, var, f, own, s);
    }
    let mut at = |z: f64| {
        f[own] = mean[own] + sd * z;
        phi(z) * inside(mean, var, f, own, s)
    };
    let panels: Vec<Panel> = CUTS.windows(2).map(|ends| Panel::new(ends[0], ends[1], &mut at)).collect();
    let size: f64 = panels.iter().map(|panel| panel.size).sum();
    let tolerance = SHARES[own.min(1)] * size + SMALL;
    panels.into_iter().map(|panel| panel.integral(tolerance, HALVINGS, &mut at)).sum()
}

/// An interval with what the two rules make of it.
struct Panel {
    low: f64,
    high: f64,
    kronrod: f64,
    gauss: f64,
    /// ∫ |…| by the Kronrod rule.
    size: f64,
}

impl Panel {
    fn new(low: f64, high: f64, at: &mut dyn FnMut(f64) -> f64) -> Self {
        let (centre, half) = (0.5 * (low + high), 0.5 * (high - low));
        let (mut kronrod, mut gauss, mut size) = (0.0, 0.0, 0.0);
        for (i, node) in NODES.iter().enumerate() {
            let left = at(centre - half * node);
            let right = if *node > 0.0 { at(centre + half * node) } else { 0.0 };
            kronrod += KRONROD[i] * (left + right);
            size += KRONROD[i] * (left.abs() + right.abs());
            if i % 2 == 1 {
                gauss += GAUSS[i / 2] * (left + right);
            }
        }
        Self { low, high, kronrod: half * kronrod, gauss: half * gauss, size: half * size }
    }

    /// The integral over the panel, halved as often as it takes.
    fn integral(self, tolerance: f64, halvings: u32, at: &mut dyn FnMut(f64) -> f64) -> f64 {
        let differs = (self.kronrod - self.gauss).abs() > tolerance;
        if !differs || halvings == 0 {
            return self.kronrod;
        }
        let middle = 0.5 * (self.low + self.high);
        let mut part = |low, high| Panel::new(low, high, at).integral(tolerance, halvings - 1, at);
        part(self.low, middle) + part(middle, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::special::ndtr;
    use deepgp_oracle::{Tolerance, assert_close};

    #[test]
    fn exponentials_are_averaged_far_out() {
        // E exp(a·f) = exp(a·m + ½ Σ a² v)
        for v in [[0.0, 0.3], [1e-9, 4.0], [9.0, 16.0]] {
            let found = expectation(&[0.2, -0.4], &v, &mut |f| (f[0] - 2.0 * f[1]).exp());
            let expected = (1.0 + 0.5 * v[0] + 2.0 * v[1]).exp();
            assert_close("E exp", found / expected, 1.0, Tolerance::Value);
        }
    }

    #[test]
    fn steps_are_averaged_wherever_they_are() {
        // E Φ((y − f)/s) = Φ((y − m)/√(v + s²))
        for s in [1.0, 1e-3, 1e-9] {
            for (m, v, y) in [(0.3, 2.0, -0.4), (-1.0, 1e4, 30.0), (2.0, 1e-6, 2.001)] {
                let found = expectation(&[m], &[v], &mut |f| ndtr((y - f[0]) / s));
                assert_close("E Φ", found, ndtr((y - m) / f64::hypot(v.sqrt(), s)), Tolerance::Value);
            }
        }
    }

    #[test]
    fn sums_in_three_dimensions_have_their_moments() {
        let (m, v) = ([0.3, -0.8, 2.0], [0.5, 2.0, 0.1]);
        let sum = |f: &[f64]| f.iter().sum::<f64>();
        assert_close("mean", expectation(&m, &v, &mut |f| sum(f)), 1.5, Tolerance::Value);
        assert_close("square", expectation(&m, &v, &mut |f| sum(f).powi(2)), 2.25 + 2.6, Tolerance::Value);
    }

    #[test]
    fn what_cannot_be_averaged_is_not_a_number() {
        assert!(expectation(&[0.0; 4], &[1.0; 4], &mut |_| 1.0).is_nan(), "four dimensions");
        assert!(expectation(&[f64::NAN], &[1.0], &mut |_| 1.0).is_nan(), "a mean that is not a number");
    }
}
