//! Expectations by quadrature, for laws that have no closed form.
//!
//! With nodes x_j and positive weights w_j of a rule for N(0, I), and h_j = m + √v ∘ x_j,
//!
//! ```text
//! ψ₀   = Σ_j w_j k(h_j, h_j)
//! ψ₁ᵢ  = Σ_j w_j k(h_j, zᵢ)
//! Ψ₂ᵢⱼ = Σ_l w_l k(h_l, zᵢ) k(h_l, zⱼ)
//! ξ_qi = Σ_j w_j √v_q x_jq k(h_j, zᵢ)
//! ```
//! The rule is symmetric and its weights are positive: Ψ₂ − ψ₁ψ₁ᵀ stays positive semidefinite, and v = 0 gives k
//! exactly.
//!
//! The rule is the tensor product of Gauss–Hermite rules with n nodes in each of the D dimensions: 40 for D = 1, 28, 9,
//! 5, 3, 3 for D = 2 … 6, so that no more than 800 are used. Beyond, it is the symmetric rule of degree 3 with 2D
//! equally weighted nodes ±√D e_q (Arasaratnam & Haykin 2009, Cubature Kalman filters), which sees the mean and the
//! curvature of k and no more.
//!
//! Limits: a rule that is exact for polynomials is good while √v is small against the lengthscales, and a Matérn law
//! has a kink in a higher derivative at z, so that its error falls as a power of n only. Largest errors of ψ₁ and of
//! the diagonal of Ψ₂, measured with s² = 1 and z at and around the mean:
//!
//! ```text
//!                   √v = ℓ/5           √v = ℓ/2           √v = ℓ
//!  D     n       3/2      5/2       3/2      5/2       3/2      5/2
//!  1    40      1e-5     4e-8      2e-4     4e-6      1e-3     2e-4
//!  2    28      7e-6     5e-8      1e-4     6e-6      1e-3     2e-4
//!  3     9      1e-4     4e-6      2e-3     4e-4      1e-2     8e-3
//!  4     5      7e-4     7e-5      1e-2     5e-3      4e-2     3e-2
//! ```
//! The adjoint is the exact derivative of the rule, so that an optimiser sees one consistent function whatever the
//! error.

use super::law::{Law, Tables};
use super::psi::{GaussianInput, Psi, PsiGrad};
use deepgp_numerics::linalg::{GaussHermite, Mat, tri};
use std::sync::{Arc, OnceLock};

/// Most nodes of a tensor rule.
const BUDGET: usize = 800;
/// Most nodes in one dimension.
const MAX_PER_DIM: usize = 40;
/// Fewest nodes in each dimension that a tensor rule is worth taking with.
const MIN_PER_DIM: usize = 3;

/// The adjoint divides by √v. It takes this variance where v is smaller, an input spread of 1e-6, which moves no
/// derivative by more than rounding and gives ∂/∂v its limit.
const VAR_FLOOR: f64 = 1e-12;

/// Nodes (J × D) and weights of a rule for N(0, I).
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    x: Mat,
    weight: Vec<f64>,
}

/// What the expectations need that depends on Z alone.
#[derive(Debug, Clone, Default)]
pub struct QuadratureTables {
    z: Mat,
    nodes: Arc<Nodes>,
}

impl QuadratureTables {
    /// Looks the rule up.
    pub(super) fn prepare(&mut self, z: &Mat) {
        self.z.clone_from(z);
        self.nodes = Nodes::of(z.cols());
    }
}

impl Tables for QuadratureTables {
    fn z(&self) -> &Mat {
        &self.z
    }
}

/// Working matrices of one point: h (J × D), k(h, Z) (J × M) and their adjoints.
#[derive(Debug, Clone, Default)]
pub struct QuadratureScratch {
    h: Mat,
    k: Mat,
    h_bar: Mat,
    k_bar: Mat,
}

/// Dimensions whose rule is worth keeping: the tensor rules.
const KEPT: usize = 6;

