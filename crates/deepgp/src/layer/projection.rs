//! The weights that turn kernel values into output moments, from a Gaussian over inducing outputs.
//!
//! ```text
//! A = L⁻ᵀ μ         C = L⁻ᵀ (S − I) L⁻¹         B = C + A Aᵀ
//! ```
//! N(μ, S) is the cavity in training and the posterior in prediction: both come here.

use super::{Inducing, LayerSums};
use crate::gauss::{Moments, MomentsBar};
use crate::linalg::{Mat, Op, dot, mul, mul_add, tri};

/// A, C and B for each output of a layer.
#[derive(Debug, Clone)]
pub struct Projection {
    /// A, one row of M per output.
    pub a: Mat,
    /// C, M × M per output.
    pub c: Vec<Mat>,
    /// B as packed weights ([`tri::pack_weights`]), so that ⟨B, Ψ₂⟩ is a plain dot product.
    pub b: Vec<Vec<f64>>,
}

impl Projection {
    /// Projects one Gaussian per output. Cost: O(M³) per output.
    pub fn new(inducing: &Inducing, q: &[Moments]) -> Self {
        let l_inv = inducing.chol.l_inv();
        let m = l_inv.rows();
        let mut a = Mat::zeros(q.len(), m);
        let (mut c, mut b) = (Vec::with_capacity(q.len()), Vec::with_capacity(q.len()));
        let mut half = Mat::default();
        for (d, q) in q.iter().enumerate() {
            // A = L⁻ᵀ μ
            for (k, mean) in q.mean.iter().enumerate() {
                for (a, l) in a.row_mut(d).iter_mut().zip(l_inv.row(k)) {
                    *a += l * mean;
                }
            }
            // C = L⁻ᵀ (S − I) L⁻¹
            let mut excess = q.cov.clone();
            for i in 0..m {
                excess[(i, i)] -= 1.0;
            }
            let mut c_d = Mat::default();
            mul(&mut half, l_inv, Op::T, &excess, Op::Id);
            mul(&mut c_d, &half, Op::Id, l_inv, Op::Id);
            // B = C + A Aᵀ
            let a_d = a.row(d);
            let full = Mat::from_fn(m, m, |i, j| c_d[(i, j)] + a_d[i] * a_d[j]);
            let mut b_d = vec![0.0; tri::packed_len(m)];
            tri::pack_weights(&full, &mut b_d);
            c.push(c_d);
            b.push(b_d);
        }
        Self { a, c, b }
    }

    /// Adjoint: from sums over points of ∂F/∂A and ∂F/∂C to ∂F/∂(μ, S) per output, adding ∂F/∂L to `l_bar`.
    ///
    /// ```text
    /// μ̄ = L⁻¹ Ā        S̄ = L⁻¹ C̄ L⁻ᵀ        L̄ −= L⁻ᵀ Σ_d (μ_d μ̄_dᵀ + 2 (S_d − I) S̄_d)
    /// ```
    /// The same for known and for random inputs, since k kᵀ takes the place of Ψ₂. Only the lower triangle of `l_bar`
    /// has meaning.
    pub fn adjoint(inducing: &Inducing, q: &[Moments], sums: &LayerSums, l_bar: &mut Mat) -> Vec<MomentsBar> {
        let l_inv = inducing.chol.l_inv();
        let m = l_inv.rows();
        let (mut c_bar, mut half, mut inner) = (Mat::zeros(m, m), Mat::default(), Mat::zeros(m, m));
        let mut bars = Vec::with_capacity(q.len());
        for (d, q) in q.iter().enumerate() {
            let mean_bar: Vec<f64> = (0..m).map(|i| dot(&l_inv.row(i)[..=i], &sums.a.row(d)[..=i])).collect();
            sums.c_full(d, &mut c_bar);
            let mut cov_bar = Mat::default();
            mul(&mut half, l_inv, Op::Id, &c_bar, Op::Id);
            mul(&mut cov_bar, &half, Op::Id, l_inv, Op::T);
            mul_add(&mut inner, 2.0, &q.cov, Op::Id, &cov_bar, Op::Id);
            inner.add_scaled(-2.0, &cov_bar);
            for i in 0..m {
                for (out, bar) in inner.row_mut(i).iter_mut().zip(&mean_bar) {
                    *out += q.mean[i] * bar;
                }
            }
            bars.push(MomentsBar { mean: mean_bar, cov: cov_bar, log_partition: 0.0 });
        }
        mul_add(l_bar, -1.0, l_inv, Op::T, &inner, Op::Id);
        bars
    }
}
