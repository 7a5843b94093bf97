//! Derivatives by sixth-order central differences.

use crate::tolerance::{Tolerance, assert_all_close};

/// ∂f/∂x at `at`, by central differences of sixth order.
///
/// ```text
/// f' ≈ [45 (f₁ − f₋₁) − 9 (f₂ − f₋₂) + (f₃ − f₋₃)] / (60 h),   h = 2e-3 · max(1, |x|)
/// ```
pub fn gradient(mut f: impl FnMut(&[f64]) -> f64, at: &[f64]) -> Vec<f64> {
    let mut x = at.to_vec();
    (0..at.len())
        .map(|i| {
            let h = 2e-3 * at[i].abs().max(1.0);
            let mut value = |steps: f64| {
                x[i] = at[i] + steps * h;
                f(&x)
            };
            let slope =
                45.0 * (value(1.0) - value(-1.0)) - 9.0 * (value(2.0) - value(-2.0)) + (value(3.0) - value(-3.0));
            x[i] = at[i];
            slope / (60.0 * h)
        })
        .collect()
}

/// Asserts that `analytic` is the gradient of `f` at `at`.
///
/// # Panics
/// If it is not, to [`Tolerance::Gradient`].
#[track_caller]
pub fn assert_gradient(what: &str, f: impl FnMut(&[f64]) -> f64, at: &[f64], analytic: &[f64]) {
    assert_all_close(what, analytic, &gradient(f, at), Tolerance::Gradient);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_a_known_function() {
        let at = [0.3, -1.2];
        assert_gradient("x² eʸ", |x| x[0] * x[0] * x[1].exp(), &at, &[0.6 * at[1].exp(), 0.09 * at[1].exp()]);
    }

    #[test]
    #[should_panic(expected = "exceeds Gradient")]
    fn refuses_a_wrong_gradient() {
        assert_gradient("sin", |x| x[0].sin(), &[0.3], &[0.3_f64.cos() + 1e-6]);
    }
}
