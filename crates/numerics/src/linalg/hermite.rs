//! Gauss–Hermite nodes and weights for expectations under a standard normal.
//!
//! The orthonormal polynomials of the weight N(0, 1) and the rule they define:
//!
//! ```text
//! √(k+1) p_{k+1}(x) = x p_k(x) − √k p_{k−1}(x),   p_0 = 1,   p_n' = √n p_{n−1}
//! x_j: the zeros of p_n               w_j = 1 / Σ_{k<n} p_k(x_j)²
//! ```
//! The zeros are the eigenvalues of the Jacobi matrix with zero diagonal and off-diagonal √1 … √(n−1). Each is
//! bracketed by counting the negative pivots of that matrix minus x, which cannot fail, and then polished by Newton's
//! method. Reference: Golub & Welsch (1969), Calculation of Gauss quadrature rules.

/// Nodes x_j and weights w_j with Σ w_j f(x_j) ≈ E f(x), x ~ N(0, 1).
#[derive(Debug, Clone, PartialEq)]
pub struct GaussHermite {
    /// x_j, ascending and symmetric about 0.
    pub nodes: Vec<f64>,
    /// w_j, positive, summing to 1.
    pub weights: Vec<f64>,
}

/// Well beyond this many nodes the outer weights, of order e^{−2n}, underflow.
const MAX_NODES: usize = 300;

impl GaussHermite {
    /// The rule with `n` nodes, exact for polynomials up to degree 2n − 1.
    ///
    /// Cost: O(n²) times the 60 halvings of a bracket.
    ///
    /// # Panics
    /// If `n` is 0 or above 300.
    pub fn new(n: usize) -> Self {
        assert!((1..=MAX_NODES).contains(&n), "a rule has 1 to {MAX_NODES} nodes, not {n}");
        let (mut nodes, mut weights) = (vec![0.0; n], vec![0.0; n]);
        for j in 0..n.div_ceil(2) {
            // The middle node of an odd rule is 0 by symmetry.
            let x = if 2 * j + 1 == n { 0.0 } else { polish(n, bracket(n, j)) };
            let weight = christoffel(n, x);
            (nodes[j], weights[j]) = (x, weight);
            (nodes[n - 1 - j], weights[n - 1 - j]) = (-x, weight);
        }
        Self { nodes, weights }
    }
}

/// Number of zeros of p_n below `x`: the negative pivots d_1 = −x, d_{k+1} = −x − k/d_k.
fn zeros_below(n: usize, x: f64) -> usize {
    let (mut pivot, mut count) = (-x, usize::from(x > 0.0));
    for k in 1..n {
        let previous = if pivot == 0.0 { f64::MIN_POSITIVE } else { pivot };
        pivot = -x - k as f64 / previous;
        count += usize::from(pivot < 0.0);
    }
    count
}

/// Zero number `j` of p_n, counted from below, by bisection of [−2√n, 0].
fn bracket(n: usize, j: usize) -> f64 {
    let (mut low, mut high) = (-2.0 * (n as f64).sqrt(), 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if zeros_below(n, middle) > j { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

/// Two Newton steps on p_n.
fn polish(n: usize, mut x: f64) -> f64 {
    for _ in 0..2 {
        let (value, previous, _) = hermite(n, x);
        let step = value / ((n as f64).sqrt() * previous);
        if step.is_finite() {
            x -= step;
        }
    }
    x
}

/// 1 / Σ_{k<n} p_k(x)².
fn christoffel(n: usize, x: f64) -> f64 {
    let (_, _, sum_squares) = hermite(n, x);
    (-0.5 * x * x).exp() / sum_squares
}

/// e^{−x²/4} p_n(x), e^{−x²/4} p_{n−1}(x) and e^{−x²/2} Σ_{k<n} p_k(x)²; the factor keeps p_k from overflowing.
fn hermite(n: usize, x: f64) -> (f64, f64, f64) {
    let (mut p, mut previous, mut sum_squares) = ((-0.25 * x * x).exp(), 0.0, 0.0);
    for k in 0..n {
        sum_squares += p * p;
        let k = k as f64;
        (p, previous) = ((x * p - k.sqrt() * previous) / (k + 1.0).sqrt(), p);
    }
    (p, previous, sum_squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_all_close, assert_close};

    #[test]
    fn exact_for_polynomials() {
        for n in [1, 2, 3, 4, 7, 12, 20, 40] {
            let rule = GaussHermite::new(n);
            // E x^{2k} = (2k − 1)!!, here as E (x^{2k} / (2k − 1)!!) = 1
            let mut terms = rule.weights.clone();
            for k in 0..n {
                assert_close("even moment", terms.iter().sum(), 1.0, Tolerance::Rounding);
                let odd: f64 = terms.iter().zip(&rule.nodes).map(|(t, x)| t * x).sum();
                assert_close("odd moment", odd, 0.0, Tolerance::Rounding);
                for (term, x) in terms.iter_mut().zip(&rule.nodes) {
                    *term *= x * x / (2 * k + 1) as f64;
                }
            }
        }
    }

    #[test]
    fn weights_are_positive_and_sum_to_one() {
        for n in [1, 2, 3, 10, 33, 64, 100, 101, MAX_NODES] {
            let rule = GaussHermite::new(n);
            assert!(rule.weights.iter().all(|&w| w > 0.0), "{n}: a weight is not positive");
            assert!(rule.nodes.windows(2).all(|x| x[0] < x[1]), "{n}: nodes are not ascending");
            assert_all_close("Σ w", &[rule.weights.iter().sum()], &[1.0], Tolerance::Limit(1e-14));
        }
    }

    #[test]
    fn matches_known_rules() {
        let exact = Tolerance::Limit(1e-15);
        let three = GaussHermite::new(3);
        assert_all_close("nodes", &three.nodes, &[-3.0_f64.sqrt(), 0.0, 3.0_f64.sqrt()], exact);
        assert_all_close("weights", &three.weights, &[1.0 / 6.0, 2.0 / 3.0, 1.0 / 6.0], exact);
        // x⁴ − 6x² + 3 = 0
        let (inner, outer) = ((3.0 - 6.0_f64.sqrt()).sqrt(), (3.0 + 6.0_f64.sqrt()).sqrt());
        assert_all_close("nodes", &GaussHermite::new(4).nodes, &[-outer, -inner, inner, outer], exact);
    }

    #[test]
    fn a_hundred_nodes_integrate_an_oscillation() {
        let rule = GaussHermite::new(100);
        // E cos(ωx) = exp(−ω²/2)
        for omega in [0.5, 2.0, 6.0] {
            let found: f64 = rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * (omega * x).cos()).sum();
            assert_close("E cos", found, (-0.5 * omega * omega).exp(), Tolerance::Limit(1e-14));
        }
    }
}
