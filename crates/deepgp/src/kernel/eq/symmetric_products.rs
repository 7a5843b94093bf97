//! Products of a symmetric matrix, of which half is stored, with vectors: Ψ₂A_d, F 1 and F w_q, as vector code.

use super::pair_layout::{PairLayout, PairTable, ROWS, VectorTables, with_rows_per_point};
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Job, Lanes};
use std::ops::Range;

/// The products of F = (Σ_d coef_d B_d) ∘ Ψ₂ with ones and with w_q for every dimension, then those of Ψ₂ with A_d for
/// every output: in `sums`, in two parts where S > 1, by rows and by columns. The first rows set them, the others add
/// to them.
pub(super) struct SymmetricProducts<'a> {
    pub layout: PairLayout,
    /// Rows i of the pairs: whole blocks.
    pub rows: Range<usize>,
    pub dim: usize,
    pub psi2: *const f64,
    /// Tables of pairs, one an output.
    pub b: &'a [Mat],
    /// A vector an output; without it the only output has coefficient 1.
    pub coef: Option<&'a [f64]>,
    /// D tables.
    pub w: VectorTables,
    /// A_d as vectors, D_out tables.
    pub a: VectorTables,
    /// F of a block.
    pub scratch: *mut f64,
    /// 1 + D + D_out tables.
    pub sums: VectorTables,
}

impl SymmetricProducts<'_> {
    #[inline(always)]
    unsafe fn all_rows<L: Lanes, const S: usize>(&self) {
        let (m, rows) = (self.layout.m, self.layout.rows());
        let (dim, of_psi2) = (self.dim, self.b.len());
        // Few vectors have several rows a point: they take products one by one, which halves the time to compile this.
        let (beside_ones, together) = if S == 1 { (2, 3) } else { (1, 1) };
        let firsts = || self.rows.clone().step_by(ROWS * S);
        // SAFETY: passed on to the caller.
        unsafe {
            let block = |first: usize, x: *const f64| Block { first, m, x, b: PairTable::of_mat(&self.b[0]) };
            let vector = |q: usize| Multiplicand {
                a: self.w.table::<L>(q, m, rows),
                sums: self.sums.table::<L>(1 + q, m, rows),
            };
            let output = |d: usize| Multiplicand {
                a: self.a.table::<L>(d, m, rows),
                sums: self.sums.table::<L>(1 + dim + d, m, rows),
            };
            let mut psi2 = self.psi2;
            let Some(coef) = self.coef else {
                // F of a single output is made of Ψ₂ as it is used. All rows for some dimensions, then for the next,
                // whose tables fit into the first-level cache beside Ψ₂, where those of many dimensions together do
                // not.
                for first in firsts() {
                    psi2 = block(first, psi2).with_ones::<L, S, true, true>(self.sums, vector(0), output(0), dim);
                }
                for q in (beside_ones..dim).step_by(together) {
                    psi2 = self.psi2;
                    for first in firsts() {
                        psi2 = block(first, psi2).with::<L, S, true>(vector(q), dim - q);
                    }
                }
                return;
            };
            for first in firsts() {
                let next = self.fill_f::<L, S>(coef, psi2, first);
                block(first, self.scratch).with_ones::<L, S, false, false>(self.sums, vector(0), output(0), dim);
                for q in (beside_ones..dim).step_by(together) {
                    block(first, self.scratch).with::<L, S, false>(vector(q), dim - q);
                }
                for d in 0..of_psi2 {
                    block(first, psi2).with::<L, S, false>(output(d), 1);
                }
                psi2 = next;
            }
        }
    }

    /// F of a block; returns where the next block's Ψ₂ begins.
    #[inline(always)]
    unsafe fn fill_f<L: Lanes, const S: usize>(&self, coef: &[f64], mut psi2: *const f64, first: usize) -> *const f64 {
        let (m, mut out) = (self.layout.m, self.scratch);
        // SAFETY: passed on to the caller.
        unsafe {
            for j in first..m {
                for r in 0..((j - first) / S + 1).min(ROWS) {
                    let mut weight = L::splat(0.0);
                    for (b, coef) in self.b.iter().zip(coef.chunks_exact(L::N)) {
                        let b = PairTable::of_mat(b).of::<L, S>(first + r * S, j);
                        weight = L::mul_add(L::load(coef.as_ptr()), b, weight);
                    }
                    L::store(out, L::mul(weight, L::load(psi2)));
                    (out, psi2) = (out.add(L::N), psi2.add(L::N));
                }
            }
            psi2
        }
    }
}

