//! The expectations of the exponentiated quadratic law for a few points at a time, fused with their products with a
//! layer's weights.
//!
//! The plain form is in `kernel/eq.rs`; this one gives the same numbers (a test compares them) many times faster.
//! Points lie side by side in the lanes of vectors, tables are loaded once for all of them, and no Ψ₂ leaves the cache.
//! With c = ℓ² + v, e = ℓ² + 2v, d = z − m and w = κ d, κ = √(log₂e/(2e)),
//!
//! ```text
//! ψ₁ᵢ  = s² Π_q √(ℓ_q²/c_q) 2^(−Σ_q d_iq² log₂e/(2c_q))                    ξ_qi = ψ₁ᵢ d_iq v_q/c_q
//! Ψ₂ᵢⱼ = Π_q √(ℓ_q²/e_q) 2^(T_ij + γ_i + γ_j − Σ_q w_iq w_jq)               γ_i = −½ Σ_q w_iq²
//! ```
//! with T_ij = (−¼ Σ_q (z_iq − z_jq)²/ℓ_q² + 2 log s²)/log 2 from the tables of a step, or by the formula of
//! `psi2_by_products.rs`. A layer multiplies them by its weights: ψ₁A_d, ⟨B_d, Ψ₂⟩ and ξ_q A_d, with adjoints a_d, b_d
//! and x_qd.
//!
//! The adjoint of Ψ₂ needs no more of F = (Σ_d b_d B_d) ∘ Ψ₂ than r = F 1 and F d_q (`symmetric_products.rs`). With u =
//! r d + F d and t = r d − F d of a dimension, where t comes from T,
//!
//! ```text
//! m̄ = Σ u/e      v̄ = Σ d u/e² − Σ r/e      z̄ = −u/e − t/ℓ²
//! ℓ̄ = ℓ Σ d u/e² + 2 v Σ r/(ℓ e) + Σ d t/ℓ³      s̄² = 2 Σ r/s²
//! ```
//! Through ψ₁ and ξ, with ω = ψ₁ Σ_d A_d (a_d + Σ_q x_qd d_q v_q/c_q) = ∂/∂log ψ₁ and δ = ψ₁ Σ_d x_qd A_d,
//!
//! ```text
//! m̄ = Σ ω d/c − Σ δ v/c      v̄ = ½ (Σ ω d²/c² − Σ ω/c) + Σ δ d ℓ²/c²      z̄ = −ω d/c + δ v/c
//! ℓ̄ = ℓ Σ ω d²/c² + v Σ ω/(ℓ c) − 2 v ℓ Σ δ d/c²      s̄² = Σ ω/s²
//! ```
//! and ∂/∂A_d = ψ₁ (a_d + Σ_q x_qd d_q v_q/c_q) + 2 b_d Ψ₂A_d,   ∂/∂B_d = C̄_d = b_d Ψ₂.

mod backward;
mod forward;
#[cfg(test)]
mod tests;

use super::pair_layout::{PairLayout, ROWS, VectorLength, VectorTables};
use super::parameters::Eq;
use super::point_vectors::{PointVector, Psi2Form, Width, points_in_a_vector};
use super::symmetric_products::SymmetricProducts;
use crate::kernel::padded::row_len;
use crate::kernel::products::{GroupShape, Weights};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Aligned, PAD, run};
use std::ops::Range;

