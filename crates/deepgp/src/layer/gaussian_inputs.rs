//! Propagation of a few Gaussian inputs through a layer (probabilistic backpropagation), and its adjoint.
//!
//! ```text
//! f-part        m_f = ψ₁ A                v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
//! linear mean   m = m_f + Wᵀm'            v = v_f + Σ_q W_q² v'_q + 2 Σ_q W_q cov(h_q, f) + σ²,   cov(h_q, f) = ξ_q A
//! ```
//! by the laws of total expectation and variance; N(m', diag v') is the input, independent in its dimensions.

use super::{GaussianSums, Inducing, Layer, LayerSums, POINTS_PER_BLOCK, Projection, VARIANCE_FLOOR};
use crate::gauss::DiagGaussian;
use crate::kernel::group::{Group, group_size};
use crate::kernel::products::{GroupBar, GroupGrad, GroupInput, GroupShape, Products, Weights};
use deepgp_numerics::linalg::product::{Left, Part, product};
use deepgp_numerics::linalg::{Mat, add_rows};

/// What the adjoint needs of the forward pass of a group of points, the output moments, and ∂ℒ/∂(output moments).
#[derive(Debug, Clone)]
pub struct GaussianTape {
    /// Number of points in the group.
    n: usize,
    /// Whether [`GaussianTape::backward`] may be called.
    want_adjoint: bool,
    /// ψ₀, ψ₁, ξ, Ψ₂ of the points.
    group: Group,
    /// m_f = ψ₁A, ⟨B, Ψ₂⟩ and ξ_q A of the points; ψ₀, and ∂ℒ/∂(all of these).
    products: Products,
    psi0: Vec<f64>,
    psi0_bar: Vec<f64>,
    bar: Products,
    floored: Vec<bool>,
    /// g̃ of the block's points so far, one matrix (points × M) per output.
    g: Vec<Mat>,
    /// g̃ᵀ L⁻ᵀ of one output.
    g_product: Mat,
    /// The outputs with noise, points × D_out.
    pub out: DiagGaussian,
    /// ∂ℒ/∂(their means and variances), to be set before [`GaussianTape::backward`].
    pub out_bar: DiagGaussian,
}

impl GaussianTape {
    /// How many points are best taken together through these layers.
    pub fn group_size(layers: &[Layer]) -> usize {
        layers.iter().map(|l| group_size(l.n_inducing())).min().unwrap_or(POINTS_PER_BLOCK).min(POINTS_PER_BLOCK)
    }

    /// A tape for up to `capacity` points of this layer.
    pub fn new(layer: &Layer, capacity: usize) -> Self {
        Self::with(layer, capacity, true)
    }

    /// A tape that only goes forward, which is cheaper.
    pub fn forward_only(layer: &Layer, capacity: usize) -> Self {
        Self::with(layer, capacity, false)
    }

    fn with(layer: &Layer, capacity: usize, want_adjoint: bool) -> Self {
        let (m, d_in, d_out) = (layer.n_inducing(), layer.dim_in(), layer.dim_out);
        let want_xi = layer.mean.weights().is_some();
        let outputs = || DiagGaussian::zeros(capacity, d_out);
        let shape = GroupShape { capacity, n_inducing: m, dim_in: d_in, dim_out: d_out, want_xi, want_adjoint };
        Self {
            n: 0,
            want_adjoint,
            group: Group::new(&layer.kernel, shape),
            products: Products::zeros(capacity, d_in, d_out, want_xi),
            psi0: vec![0.0; capacity],
            psi0_bar: vec![0.0; capacity],
            bar: Products::zeros(capacity, d_in, d_out, want_xi),
            floored: vec![false; capacity * d_out],
            g: vec![Mat::default(); d_out],
            g_product: Mat::default(),
            out: outputs(),
            out_bar: outputs(),
        }
    }

