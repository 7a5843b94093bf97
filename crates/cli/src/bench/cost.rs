//! How much arithmetic a training step needs: the numerator of every efficiency that `bench speed` prints.
//!
//! A multiply-add counts as two flops. Counted is what the method needs with symmetry and triangles used, not what the
//! code happens to execute.

/// The sizes of a training step.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Shape {
    /// Widths from the inputs to the outputs.
    pub widths: Vec<usize>,
    /// Inducing inputs per layer.
    pub inducing: usize,
    /// Rows per step.
    pub batch: usize,
}

impl Shape {
    /// Exponentials of one step: ψ₁ and Ψ₂ of every point above the first layer, k of the first, and one Gram matrix a
    /// layer.
    pub fn exponentials(&self) -> f64 {
        let (m, b) = (self.inducing as f64, self.batch as f64);
        let layers = (self.widths.len() - 1) as f64;
        let triangle = m * (m + 1.0) / 2.0;
        b * m + (layers - 1.0) * b * (triangle + m) + layers * triangle
    }

    /// Flops of one first-order SEP step with its hyperparameter gradient, for layers with D inputs and E outputs.
    ///
    /// ```text
    /// exact inputs     5/3 M³ + M² (3½ D + 2)               K_zz: distances, factor, inverse, adjoint
    ///   output         2/3 M³                               factors of the cavity and of the new posterior
    ///   point          3 M² (1 + E) + M (5 D + 8 E)         t, S t, Σ P, Σ t̄ tᵀ, k̄; distances, dots, moments of k̄
    /// Gaussian inputs  2 M³ + M² (5 D + 2)                  as for exact inputs, and K⁻¹
    ///   output         23/6 M³ + min(B, M) M²               factors as above; E, EᵀE; S̄, S S̄; g of every point, or
    ///                                                       of their sum
    ///   point          ½ M² (6 D + 8 E + 4) + 10 M (D + E)  exponents, F, their products with 1, w and A, C̄, Σ g gᵀ;
    ///                                                       the rest
    /// ```
    pub fn flops(&self) -> f64 {
        let (m, b) = (self.inducing as f64, self.batch as f64);
        let (m2, m3) = (m * m, m * m * m);
        let mut total = 0.0;
        for (l, pair) in self.widths.windows(2).enumerate() {
            let (d, e) = (pair[0] as f64, pair[1] as f64);
            let (layer, output, point) = if l == 0 {
                (5.0 / 3.0 * m3 + m2 * (3.5 * d + 2.0), 2.0 / 3.0 * m3, 3.0 * m2 * (1.0 + e) + m * (5.0 * d + 8.0 * e))
            } else {
                let point = 0.5 * m2 * (6.0 * d + 8.0 * e + 4.0) + 10.0 * m * (d + e);
                (2.0 * m3 + m2 * (5.0 * d + 2.0), 23.0 / 6.0 * m3 + b.min(m) * m2, point)
            };
            total += layer + e * output + b * point;
        }
        total
    }
}
