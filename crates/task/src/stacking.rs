//! The weights of a mixture that suit held-out rows best.

/// Rounds of the EM algorithm for weights; it converges to the one maximum, slowly near it.
const ROUNDS: usize = 200;
/// Held-out rows that count as evidence for equal weights: a few rows must not rule a member out.
const PRIOR_ROWS: f64 = 2.0;

/// The mean, if it is a number.
pub fn finite_mean(values: &[f64]) -> Option<f64> {
    Some(values.iter().sum::<f64>() / values.len() as f64).filter(|mean| mean.is_finite())
}

/// Weights that maximise the mean log density of a mixture on held-out rows, drawn a little towards equal ones:
/// "stacking".
///
/// ```text
/// r_nk = w_k p_k(n) / Σ_j w_j p_j(n)       w_k ← (Σ_n r_nk + a/K) / (N + a)
/// ```
/// `log_densities[k][n]` is log p_k of row n. Reference: Yao, Vehtari, Simpson, Gelman (2018), "Using stacking to
/// average Bayesian predictive distributions".
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
    use crate::law::mix_log_densities;

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
