//! Student-t noise whose size is a function of the inputs: y = f₁ + s exp(f₂) t, t with ν degrees of freedom.
//!
//! Given f₂ the integral over f₁ is that of Student-t noise by the mixture of normal laws (`student_t`), and one rule
//! over f₂ remains (`nested`):
//!
//! ```text
//! Z = ∫ N(f₂; m₂, v₂) Z₁(κ) df₂        κ = νs² exp(2f₂)        Z₁ = ∫ N(f₁; m₁, v₁) p(y | f₁, f₂)^α df₁
//! ```
//! With a = α(ν+1)/2, A = a + 1 and ⟨·⟩ the average under the integrand of Z₁, in which λ = eᵗ and q are as there,
//!
//! ```text
//! ∂log Z₁/∂f₂ = 2a⟨1 − 1/q⟩ − α
//! ∂²log Z₁/∂f₂² = 4a² − 4a(2a + 1)⟨1/q⟩ + 4a⟨λ/q⟩ − 4a²⟨1 − 1/q⟩²
//! ∂log Z₁/∂ν = ½α (⟨t⟩ − ψ(A)) + a⟨1 − 1/q⟩/ν + α ∂log c₁/∂ν        c₁ = Γ((ν+1)/2)/(Γ(ν/2) √(πν))
//! ```
//! since f₂ moves the rate λ of the mixture alone, and a average of λᵏ without the factor q is a⟨λᵏ⁻¹/q⟩ with it.

use super::count::most;
use super::expectation::expectation;
use super::nested::tilted;
use super::student_t::{Mixture, StudentT, log_constant};
use super::{Independent, Observation, Slopes, Support, TiltedBar, assert_power, assert_sizes};
use crate::error::{Result, expect_positive};
use crate::param::{Block, BlockMut, Domain, Parameters};
use deepgp_numerics::special::digamma;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// One real target with outliers and two latent functions: its mean, and the log of how much larger its scale is than
/// `scale`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VaryingStudentT {
    /// s, the scale where f₂ is 0; trained.
    pub scale: f64,
    /// ν − 2, by how much the degrees of freedom are more than a finite variance takes; trained. Beyond 1e4 the law is
    /// normal for all purposes, and that is taken instead.
    pub dof_above_two: f64,
}

/// Values of f₂ beyond ± this are taken for it: exp(±100) is far from all data.
const MOST: f64 = 100.0;

/// Largest ν − 2.
const MOST_DOF_ABOVE_TWO: f64 = 9998.0;

impl VaryingStudentT {
    /// ν.
    fn dof(&self) -> f64 {
        2.0 + self.dof_above_two.min(MOST_DOF_ABOVE_TWO)
    }

    /// ∂ν/∂(ν − 2): 0 where it is held.
    fn dof_slope(&self) -> f64 {
        if self.dof_above_two <= MOST_DOF_ABOVE_TWO { 1.0 } else { 0.0 }
    }

    /// The law at f₂.
    fn given(&self, f: f64) -> StudentT {
        StudentT::isotropic(1, self.scale * f.clamp(-MOST, MOST).exp(), self.dof())
    }

    /// ∂log c₁/∂ν.
    fn constant_slope(&self) -> f64 {
        let nu = self.dof();
        0.5 * (digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu) - 1.0 / nu)
    }
}

