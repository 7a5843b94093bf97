//! The expectations of a group of points multiplied by a layer's weights, for any kernel.
//!
//! They are fused where the law can do so, and otherwise taken point by point.

use super::eq::fused::FusedEq;
use super::products::{GroupBar, GroupGrad, GroupInput, GroupShape, Products, Weights};
use super::{GaussianInput, InputBar, Kernel, KernelScratch, KernelSums, KernelTables, Law, PointSums, Psi, PsiGrad};
use deepgp_numerics::linalg::{Mat, axpy, dot, tri};

pub use super::eq::point_vectors::group_size;

/// ψ₀, ψ₁, ξ and Ψ₂ of a few points, and what the adjoint needs of them.
#[derive(Debug, Clone)]
pub enum Group {
    /// The exponentiated quadratic law.
    Eq(Box<FusedEq>),
    /// Any law.
    PointByPoint(Box<PointByPoint>),
}

/// The expectations point by point, as [`Law`] gives them.
#[derive(Debug, Clone)]
pub struct PointByPoint {
    psi: Vec<Psi>,
    bar: Psi,
    /// B_d as packed weights, a row per output.
    b: Mat,
    psi2_a: Vec<f64>,
    /// C̄_d of the block's points so far; the lower triangle has meaning.
    c: Vec<Mat>,
    scratch: KernelScratch,
}