impl Nodes {
    /// The rule for D dimensions, from a table of constants: a tensor rule takes longer to build than a step to run,
    /// and every step prepares its tables anew.
    pub fn of(dim: usize) -> Arc<Self> {
        static RULES: [OnceLock<Arc<Nodes>>; KEPT + 1] = [const { OnceLock::new() }; KEPT + 1];
        match RULES.get(dim) {
            Some(rule) => Arc::clone(rule.get_or_init(|| Arc::new(Self::new(dim)))),
            None => Arc::new(Self::new(dim)),
        }
    }

    fn new(dim: usize) -> Self {
        match nodes_per_dim(dim) {
            Some(n) => Self::tensor(dim, &GaussHermite::new(n)),
            None => Self::symmetric(dim),
        }
    }

    /// Node number Σ_q i_q n^q has the coordinates x_{i_q}.
    fn tensor(dim: usize, rule: &GaussHermite) -> Self {
        let n = rule.nodes.len();
        let digit = |j: usize, q: usize| j / n.pow(q as u32) % n;
        let total = n.pow(dim as u32);
        Self {
            x: Mat::from_fn(total, dim, |j, q| rule.nodes[digit(j, q)]),
            weight: (0..total).map(|j| (0..dim).map(|q| rule.weights[digit(j, q)]).product()).collect(),
        }
    }

    /// Nodes ±√D e_q with weights 1/(2D).
    fn symmetric(dim: usize) -> Self {
        let radius = (dim as f64).sqrt();
        let sign = |j: usize| if j < dim { 1.0 } else { -1.0 };
        Self {
            x: Mat::from_fn(2 * dim, dim, |j, q| if j % dim == q { sign(j) * radius } else { 0.0 }),
            weight: vec![0.5 / dim as f64; 2 * dim],
        }
    }
}

/// Nodes in each dimension of the largest tensor rule within the budget, `None` if there is none.
fn nodes_per_dim(dim: usize) -> Option<usize> {
    (MIN_PER_DIM..=MAX_PER_DIM).rev().find(|n| n.checked_pow(dim as u32).is_some_and(|total| total <= BUDGET))
}

/// Places the nodes at h_j = m + √v ∘ x_j and evaluates k(h_j, z_i).
fn evaluate(
    law: &impl Law,
    tables: &QuadratureTables,
    mean: &[f64],
    std: impl Fn(usize) -> f64,
    work: &mut QuadratureScratch,
) {
    let x = &tables.nodes.x;
    work.h.reset(x.rows(), x.cols());
    for q in 0..x.cols() {
        let s = std(q);
        for j in 0..x.rows() {
            work.h[(j, q)] = mean[q] + s * x[(j, q)];
        }
    }
    law.cross(&work.h, &tables.z, &mut work.k);
}

/// [`Law::psi`] by quadrature.
pub(super) fn psi(
    law: &impl Law,
    tables: &QuadratureTables,
    input: GaussianInput<'_>,
    psi: &mut Psi,
    work: &mut QuadratureScratch,
) {
    let GaussianInput { mean, var } = input;
    let (Nodes { x, weight }, m, with_xi) = (&*tables.nodes, tables.z.rows(), psi.wants_xi());
    evaluate(law, tables, mean, |q| var[q].sqrt(), work);
    psi.psi0 = 0.0;
    psi.psi1.fill(0.0);
    psi.psi2.fill(0.0);
    psi.xi.fill_zero();
    for (j, w) in weight.iter().enumerate() {
        psi.psi0 += w * law.diag(work.h.row(j));
        let k = work.k.row(j);
        let mut p = 0;
        for i in 0..m {
            let weighted = w * k[i];
            psi.psi1[i] += weighted;
            for (out, k_l) in psi.psi2[p..p + m - i].iter_mut().zip(&k[i..]) {
                *out += weighted * k_l;
            }
            p += m - i;
        }
        if with_xi {
            for q in 0..x.cols() {
                let weighted = w * var[q].sqrt() * x[(j, q)];
                for (out, k_i) in psi.xi.row_mut(q).iter_mut().zip(k) {
                    *out += weighted * k_i;
                }
            }
        }
    }
}