impl Parameters for VaryingStudentT {
    fn visit(&self, visit: &mut dyn FnMut(Block<'_>)) {
        visit(Block { name: "scale", domain: Domain::Positive, values: std::slice::from_ref(&self.scale) });
        let values = std::slice::from_ref(&self.dof_above_two);
        visit(Block { name: "dof_above_two", domain: Domain::Positive, values });
    }

    fn visit_mut(&mut self, visit: &mut dyn FnMut(BlockMut<'_>)) {
        visit(BlockMut { name: "scale", domain: Domain::Positive, values: std::slice::from_mut(&mut self.scale) });
        let values = std::slice::from_mut(&mut self.dof_above_two);
        visit(BlockMut { name: "dof_above_two", domain: Domain::Positive, values });
    }
}

impl Observation for VaryingStudentT {
    fn n_latent(&self) -> usize {
        2
    }

    fn n_targets(&self) -> usize {
        1
    }

    fn check(&self) -> Result<()> {
        expect_positive("scale", Some(0), self.scale)?;
        expect_positive("dof_above_two", Some(0), self.dof_above_two)
    }

    fn support(&self, _target: usize) -> Support {
        Support::Real
    }

    /// With x = (y − f₁)²/κ, near = 1/(1 + x) and far = x/(1 + x):  ∂ℓ/∂f₂ = (ν+1) far − 1,  ∂²ℓ/∂f₂² = −2(ν+1) far
    /// near,  ∂ℓ/∂ν = ∂log c₁/∂ν − ½ log(1 + x) + ½(ν+1) far/ν.
    fn log_likelihood(&self, _target: usize, f: &[f64], y: f64, slopes: Option<Slopes<'_>>) -> f64 {
        let law = self.given(f[1]);
        let [log_p, first, second] = Independent::log_likelihood(&law, 0, f[0], y, None);
        if let Some(slopes) = slopes {
            let (nu, scale) = (law.dof, law.scale[0]);
            let z = (y - f[0]) / scale;
            let x = z * z / nu;
            let near = 1.0 / (1.0 + x);
            let far = 1.0 - near;
            let by_log_scale = (nu + 1.0) * far - 1.0;
            slopes.first[0] += first;
            slopes.first[1] += by_log_scale;
            slopes.second[0] += second;
            slopes.second[1] -= 2.0 * (nu + 1.0) * far * near;
            slopes.params[0] += by_log_scale / self.scale;
            let by_dof = self.constant_slope() - 0.5 * x.ln_1p() + 0.5 * (nu + 1.0) * far / nu;
            slopes.params[1] += self.dof_slope() * by_dof;
        }
        log_p
    }

    fn moments_given(&self, _target: usize, f: &[f64]) -> (f64, f64) {
        Independent::moments_given(&self.given(f[1]), 0, f[0])
    }

    fn cdf_given(&self, _target: usize, f: &[f64], y: f64) -> f64 {
        Independent::cdf_given(&self.given(f[1]), 0, f[0], y)
    }

    fn draw(&self, _target: usize, f: &[f64], rng: &mut dyn Rng) -> f64 {
        Independent::draw(&self.given(f[1]), 0, f[0], rng)
    }

    fn log_z(&self, mean: &[f64], var: &[f64], y: &[f64], alpha: f64, bar: TiltedBar<'_>) -> f64 {
        assert_power(alpha);
        assert_sizes(2, [mean.len(), var.len(), bar.mean.len(), bar.var.len(), bar.params.len()]);
        assert_sizes(1, [y.len()]);
        bar.mean.fill(0.0);
        bar.var.fill(0.0);
        if y[0].is_nan() {
            return 0.0;
        }
        if !(mean[0].is_finite() && var[0].is_finite()) {
            return f64::NAN;
        }
        let nu = self.dof();
        let a = 0.5 * alpha * (nu + 1.0);
        let log_constant = log_constant(nu) - self.scale.ln();
        let (log_gamma, psi) = (libm::lgamma(a + 1.0), digamma(a + 1.0));
        let by_constant = alpha * self.constant_slope() - 0.5 * alpha * psi;
        let ((own_mean, other_mean), (own_var, other_var)) = (bar.mean.split_at_mut(1), bar.var.split_at_mut(1));
        let mut averages = [0.0; 3];
        let outer = TiltedBar { mean: other_mean, var: other_var, params: &mut averages };
        let log_z = tilted((&mean[1..], &var[1..]), 1.0, outer, &mut |f, slopes| {
            let f = f[0].clamp(-MOST, MOST);
            let (e, kappa) = (y[0] - mean[0], nu * (self.scale * f.exp()).powi(2));
            let mixture = Mixture { a, delta: e * e / kappa, tau: var[0] / kappa };
            // 1/(qD), (2λδ/D − 1)/(qD), 1 − 1/q, λ/q and t
            let (log_integral, [by_delta, by_tau, rest, rate, t]) = mixture.integral(|node| {
                let q_less_one = (mixture.tau + mixture.delta * node.inv_d) * node.inv_d;
                let [by_delta, by_tau] = node.by_delta_and_tau(&mixture);
                [by_delta, by_tau, q_less_one / node.q, node.lambda / node.q, node.t]
            });
            slopes.first[0] = 2.0 * a * rest - alpha;
            // ⟨1/q⟩ = 1 − ⟨1 − 1/q⟩
            slopes.second[0] = 4.0 * a * (a + (rate - (2.0 * a + 1.0) * (1.0 - rest)) - a * rest * rest);
            slopes.params.copy_from_slice(&[
                2.0 * e / kappa * a * by_delta,
                a * by_tau / kappa,
                by_constant + 0.5 * alpha * t + a * rest / nu,
            ]);
            alpha * (log_constant - f) - log_gamma + log_integral
        });
        (own_mean[0], own_var[0]) = (averages[0], averages[1]);
        bar.params[0] += other_mean[0] / self.scale;
        bar.params[1] += self.dof_slope() * averages[2];
        log_z
    }

    /// P(target ≤ y), given f₂ an average over the mixture, averaged over f₂.
    fn cdf(&self, target: usize, mean: &[f64], var: &[f64], y: f64) -> f64 {
        assert_sizes(2, [mean.len(), var.len()]);
        assert!(target == 0, "there is no target {target}");
        if y.is_nan() {
            return f64::NAN;
        }
        let given = |f: f64| Independent::cdf(&self.given(f), 0, mean[0], var[0], y);
        expectation(&mean[1..], &var[1..], &mut |f| given(f[0])).clamp(0.0, 1.0)
    }

    /// E y = m₁, var y = v₁ + s² ν/(ν − 2) exp(2m₂ + 2v₂), at most the largest number.
    fn observe(&self, mean: &[f64], var: &[f64], y_mean: &mut [f64], y_var: &mut [f64]) {
        assert_sizes(2, [mean.len(), var.len()]);
        assert_sizes(1, [y_mean.len(), y_var.len()]);
        let nu = self.dof();
        let total = var[0] + nu / (nu - 2.0) * (2.0 * (self.scale.ln() + mean[1] + var[1])).exp();
        (y_mean[0], y_var[0]) = (mean[0], most(total));
    }
}
