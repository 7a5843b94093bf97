//! Ψ₂ of points side by side in vectors by exponentials, and ⟨B_d, Ψ₂⟩: vector code.

use super::pair_layout::{PairLayout, PairTable, ROWS, VectorTables, add_to_class, with_rows_per_point};
use super::point_vectors::{Psi2Form, Width};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Job, Lanes, PAD};
use std::ops::Range;

/// Ψ₂ = 2^(T + γ_i + γ_j − Σ_q w_iq w_jq), or in the form of [`Psi2Form`], without its factor, halved where i = j, and
/// `dots` += Σ_pairs B_d Ψ₂. Returns the number of vectors.
pub(super) struct FillPsi2<'a> {
    pub layout: PairLayout,
    /// By products only where S = 1.
    pub form: Psi2Form,
    pub widths: &'a [Width],
    /// Rows i of the pairs: whole blocks.
    pub rows: Range<usize>,
    pub dim: usize,
    pub table: PairTable,
    pub w: VectorTables,
    pub gamma: VectorTables,
    /// The inducing inputs relative to their middle, D rows of [`row_len`].
    pub offsets: *const f64,
    /// Memory for a vector of each dimension for the rows of a block.
    pub scratch: *mut f64,
    pub out: *mut f64,
    /// Tables of pairs, one for each of the dots.
    pub b: &'a [Mat],
    /// N vectors each, see [`add_to_class`].
    pub dots: &'a mut [f64],
}

impl FillPsi2<'_> {
    #[inline(always)]
    unsafe fn all<L: Lanes, const S: usize>(&mut self) -> usize {
        // SAFETY: passed on to the caller.
        unsafe {
            // Every form takes time to compile, and most layers have two dimensions; vectors with several rows of a
            // point, which are rare, always check for what vanishes.
            if const { S > 1 } {
                return self.by_exponentials::<L, S, 0, true>();
            }
            match (self.form, self.dim) {
                (Psi2Form::Guarded, 2) => self.by_exponentials::<L, S, 2, true>(),
                (Psi2Form::Inside, 2) => self.by_exponentials::<L, S, 2, false>(),
                (Psi2Form::ByProducts(polynomial), 2) => self.by_products::<L, 2>(polynomial),
                (Psi2Form::Guarded, _) => self.by_exponentials::<L, S, 0, true>(),
                (Psi2Form::Inside, _) => self.by_exponentials::<L, S, 0, false>(),
                (Psi2Form::ByProducts(polynomial), _) => self.by_products::<L, 0>(polynomial),
            }
        }
    }

    /// For D dimensions, or any number if D is 0; checking for what vanishes if V.
    #[inline(always)]
    unsafe fn by_exponentials<L: Lanes, const S: usize, const D: usize, const V: bool>(&mut self) -> usize {
        let (m, mut out) = (self.layout.m, self.out);
        for first in self.rows.clone().step_by(ROWS * S) {
            // SAFETY: passed on to the caller.
            unsafe {
                let start = out;
                out = self.diagonal::<L, S, D, V, 0>(first, out);
                out = self.diagonal::<L, S, D, V, 1>(first, out);
                out = self.diagonal::<L, S, D, V, 2>(first, out);
                out = self.diagonal::<L, S, D, V, 3>(first, out);
                let (mut row, mut gamma) = ([[L::splat(0.0); ROWS]; D], [L::splat(0.0); ROWS]);
                for r in 0..ROWS {
                    gamma[r] = L::load(self.gamma.rows.add((first / S + r).min(self.layout.rows() - 1) * L::N));
                    for (q, row) in row.iter_mut().enumerate() {
                        row[r] = self.w_row::<L, S>(q, first, r);
                    }
                }
                for j in first + ROWS * S..m {
                    let column = L::load(self.gamma.columns.add(j * L::N));
                    let mut x = [L::splat(0.0); ROWS];
                    for r in 0..ROWS {
                        x[r] = L::add(L::add(self.table.of::<L, S>(first + r * S, j), column), gamma[r]);
                    }
                    for (q, row) in row.iter().enumerate() {
                        let w = L::load(self.w.columns.add((q * m + j) * L::N));
                        for (x, row) in x.iter_mut().zip(row) {
                            *x = L::neg_mul_add(*row, w, *x);
                        }
                    }
                    for q in (0..self.dim).filter(|_| D == 0) {
                        let w = L::load(self.w.columns.add((q * m + j) * L::N));
                        for (r, x) in x.iter_mut().enumerate() {
                            *x = L::neg_mul_add(self.w_row::<L, S>(q, first, r), w, *x);
                        }
                    }
                    for (r, x) in x.into_iter().enumerate() {
                        L::store(out.add(r * L::N), if V { L::exp2(x) } else { L::exp2_inside(x) });
                    }
                    out = out.add(ROWS * L::N);
                }
                self.add_dots::<L, S>(first, start);
            }
        }
        // SAFETY: both point at the same Ψ₂.
        unsafe { out.offset_from_unsigned(self.out) / L::N }
    }

    /// Adds what the rows of a block, whose Ψ₂ begin at `psi2`, have in the products with B_d.
    #[inline(always)]
    pub(super) unsafe fn add_dots<L: Lanes, const S: usize>(&mut self, first: usize, psi2: *const f64) {
        // SAFETY: passed on to the caller.
        unsafe {
            for (d, b) in self.b.iter().enumerate() {
                let dots = self.dots.as_mut_ptr().add(d * L::N * L::N);
                let sums = row_dots::<L, S>(PairTable::of_mat(b), psi2, first, self.layout.m);
                for (r, sum) in sums.into_iter().enumerate() {
                    add_to_class::<L>(dots, first / S + r, S, sum);
                }
            }
        }
    }

    /// w_q of row r of a block; that of the last row where there are fewer.
    #[inline(always)]
    unsafe fn w_row<L: Lanes, const S: usize>(&self, q: usize, first: usize, r: usize) -> L::V {
        let rows = self.layout.rows();
        // SAFETY: passed on to the caller.
        unsafe { L::load(self.w.rows.add((q * rows + (first / S + r).min(rows - 1)) * L::N)) }
    }

    /// The columns of a block that meet the diagonal in row R.
    #[inline(always)]
    unsafe fn diagonal<L: Lanes, const S: usize, const D: usize, const V: bool, const R: usize>(
        &self,
        first: usize,
        mut out: *mut f64,
    ) -> *mut f64 {
        let m = self.layout.m;
        // SAFETY: passed on to the caller.
        unsafe {
            for k in 0..S {
                let j = first + R * S + k;
                if j >= m {
                    break;
                }
                let edge = const { &edges::<S>() }[k].as_ptr();
                let column = L::load(self.gamma.columns.add(j * L::N));
                for r in 0..=R {
                    let gamma = L::load(self.gamma.rows.add((first / S + r) * L::N));
                    let mut x = L::add(L::add(self.table.of::<L, S>(first + r * S, j), column), gamma);
                    for q in 0..if D > 0 { D } else { self.dim } {
                        let w = L::load(self.w.columns.add((q * m + j) * L::N));
                        x = L::neg_mul_add(self.w_row::<L, S>(q, first, r), w, x);
                    }
                    let value = if V { L::exp2(x) } else { L::exp2_inside(x) };
                    L::store(out, if r == R { L::mul(value, L::load(edge)) } else { value });
                    out = out.add(L::N);
                }
            }
            out
        }
    }
}