/// [`Law::psi_adjoint`] by quadrature.
///
/// ```text
/// k̄_j = w_j (ψ̄₁ + W k_j + Σ_q ξ̄_q √v_q x_jq)         W k = ∂/∂k Σ_{i≤l} Ψ̄₂ᵢₗ k_i k_l
/// m̄_q = Σ_j h̄_jq                                     v̄_q = Σ_j (h̄_jq + w_j ξ̄_q·k_j) x_jq / (2 √v_q)
/// ```
pub(super) fn psi_adjoint(
    law: &impl Law,
    tables: &QuadratureTables,
    input: GaussianInput<'_>,
    bar: &Psi,
    grad: PsiGrad<'_>,
    work: &mut QuadratureScratch,
) {
    let (Nodes { x, weight }, m) = (&*tables.nodes, tables.z.rows());
    let (GaussianInput { mean, var }, PsiGrad { input: input_bar, kernel: grad }) = (input, grad);
    let std = |q: usize| var[q].max(VAR_FLOOR).sqrt();
    evaluate(law, tables, mean, std, work);
    work.h_bar.reset(x.rows(), x.cols());
    work.k_bar.reset(x.rows(), m);

    for (j, w) in weight.iter().enumerate() {
        let (k, k_bar) = (work.k.row(j), work.k_bar.row_mut(j));
        tri::gradient_mul(&bar.psi2, k, k_bar);
        for (out, psi1_bar) in k_bar.iter_mut().zip(&bar.psi1) {
            *out = w * (*out + psi1_bar);
        }
        if bar.wants_xi() {
            for q in 0..x.cols() {
                let (weighted, mut spread_bar) = (w * std(q) * x[(j, q)], 0.0);
                for ((out, xi_bar), k_i) in k_bar.iter_mut().zip(bar.xi.row(q)).zip(k) {
                    *out += weighted * xi_bar;
                    spread_bar += w * xi_bar * k_i;
                }
                input_bar.var[q] += spread_bar * x[(j, q)] / (2.0 * std(q));
            }
        }
        law.diag_adjoint(work.h.row(j), w * bar.psi0, Some(work.h_bar.row_mut(j)), &mut grad.params);
    }
    law.cross_adjoint(&work.h, &tables.z, &work.k, &work.k_bar, Some(&mut work.h_bar), grad);
    for q in 0..x.cols() {
        for j in 0..x.rows() {
            let h_bar = work.h_bar[(j, q)];
            input_bar.mean[q] += h_bar;
            input_bar.var[q] += h_bar * x[(j, q)] / (2.0 * std(q));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_oracle::{Tolerance, assert_close};

    #[test]
    fn every_rule_has_degree_three() {
        for dim in 1..=12 {
            let Nodes { x, weight } = Nodes::new(dim);
            assert!(weight.len() <= BUDGET.max(2 * dim) && weight.iter().all(|&w| w > 0.0));
            let moment = |f: &dyn Fn(&[f64]) -> f64| -> f64 { (0..x.rows()).map(|j| weight[j] * f(x.row(j))).sum() };
            assert_close("E 1", moment(&|_| 1.0), 1.0, Tolerance::Rounding);
            for q in 0..dim {
                assert_close("E x", moment(&|x| x[q]), 0.0, Tolerance::Rounding);
                assert_close("E x³", moment(&|x| x[q].powi(3)), 0.0, Tolerance::Rounding);
                for p in 0..dim {
                    let expected = if p == q { 1.0 } else { 0.0 };
                    assert_close("E x xᵀ", moment(&|x| x[p] * x[q]), expected, Tolerance::Rounding);
                }
            }
        }
    }

    #[test]
    fn a_rule_is_built_once() {
        for dim in 1..=KEPT {
            assert!(nodes_per_dim(dim).is_some() && Arc::ptr_eq(&Nodes::of(dim), &Nodes::of(dim)), "dimension {dim}");
        }
        assert_eq!(nodes_per_dim(KEPT + 1), None);
    }
}