    /// Output moments for the first `n` rows of the input moments, as many as the capacity or fewer.
    ///
    /// Cost: O(M² (D_in + D_out)) a point, M²/2 of it exponentials.
    pub fn forward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        input: &DiagGaussian,
        n: usize,
    ) {
        if !self.group.fits(&layer.kernel) {
            *self = Self::with(layer, self.out.n_points(), self.want_adjoint);
        }
        self.n = n;
        let weights = Weights { a: &projection.a, b: &projection.b };
        let points = GroupInput { mean: &input.mean, var: &input.var, n };
        self.group.forward(&layer.kernel, &inducing.tables, weights, points, &mut self.products);
        self.group.psi0(&layer.kernel, &mut self.psi0[..n]);
        self.moments(layer, input);
    }

    /// The output moments of all points from their expectations.
    fn moments(&mut self, layer: &Layer, input: &DiagGaussian) {
        let (d_out, all) = (layer.dim_out, self.n * layer.dim_out);
        let (means, vars) = (&mut self.out.mean.as_mut_slice()[..all], &mut self.out.var.as_mut_slice()[..all]);
        let quadratic = &self.products.quadratic.as_slice()[..all];
        // m_f = ψ₁ A,   v_f = ψ₀ + ⟨B, Ψ₂⟩ − m_f²
        means.copy_from_slice(&self.products.mean.as_slice()[..all]);
        for (i, (v, (m, quadratic))) in vars.iter_mut().zip(means.iter().zip(quadratic)).enumerate() {
            *v = quadratic + (self.psi0[point(i, d_out)] - m * m);
        }
        if let Some(w) = layer.mean.weights() {
            self.add_linear_mean(w, input);
        }
        let vars = &mut self.out.var.as_mut_slice()[..all];
        for (i, (v, held)) in vars.iter_mut().zip(&mut self.floored).enumerate() {
            let floor = VARIANCE_FLOOR * self.psi0[point(i, d_out)];
            // Written so that NaN stays NaN.
            *held = *v < floor;
            *v = if *held { floor } else { *v } + layer.noise_var;
        }
    }

    /// What h ↦ Wᵀh adds to the moments of all points.
    fn add_linear_mean(&mut self, w: &Mat, input: &DiagGaussian) {
        for (g, d) in (0..self.n).flat_map(|g| (0..w.cols()).map(move |d| (g, d))) {
            for q in (0..w.rows()).filter(|q| w[(*q, d)] != 0.0) {
                let w_q = w[(q, d)];
                self.out.mean[(g, d)] += w_q * input.mean[(g, q)];
                self.out.var[(g, d)] +=
                    w_q * (w_q * input.var[(g, q)] + 2.0 * self.products.slope[(g, q * w.cols() + d)]);
            }
        }
    }

    /// Adjoint at the last forward pass: adds the group's share to `sums` and sets ∂ℒ/∂(input moments).
    ///
    /// ```text
    /// ψ̄₀ = Σ_d b      ∂ℒ/∂(ψ₁A) = a − 2 b m_f      ∂ℒ/∂⟨B, Ψ₂⟩ = b      ∂ℒ/∂(ξ_q A) = 2 b W_q
    /// g̃ = ∂ℒ/∂A = a ψ₁ + 2b (Ψ₂A − m ψ₁)      C̄ = b Ψ₂
    /// ```
    /// The sums are complete after [`GaussianTape::end_block`].
    pub fn backward(
        &mut self,
        layer: &Layer,
        inducing: &Inducing,
        projection: &Projection,
        input: &DiagGaussian,
        input_bar: &mut DiagGaussian,
        sums: &mut LayerSums,
    ) {
        let (n, d_out) = (self.n, layer.dim_out);
        for bar in [&mut input_bar.mean, &mut input_bar.var] {
            let cols = bar.cols();
            bar.as_mut_slice()[..n * cols].fill(0.0);
        }
        let all = n * d_out;
        let given =
            self.out_bar.mean.as_slice()[..all].iter().zip(&self.out_bar.var.as_slice()[..all]).zip(&self.floored);
        let (m_f_bar, b) = (&mut self.bar.mean.as_mut_slice()[..all], &mut self.bar.quadratic.as_mut_slice()[..all]);
        let out = m_f_bar.iter_mut().zip(b).zip(self.products.mean.as_slice());
        let (mut noise_var, mut floored) = (0.0, 0);
        self.psi0_bar[..n].fill(0.0);
        for (i, (((a, var_bar), held), ((m_f_bar, b), m_f))) in given.zip(out).enumerate() {
            *b = if *held { 0.0 } else { *var_bar };
            *m_f_bar = a - 2.0 * *b * m_f;
            self.psi0_bar[point(i, d_out)] += *b;
            noise_var += var_bar;
            floored += usize::from(*held);
        }
        sums.noise_var += noise_var;
        sums.floored += floored;
        if let Some(w) = layer.mean.weights() {
            for (g, d) in (0..n).flat_map(|g| (0..d_out).map(move |d| (g, d))) {
                let (a, b) = (self.out_bar.mean[(g, d)], self.bar.quadratic[(g, d)]);
                for q in 0..layer.dim_in() {
                    let w_q = w[(q, d)];
                    self.bar.slope[(g, q * d_out + d)] = 2.0 * b * w_q;
                    input_bar.mean[(g, q)] += w_q * a;
                    input_bar.var[(g, q)] += w_q * w_q * b;
                }
            }
        }
        let first_row = self.g[0].rows();
        self.g.iter_mut().for_each(|g| g.extend_rows(n, layer.n_inducing()));
        self.group.backward(
            &layer.kernel,
            &inducing.tables,
            Weights { a: &projection.a, b: &projection.b },
            GroupInput { mean: &input.mean, var: &input.var, n },
            GroupBar { psi0: &self.psi0_bar[..n], products: &self.bar },
            GroupGrad {
                mean: &mut input_bar.mean,
                var: &mut input_bar.var,
                sums: &mut sums.psi,
                a: &mut self.g,
                first_row,
            },
        );
    }

    /// Adds what is taken once for all points of a block of a pass over `n_points`, Σ g, Σ g gᵀ and C̄ (lower
    /// triangles), and forgets them.
    ///
    /// ```text
    /// g = L⁻¹ g̃ of every point:  ½ M² multiplications each      L⁻¹ (Σ g̃ g̃ᵀ) L⁻ᵀ afterwards:  ½ M³
    /// ```
    /// `weights` are those of the block's points, or none. The g of a point with weight w is w times that of one of its
    /// copies, so that g gᵀ/w is added.
    pub fn end_block(&mut self, inducing: &Inducing, n_points: usize, weights: &[f64], sums: &mut LayerSums) {
        let GaussianSums { outer, whitened, c } = sums.second.gaussian_mut();
        let add = !sums.fresh;
        sums.fresh = false;
        self.group.end_block(c, add);
        *whitened = n_points <= inducing.l_inv_t.rows();
        for (d, (g, outer)) in self.g.iter_mut().zip(outer).enumerate().filter(|(_, (g, _))| g.rows() > 0) {
            if *whitened {
                let l_inv_t = (&inducing.l_inv_t, Part::Upper);
                product(&mut self.g_product, false, Left::plain(g, Part::Full), l_inv_t, Part::Full);
                std::mem::swap(g, &mut self.g_product);
            }
            add_rows(g, sums.sum_g.row_mut(d));
            for (n, weight) in weights.iter().enumerate() {
                let scale = weight.sqrt().recip();
                g.row_mut(n).iter_mut().for_each(|g| *g *= scale);
            }
            product(outer, add, Left::transposed(g, Part::Full), (g, Part::Full), Part::Lower);
            g.reset(0, 0);
        }
    }
}

/// The point that number `i` of a list belongs to, which has the outputs of one point after those of another: mostly
/// there is one.
#[inline(always)]
fn point(i: usize, d_out: usize) -> usize {
    if d_out == 1 { i } else { i / d_out }
}