impl Job for SymmetricProducts<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { with_rows_per_point!(self.layout, self.all_rows::<L>) }
    }
}

/// A vector that the matrix is multiplied by, and where the product goes: the first of some tables.
#[derive(Clone, Copy)]
struct Multiplicand {
    a: VectorTables,
    sums: VectorTables,
}

/// A block of rows of X from `first` on, of M, and a table of weights B.
struct Block {
    first: usize,
    m: usize,
    x: *const f64,
    b: PairTable,
}

/// What the rows of a block have of a product so far.
type Totals<L> = [<L as Lanes>::V; ROWS];

impl Block {
    /// The products with ones and with up to two vectors that follow them (one where S > 1), of B ∘ X if W and else of
    /// X; and that of X with `output` if O. Returns where the next block's X begins.
    #[inline(always)]
    unsafe fn with_ones<L: Lanes, const S: usize, const W: bool, const O: bool>(
        self,
        ones: VectorTables,
        vector: Multiplicand,
        output: Multiplicand,
        vectors: usize,
    ) -> *const f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            if const { S > 1 } || vectors == 1 {
                self.product::<L, S, 1, W, true, O>(ones, vector, output)
            } else {
                self.product::<L, S, 2, W, true, O>(ones, vector, output)
            }
        }
    }

    /// The products with up to three vectors, or with one where S > 1. Returns where the next block's X begins.
    #[inline(always)]
    unsafe fn with<L: Lanes, const S: usize, const W: bool>(self, vector: Multiplicand, vectors: usize) -> *const f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            match vectors {
                n if const { S > 1 } || n == 1 => self.product::<L, S, 1, W, false, false>(vector.sums, vector, vector),
                2 => self.product::<L, S, 2, W, false, false>(vector.sums, vector, vector),
                _ => self.product::<L, S, 3, W, false, false>(vector.sums, vector, vector),
            }
        }
    }

    /// Adds what the pairs give to the products with V vectors: to rows X_ij a_j, and to columns X_ij a_i. If W, with B
    /// ∘ X instead of X; if I, also the product with ones; if O, also that of X itself with `output`.
    #[inline(always)]
    unsafe fn product<L: Lanes, const S: usize, const V: usize, const W: bool, const I: bool, const O: bool>(
        self,
        ones: VectorTables,
        vector: Multiplicand,
        output: Multiplicand,
    ) -> *const f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.first == 0 {
                self.product_of::<L, S, V, W, I, O, true>(ones, vector, output)
            } else {
                self.product_of::<L, S, V, W, I, O, false>(ones, vector, output)
            }
        }
    }

    /// A block of the product; if E it is the first block, which meets all columns: nothing has been summed before.
    #[inline(always)]
    unsafe fn product_of<
        L: Lanes,
        const S: usize,
        const V: usize,
        const W: bool,
        const I: bool,
        const O: bool,
        const E: bool,
    >(
        mut self,
        ones: VectorTables,
        vector: Multiplicand,
        output: Multiplicand,
    ) -> *const f64 {
        let (first, m) = (self.first, self.m);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut vectors = [vector; V];
            for v in 1..V {
                vectors[v] = vectors[v - 1].after::<L, S>(m);
            }
            let mut own = [[L::splat(0.0); ROWS]; V];
            for v in 0..V {
                own[v] = vectors[v].own::<L, S>(first, m);
            }
            let own_output = if O { output.own::<L, S>(first, m) } else { [L::splat(0.0); ROWS] };
            let columns = Columns { vectors, own, ones, output, own_output };
            let zeros = [L::splat(0.0); ROWS];
            let mut totals = ([zeros; V], zeros, zeros);
            if const { S == 1 && !E } {
                // Rows are columns too, which have something from the blocks before.
                for v in 0..V {
                    totals.0[v] = so_far::<L>(vectors[v].sums, first, m);
                }
                if I {
                    totals.1 = so_far::<L>(ones, first, m);
                }
                if O {
                    totals.2 = so_far::<L>(output.sums, first, m);
                }
            }
            if const { S == 1 } {
                self.corner::<L, V, W, I, O, 0>(&columns, &mut totals);
                self.corner::<L, V, W, I, O, 1>(&columns, &mut totals);
                self.corner::<L, V, W, I, O, 2>(&columns, &mut totals);
                self.corner::<L, V, W, I, O, 3>(&columns, &mut totals);
            } else {
                // The columns that meet the diagonal in a row have no more rows than that.
                let at = |row: usize| (first + row * S).min(m)..(first + (row + 1) * S).min(m);
                for j in at(0) {
                    self.column::<L, S, V, W, I, O, E, 1>(j, &columns, &mut totals);
                }
                for j in at(1) {
                    self.column::<L, S, V, W, I, O, E, 2>(j, &columns, &mut totals);
                }
                for j in at(2) {
                    self.column::<L, S, V, W, I, O, E, 3>(j, &columns, &mut totals);
                }
                for j in at(3) {
                    self.column::<L, S, V, W, I, O, E, 4>(j, &columns, &mut totals);
                }
            }
            for j in first + ROWS * S..m {
                self.column::<L, S, V, W, I, O, E, ROWS>(j, &columns, &mut totals);
            }
            for v in 0..V {
                keep_rows::<L, S>(vectors[v].sums, first, m, totals.0[v]);
            }
            if I {
                keep_rows::<L, S>(ones, first, m, totals.1);
            }
            if O {
                keep_rows::<L, S>(output.sums, first, m, totals.2);
            }
            self.x
        }
    }

    /// The column that meets the diagonal in row C, where S = 1: it is a row of the block as well, so that all sums are
    /// in registers.
    #[inline(always)]
    unsafe fn corner<L: Lanes, const V: usize, const W: bool, const I: bool, const O: bool, const C: usize>(
        &mut self,
        columns: &Columns<L, V>,
        totals: &mut ([Totals<L>; V], Totals<L>, Totals<L>),
    ) {
        let (Columns { own, own_output, .. }, j) = (columns, self.first + C);
        if j >= self.m {
            return;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            for r in 0..=C {
                let x = L::load(self.x.add(r * L::N));
                let f = if W { L::mul(self.b.of::<L, 1>(self.first + r, j), x) } else { x };
                if I {
                    totals.1[r] = L::add(totals.1[r], f);
                    totals.1[C] = L::add(totals.1[C], f);
                }
                for v in 0..V {
                    totals.0[v][r] = L::mul_add(f, own[v][C], totals.0[v][r]);
                    totals.0[v][C] = L::mul_add(f, own[v][r], totals.0[v][C]);
                }
                if O {
                    totals.2[r] = L::mul_add(x, own_output[C], totals.2[r]);
                    totals.2[C] = L::mul_add(x, own_output[r], totals.2[C]);
                }
            }
            self.x = self.x.add((C + 1) * L::N);
        }
    }

    /// A column of R rows.
    #[inline(always)]
    unsafe fn column<
        L: Lanes,
        const S: usize,
        const V: usize,
        const W: bool,
        const I: bool,
        const O: bool,
        const E: bool,
        const R: usize,
    >(
        &mut self,
        j: usize,
        columns: &Columns<L, V>,
        totals: &mut ([Totals<L>; V], Totals<L>, Totals<L>),
    ) {
        let Columns { vectors, own, ones, output, own_output } = columns;
        // SAFETY: passed on to the caller.
        unsafe {
            let so_far = |sum: *const f64| if E { L::splat(0.0) } else { L::load(sum) };
            // Row by row, so that what waits for each other is far apart: a column's sums take a term of every row.
            let at = |sums: VectorTables| sums.columns.add(j * L::N);
            let mut y_ones = if I { so_far(at(*ones)) } else { L::splat(0.0) };
            let mut y_output = if O { so_far(at(output.sums)) } else { L::splat(0.0) };
            let a_output = if O { L::load(at(output.a)) } else { L::splat(0.0) };
            let (mut a, mut y) = ([L::splat(0.0); V], [L::splat(0.0); V]);
            for v in 0..V {
                (a[v], y[v]) = (L::load(at(vectors[v].a)), so_far(at(vectors[v].sums)));
            }
            for r in 0..R {
                let x = L::load(self.x.add(r * L::N));
                let f = if W { L::mul(self.b.of::<L, S>(self.first + r * S, j), x) } else { x };
                if O {
                    totals.2[r] = L::mul_add(x, a_output, totals.2[r]);
                    y_output = L::mul_add(x, own_output[r], y_output);
                }
                if I {
                    totals.1[r] = L::add(totals.1[r], f);
                    y_ones = L::add(y_ones, f);
                }
                for v in 0..V {
                    totals.0[v][r] = L::mul_add(f, a[v], totals.0[v][r]);
                    y[v] = L::mul_add(f, own[v][r], y[v]);
                }
            }
            if O {
                L::store(at(output.sums), y_output);
            }
            if I {
                L::store(at(*ones), y_ones);
            }
            for v in 0..V {
                L::store(at(vectors[v].sums), y[v]);
            }
            self.x = self.x.add(R * L::N);
        }
    }
}

