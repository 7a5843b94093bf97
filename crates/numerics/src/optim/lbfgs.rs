//! L-BFGS with a backtracking line search, for smooth functions whose gradient is exact.
//!
//! ```text
//! d = −H g,   H ≈ (∇²f)⁻¹ from the last pairs s = θ' − θ, y = g' − g (two-loop recursion)
//! θ' = θ + t d,   t the first of 1, ½, ¼, … with f(θ') ≤ f(θ) + 10⁻⁴ t gᵀd
//! ```
//! A pair is kept only if sᵀy > 0, which keeps H positive definite without the Wolfe conditions.
//! Reference: Nocedal, Wright (2006), "Numerical Optimization", algorithms 7.4 and 3.1.

use crate::linalg::{axpy, dot};
use std::collections::VecDeque;

/// Pairs that are kept.
const STORED_PAIRS: usize = 10;
/// Share of the expected decrease that a step must give.
const SUFFICIENT: f64 = 1e-4;
/// Halvings of a step before the search is given up.
const MAX_HALVINGS: usize = 20;
/// Longest first step in any coordinate, before anything is known of the curvature.
const FIRST_STEP: f64 = 0.5;

/// What a minimisation came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimum {
    /// Where.
    pub theta: Vec<f64>,
    /// The value there.
    pub value: f64,
    /// Evaluations used.
    pub evaluations: usize,
}

/// Descends from `theta` until a step gains less than `tolerance` or the evaluations are used up. `function` gives
/// value and gradient, or nothing where it cannot be evaluated: such a step is shortened. `None` if it cannot be
/// evaluated at the start.
pub fn minimise(
    theta: Vec<f64>,
    max_evaluations: usize,
    tolerance: f64,
    mut function: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
) -> Option<Minimum> {
    let mut theta = theta;
    let (mut value, mut gradient) = function(&theta)?;
    let mut evaluations = 1;
    let mut pairs: VecDeque<(Vec<f64>, Vec<f64>)> = VecDeque::new();
    'descent: while evaluations < max_evaluations {
        let direction = quasi_newton(&pairs, &gradient);
        let slope = dot(&gradient, &direction);
        if !slope.is_finite() || slope >= 0.0 {
            break;
        }
        let largest = direction.iter().fold(0.0_f64, |a, d| a.max(d.abs()));
        let mut t = if pairs.is_empty() { (FIRST_STEP / largest).min(1.0) } else { 1.0 };
        for _ in 0..MAX_HALVINGS {
            if evaluations == max_evaluations {
                break 'descent;
            }
            evaluations += 1;
            let mut next = theta.clone();
            axpy(t, &direction, &mut next);
            if let Some((next_value, next_gradient)) = function(&next)
                && next_value <= value + SUFFICIENT * t * slope
            {
                let s: Vec<f64> = next.iter().zip(&theta).map(|(a, b)| a - b).collect();
                let y: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
                if dot(&s, &y) > 1e-10 * dot(&y, &y) {
                    if pairs.len() == STORED_PAIRS {
                        pairs.pop_front();
                    }
                    pairs.push_back((s, y));
                }
                let gain = value - next_value;
                (theta, value, gradient) = (next, next_value, next_gradient);
                if gain < tolerance {
                    break 'descent;
                }
                continue 'descent;
            }
            t *= 0.5;
        }
        if pairs.is_empty() {
            break;
        }
        // What is remembered of the curvature misled: steepest descent from here.
        pairs.clear();
    }
    Some(Minimum { theta, value, evaluations })
}

/// −H g by the two-loop recursion.
fn quasi_newton(pairs: &VecDeque<(Vec<f64>, Vec<f64>)>, gradient: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut weights = Vec::with_capacity(pairs.len());
    for (s, y) in pairs.iter().rev() {
        let weight = dot(s, &q) / dot(s, y);
        axpy(-weight, y, &mut q);
        weights.push(weight);
    }
    if let Some((s, y)) = pairs.back() {
        let scale = dot(s, y) / dot(y, y);
        q.iter_mut().for_each(|q| *q *= scale);
    }
    for ((s, y), weight) in pairs.iter().zip(weights.iter().rev()) {
        axpy(weight - dot(y, &q) / dot(s, y), s, &mut q);
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's valley, minimum 0 at (1, 1).
    fn valley(x: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        Some((a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b]))
    }

    #[test]
    fn the_end_of_the_valley_is_found() {
        let found = minimise(vec![-1.2, 1.0], 200, 0.0, valley).expect("it can be evaluated");
        assert!((found.theta[0] - 1.0).abs() < 1e-6 && (found.theta[1] - 1.0).abs() < 1e-6, "{found:?}");
        assert!(found.evaluations < 100, "{found:?}");
    }

    #[test]
    fn what_cannot_be_evaluated_is_avoided() {
        // −log x + x, minimum at 1, nothing below 0.
        let barrier = |x: &[f64]| (x[0] > 0.0).then(|| (x[0] - x[0].ln(), vec![1.0 - 1.0 / x[0]]));
        let found = minimise(vec![30.0], 100, 0.0, barrier).expect("it can be evaluated");
        assert!((found.theta[0] - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(minimise(vec![-1.0], 100, 0.0, barrier), None);
    }

    #[test]
    fn evaluations_are_bounded() {
        let mut count = 0;
        let found = minimise(vec![-1.2, 1.0], 7, 0.0, |x| {
            count += 1;
            valley(x)
        });
        assert_eq!((count, found.map(|f| f.evaluations)), (7, Some(7)));
    }
}
