//! What a layer needs of the expectations of a few points at a time, for any kernel: taken together where the law can, one point
//! after another where not.

use super::eq::sweep::EqSweep;
use super::{InputBar, Kernel, Law, Psi, PsiSums, PsiTables};
use deepgp_numerics::linalg::{Mat, axpy, dot, tri};

pub use super::eq::pack::group_size;

/// ψ₀, ψ₁, ξ and Ψ₂ of a few points, and what the adjoint leaves of them.
#[derive(Debug, Clone)]
pub enum Group {
    /// The exponentiated quadratic law.
    Eq(Box<EqSweep>),
    /// Any law.
    Plain(Box<Plain>),
}

/// The expectations of points multiplied by a layer's weights A_d and B_d, or the adjoint of these products.
#[derive(Debug, Clone)]
pub struct Products {
    /// ψ₁A_d, points × outputs.
    pub mean: Mat,
    /// ⟨B_d, Ψ₂⟩, points × outputs.
    pub quadratic: Mat,
    /// ξ_q A_d, points × (dimensions × outputs); without columns where ξ is not wanted.
    pub slope: Mat,
}

impl Products {
    /// Zeros for `capacity` points.
    pub fn zeros(capacity: usize, dim: usize, d_out: usize, want_xi: bool) -> Self {
        let slope = Mat::zeros(capacity, if want_xi { dim * d_out } else { 0 });
        Self { mean: Mat::zeros(capacity, d_out), quadratic: Mat::zeros(capacity, d_out), slope }
    }
}

/// The expectations point by point, as [`Law`] gives them.
#[derive(Debug, Clone)]
pub struct Plain {
    psi: Vec<Psi>,
    bar: Psi,
    /// B_d as packed weights, a row per output.
    b: Mat,
    psi2_a: Vec<f64>,
    /// C̄_d of the block's points so far; the lower triangle has meaning.
    c: Vec<Mat>,
}

impl Group {
    /// Room for `capacity` points of a layer with M inducing inputs and D_out outputs; ξ and the adjoint only if they are wanted.
    pub fn new(kernel: &Kernel, capacity: usize, m: usize, d_out: usize, wanted: (bool, bool)) -> Self {
        let dim = kernel.dim_in();
        match kernel {
            Kernel::Eq(_) => Group::Eq(Box::new(EqSweep::new(capacity, m, dim, d_out, wanted))),
            Kernel::Linear(_) | Kernel::SpectralMixture(_) | Kernel::Matern(_) | Kernel::Sum(_) => {
                let psi = Psi::zeros(m, dim, wanted.0);
                Group::Plain(Box::new(Plain {
                    psi: vec![psi.clone(); capacity],
                    bar: psi,
                    b: Mat::zeros(d_out, tri::packed_len(m)),
                    psi2_a: vec![0.0; m],
                    c: vec![Mat::zeros(m, m); d_out],
                }))
            }
        }
    }

    /// Whether this is the form that `kernel` needs.
    pub fn fits(&self, kernel: &Kernel) -> bool {
        matches!(self, Group::Eq(_)) == matches!(kernel, Kernel::Eq(_))
    }

    /// ψ₀ of the first points, as many as `out` has numbers.
    pub fn psi0(&self, kernel: &Kernel, out: &mut [f64]) {
        match self {
            Group::Plain(plain) => out.iter_mut().zip(&plain.psi).for_each(|(out, psi)| *out = psi.psi0),
            // A radial law: k(x, x) is the signal variance wherever x is.
            Group::Eq(_) => out.fill(kernel.diag(&[])),
        }
    }

