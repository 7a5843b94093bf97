//! The widths and means of a few points' Gaussians ψ₁ or Ψ₂, as the sweeps over centres need them.

use super::Eq;
use super::eq_jobs::{QUAD, Widths, place};
use crate::linalg::Mat;
use std::f64::consts::LOG2_E;

/// What the exponents of the points depend on, as powers of two (see [`Widths`]); and means and inverse widths themselves.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    pub base: Vec<f64>,
    pub kappa: Vec<f64>,
    pub shift: Vec<f64>,
    pub mean: Vec<f64>,
    pub inverse: Vec<f64>,
    pub dim: usize,
}

impl Shape {
    pub(super) fn zeros(dim: usize, quads: usize) -> Self {
        let n = quads * QUAD;
        let [kappa, shift, mean, inverse] = [(); 4].map(|()| vec![0.0; dim * n]);
        Self { base: vec![0.0; n], kappa, shift, mean, inverse, dim }
    }

    /// For exp(constant − Σ_q (c_q − m_q)²/w_q) Π_q √(ℓ_q²/(ℓ_q² + k v_q)),   w_q = (ℓ_q² + k v_q) · 2/k.
    ///
    /// k is the number of kernel values under the expectation: 1 for ψ₁, 2 for Ψ₂. Means are seen from `origin`, or from zero.
    /// Quads are filled up with copies of the last of the `n` points.
    pub(super) fn fill(
        &mut self,
        law: &Eq,
        constant: f64,
        k: f64,
        origin: Option<&[f64]>,
        (mean, var, n): (&Mat, &Mat, usize),
    ) {
        let last = law.lengthscale.len() - 1;
        for quad in 0..n.div_ceil(QUAD) {
            let point: [usize; QUAD] = std::array::from_fn(|g| (quad * QUAD + g).min(n - 1));
            let (mut ratio, mut base) = ([1.0; QUAD], [constant; QUAD]);
            for (q, l) in law.lengthscale.iter().enumerate() {
                let (l2, origin) = (l * l, origin.map_or(0.0, |origin| origin[q]));
                for g in 0..QUAD {
                    let (at, spread) = (self.at(quad * QUAD + g, q), l2 + k * var[(point[g], q)]);
                    let (mean, inverse) = (mean[(point[g], q)] - origin, 0.5 * k / spread);
                    let kappa = (inverse * LOG2_E).sqrt();
                    ratio[g] *= l2 / spread;
                    self.mean[at] = mean;
                    self.inverse[at] = inverse;
                    self.kappa[at] = kappa;
                    self.shift[at] = kappa * mean;
                    // One logarithm for all dimensions, unless the product could vanish.
                    if q == last || ratio[g] < 1e-200 {
                        base[g] += 0.5 * ratio[g].ln();
                        ratio[g] = 1.0;
                    }
                }
            }
            self.base[quad * QUAD..][..QUAD].iter_mut().zip(base).for_each(|(out, base)| *out = base * LOG2_E);
        }
    }

    pub(super) fn widths(&self) -> Widths<'_> {
        Widths { base: &self.base, kappa: &self.kappa, shift: &self.shift }
    }

    /// Where the numbers of point `g` and dimension `q` stand.
    pub(super) fn at(&self, g: usize, q: usize) -> usize {
        place(self.dim, q, g)
    }

    /// 1/w_q of point `g`.
    pub(super) fn inverse(&self, g: usize, q: usize) -> f64 {
        self.inverse[self.at(g, q)]
    }
}
