//! Mixtures of predictions: their moments, their densities, and the weights that suit held-out rows best.
//!
//! ```text
//! p(y) = Σ_k w_k p_k(y)       E y = Σ_k w_k m_k       Var y = Σ_k w_k (v_k + (m_k − E y)²)
//! ```

use deepgp::gauss::DiagGaussian;
use deepgp_numerics::linalg::Mat;

/// Rounds of the EM algorithm for weights; it converges to the one maximum, slowly near it.
const ROUNDS: usize = 200;
/// Held-out rows that count as evidence for equal weights: a few rows must not rule a member out.
const PRIOR_ROWS: f64 = 2.0;

/// Moments of a mixture. Shapes are those of the members, which agree.
///
/// # Panics
/// If there is no member.
pub(crate) fn mix_moments(weights: &[f64], members: &[DiagGaussian]) -> DiagGaussian {
    let (first, rest) = members.split_first().expect("a mixture has members");
    if rest.is_empty() {
        return first.clone();
    }
    let (rows, cols) = (first.mean.rows(), first.mean.cols());
    let weighted = |of: &dyn Fn(&DiagGaussian) -> f64| weights.iter().zip(members).map(|(w, m)| w * of(m)).sum::<f64>();
    let mean = Mat::from_fn(rows, cols, |i, j| weighted(&|m| m.mean[(i, j)]));
    let var = Mat::from_fn(rows, cols, |i, j| weighted(&|m| m.var[(i, j)] + (m.mean[(i, j)] - mean[(i, j)]).powi(2)));
    DiagGaussian { mean, var }
}

/// The mean, if it is a number.
pub fn finite_mean(values: &[f64]) -> Option<f64> {
    Some(values.iter().sum::<f64>() / values.len() as f64).filter(|mean| mean.is_finite())
}

/// log Σ_k w_k p_k of every row, from log p_k: `log_densities[k][n]` is that of row n.
pub fn mix_log_densities(weights: &[f64], log_densities: &[Vec<f64>]) -> Vec<f64> {
    let row = |n: usize| {
        let terms = || weights.iter().zip(log_densities).map(|(w, l)| w.ln() + l[n]);
        let top = terms().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY { top } else { top + terms().map(|t| (t - top).exp()).sum::<f64>().ln() }
    };
    (0..log_densities.first().map_or(0, Vec::len)).map(row).collect()
}

/// Weights that maximise the mean log density of a mixture on held-out rows, drawn a little towards equal ones: "stacking".
///
/// ```text
/// r_nk = w_k p_k(n) / Σ_j w_j p_j(n)       w_k ← (Σ_n r_nk + a/K) / (N + a)
/// ```
/// `log_densities[k][n]` is log p_k of row n. Reference: Yao, Vehtari, Simpson, Gelman (2018), "Using stacking to average
/// Bayesian predictive distributions".
pub fn stacking_weights(log_densities: &[Vec<f64>]) -> Vec<f64> {
    let members = log_densities.len();
    let rows = log_densities.first().map_or(0, Vec::len);
    let mut weights = vec![1.0 / members.max(1) as f64; members];
    for _ in 0..ROUNDS {
        let mut shares = vec![PRIOR_ROWS / members.max(1) as f64; members];
        let mut counted = PRIOR_ROWS;
        for n in 0..rows {
            let terms: Vec<f64> = weights.iter().zip(log_densities).map(|(w, l)| w.ln() + l[n]).collect();
            let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = terms.iter().map(|t| (t - top).exp()).sum();
            // A row that no member can explain says nothing about them.
            if total.is_finite() && total > 0.0 {
                shares.iter_mut().zip(&terms).for_each(|(share, t)| *share += (t - top).exp() / total);
                counted += 1.0;
            }
        }
        weights = shares.into_iter().map(|share| share / counted).collect();
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_numerics::special::normal_log_density;

    fn moments(mean: f64, var: f64) -> DiagGaussian {
        DiagGaussian { mean: Mat::from_fn(1, 1, |_, _| mean), var: Mat::from_fn(1, 1, |_, _| var) }
    }

    #[test]
    fn moments_are_those_of_the_density() {
        let (weights, parts) = ([0.3, 0.7], [(1.0, 0.5), (-2.0, 0.1)]);
        let mixed = mix_moments(&weights, &parts.map(|(m, v)| moments(m, v)));
        // Integrals of y p(y) and y² p(y) by a midpoint sum.
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for i in 0..40_000 {
            let y = -10.0 + 20.0 * (f64::from(i) + 0.5) / 40_000.0;
            let parts: Vec<Vec<f64>> = parts.iter().map(|&(m, v)| vec![normal_log_density(y, m, v)]).collect();
            let p = mix_log_densities(&weights, &parts)[0].exp() * 20.0 / 40_000.0;
            (mass, first, second) = (mass + p, first + y * p, second + y * y * p);
        }
        assert!((mass - 1.0).abs() < 1e-9 && (mixed.mean[(0, 0)] - first).abs() < 1e-9);
        assert!((mixed.var[(0, 0)] - (second - first * first)).abs() < 1e-9);
    }

    #[test]
    fn weights_go_to_what_explains_the_rows() {
        // Member 0 is right on three quarters of the rows, member 1 on the others, member 2 nowhere.
        let rows = 400;
        let log_p = |right: &dyn Fn(usize) -> bool| (0..rows).map(|n| if right(n) { 0.0 } else { -8.0 }).collect();
        let all: [Vec<f64>; 3] = [log_p(&|n| n % 4 != 0), log_p(&|n| n % 4 == 0), log_p(&|_| false)];
        let weights = stacking_weights(&all);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(
            (weights[0] - 0.75).abs() < 0.01 && (weights[1] - 0.25).abs() < 0.01 && weights[2] < 0.01,
            "{weights:?}"
        );
        // No equal weights do better.
        let mean = |w: &[f64]| mix_log_densities(w, &all).iter().sum::<f64>() / f64::from(rows as u16);
        assert!(mean(&weights) > mean(&[1.0 / 3.0; 3]));
    }

    #[test]
    fn impossible_rows_leave_numbers() {
        let nothing = vec![f64::NEG_INFINITY; 3];
        let weights = stacking_weights(&[nothing.clone(), nothing.clone()]);
        assert_eq!(weights, [0.5, 0.5]);
        assert_eq!(mix_log_densities(&weights, &[nothing.clone(), nothing]), [f64::NEG_INFINITY; 3]);
        assert_eq!(stacking_weights(&[vec![]]), [1.0]);
    }
}