impl Group {
    /// Memory for groups of this shape.
    pub fn new(kernel: &Kernel, shape: GroupShape) -> Self {
        match kernel {
            Kernel::Eq(_) => Group::Eq(Box::new(FusedEq::new(shape))),
            Kernel::Linear(_) | Kernel::SpectralMixture(_) | Kernel::Matern(_) | Kernel::Sum(_) => {
                let (m, d_out) = (shape.n_inducing, shape.dim_out);
                let psi = Psi::zeros(m, shape.dim_in, shape.want_xi);
                Group::PointByPoint(Box::new(PointByPoint {
                    psi: vec![psi.clone(); shape.capacity],
                    bar: psi,
                    b: Mat::zeros(d_out, tri::packed_len(m)),
                    psi2_a: vec![0.0; m],
                    c: vec![Mat::zeros(m, m); d_out],
                    scratch: KernelScratch::default(),
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
            Group::PointByPoint(points) => out.iter_mut().zip(&points.psi).for_each(|(out, psi)| *out = psi.psi0),
            // A stationary law: k(x, x) is the signal variance wherever x is.
            Group::Eq(_) => out.fill(kernel.diag(&[])),
        }
    }

    /// The expectations of the points of a group, multiplied by the weights.
    pub fn forward(
        &mut self,
        kernel: &Kernel,
        tables: &KernelTables,
        weights: Weights<'_>,
        input: GroupInput<'_>,
        out: &mut Products,
    ) {
        match (self, kernel, tables) {
            (Group::Eq(fused), Kernel::Eq(law), KernelTables::Eq(tables)) => {
                fused.forward(law, tables, weights, input, out);
            }
            (Group::PointByPoint(points), kernel, tables) => points.forward(kernel, tables, weights, input, out),
            (Group::Eq(_), ..) => unreachable!("the form and the tables were made for the kernel"),
        }
    }

    /// The adjoint of [`Group::forward`]; ∂ℒ/∂B comes with [`Group::end_block`].
    pub fn backward(
        &mut self,
        kernel: &Kernel,
        tables: &KernelTables,
        weights: Weights<'_>,
        input: GroupInput<'_>,
        bar: GroupBar<'_>,
        grad: GroupGrad<'_, KernelSums>,
    ) {
        match (self, kernel) {
            (Group::Eq(fused), Kernel::Eq(law)) => {
                let GroupGrad { mean, var, sums, a, first_row } = grad;
                let KernelSums::Eq(sums) = sums else { unreachable!("the sums were made for the kernel") };
                fused.backward(law, weights, bar, &mut GroupGrad { mean, var, sums, a, first_row });
            }
            (Group::PointByPoint(points), kernel) => points.backward(kernel, tables, weights.a, input, bar, grad),
            (Group::Eq(_), _) => unreachable!("the form was made for the kernel"),
        }
    }

    /// Puts the ∂ℒ/∂B of all points since the last call into the lower triangles of `c`, or adds them to these.
    pub fn end_block(&mut self, c: &mut [Mat], add: bool) {
        match self {
            Group::Eq(fused) => fused.end_block(c, add),
            Group::PointByPoint(points) => {
                for (c, own) in c.iter_mut().zip(&mut points.c) {
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

impl PointByPoint {
    fn forward(
        &mut self,
        kernel: &Kernel,
        tables: &KernelTables,
        weights: Weights<'_>,
        input: GroupInput<'_>,
        out: &mut Products,
    ) {
        weights.b.iter().enumerate().for_each(|(d, b)| tri::pack_weights(b, self.b.row_mut(d)));
        for (g, psi) in self.psi[..input.n].iter_mut().enumerate() {
            let input = GaussianInput { mean: input.mean.row(g), var: input.var.row(g) };
            kernel.psi(tables, input, psi, &mut self.scratch);
            for (d, (a, b)) in weights.a.iter_rows().zip(self.b.iter_rows()).enumerate() {
                out.mean[(g, d)] = dot(&psi.psi1, a);
                out.quadratic[(g, d)] = dot(&psi.psi2, b);
                for q in 0..psi.xi.rows() {
                    out.slope[(g, q * self.b.rows() + d)] = dot(psi.xi.row(q), a);
                }
            }
        }
    }

    fn backward(
        &mut self,
        kernel: &Kernel,
        tables: &KernelTables,
        a: &Mat,
        input: GroupInput<'_>,
        group_bar: GroupBar<'_>,
        grad: GroupGrad<'_, KernelSums>,
    ) {
        let Self { psi, bar, b, psi2_a, c, scratch } = self;
        let GroupBar { psi0: psi0_bar, products } = group_bar;
        let d_out = b.rows();
        for (g, psi) in psi[..input.n].iter_mut().enumerate() {
            bar.psi0 = psi0_bar[g];
            bar.psi1.fill(0.0);
            bar.xi.fill_zero();
            bar.psi2.fill(0.0);
            for (d, (a, b)) in a.iter_rows().zip(b.iter_rows()).enumerate() {
                let (mean_bar, b_bar) = (products.mean[(g, d)], products.quadratic[(g, d)]);
                axpy(mean_bar, a, &mut bar.psi1);
                axpy(b_bar, b, &mut bar.psi2);
                tri::add_lower(b_bar, &psi.psi2, &mut c[d]);
                // ∂ℒ/∂A = ψ̄ψ₁ + 2 b Ψ₂A + Σ_q ξ̄ξ_q
                let a_bar = grad.a[d].row_mut(grad.first_row + g);
                tri::packed_mul(&psi.psi2, a, psi2_a);
                a_bar.iter_mut().zip(&*psi2_a).for_each(|(out, psi2_a)| *out = 2.0 * b_bar * psi2_a);
                axpy(mean_bar, &psi.psi1, a_bar);
                for q in 0..psi.xi.rows() {
                    let slope_bar = products.slope[(g, q * d_out + d)];
                    axpy(slope_bar, a, bar.xi.row_mut(q));
                    axpy(slope_bar, psi.xi.row(q), a_bar);
                }
            }
            let of_point = PsiGrad {
                input: InputBar { mean: grad.mean.row_mut(g), var: grad.var.row_mut(g) },
                kernel: grad.sums.grad_mut(),
            };
            let input = GaussianInput { mean: input.mean.row(g), var: input.var.row(g) };
            kernel.psi_adjoint(tables, input, psi, bar, of_point, scratch);
        }
    }
}