/// Expectations of a group of points, and working memory. Tables of a vector of points have M vectors, or fewer by
/// rows; see [`VectorTables`].
#[derive(Debug, Clone)]
pub struct FusedEq {
    m: usize,
    dim: usize,
    d_out: usize,
    want_xi: bool,
    want_adjoint: bool,
    /// Whether F of a point is Ψ₂ times weights that do not depend on the point: then its products are taken right
    /// after Ψ₂, if they will be wanted.
    at_once: bool,
    lanes: usize,
    points: Vec<PointVector>,
    /// How many of them have points now.
    used: usize,
    /// Ψ₂ of every vector of points, `psi2_stride` numbers each.
    psi2: Aligned,
    psi2_stride: usize,
    /// For every vector of points the tables of w, then that of γ, by columns; then the same by rows.
    tables: Aligned,
    /// For every vector of points a table by rows.
    psi1: Aligned,
    omega: Aligned,
    /// A_d as vectors, by columns and by rows; a table per output.
    a: Aligned,
    row_a: Aligned,
    /// The layout of these rows.
    row_a_layout: Option<PairLayout>,
    /// Products of a vector of points with weights, N vectors each, and their adjoints, a vector each.
    dots: Aligned,
    bars: Aligned,
    /// For every vector of points b_d times the factor of Ψ₂, then twice that; a vector per output.
    b_bars: Aligned,
    /// F of a block of rows, or numbers of its exponentials.
    scratch: Aligned,
    /// Products with F and Ψ₂ by columns, and by rows; those of every vector of points if they are taken at once.
    sums: Aligned,
    row_sums: Aligned,
    /// Sums over inducing inputs, lane by lane: see `PairAdjoint` and `XiAdjoint`.
    totals: Vec<[f64; PAD]>,
    xi_totals: Vec<[f64; PAD]>,
    /// C̄_d of the block's points so far, one for each layout.
    c_bars: Vec<CBarSums>,
}

/// C̄_d of the points of a block that share a layout.
#[derive(Debug, Clone)]
struct CBarSums {
    layout: PairLayout,
    /// In the order of the layout, for every output.
    numbers: Aligned,
    /// Whether there have been such points in this block: if not, the numbers have no meaning.
    has_points: bool,
}

impl FusedEq {
    /// Memory for groups of this shape.
    pub fn new(shape: GroupShape) -> Self {
        let GroupShape { capacity, n_inducing: m, dim_in: dim, dim_out: d_out, want_xi, want_adjoint } = shape;
        assert!(capacity > 0 && m > 0 && dim > 0 && d_out > 0, "sizes are positive");
        // SAFETY: the job has no pointers.
        let lanes = unsafe { run(VectorLength) };
        let most = points_in_a_vector(m, lanes);
        let count = capacity.div_ceil(most);
        let layout = PairLayout { m, s: lanes / most };
        let psi2_stride = (layout.vectors() + PAD) * lanes;
        let vectors = |n: usize| Aligned::zeros(n * lanes);
        let (widths, products) = (vec![Width::default(); dim], d_out * if want_xi { 1 + dim } else { 1 });
        let at_once = want_adjoint && d_out == 1;
        let kept = if at_once { count } else { 1 };
        let empty = PointVector {
            first: 0,
            points: 0,
            layout,
            psi2_vectors: 0,
            widths,
            peak1: [0.0; PAD],
            peak2: [0.0; PAD],
            form: Psi2Form::Guarded,
        };
        Self {
            m,
            dim,
            d_out,
            want_xi,
            want_adjoint,
            at_once,
            lanes,
            points: vec![empty; count],
            used: 0,
            psi2: Aligned::zeros(count * psi2_stride),
            psi2_stride,
            tables: vectors(count * 2 * (dim + 1) * m),
            psi1: vectors(count * m),
            omega: vectors(m),
            a: vectors(d_out * m),
            row_a: vectors(d_out * m),
            row_a_layout: None,
            dots: vectors(products * lanes),
            bars: vectors(products),
            b_bars: vectors(count * 2 * d_out),
            scratch: vectors(ROWS * m.max(dim)),
            sums: vectors(kept * ((1 + dim + d_out) * m + PAD)),
            row_sums: vectors(kept * ((1 + dim + d_out) * m + PAD)),
            totals: vec![[0.0; PAD]; 2 + 5 * dim],
            xi_totals: vec![[0.0; PAD]; 2 * dim],
            c_bars: Vec::new(),
        }
    }

