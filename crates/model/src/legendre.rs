//! Gauss–Legendre nodes and weights for integrals over an interval.
//!
//! ```text
//! (k+1) P_{k+1}(x) = (2k+1) x P_k(x) − k P_{k−1}(x),   P_0 = 1,   (x² − 1) P_n' = n (x P_n − P_{n−1})
//! x_j: the zeros of P_n               w_j = 2/((1 − x_j²) P_n'(x_j)²)
//! ```

use std::f64::consts::PI;

/// Newton steps from cos(π (j + ¾)/(n + ½)), which is within 0.02 of zero number j; four suffice.
const NEWTON_STEPS: usize = 6;

/// Nodes in (0, 1), from the last to the first, and weights that sum to 1: Σ w_j f(x_j) ≈ ∫₀¹ f(x) dx.
#[derive(Debug, Clone)]
pub(crate) struct GaussLegendre(Vec<(f64, f64)>);

impl GaussLegendre {
    /// The rule with `n` nodes, exact for polynomials up to degree 2n − 1.
    pub fn new(n: usize) -> Self {
        let node = |j: usize| {
            let mut x = (PI * (j as f64 + 0.75) / (n as f64 + 0.5)).cos();
            for _ in 0..NEWTON_STEPS {
                let (value, slope) = legendre(n, x);
                x -= value / slope;
            }
            let slope = legendre(n, x).1;
            (0.5 + 0.5 * x, 1.0 / ((1.0 - x * x) * slope * slope))
        };
        Self((0..n).map(node).collect())
    }

    /// ∫ f over the interval between two ends.
    pub fn integral(&self, from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
        (to - from) * self.0.iter().map(|(x, w)| w * f(from + (to - from) * x)).sum::<f64>()
    }
}

/// P_n and its derivative.
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut p, mut previous) = (1.0, 0.0);
    for k in 0..n {
        let k = k as f64;
        (p, previous) = (((2.0 * k + 1.0) * x * p - k * previous) / (k + 1.0), p);
    }
    (p, n as f64 * (x * p - previous) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_exact_for_polynomials() {
        for n in [1, 2, 3, 8, 12, 25] {
            let rule = GaussLegendre::new(n);
            for degree in 0..2 * n {
                let found = rule.integral(0.0, 1.0, |x| (degree + 1) as f64 * x.powi(degree as i32));
                assert!((found - 1.0).abs() < 1e-13, "{n} nodes, degree {degree}: {found}");
            }
        }
        let found = GaussLegendre::new(12).integral(-1.0, 3.0, f64::exp);
        assert!((found - (3.0_f64.exp() - (-1.0_f64).exp())).abs() < 1e-12, "{found}");
    }
}
