//! Expectations of a few points at a time for any kernel: swept together where the law can, one after another where not.

use super::eq_sweep::EqSweep;
use super::{InputBar, Kernel, Law, Psi, PsiSums, PsiTables, row_len};
use crate::linalg::{Mat, axpy, dot, tri};
use crate::simd::Aligned;

pub use super::eq_sweep::group_size;

/// ψ₀, ψ₁, ξ and Ψ₂ of a few points, and what the adjoint leaves of them.
#[derive(Debug, Clone)]
pub enum Group {
    /// The exponentiated quadratic law.
    Eq(Box<EqSweep>),
    /// Any law.
    Plain(Box<Plain>),
}

/// The expectations point by point, as [`Law`] gives them.
#[derive(Debug, Clone)]
pub struct Plain {
    psi: Vec<Psi>,
    bar: Psi,
    /// Ψ₂ A, points × outputs rows of M.
    psi2_a: Mat,
}

/// ∂F/∂(ψ₀, ψ₁, ξ) of a group of points.
#[derive(Debug, Clone)]
pub struct GroupBar {
    m: usize,
    dim: usize,
    /// Per point.
    pub psi0: Vec<f64>,
    /// Per point a row of [`row_len`], zero beyond M.
    psi1: Aligned,
    /// Per point D rows of [`row_len`], or empty.
    xi: Aligned,
}

impl GroupBar {
    /// Zeros for `capacity` points.
    pub fn zeros(capacity: usize, m: usize, dim: usize, want_xi: bool) -> Self {
        let row = row_len(m);
        let xi = if want_xi { capacity * dim * row } else { 0 };
        Self { m, dim, psi0: vec![0.0; capacity], psi1: Aligned::zeros(capacity * row), xi: Aligned::zeros(xi) }
    }

    /// Back to zeros for the first `n` points.
    pub fn clear(&mut self, n: usize) {
        let (row, xi) = (row_len(self.m), if self.xi.is_empty() { 0 } else { self.dim });
        self.psi0[..n].fill(0.0);
        self.psi1[..n * row].fill(0.0);
        self.xi[..n * xi * row].fill(0.0);
    }

    /// ∂F/∂ψ₁ of point `g`.
    pub fn psi1(&mut self, g: usize) -> &mut [f64] {
        &mut self.psi1[g * row_len(self.m)..][..self.m]
    }

    /// The same with the zeros beyond M.
    pub(super) fn psi1_padded(&self, g: usize) -> &[f64] {
        let row = row_len(self.m);
        &self.psi1[g * row..][..row]
    }

    /// ∂F/∂ξ_q of point `g`.
    pub(super) fn xi(&self, g: usize, q: usize) -> &[f64] {
        &self.xi[(g * self.dim + q) * row_len(self.m)..][..self.m]
    }

    /// ∂F/∂ξ_q of point `g`, to be written.
    pub fn xi_mut(&mut self, g: usize, q: usize) -> &mut [f64] {
        &mut self.xi[(g * self.dim + q) * row_len(self.m)..][..self.m]
    }
}

impl Group {
    /// Room for `capacity` points of a layer with M inducing inputs and D_out outputs; ξ only if it is wanted.
    pub fn new(kernel: &Kernel, capacity: usize, m: usize, d_out: usize, want_xi: bool) -> Self {
        let dim = kernel.dim_in();
        match kernel {
            Kernel::Eq(_) => Group::Eq(Box::new(EqSweep::new(capacity, m, dim, d_out, want_xi))),
            Kernel::Linear(_) | Kernel::SpectralMixture(_) | Kernel::Matern(_) | Kernel::Sum(_) => {
                let psi = Psi::zeros(m, dim, want_xi);
                Group::Plain(Box::new(Plain {
                    psi: vec![psi.clone(); capacity],
                    bar: psi,
                    psi2_a: Mat::zeros(capacity * d_out, m),
                }))
            }
        }
    }

    /// Whether this is the form that `kernel` needs.
    pub fn fits(&self, kernel: &Kernel) -> bool {
        matches!(self, Group::Eq(_)) == matches!(kernel, Kernel::Eq(_))
    }

    /// ψ₀ of point `g`.
    pub fn psi0(&self, kernel: &Kernel, g: usize) -> f64 {
        match (self, kernel) {
            (Group::Plain(plain), _) => plain.psi[g].psi0,
            // A radial law: k(x, x) is the signal variance wherever x is.
            (Group::Eq(_), kernel) => kernel.diag(&[]),
        }
    }

    /// ψ₁ of point `g`.
    pub fn psi1(&self, g: usize) -> &[f64] {
        match self {
            Group::Eq(sweep) => sweep.psi1(g),
            Group::Plain(plain) => &plain.psi[g].psi1,
        }
    }