    /// The tables of w and of γ of a vector of points.
    fn tables_of(&mut self, k: usize) -> (VectorTables, VectorTables) {
        let (half, gamma) = ((self.dim + 1) * self.m, self.dim * self.m);
        let at = self.tables[2 * k * half * self.lanes..][..2 * half * self.lanes].as_mut_ptr();
        let rows = if self.points[k].layout.s == 1 { 0 } else { half };
        // SAFETY: each has 2 (D + 1) M vectors, and rows are no more than M.
        let vector = |n: usize| unsafe { at.add(n * self.lanes) };
        (
            VectorTables { columns: vector(0), rows: vector(rows) },
            VectorTables { columns: vector(gamma), rows: vector(rows + gamma) },
        )
    }

    /// The tables of products of a vector of points.
    fn sums_of(&mut self, k: usize) -> VectorTables {
        let stride = ((1 + self.dim + self.d_out) * self.m + PAD) * self.lanes;
        let at = if self.at_once { k * stride } else { 0 };
        let columns = self.sums[at..][..stride].as_mut_ptr();
        let rows = if self.points[k].layout.s == 1 { columns } else { self.row_sums[at..][..stride].as_mut_ptr() };
        VectorTables { columns, rows }
    }

    /// A_d as vectors for a layout; those by columns must be in place.
    fn a_for(&mut self, a: &Mat, layout: PairLayout) -> VectorTables {
        let columns = self.a.as_mut_ptr();
        if layout.s == 1 {
            return VectorTables { columns, rows: columns };
        }
        let rows = self.row_a.as_mut_ptr();
        if self.row_a_layout == Some(layout) {
            return VectorTables { columns, rows };
        }
        for (table, a) in self.row_a.chunks_exact_mut(layout.rows() * self.lanes).zip(a.iter_rows()) {
            for (vector, first) in table.chunks_exact_mut(self.lanes).zip((0..).step_by(layout.s)) {
                for (lane, number) in vector.iter_mut().enumerate() {
                    *number = a.get(first + (lane & (layout.s - 1))).copied().unwrap_or(0.0);
                }
            }
        }
        self.row_a_layout = Some(layout);
        VectorTables { columns, rows }
    }

    /// Products with F and Ψ₂ of some rows of pairs of a vector of points.
    fn multiply_pairs(&mut self, pairs: PairRows, b: &[Mat], w: VectorTables, a: VectorTables) {
        let PairRows { k, rows, done } = pairs;
        let (sums, of_points) = (self.sums_of(k), self.d_out * self.lanes);
        let job = SymmetricProducts {
            layout: self.points[k].layout,
            rows,
            dim: self.dim,
            psi2: self.psi2[k * self.psi2_stride..][..self.psi2_stride][done * self.lanes..].as_ptr(),
            b,
            // That of a single output is left for later.
            coef: (self.d_out > 1).then_some(&self.b_bars[2 * k * of_points..][..of_points]),
            w,
            a,
            scratch: self.scratch.as_mut_ptr(),
            sums,
        };
        // SAFETY: tables have space for M columns and as many rows as there are, and F for a block of four rows.
        unsafe { run(job) }
    }

    fn check(&self, law: &Eq, weights: Weights<'_>) {
        let (m, d_out, Weights { a, b }) = (self.m, self.d_out, weights);
        assert_eq!(law.lengthscale.len(), self.dim, "one lengthscale per input");
        assert_eq!((a.rows(), a.cols(), b.len()), (d_out, m, d_out), "weights of every output");
        assert!(b.iter().all(|b| (b.rows(), b.cols()) == (m, row_len(m))), "tables of pairs are padded");
    }
}

/// Some rows of pairs of a vector of points.
#[derive(Clone)]
struct PairRows {
    /// Which vector of points.
    k: usize,
    /// Rows i of the pairs (i, j): whole blocks.
    rows: Range<usize>,
    /// Vectors of Ψ₂ before these rows.
    done: usize,
}
