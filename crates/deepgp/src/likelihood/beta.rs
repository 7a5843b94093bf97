//! Targets between 0 and 1: a beta law with mean σ(f) and precision φ.
//!
//! With s = σ(f), c = σ(−f), a = φs, b = φc and A = aψ(a), B = bψ(b),
//!
//! ```text
//! ℓ = log Γ(φ) − log Γ(a) − log Γ(b) + (a − 1) log y + (b − 1) log(1 − y)
//! ∂ℓ/∂f = sB − cA + acλ                                                        λ = log y − log(1 − y)
//! ∂²ℓ/∂f² = sc (A + B) − ac² A' − bs² B' + ac (c − s) λ                        A' = dA/da, B' = dB/db
//! ∂ℓ/∂φ = ψ(φ) − (A + B)/φ + s log y + c log(1 − y)
//! var(y | f) = sc/(1 + φ)
//! ```
//! Near 0, log Γ(a) = log Γ(1 + a) − log a and A = aψ(1 + a) − 1. p has one maximum in f; log Z is integrated by the
//! rule of `nested`.

use super::logit::{log_logistic, logistic};
use super::{Independent, Support};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::{digamma, incomplete_beta, log_gamma, trigamma};
use rand::Rng;
use rand_distr::{Beta as Draw, Distribution};
use serde::{Deserialize, Serialize};

/// Targets between 0 and 1 whose mean is the logistic function of a latent function, with a precision for each output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beta {
    /// φ_d, D numbers; trained.
    pub precision: Vec<f64>,
}

impl Parameters for Beta {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "precision", domain: Domain::Positive, values: &self.precision });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "precision", domain: Domain::Positive, values: &mut self.precision });
    }
}

impl Independent for Beta {
    fn n_outputs(&self) -> usize {
        self.precision.len()
    }

    fn check(&self) -> Result<()> {
        self.precision.iter().enumerate().try_for_each(|(d, &phi)| expect_positive("precision", Some(d), phi))
    }

    fn support(&self, _d: usize) -> Support {
        Support::Interval { low: 0.0, high: 1.0 }
    }

    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        let phi = self.precision[d];
        let (s, c) = (logistic(f), logistic(-f));
        let (a, b) = (phi * s, phi * c);
        let (log_y, log_rest) = (y.ln(), (-y).ln_1p());
        let lambda = log_y - log_rest;
        let (psi_a, psi_b) = (digamma(1.0 + a), digamma(1.0 + b));
        let (of_a, of_b) = (a * psi_a - 1.0, b * psi_b - 1.0);
        if let Some(params) = params {
            params[d] += digamma(phi) - (of_a + of_b) / phi + s * log_y + c * log_rest;
        }
        let log_gammas = log_gamma(1.0 + a) + log_gamma(1.0 + b) - 2.0 * phi.ln() - log_logistic(f) - log_logistic(-f);
        let value = log_gamma(phi) - log_gammas + (a - 1.0) * log_y + (b - 1.0) * log_rest;
        let (rise_a, rise_b) = (psi_a + a * trigamma(1.0 + a), psi_b + b * trigamma(1.0 + b));
        let second = s * c * (of_a + of_b) - a * c * c * rise_a - b * s * s * rise_b + a * c * (c - s) * lambda;
        [value, s * of_b - c * of_a + a * c * lambda, second]
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        (logistic(f), logistic(f) * logistic(-f) / (1.0 + self.precision[d]))
    }

    /// P(y ≤ t) = I_t(a, b), the regularised incomplete beta function.
    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        let (a, b) = (self.precision[d] * logistic(f), self.precision[d] * logistic(-f));
        if y <= 0.0 || y >= 1.0 || b == 0.0 {
            return if y >= 1.0 { 1.0 } else { 0.0 };
        }
        if a == 0.0 { 1.0 } else { incomplete_beta(a, b, y, 1.0 - y) }
    }

    /// Strictly inside the interval, whatever rounding says.
    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let phi = self.precision[d];
        let drawn = Draw::new(phi * logistic(f), phi * logistic(-f)).map_or(logistic(f), |law| law.sample(rng));
        drawn.clamp(f64::MIN_POSITIVE, 1.0 - 0.5 * f64::EPSILON)
    }
}
