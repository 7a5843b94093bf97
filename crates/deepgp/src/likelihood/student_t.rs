//! Student-t noise, for targets with outliers: y = f + s_d t, t with ν degrees of freedom.
//!
//! ```text
//! p(y | f) = c (1 + (y − f)²/κ)^{−(ν+1)/2}        c = Γ((ν+1)/2)/(Γ(ν/2) √(πκ))        κ = νs²
//! ```
//! Where v is large against κ, p is a spike under a wide Gaussian and no rule with nodes in f is safe. A power of p is
//! a scale mixture of Gaussians for every α, and f can be integrated out of a mixture:
//!
//! ```text
//! (1 + x)^{−a} = ∫ λ^{a−1} e^{−λ(1+x)} dλ / Γ(a)                     a = α(ν+1)/2
//! Z = c^α ∫ λ^{a−1} g(λ) dλ / Γ(a)                                   g = e^{−λ} D^{−½} exp(−λδ/D)
//!                                                                    D = 1 + 2λτ,  τ = v/κ,  δ = (y − m)²/κ
//! ```
//! Integration by parts lifts the slow left tail, and with λ = eᵗ the integral is one over the line,
//!
//! ```text
//! Z = c^α ∫ λ^A g q dt / Γ(A)        A = a + 1,  q = −g'/g = 1 + τ/D + δ/D²
//! ```
//! analytic for |Im t| < ½π: the trapezium rule is exact to about 1e-11 for every m, v and y. With ⟨·⟩ the average
//! under the integrand,
//!
//! ```text
//! ∂log Z/∂δ = −a⟨1/(qD)⟩        ∂log Z/∂τ = a⟨(2λδ/D − 1)/(qD)⟩
//! ```

use super::quadrature::log_integral;
use super::{Independent, Support, Tilted};
use crate::error::{Error, Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::ndtr;
use rand::Rng;
use rand_distr::{Distribution, Open01};
use serde::{Deserialize, Serialize};
use std::f64::consts::{PI, TAU};

/// Student-t observation noise with one scale per output and shared, *fixed* degrees of freedom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudentT {
    /// s_d, D numbers; trained.
    pub scale: Vec<f64>,
    /// ν, in (2, 1e4]; not trained.
    pub dof: f64,
}

/// Above this the law is Gaussian for all purposes, and its integrand needlessly narrow.
const MAX_DOF: f64 = 1e4;

/// Where the integrand is cut, in units of its logarithm below the maximum of a gamma density.
const DROP: f64 = 32.0;

impl StudentT {
    /// Equal scales on all `dim_out` outputs.
    pub fn isotropic(dim_out: usize, scale: f64, dof: f64) -> Self {
        Self { scale: vec![scale; dim_out], dof }
    }
}

/// log(c s): the part of the normaliser that does not depend on the scale.
pub(super) fn log_constant(nu: f64) -> f64 {
    libm::lgamma(0.5 * (nu + 1.0)) - libm::lgamma(0.5 * nu) - 0.5 * (PI * nu).ln()
}

/// The scale mixture for a point: a, δ and τ.
pub(super) struct Mixture {
    pub a: f64,
    pub delta: f64,
    pub tau: f64,
}

/// What a node of the mixture's integral knows.
pub(super) struct Node {
    pub t: f64,
    pub lambda: f64,
    pub inv_d: f64,
    pub q: f64,
}

impl Node {
    /// 1/(qD) and (2λδ/D − 1)/(qD), whose averages times −a and a are the derivatives in δ and τ.
    pub fn by_delta_and_tau(&self, mixture: &Mixture) -> [f64; 2] {
        let inv_qd = self.inv_d / self.q;
        [inv_qd, (2.0 * self.lambda * mixture.delta * self.inv_d - 1.0) * inv_qd]
    }
}

impl Mixture {
    /// log ∫ λ^A g q dt, and averages under the integrand.
    pub fn integral<const K: usize>(&self, statistics: impl Fn(Node) -> [f64; K]) -> (f64, [f64; K]) {
        let Self { a, delta, tau } = *self;
        let shape = a + 1.0;
        let (lo, hi, step) = nodes(shape, delta, tau);
        log_integral(lo, hi, step, |t| {
            let lambda = t.exp();
            let inv_d = 1.0 / (1.0 + 2.0 * lambda * tau);
            let q = 1.0 + (tau + delta * inv_d) * inv_d;
            // A t − λ − λδ/D + log(q D^{−½})
            let log_integrand = shape * t - lambda * (1.0 + delta * inv_d) + (q * inv_d.sqrt()).ln();
            (log_integrand, statistics(Node { t, lambda, inv_d, q }))
        })
    }
}

/// Range and step of t for the integrand λ^A g q.
///
/// ```text
/// (A/(1 + δ + τ)) ≲ λ ≲ A,  either side widened by the tails of a gamma density of shape A:
/// w − 1 + e^{−w} ≥ ρ  at  w = ½ρ + √(¼ρ² + 2ρ)      e^w − 1 − w ≥ ρ  at  w = log(1 + √(2ρ) + ρ)      ρ = DROP/A
/// ```
/// On the line Im t = θ the integrand is larger by (cos θ)^{−A}, so the step falls as 1/√A.
fn nodes(shape: f64, delta: f64, tau: f64) -> (f64, f64, f64) {
    let drop = DROP / shape;
    let left = 0.5 * drop + (0.25 * drop * drop + 2.0 * drop).sqrt();
    let right = ((2.0 * drop).sqrt() + drop).ln_1p();
    let top = shape.ln();
    (top - (delta + tau).ln_1p() - left, top + right, 0.8 / (shape + 6.0).sqrt())
}