    /// ξ_q of point `g`.
    pub fn xi(&self, g: usize, q: usize) -> &[f64] {
        match self {
            Group::Eq(sweep) => sweep.xi(g, q),
            Group::Plain(plain) => plain.psi[g].xi.row(q),
        }
    }

    /// Ψ₂ A_d of point `g`, after [`Group::backward`].
    pub fn psi2_a(&self, g: usize, d: usize) -> &[f64] {
        match self {
            Group::Eq(sweep) => sweep.psi2_a(g, d),
            Group::Plain(plain) => plain.psi2_a.row(d * plain.psi.len() + g),
        }
    }

    /// The expectations of the first `n` rows of the input, and ⟨B_d, Ψ₂⟩ into `dots` (points × outputs).
    pub fn forward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        b: &Mat,
        input: (&Mat, &Mat, usize),
        dots: &mut Mat,
    ) {
        match (self, kernel) {
            (Group::Eq(sweep), Kernel::Eq(law)) => sweep.forward(law, tables, b, input, dots),
            (Group::Plain(plain), kernel) => plain.forward(kernel, tables, b, input, dots),
            (Group::Eq(_), _) => unreachable!("the form was chosen for the kernel"),
        }
    }

    /// The adjoint of everything that depends on the expectations: `bar` is ∂F/∂(ψ₀, ψ₁, ξ) and `coef` (points ×
    /// outputs) ∂F/∂⟨B_d, Ψ₂⟩. Adds Σ_n b Ψ₂ to `c`, the kernel's sums to `sums`, ∂F/∂(input moments) to `input_bar`, and
    /// leaves Ψ₂ A behind; `c` and `sums` are complete after [`Group::end_block`].
    #[expect(clippy::too_many_arguments, reason = "the arguments of `forward`, its adjoint, and what receives it")]
    pub fn backward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        weights: (&Mat, &Mat),
        input: (&Mat, &Mat, usize),
        bars: (&GroupBar, &Mat),
        c: &mut Mat,
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
    ) {
        match (self, kernel) {
            (Group::Eq(sweep), Kernel::Eq(law)) => {
                sweep.backward(law, tables, weights, input, bars, input_bar, sums);
            }
            (Group::Plain(plain), kernel) => {
                plain.backward(kernel, tables, weights, input, bars, c, input_bar, sums);
            }
            (Group::Eq(_), _) => unreachable!("the form was chosen for the kernel"),
        }
    }

    /// Adds what [`Group::backward`] has gathered since the last call, with the weights `b` of all these calls.
    pub fn end_block(&mut self, tables: &PsiTables, b: &Mat, c: &mut Mat, sums: &mut PsiSums) {
        match self {
            Group::Eq(sweep) => sweep.end_block(tables, b, c, sums),
            Group::Plain(_) => {}
        }
    }
}

impl Plain {
    fn forward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        b: &Mat,
        (mean, var, n): (&Mat, &Mat, usize),
        dots: &mut Mat,
    ) {
        for (g, psi) in self.psi[..n].iter_mut().enumerate() {
            kernel.psi(tables, mean.row(g), var.row(g), psi);
            for (d, b) in b.iter_rows().enumerate() {
                dots[(g, d)] = dot(&b[..psi.psi2.len()], &psi.psi2);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the arguments of `Group::backward`")]
    fn backward(
        &mut self,
        kernel: &Kernel,
        tables: &PsiTables,
        (a, b): (&Mat, &Mat),
        (mean, var, n): (&Mat, &Mat, usize),
        (group_bar, coef): (&GroupBar, &Mat),
        c: &mut Mat,
        input_bar: (&mut Mat, &mut Mat),
        sums: &mut PsiSums,
    ) {
        let capacity = self.psi.len();
        for (g, psi) in self.psi[..n].iter_mut().enumerate() {
            let bar = &mut self.bar;
            bar.psi0 = group_bar.psi0[g];
            bar.psi1.copy_from_slice(&group_bar.psi1_padded(g)[..group_bar.m]);
            for q in 0..bar.xi.rows() {
                bar.xi.row_mut(q).copy_from_slice(group_bar.xi(g, q));
            }
            bar.psi2.fill(0.0);
            for (d, b) in b.iter_rows().enumerate() {
                axpy(coef[(g, d)], b, &mut bar.psi2);
                axpy(coef[(g, d)], &psi.psi2, c.row_mut(d));
                tri::packed_mul(&psi.psi2, a.row(d), self.psi2_a.row_mut(d * capacity + g));
            }
            let input = InputBar { mean: input_bar.0.row_mut(g), var: input_bar.1.row_mut(g) };
            kernel.psi_adjoint(tables, mean.row(g), var.row(g), psi, bar, input, sums);
        }
    }
}