    /// The expectations of the first `n` rows of the input, multiplied by the weights A (a row an output) and B (a padded table an
    /// output).
    pub fn forward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        weights: (&Mat, &[Mat]),
        input: (&Mat, &Mat, usize),
        out: &mut Products,
    ) {
        match (self, kernel) {
            (Group::Eq(sweep), Kernel::Eq(law)) => sweep.forward(law, tables, weights, input, out),
            (Group::Plain(plain), kernel) => plain.forward(kernel, tables, weights, input, out),
            (Group::Eq(_), _) => unreachable!("the form was chosen for the kernel"),
        }
    }

    /// The adjoint of [`Group::forward`]: `bars` are ∂F/∂ψ₀ of every point and ∂F/∂(products). Adds the kernel's sums to `sums` and
    /// ∂F/∂(input moments) to `input_bar`, and sets ∂F/∂A of every point in `a_bar`, a matrix an output, from the given row on; ∂F/∂B comes
    /// with [`Group::end_block`].
    #[expect(clippy::too_many_arguments, reason = "the arguments of `forward`, its adjoint, and what receives it")]
    pub fn backward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        weights: (&Mat, &[Mat]),
        input: (&Mat, &Mat, usize),
        bars: (&[f64], &Products),
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
        a_bar: (&mut [Mat], usize),
    ) {
        match (self, kernel) {
            (Group::Eq(sweep), Kernel::Eq(law)) => sweep.backward(law, weights, bars, input_bar, sums, a_bar),
            (Group::Plain(plain), kernel) => {
                plain.backward(kernel, tables, weights.0, input, bars, input_bar, sums, a_bar);
            }
            (Group::Eq(_), _) => unreachable!("the form was chosen for the kernel"),
        }
    }

    /// Puts the ∂F/∂B of all points since the last call into the lower triangles of `c`, or adds them to these.
    pub fn end_block(&mut self, c: &mut [Mat], add: bool) {
        match self {
            Group::Eq(sweep) => sweep.end_block(c, add),
            Group::Plain(plain) => {
                for (c, own) in c.iter_mut().zip(&mut plain.c) {
                    if add {
                        c.add_scaled(1.0, own)
                    } else {
                        c.clone_from(own)
                    }
                    own.fill_zero();
                }
            }
        }
    }
}

impl Plain {
    fn forward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        (a, b): (&Mat, &[Mat]),
        (mean, var, n): (&Mat, &Mat, usize),
        out: &mut Products,
    ) {
        b.iter().enumerate().for_each(|(d, b)| tri::pack_weights(b, self.b.row_mut(d)));
        for (g, psi) in self.psi[..n].iter_mut().enumerate() {
            kernel.psi(tables, mean.row(g), var.row(g), psi);
            for (d, (a, b)) in a.iter_rows().zip(self.b.iter_rows()).enumerate() {
                out.mean[(g, d)] = dot(&psi.psi1, a);
                out.quadratic[(g, d)] = dot(&psi.psi2, b);
                for q in 0..psi.xi.rows() {
                    out.slope[(g, q * self.b.rows() + d)] = dot(psi.xi.row(q), a);
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the arguments of `Group::backward`")]
    fn backward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        a: &Mat,
        (mean, var, n): (&Mat, &Mat, usize),
        (psi0_bar, products): (&[f64], &Products),
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
        (a_bar, first): (&mut [Mat], usize),
    ) {
        let Self { psi, bar, b, psi2_a, c } = self;
        let d_out = b.rows();
        for (g, psi) in psi[..n].iter_mut().enumerate() {
            bar.psi0 = psi0_bar[g];
            bar.psi1.fill(0.0);
            bar.xi.fill_zero();
            bar.psi2.fill(0.0);
            for (d, (a, b)) in a.iter_rows().zip(b.iter_rows()).enumerate() {
                let (mean_bar, b_bar) = (products.mean[(g, d)], products.quadratic[(g, d)]);
                axpy(mean_bar, a, &mut bar.psi1);
                axpy(b_bar, b, &mut bar.psi2);
                tri::add_lower(b_bar, &psi.psi2, &mut c[d]);
                // ∂F/∂A = ψ̄ψ₁ + 2 b Ψ₂A + Σ_q ξ̄ξ_q
                let a_bar = a_bar[d].row_mut(first + g);
                tri::packed_mul(&psi.psi2, a, psi2_a);
                a_bar.iter_mut().zip(&*psi2_a).for_each(|(out, psi2_a)| *out = 2.0 * b_bar * psi2_a);
                axpy(mean_bar, &psi.psi1, a_bar);
                for q in 0..psi.xi.rows() {
                    let slope_bar = products.slope[(g, q * d_out + d)];
                    axpy(slope_bar, a, bar.xi.row_mut(q));
                    axpy(slope_bar, psi.xi.row(q), a_bar);
                }
            }
            let input = InputBar { mean: input_bar.0.row_mut(g), var: input_bar.1.row_mut(g) };
            kernel.psi_adjoint(tables, mean.row(g), var.row(g), psi, bar, input, sums);
        }
    }
}
