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

    /// Flops of one first-order SEP step with its hyperparameter gradient.
    ///
    /// ```text
    /// per layer               8/3 M³        factor, inverse and adjoint of K_zz
    /// per output              6 M³          cavity, its projection, their adjoint, the site, two definiteness checks
    /// per point, known input  4 M² E + M (5 D + 10 E)
    /// per point, random       ½ M² (6 D + 12 E + 6) + 10 M (D + E)
    /// ```
    /// for a layer with D inputs and E outputs.
    pub fn flops(&self) -> f64 {
        let (m, b) = (self.inducing as f64, self.batch as f64);
        let mut total = 0.0;
        for (l, pair) in self.widths.windows(2).enumerate() {
            let (d, e) = (pair[0] as f64, pair[1] as f64);
            total += m.powi(3) * (8.0 / 3.0 + 6.0 * e);
            total += b * if l == 0 {
                4.0 * m * m * e + m * (5.0 * d + 10.0 * e)
            } else {
                0.5 * m * m * (6.0 * d + 12.0 * e + 6.0) + 10.0 * m * (d + e)
            };
        }
        total
    }
}
