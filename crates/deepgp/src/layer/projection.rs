//! The weights that turn kernel values into output moments, from a Gaussian over inducing outputs.
//!
//! ```text
//! A = L⁻ᵀ μ         C = L⁻ᵀ (S − I) L⁻¹         B = C + A Aᵀ
//! ```
//! N(μ, S) is the cavity in training and the posterior in prediction: both come here.

use super::{ExactSums, GaussianSums, Inducing, Inputs, LayerSums, Second, Wanted};
use crate::gauss::{FullGaussian, FullGaussianBar};
use crate::kernel::row_len;
use deepgp_numerics::linalg::product::{Left, Part, halve_lower, product};
use deepgp_numerics::linalg::transpose::{add_transpose_into, mirror};
use deepgp_numerics::linalg::{
    Mat, add_scaled_lower, less_outer_lower, mul_lower_transposed, mul_symmetric, mul_vec, sum_lower,
};

/// What propagation needs of N(μ, S) of each output: μ and S − I, and of Gaussian inputs A and B; kept and refilled
/// from step to step.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// μ, one row of M per output.
    pub mean: Mat,
    /// S − I, M × M per output; none where the precisions' factors serve instead.
    pub excess: Vec<Mat>,
    /// A, one row of M per output.
    pub a: Mat,
    /// B, symmetric, M rows of more than M numbers per output, zero beyond M.
    pub b: Vec<Mat>,
    /// E = (L C_q)⁻¹ of one output, and the lower triangle of EᵀE.
    e: Mat,
    square: Mat,
}

/// Working matrices of [`Projection::adjoint`], and its results.
#[derive(Debug, Clone, Default)]
pub struct ProjectionBack {
    /// ∂ℒ/∂(μ, S) per output.
    pub bars: Vec<FullGaussianBar>,
    /// Σ P per output, P = g gᵀ − 2G with g = ∂log Z/∂μ and G = ∂log Z/∂S of a point.
    pub curvature: Vec<Mat>,
    /// Σ P μ, one row of M per output.
    pub p_mu: Mat,
    /// Φ = LᵀL̄; its lower triangle has meaning.
    pub phi: Mat,
    half: Mat,
}

impl ProjectionBack {
    /// Puts the memory that [`Projection::adjoint`] took out of `sums` back: what the next pass writes to is then still
    /// in the cache.
    pub fn give_back(&mut self, sums: &mut LayerSums) {
        match &mut sums.second {
            Second::Exact(ExactSums { p_or_cov_bar, wanted, phi }) => {
                for (sum, (p, bar)) in p_or_cov_bar.iter_mut().zip(self.curvature.iter_mut().zip(&mut self.bars)) {
                    std::mem::swap(sum, if *wanted == Wanted::Sites { p } else { &mut bar.cov });
                }
                std::mem::swap(phi, &mut self.phi);
            }
            Second::Gaussian(GaussianSums { outer, whitened: true, .. }) => {
                outer.iter_mut().zip(&mut self.curvature).for_each(|(outer, p)| std::mem::swap(outer, p));
            }
            Second::Gaussian(GaussianSums { whitened: false, .. }) => {}
        }
    }
}

impl Projection {
    /// Projects one Gaussian per output, for inputs of the given kind; what serves Gaussian inputs serves exact ones
    /// too, as where a prediction draws them. Cost: O(M³) per output.
    pub fn new(inducing: &Inducing, inputs: Inputs, q: &[FullGaussian]) -> Self {
        let mut out = Self::default();
        out.refill(inducing, inputs, q);
        out
    }

