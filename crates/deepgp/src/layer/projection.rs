//! The weights that turn kernel values into output moments, from a Gaussian over inducing outputs.
//!
//! ```text
//! A = L⁻ᵀ μ         C = L⁻ᵀ (S − I) L⁻¹         B = C + A Aᵀ
//! ```
//! N(μ, S) is the cavity in training and the posterior in prediction: both come here.

use super::{Inducing, LayerSums};
use crate::gauss::Moments;
use crate::linalg::tile::{Left, Part, mirror, product};
use crate::linalg::{Mat, axpy, tri};
use crate::simd::{PAD, wide};

/// A, C and B for each output of a layer; kept and refilled from step to step.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    /// A, one row of M per output.
    pub a: Mat,
    /// C, M × M per output.
    pub c: Vec<Mat>,
    /// B as packed weights, off-diagonal entries doubled, so that ⟨B, Ψ₂⟩ is a plain dot product with a packed Ψ₂;
    /// with room for vectors to read past the end.
    pub b: Vec<Vec<f64>>,
    /// E = (L C)⁻¹ of one output.
    e: Mat,
}

/// The results of [`Projection::adjoint`], and its working matrices.
#[derive(Debug, Clone, Default)]
pub struct ProjectionBack {
    /// ∂F/∂μ, one row of M per output.
    pub mean: Mat,
    /// Φ = LᵀL̄; its lower triangle has meaning.
    pub phi: Mat,
    /// Working matrices of [`whiten`].
    pub room: [Mat; 2],
    minus_a: Mat,
    cross: Mat,
}

impl Projection {
    /// Projects one Gaussian per output. Cost: O(M³) per output.
    pub fn new(inducing: &Inducing, q: &[Moments]) -> Self {
        let mut out = Self::default();
        out.refill(inducing, q);
        out
    }

    /// [`Projection::new`] into existing memory.
    ///
    /// With the precision of q factored as C_q C_qᵀ = S⁻¹ and E = C_q⁻¹ L⁻¹, lower triangular:
    ///
    /// ```text
    /// A = Eᵀ (C_q⁻¹ s η)        C = EᵀE − K⁻¹
    /// ```
    pub fn refill(&mut self, inducing: &Inducing, q: &[Moments]) {
        let l_inv = inducing.chol.l_inv();
        let m = l_inv.rows();
        self.a.reset(q.len(), m);
        self.c.resize_with(q.len(), Mat::default);
        self.b.resize_with(q.len(), Vec::new);
        for (d, q) in q.iter().enumerate() {
            self.e.clone_from(l_inv);
            q.precision.solve_lower(&mut self.e);
            let a = self.a.row_mut(d);
            for (k, w) in q.half_mean.iter().enumerate() {
                axpy(*w, &self.e.row(k)[..=k], a);
            }
            let c = &mut self.c[d];
            product(c, false, Left::transposed(&self.e, Part::Upper), (&self.e, Part::Lower), Part::Upper);
            mirror(c, Part::Upper);
            c.add_scaled(-1.0, &inducing.kzz_inv);
            // B = C + A Aᵀ, packed with off-diagonal entries doubled
            let (a, b) = (self.a.row(d), &mut self.b[d]);
            b.resize(tri::packed_len(m) + PAD, 0.0);
            let mut p = 0;
            for i in 0..m {
                let row = &mut b[p..p + m - i];
                let (a_i, entries) = (a[i], row.iter_mut().zip(&c.row(i)[i..]).zip(&a[i..]));
                wide(|| entries.for_each(|((b, c), a_j)| *b = 2.0 * (c + a_i * a_j)));
                row[0] *= 0.5;
                p += m - i;
            }
        }
    }

    /// Adjoint: from sums over points of ∂F/∂A and ∂F/∂C to ∂F/∂μ per output and to Φ = LᵀL̄ of the layer, into `back`.
    ///
    /// ```text
    /// μ̄ = L⁻¹ Ā        S̄ = L⁻¹ C̄ L⁻ᵀ (see `cov_adjoint`)        Φ = −Lᵀ (Σ_d A_d Ā_dᵀ + 2 C_d C̄_d) L⁻ᵀ
    /// ```
    /// The same for known and for random inputs, since k kᵀ takes the place of Ψ₂.
    pub fn adjoint(&self, inducing: &Inducing, sums: &LayerSums, back: &mut ProjectionBack) {
        let l_inv = inducing.chol.l_inv();
        let (m, d_out) = (l_inv.rows(), self.c.len());
        let ProjectionBack { mean, phi, room: [c_bar, half], minus_a, cross } = back;
        mean.reset(d_out, m);
        product(mean, false, Left::plain(&sums.a, Part::Full), (&inducing.l_inv_t, Part::Upper), Part::Full);
        // −Σ_d A_d Ā_dᵀ + 2 C_d C̄_d
        minus_a.clone_from(&self.a);
        minus_a.as_mut_slice().iter_mut().for_each(|a| *a = -*a);
        product(cross, false, Left::transposed(minus_a, Part::Full), (&sums.a, Part::Full), Part::Full);
        for (d, c) in self.c.iter().enumerate() {
            sums.c_full(d, -2.0, c_bar);
            product(cross, true, Left::plain(c, Part::Full), (c_bar, Part::Full), Part::Full);
        }
        product(half, false, Left::plain(inducing.chol.u(), Part::Upper), (cross, Part::Full), Part::Full);
        product(phi, false, Left::plain(half, Part::Full), (&inducing.l_inv_t, Part::Upper), Part::Lower);
    }

    /// S̄ = L⁻¹ C̄ L⁻ᵀ of output `d`, into `out`.
    pub fn cov_adjoint(inducing: &Inducing, sums: &LayerSums, d: usize, room: &mut [Mat; 2], out: &mut Mat) {
        let [c_bar, half] = room;
        sums.c_full(d, 1.0, c_bar);
        whiten(inducing, c_bar, half, out);
    }
}

/// `out = L⁻¹ X L⁻ᵀ` for a symmetric X (all of it is read): from a gradient on the inducing outputs' own scale to the
/// whitened one.
pub fn whiten(inducing: &Inducing, x: &Mat, half: &mut Mat, out: &mut Mat) {
    product(half, false, Left::plain(inducing.chol.l_inv(), Part::Lower), (x, Part::Full), Part::Full);
    product(out, false, Left::plain(half, Part::Full), (&inducing.l_inv_t, Part::Upper), Part::Lower);
    mirror(out, Part::Lower);
}