/// The weights of pairs where column k of S meets the diagonal, lane by lane: 1 above it, ½ on it.
const fn edges<const S: usize>() -> [[f64; PAD]; S] {
    let mut edges = [[0.0; PAD]; S];
    let mut k = 0;
    while k < S {
        let mut lane = 0;
        while lane < PAD {
            let row = lane % S;
            edges[k][lane] = if row < k {
                1.0
            } else if row == k {
                0.5
            } else {
                0.0
            };
            lane += 1;
        }
        k += 1;
    }
    edges
}

/// Σ_j B X of the rows of a block that begins at row `first`.
#[inline(always)]
unsafe fn row_dots<L: Lanes, const S: usize>(b: PairTable, mut x: *const f64, first: usize, m: usize) -> [L::V; ROWS] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sums = [L::splat(0.0); ROWS];
        for j in first..(first + ROWS * S).min(m) {
            for (r, sum) in sums.iter_mut().enumerate().take((j - first) / S + 1) {
                *sum = L::mul_add(b.of::<L, S>(first + r * S, j), L::load(x), *sum);
                x = x.add(L::N);
            }
        }
        for j in first + ROWS * S..m {
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = L::mul_add(b.of::<L, S>(first + r * S, j), L::load(x), *sum);
                x = x.add(L::N);
            }
        }
        sums
    }
}

impl Job for FillPsi2<'_> {
    type Output = usize;

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) -> usize {
        // SAFETY: passed on to the caller.
        unsafe { with_rows_per_point!(self.layout, self.all::<L>) }
    }
}