    /// [`Projection::new`] into existing memory.
    ///
    /// With the precision of q factored as C_q C_qᵀ = S⁻¹ and E = C_q⁻¹ L⁻¹, lower triangular:
    ///
    /// ```text
    /// A = Eᵀ (C_q⁻¹ s η)        C = EᵀE − K⁻¹
    /// ```
    pub fn refill(&mut self, inducing: &Inducing, inputs: Inputs, q: &[FullGaussian]) {
        self.refill_means(q);
        self.excess.resize_with(q.len(), Mat::default);
        for (q, excess) in q.iter().zip(&mut self.excess) {
            q.precision.inverse_into(excess);
            excess.diagonal_mut().for_each(|entry| *entry -= 1.0);
        }
        if inputs == Inputs::Gaussian {
            self.refill_weights(inducing, q);
        }
    }

    /// [`Projection::refill`] without S − I, for a caller that propagates with the precisions' factors instead
    /// ([`super::ExactTape::forward_solving`], [`Projection::adjoint_solving`]).
    pub(crate) fn refill_factored(&mut self, inducing: &Inducing, inputs: Inputs, q: &[FullGaussian]) {
        self.refill_means(q);
        self.excess.clear();
        if inputs == Inputs::Gaussian {
            self.refill_weights(inducing, q);
        }
    }

    fn refill_means(&mut self, q: &[FullGaussian]) {
        self.mean.reshape(q.len(), q.first().map_or(0, |q| q.mean.len()));
        q.iter().enumerate().for_each(|(d, q)| self.mean.row_mut(d).copy_from_slice(&q.mean));
    }

    fn refill_weights(&mut self, inducing: &Inducing, q: &[FullGaussian]) {
        let l_inv = inducing.chol.l_inv();
        let m = l_inv.rows();
        self.a.reshape(q.len(), m);
        self.b.resize_with(q.len(), Mat::default);
        for (d, q) in q.iter().enumerate() {
            q.precision.solve_lower(l_inv, &mut self.e);
            mul_lower_transposed(&self.e, &q.half_mean, self.a.row_mut(d));
            let square = &mut self.square;
            product(square, false, Left::transposed(&self.e, Part::Upper), (&self.e, Part::Lower), Part::Lower);
            // B = EᵀE − K⁻¹ + A Aᵀ
            let (a, b) = (self.a.row(d), &mut self.b[d]);
            if (b.rows(), b.cols()) != (m, row_len(m)) {
                b.reset(m, row_len(m));
            }
            sum_lower(square, &inducing.kzz_inv, a, b);
            mirror(b, Part::Lower);
        }
    }

    /// Adjoint: from sums over points to ∂ℒ/∂μ, ∂ℒ/∂S and Σ P per output and to Φ = LᵀL̄ of the layer, all into `back`.
    ///
    /// ```text
    /// μ̄ = Σ g     S̄ = L⁻¹ C̄ L⁻ᵀ     Σ P = Σ g gᵀ − 2 S̄     Φ = −Σ_d (μ_d μ̄_dᵀ + 2 (S_d − I) S̄_d)     g = L⁻¹ g̃
    /// ```
    /// where inputs are Gaussian; where they are exact the sums are these already, as far as they were wanted. All of
    /// it is on the whitened scale: forms of Φ that pass through K⁻¹ are cheaper, and worthless where K is nearly
    /// singular. Sums of second order are taken out of `sums`.
    pub fn adjoint(&self, inducing: &Inducing, sums: &mut LayerSums, back: &mut ProjectionBack) {
        self.adjoint_solving(None, inducing, sums, back);
    }