/// What the columns of a block are multiplied by: the tables, and the numbers of the block's rows in them.
struct Columns<L: Lanes, const V: usize> {
    vectors: [Multiplicand; V],
    own: [Totals<L>; V],
    ones: VectorTables,
    output: Multiplicand,
    own_output: Totals<L>,
}

impl Multiplicand {
    /// The next table.
    #[inline(always)]
    unsafe fn after<L: Lanes, const S: usize>(self, m: usize) -> Self {
        let rows = m.div_ceil(S);
        // SAFETY: passed on to the caller.
        unsafe { Self { a: self.a.table::<L>(1, m, rows), sums: self.sums.table::<L>(1, m, rows) } }
    }

    /// The numbers of the rows of a block; those of the last row where there are fewer.
    #[inline(always)]
    unsafe fn own<L: Lanes, const S: usize>(self, first: usize, m: usize) -> Totals<L> {
        let (rows, mut own) = (m.div_ceil(S), [unsafe { L::splat(0.0) }; ROWS]);
        for (r, own) in own.iter_mut().enumerate() {
            // SAFETY: passed on to the caller.
            *own = unsafe { L::load(self.a.rows.add((first / S + r).min(rows - 1) * L::N)) };
        }
        own
    }
}

/// What the rows of a block have as columns so far, where S = 1.
#[inline(always)]
unsafe fn so_far<L: Lanes>(sums: VectorTables, first: usize, m: usize) -> Totals<L> {
    // SAFETY: passed on to the caller.
    let mut totals = [unsafe { L::splat(0.0) }; ROWS];
    for (r, total) in totals.iter_mut().enumerate() {
        // SAFETY: passed on to the caller.
        *total = unsafe { L::load(sums.columns.add((first + r).min(m - 1) * L::N)) };
    }
    totals
}

/// Keeps what the rows of a block have.
#[inline(always)]
unsafe fn keep_rows<L: Lanes, const S: usize>(sums: VectorTables, first: usize, m: usize, totals: Totals<L>) {
    for (r, total) in totals.into_iter().enumerate() {
        // One by one: a loop of unknown length would be a copy from memory.
        if first / S + r < m.div_ceil(S) {
            // SAFETY: passed on to the caller.
            unsafe { L::store(sums.rows.add((first / S + r) * L::N), total) }
        }
    }
}