impl Parameters for StudentT {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "scale", domain: Domain::Positive, values: &self.scale });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "scale", domain: Domain::Positive, values: &mut self.scale });
    }
}

impl Independent for StudentT {
    fn n_outputs(&self) -> usize {
        self.scale.len()
    }

    fn check(&self) -> Result<()> {
        self.scale.iter().enumerate().try_for_each(|(d, &s)| expect_positive("scale", Some(d), s))?;
        if self.dof > 2.0 && self.dof <= MAX_DOF {
            Ok(())
        } else {
            Err(Error::Parameter {
                name: "dof",
                layer: None,
                entry: None,
                value: self.dof,
                requirement: "it must be above 2, so that the variance is finite, and at most 1e4",
            })
        }
    }

    fn support(&self, _d: usize) -> Support {
        Support::Real
    }

    /// With x = (y − f)²/κ:  ℓ' = (ν+1)(y − f)/(κ(1 + x)),  ℓ'' = (ν+1)(x − 1)/(κ(1 + x)²),  ∂ℓ/∂s = ((ν+1) x/(1 + x) −
    /// 1)/s.
    fn log_likelihood(&self, d: usize, f: f64, y: f64, params: Option<&mut [f64]>) -> [f64; 3] {
        let (s, e) = (self.scale[d], y - f);
        let kappa = self.dof * s * s;
        let (x, shape) = (e * e / kappa, self.dof + 1.0);
        // x/(1 + x) and 1/(1 + x), which add up to 1 for every x
        let near = 1.0 / (1.0 + x);
        let far = 1.0 - near;
        if let Some(params) = params {
            params[d] += (shape * far - 1.0) / s;
        }
        let log_p = log_constant(self.dof) - s.ln() - 0.5 * shape * x.ln_1p();
        [log_p, shape * e / kappa * near, shape / kappa * (far - near) * near]
    }

    fn moments_given(&self, d: usize, f: f64) -> (f64, f64) {
        self.moments(d, f, 0.0)
    }

    fn cdf_given(&self, d: usize, f: f64, y: f64) -> f64 {
        self.cdf(d, f, 0.0, y)
    }

    /// The polar method: t = √(ν(U^{−2/ν} − 1)) cos(2πV) for uniform U, V. Reference: Bailey (1994).
    fn draw(&self, d: usize, f: f64, rng: &mut dyn Rng) -> f64 {
        let u: f64 = Open01.sample(rng);
        let angle: f64 = Open01.sample(rng);
        let radius = (self.dof * (-2.0 / self.dof * u.ln()).exp_m1()).sqrt();
        f + self.scale[d] * radius * (TAU * angle).cos()
    }

    fn tilt(&self, d: usize, m: f64, v: f64, y: f64, alpha: f64, params: Option<&mut [f64]>) -> Tilted {
        let (s, e) = (self.scale[d], y - m);
        let kappa = self.dof * s * s;
        let (delta, tau) = (e * e / kappa, v / kappa);
        let a = 0.5 * alpha * (self.dof + 1.0);
        let mixture = Mixture { a, delta, tau };
        let (log_integral, [by_delta, by_tau]) = mixture.integral(|node| node.by_delta_and_tau(&mixture));
        let log_z = alpha * (log_constant(self.dof) - s.ln()) - libm::lgamma(a + 1.0) + log_integral;
        // ∂δ/∂m = −2e/κ,   ∂τ/∂v = 1/κ
        let (by_delta, by_tau) = (-a * by_delta, a * by_tau);
        if let Some(params) = params {
            // ∂log c/∂s = −1/s,   ∂δ/∂s = −2δ/s,   ∂τ/∂s = −2τ/s
            params[d] -= (alpha + 2.0 * (delta * by_delta + tau * by_tau)) / s;
        }
        Tilted { log_z, mean: -2.0 * e / kappa * by_delta, var: by_tau / kappa }
    }

    /// E y = m, var y = v + s² ν/(ν − 2).
    fn moments(&self, d: usize, m: f64, v: f64) -> (f64, f64) {
        let s = self.scale[d];
        (m, v + s * s * self.dof / (self.dof - 2.0))
    }

    /// The average of normal distribution functions over the mixture, with a rate λ of shape ν/2 and λ = eᵗ:
    ///
    /// ```text
    /// P(target ≤ y) = ∫ λ^{ν/2} e^{−λ} Φ((y − m)/√(v + κ/(2λ))) dt / Γ(ν/2)
    /// ```
    fn cdf(&self, d: usize, m: f64, v: f64, y: f64) -> f64 {
        let (s, shape) = (self.scale[d], 0.5 * self.dof);
        let half_kappa = 0.5 * self.dof * s * s;
        let (lo, hi, step) = nodes(shape, 0.0, 0.0);
        let (_, [cdf]) = log_integral(lo, hi, step, |t| {
            let lambda = t.exp();
            (shape * t - lambda, [ndtr((y - m) / (v + half_kappa / lambda).sqrt())])
        });
        cdf
    }
}
