//! Adam (Kingma & Ba 2015).

use crate::error::{Error, Result, expect_size};
use crate::simd::{Job, Lanes, run};
use serde::{Deserialize, Serialize};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;
const LEAST_SQUARE: f64 = 1e-200;

/// Adam's running moments of the gradient.
///
/// ```text
/// m ← β₁ m + (1 − β₁) g       v ← β₂ v + (1 − β₂) g²
/// θ ← θ − lr · m̂ / (√v̂ + ε),   m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ)
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adam {
    m: Vec<f64>,
    v: Vec<f64>,
    t: i32,
}

impl Adam {
    /// For vectors of `n` numbers.
    pub fn new(n: usize) -> Self {
        Self { m: vec![0.0; n], v: vec![0.0; n], t: 0 }
    }

    /// Checks moments that came from a file: `n` of each, finite, squares not negative.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::Parameter`].
    pub fn check(&self, n: usize) -> Result<()> {
        expect_size("first moments of Adam", n, self.m.len())?;
        expect_size("second moments of Adam", n, self.v.len())?;
        let error = |name, entry, value, requirement| Err(Error::Parameter { name, entry, value, requirement });
        if let Some(i) = self.m.iter().position(|m| !m.is_finite()) {
            return error("first moment of Adam", Some(i), self.m[i], "it must be finite");
        }
        if let Some(i) = self.v.iter().position(|v| !(*v >= 0.0 && v.is_finite())) {
            return error("second moment of Adam", Some(i), self.v[i], "it must be finite and not negative");
        }
        if self.t < 0 {
            return error("steps of Adam", None, f64::from(self.t), "they must not be negative");
        }
        Ok(())
    }

    /// One descent step. The square of every entry of the gradient must be finite: otherwise that entry would never
    /// move again.
    ///
    /// # Panics
    /// If the lengths differ from that of [`Adam::new`].
    pub fn step(&mut self, theta: &mut [f64], gradient: &[f64], learning_rate: f64) {
        assert_eq!((theta.len(), gradient.len()), (self.m.len(), self.m.len()), "lengths must agree");
        self.t = self.t.saturating_add(1);
        let (c1, c2) = (1.0 - BETA1.powi(self.t), 1.0 - BETA2.powi(self.t));
        let moments = (self.m.as_mut_slice(), self.v.as_mut_slice());
        // SAFETY: the lengths agree, as just checked.
        unsafe { run(Descent { theta, gradient, moments, rate: learning_rate / c1, inv_c2: 1.0 / c2 }) }
    }
}

/// A step of all entries: four slices of the same length.
struct Descent<'a> {
    theta: &'a mut [f64],
    gradient: &'a [f64],
    moments: (&'a mut [f64], &'a mut [f64]),
    /// lr/(1 − β₁ᵗ) and 1/(1 − β₂ᵗ).
    rate: f64,
    inv_c2: f64,
}

impl Job for Descent<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { theta, gradient, moments: (m, v), rate, inv_c2 } = self;
        // SAFETY: passed on to the caller.
        unsafe {
            let (old1, old2) = (L::splat(BETA1), L::splat(BETA2));
            let (new1, new2) = (L::splat(1.0 - BETA1), L::splat(1.0 - BETA2));
            for i in (0..theta.len()).step_by(L::N) {
                let left = theta.len() - i;
                let (at, m_at, v_at) = (theta.as_mut_ptr().add(i), m.as_mut_ptr().add(i), v.as_mut_ptr().add(i));
                let g = L::load_some(gradient.as_ptr().add(i), left);
                let m = L::mul_add(new1, g, L::mul(old1, L::load_some(m_at, left)));
                let v = L::mul_add(L::mul(new2, g), g, L::mul(old2, L::load_some(v_at, left)));
                // A square that is 0 counts as one whose root is nothing beside ε.
                let root = L::sqrt_positive(L::max(L::mul(L::splat(inv_c2), v), L::splat(LEAST_SQUARE)));
                let share = L::mul(m, L::inverse_positive(L::add(root, L::splat(EPSILON))));
                L::store_some(m_at, m, left);
                L::store_some(v_at, v, left);
                L::store_some(at, L::neg_mul_add(L::splat(rate), share, L::load_some(at, left)), left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_step_has_the_length_of_the_learning_rate() {
        let (mut adam, mut theta) = (Adam::new(2), [1.0, -1.0]);
        adam.step(&mut theta, &[3.0, -0.02], 0.1);
        assert!((theta[0] - 0.9).abs() < 1e-7 && (theta[1] + 0.9).abs() < 1e-6, "{theta:?}");
    }

    /// The formula entry by entry, on every instruction set, for gradients of all sizes and none.
    #[test]
    fn steps_are_those_of_the_formula() {
        crate::simd::forced::on_each(|isa| {
            let n = 21;
            let gradient = |i: usize, t: i32| match i % 7 {
                0 => 0.0,
                k => (i as f64 + f64::from(t)).sin() * 10.0_f64.powi(40 * (k as i32 - 4)),
            };
            let (mut adam, mut theta) = (Adam::new(n), vec![1.0; n]);
            let (mut expected, mut m, mut v) = (theta.clone(), vec![0.0; n], vec![0.0; n]);
            for t in 1..6 {
                let g: Vec<f64> = (0..n).map(|i| gradient(i, t)).collect();
                adam.step(&mut theta, &g, 0.1);
                for i in 0..n {
                    m[i] = BETA1 * m[i] + (1.0 - BETA1) * g[i];
                    v[i] = BETA2 * v[i] + (1.0 - BETA2) * g[i] * g[i];
                    let (m_hat, v_hat): (f64, f64) = (m[i] / (1.0 - BETA1.powi(t)), v[i] / (1.0 - BETA2.powi(t)));
                    expected[i] -= 0.1 * m_hat / (v_hat.sqrt() + EPSILON);
                    assert!((theta[i] - expected[i]).abs() < 1e-14, "{isa:?}, entry {i}: {} {}", theta[i], expected[i]);
                }
            }
        });
    }

    #[test]
    fn descends_a_badly_scaled_quadratic() {
        let (mut adam, mut theta) = (Adam::new(2), [1.0, 1.0]);
        for _ in 0..2000 {
            let gradient = [theta[0], 100.0 * theta[1]];
            adam.step(&mut theta, &gradient, 0.01);
        }
        assert!(theta.iter().all(|t| t.abs() < 1e-3), "{theta:?}");
    }
}