    /// [`Projection::adjoint`] for first-order sites, with the Gaussians themselves where there is no S − I: then (S −
    /// I) S̄ = S S̄ − S̄, with S S̄ by the precision's factor. Of Σ P only the lower triangle has meaning.
    pub(crate) fn adjoint_solving(
        &self,
        q: Option<&[FullGaussian]>,
        inducing: &Inducing,
        sums: &mut LayerSums,
        back: &mut ProjectionBack,
    ) {
        let l_inv = inducing.chol.l_inv();
        let m = l_inv.rows();
        let ProjectionBack { bars, curvature, p_mu, phi, half } = back;
        bars.resize_with(self.mean.rows(), FullGaussianBar::default);
        curvature.resize_with(self.mean.rows(), Mat::default);
        p_mu.reshape(self.mean.rows(), m);
        phi.reshape(m, m);
        for (d, (bar, p)) in bars.iter_mut().zip(curvature).enumerate() {
            bar.log_partition = 0.0;
            bar.mean.resize(m, 0.0);
            match &mut sums.second {
                Second::Exact(ExactSums { p_or_cov_bar, wanted, .. }) => {
                    bar.mean.copy_from_slice(sums.sum_g.row(d));
                    p_mu.row_mut(d).copy_from_slice(sums.sum_g.row(self.mean.rows() + d));
                    let out = if *wanted == Wanted::Sites { p } else { &mut bar.cov };
                    out.reshape(m, m);
                    std::mem::swap(out, &mut p_or_cov_bar[d]);
                    if q.is_none() {
                        mirror(out, Part::Lower);
                    }
                }
                Second::Gaussian(GaussianSums { outer, whitened: true, c }) => {
                    bar.mean.copy_from_slice(sums.sum_g.row(d));
                    whiten(inducing, &mut c[d], half, &mut bar.cov);
                    add_scaled_lower(&mut outer[d], -2.0, &bar.cov);
                    p.reshape(m, m);
                    std::mem::swap(p, &mut outer[d]);
                    mirror(p, Part::Lower);
                    mul_symmetric(p, self.mean.row(d), p_mu.row_mut(d));
                }
                Second::Gaussian(GaussianSums { outer, whitened: false, c }) => {
                    mul_vec(l_inv, Part::Lower, sums.sum_g.row(d), &mut bar.mean);
                    add_scaled_lower(&mut outer[d], -2.0, &c[d]);
                    whiten(inducing, &mut outer[d], half, p);
                    whiten(inducing, &mut c[d], half, &mut bar.cov);
                    mul_symmetric(p, self.mean.row(d), p_mu.row_mut(d));
                }
            }
        }
        match &mut sums.second {
            Second::Exact(sums) => std::mem::swap(phi, &mut sums.phi),
            Second::Gaussian(_) => {
                for (d, bar) in bars.iter().enumerate() {
                    // −2 (S − I) S̄ − μ μ̄ᵀ of the first output takes the place of what was there, those of others are
                    // added.
                    let (out, cov_bar) = (if d == 0 { &mut *phi } else { &mut *half }, &bar.cov);
                    match q {
                        Some(q) => q[d].precision.factored().solve(cov_bar, Part::Lower, out),
                        None => {
                            let excess = Left::plain(&self.excess[d], Part::Full);
                            product(out, false, excess, (cov_bar, Part::Full), Part::Lower);
                        }
                    }
                    less_outer_lower(out, -2.0, q.map(|_| cov_bar), self.mean.row(d), &bar.mean);
                    if d > 0 {
                        add_scaled_lower(phi, 1.0, half);
                    }
                }
            }
        }
    }
}

/// `out = L⁻¹ X L⁻ᵀ` for a symmetric X, whose lower triangle is read, and destroyed: from a gradient on the inducing
/// outputs' own scale to the whitened one.
///
/// ```text
/// X = T + Tᵀ,  T lower triangular:      Fᵀ = Tᵀ L⁻ᵀ (upper triangular)      H = F L⁻ᵀ      L⁻¹ X L⁻ᵀ = H + Hᵀ
/// ```
/// takes three fifths of the multiplications of L⁻¹ X and (L⁻¹ X) L⁻ᵀ.
pub fn whiten(inducing: &Inducing, x: &mut Mat, half: &mut Mat, out: &mut Mat) {
    let l_inv_t = (&inducing.l_inv_t, Part::Upper);
    halve_lower(x);
    product(half, false, Left::transposed(x, Part::Upper), l_inv_t, Part::Upper);
    // H takes the place of T.
    product(x, false, Left::transposed(half, Part::Lower), l_inv_t, Part::Full);
    add_transpose_into(x, out);
}
