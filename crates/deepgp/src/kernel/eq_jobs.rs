//! The vector code of `eq_sweep.rs`: ψ₁ and Ψ₂ of points that stand side by side in vectors, and their adjoint.
//!
//! A vector holds G points with S rows i of pairs (i, j) each, lane g · S + s; where there are points enough for whole vectors,
//! S is 1. So what belongs to a point never has to be added up over lanes, and rows of a triangle have no tails.

use super::row_len;
use crate::linalg::Mat;
use crate::simd::{Job, Lanes, PAD};
use std::ops::Range;

/// Rows of vectors that are taken together.
const ROWS: usize = 4;

/// The order in which the pairs i ≤ j of M inducing inputs are visited: by blocks of [`ROWS`] · S rows i, in each block column by
/// column j, first those at the diagonal, which have fewer rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walk {
    pub m: usize,
    /// S, rows of a point in a vector.
    pub s: usize,
}

impl Walk {
    /// Vectors of a table with a number for every row of pairs.
    pub fn rows(self) -> usize {
        self.m.div_ceil(self.s)
    }

    /// The rows of pairs in strips of whole blocks, none of which has more vectors than this but where a block has.
    pub fn strips(self, vectors: usize) -> impl Iterator<Item = Range<usize>> {
        let (Self { m, s }, mut first) = (self, 0);
        std::iter::from_fn(move || {
            let start = first;
            while first < m && (first == start || (first - start + ROWS * s) / s * (m - start) <= vectors) {
                first += ROWS * s;
            }
            (start < m).then_some(start..first.min(m))
        })
    }

    /// Vectors of a whole triangle.
    pub fn vectors(self) -> usize {
        let (Self { m, s }, height) = (self, ROWS * self.s);
        let of_block = |first: usize| {
            let columns = (m - first).min(height);
            let (whole, rest) = (columns / s, columns % s);
            s * whole * (whole + 1) / 2 + rest * (whole + 1) + ROWS * (m - first - columns)
        };
        (0..m).step_by(height).map(of_block).sum()
    }
}

/// A table with a number for each pair: a symmetric matrix with rows of [`row_len`], zero beyond M.
#[derive(Clone, Copy)]
pub(super) struct Square {
    at: *const f64,
    stride: usize,
}

impl Square {
    pub fn new(numbers: &[f64], m: usize) -> Self {
        Self { at: numbers.as_ptr(), stride: row_len(m) }
    }

    fn of_mat(table: &Mat) -> Self {
        Self { at: table.as_slice().as_ptr(), stride: table.cols() }
    }

    /// The numbers of the pairs (i, j) to (i + S − 1, j), for every point.
    #[inline(always)]
    unsafe fn of<L: Lanes, const S: usize>(self, i: usize, j: usize) -> L::V {
        // One number is read along its row, several across.
        let place = if S == 1 { i * self.stride + j } else { j * self.stride + i };
        // SAFETY: passed on to the caller.
        unsafe { L::spread(self.at.add(place), S) }
    }
}

/// A number a point for every inducing input, as vectors: `columns` by j, and `rows` by rows of pairs; the same where S = 1.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub columns: *mut f64,
    pub rows: *mut f64,
}

impl Numbers {
    /// Table number `t`, and those after it.
    #[inline(always)]
    unsafe fn table<L: Lanes>(self, t: usize, columns: usize, rows: usize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Self { columns: self.columns.add(t * columns * L::N), rows: self.rows.add(t * rows * L::N) } }
    }
}

/// Runs a job's body for the S of a walk.
macro_rules! for_rows {
    ($walk:expr, $self:ident.$body:ident::<$lanes:ident>) => {
        match $walk.s {
            1 => $self.$body::<$lanes, 1>(),
            2 => $self.$body::<$lanes, 2>(),
            4 => $self.$body::<$lanes, 4>(),
            _ => $self.$body::<$lanes, 8>(),
        }
    };
}

/// What ψ₁ and Ψ₂ of the points in a vector depend on in one dimension: a number a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Width {
    pub mean: [f64; PAD],
    pub var: [f64; PAD],
    /// 1/e, e = ℓ² + 2v.
    pub inverse_e: [f64; PAD],
    /// κ = √(log₂e/(2e)), and 1/κ.
    pub kappa: [f64; PAD],
    pub stretch: [f64; PAD],
    /// 1/c, c = ℓ² + v.
    pub inverse_c: [f64; PAD],
    /// √(log₂e/(2c)).
    pub kappa_c: [f64; PAD],
    /// v/c.
    pub ratio: [f64; PAD],
}

/// The tables of a pack: ones, w_q = (z_q − m_q) κ_q and γ = −½ Σ_q w_q² of all inducing inputs, and ψ₁ by rows.
pub(super) struct Fill<'a> {
    pub walk: Walk,
    /// D rows of [`row_len`].
    pub points: *const f64,
    pub widths: &'a [Width],
    /// 1, then w_q: 1 + D tables.
    pub levers: Numbers,
    pub gamma: Numbers,
    /// s² Π_q √(ℓ_q²/c_q), a vector.
    pub peak: &'a [f64; PAD],
    pub psi1: *mut f64,
}

impl Fill<'_> {
    #[inline(always)]
    unsafe fn fill<L: Lanes, const S: usize>(&self) {
        let Self { walk, levers, gamma, .. } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            for j in (0..walk.m).filter(|_| S > 1) {
                let (sum, _) = self.of::<L, 1>(levers.columns, walk.m, j);
                L::store(gamma.columns.add(j * L::N), sum);
            }
            let peak = L::load(self.peak.as_ptr());
            for r in 0..walk.rows() {
                let (sum, exponent) = self.of::<L, S>(levers.rows, walk.rows(), r);
                L::store(gamma.rows.add(r * L::N), sum);
                L::store(self.psi1.add(r * L::N), L::mul(peak, L::exp2(exponent)));
            }
        }
    }

    /// Writes 1 and w; returns γ and −Σ_q (z_q − m_q)² log₂e/(2c_q).
    #[inline(always)]
    unsafe fn of<L: Lanes, const S: usize>(&self, out: *mut f64, len: usize, at: usize) -> (L::V, L::V) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut twice, mut exponent) = (L::splat(0.0), L::splat(0.0));
            L::store(out.add(at * L::N), L::splat(1.0));
            for (q, width) in self.widths.iter().enumerate() {
                let z = L::spread(self.points.add(q * row_len(self.walk.m) + at * S), S);
                let d = L::sub(z, L::load(width.mean.as_ptr()));
                let (w, of_psi1) =
                    (L::mul(d, L::load(width.kappa.as_ptr())), L::mul(d, L::load(width.kappa_c.as_ptr())));
                L::store(out.add(((1 + q) * len + at) * L::N), w);
                twice = L::neg_mul_add(w, w, twice);
                exponent = L::neg_mul_add(of_psi1, of_psi1, exponent);
            }
            (L::mul(L::splat(0.5), twice), exponent)
        }
    }
}

impl Job for Fill<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.fill::<L>) }
    }
}

/// Sums over inducing inputs i are taken by classes i mod N, so that they do not depend on how many rows a point has in a vector: for
/// each sum N/S vectors, row r of vectors belonging to number r mod N/S.
#[inline(always)]
unsafe fn add_to_class<L: Lanes>(sums: *mut f64, row: usize, s: usize, term: L::V) {
    // SAFETY: passed on to the caller.
    unsafe {
        let at = sums.add(row % (L::N / s) * L::N);
        L::store(at, L::add(L::load(at), term));
    }
}

/// `sums` += Σ_i ψ₁ A_d for every output and then, for every dimension that is wanted, Σ_i ψ₁ w_q A_d for every output: N vectors each,
/// see [`add_to_class`].
pub(super) struct FirstDots<'a> {
    pub walk: Walk,
    pub psi1: *const f64,
    /// 1, then w_q.
    pub levers: *const f64,
    pub a: *const f64,
    pub d_out: usize,
    pub sums: &'a mut [f64],
}

impl Job for FirstDots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let len = self.walk.rows();
        for (t, sums) in self.sums.chunks_exact_mut(L::N * L::N).enumerate() {
            let (q, d) = (t / self.d_out, t % self.d_out);
            for v in 0..len {
                // SAFETY: passed on to the caller.
                unsafe {
                    let lever = L::load(self.levers.add((q * len + v) * L::N));
                    let psi1 = L::mul(L::load(self.psi1.add(v * L::N)), lever);
                    let a = L::load(self.a.add((d * len + v) * L::N));
                    add_to_class::<L>(sums.as_mut_ptr(), v, self.walk.s, L::mul(psi1, a));
                }
            }
        }
    }
}

/// Ψ₂ = 2^(T + γ_i + γ_j − Σ_q w_iq w_jq) but for its peak, halved where i = j, and `dots` += Σ_pairs B_d Ψ₂.
/// Returns the number of vectors.
pub(super) struct Exponentials<'a> {
    pub walk: Walk,
    /// Rows i of the pairs: whole blocks.
    pub rows: Range<usize>,
    pub dim: usize,
    pub table: Square,
    pub w: Numbers,
    pub gamma: Numbers,
    pub out: *mut f64,
    /// Tables of pairs, one for each of the dots.
    pub b: &'a [Mat],
    /// N vectors each, see [`add_to_class`].
    pub dots: &'a mut [f64],
}

impl Exponentials<'_> {
    #[inline(always)]
    unsafe fn all<L: Lanes, const S: usize>(&mut self) -> usize {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.dim {
                1 => self.sweep::<L, S, 1>(),
                2 => self.sweep::<L, S, 2>(),
                3 => self.sweep::<L, S, 3>(),
                _ => self.sweep::<L, S, 0>(),
            }
        }
    }

    /// For D dimensions, or any number if D is 0.
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const S: usize, const D: usize>(&mut self) -> usize {
        let (m, mut out) = (self.walk.m, self.out);
        for first in self.rows.clone().step_by(ROWS * S) {
            // SAFETY: passed on to the caller.
            unsafe {
                let start = out;
                out = self.corner::<L, S, D, 0>(first, out);
                out = self.corner::<L, S, D, 1>(first, out);
                out = self.corner::<L, S, D, 2>(first, out);
                out = self.corner::<L, S, D, 3>(first, out);
                let (mut row, mut gamma) = ([[L::splat(0.0); ROWS]; D], [L::splat(0.0); ROWS]);
                for r in 0..ROWS {
                    gamma[r] = L::load(self.gamma.rows.add((first / S + r).min(self.walk.rows() - 1) * L::N));
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
                        L::store(out.add(r * L::N), L::exp2(x));
                    }
                    out = out.add(ROWS * L::N);
                }
                for (d, b) in self.b.iter().enumerate() {
                    let dots = self.dots.as_mut_ptr().add(d * L::N * L::N);
                    let sums = row_dots::<L, S>(Square::of_mat(b), start, first, m);
                    for (r, sum) in sums.into_iter().enumerate() {
                        add_to_class::<L>(dots, first / S + r, S, sum);
                    }
                }
            }
        }
        // SAFETY: both point at the same Ψ₂.
        unsafe { out.offset_from_unsigned(self.out) / L::N }
    }

    /// w_q of row r of a block; that of the last row where there are fewer.
    #[inline(always)]
    unsafe fn w_row<L: Lanes, const S: usize>(&self, q: usize, first: usize, r: usize) -> L::V {
        let rows = self.walk.rows();
        // SAFETY: passed on to the caller.
        unsafe { L::load(self.w.rows.add((q * rows + (first / S + r).min(rows - 1)) * L::N)) }
    }

    /// The columns of a block that meet the diagonal in row R.
    #[inline(always)]
    unsafe fn corner<L: Lanes, const S: usize, const D: usize, const R: usize>(
        &self,
        first: usize,
        mut out: *mut f64,
    ) -> *mut f64 {
        let (m, rows) = (self.walk.m, self.walk.rows());
        // SAFETY: passed on to the caller.
        unsafe {
            for k in 0..S {
                let j = first + R * S + k;
                if j >= m {
                    break;
                }
                // Above the diagonal a pair counts, on it half.
                let edge: [f64; PAD] = std::array::from_fn(|lane| match (lane % S).cmp(&k) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => 0.5,
                    std::cmp::Ordering::Greater => 0.0,
                });
                let column = L::load(self.gamma.columns.add(j * L::N));
                for r in 0..=R {
                    let gamma = L::load(self.gamma.rows.add((first / S + r) * L::N));
                    let mut x = L::add(L::add(self.table.of::<L, S>(first + r * S, j), column), gamma);
                    for q in 0..if D > 0 { D } else { self.dim } {
                        let w = L::load(self.w.columns.add((q * m + j) * L::N));
                        x = L::neg_mul_add(L::load(self.w.rows.add((q * rows + first / S + r) * L::N)), w, x);
                    }
                    let value = L::exp2(x);
                    L::store(out, if r == R { L::mul(value, L::load(edge.as_ptr())) } else { value });
                    out = out.add(L::N);
                }
            }
            out
        }
    }
}

/// Σ_j B X of the rows of a block that begins at row `first`.
#[inline(always)]
unsafe fn row_dots<L: Lanes, const S: usize>(b: Square, mut x: *const f64, first: usize, m: usize) -> [L::V; ROWS] {
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

impl Job for Exponentials<'_> {
    type Output = usize;

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) -> usize {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.all::<L>) }
    }
}

/// The products of F = (Σ_d coef_d B_d) ∘ Ψ₂ with ones and with w_q for every dimension, then those of Ψ₂ with A_d for every
/// output: added to `sums`, in two parts where S > 1, by rows and by columns.
pub(super) struct Levers<'a> {
    pub walk: Walk,
    /// Rows i of the pairs: whole blocks.
    pub rows: Range<usize>,
    pub dim: usize,
    pub psi2: *const f64,
    /// Tables of pairs, one an output.
    pub b: &'a [Mat],
    /// A vector an output; without it the only output has coefficient 1.
    pub coef: Option<&'a [f64]>,
    /// 1, then w_q: 1 + D tables.
    pub levers: Numbers,
    /// A_d as vectors, D_out tables.
    pub a: Numbers,
    /// F of a block.
    pub room: *mut f64,
    /// 1 + D + D_out tables.
    pub sums: Numbers,
}

impl Levers<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const S: usize>(&self) {
        let (m, rows) = (self.walk.m, self.walk.rows());
        let (of_f, of_psi2) = (1 + self.dim, self.b.len());
        let mut psi2 = self.psi2;
        for first in self.rows.clone().step_by(ROWS * S) {
            // SAFETY: passed on to the caller.
            unsafe {
                let block = |x: *const f64| Block { first, m, x, b: Square::of_mat(&self.b[0]) };
                let lever =
                    |t: usize| Lever { a: self.levers.table::<L>(t, m, rows), sums: self.sums.table::<L>(t, m, rows) };
                let output = |d: usize| Lever {
                    a: self.a.table::<L>(d, m, rows),
                    sums: self.sums.table::<L>(of_f + d, m, rows),
                };
                // F of a single output is made of Ψ₂ as it is used.
                if let Some(coef) = self.coef {
                    let next = self.weigh::<L, S>(coef, psi2, first);
                    block(self.room).with_ones::<L, S, false, false>(lever(0), output(0), self.dim);
                    for t in (3..of_f).step_by(2) {
                        block(self.room).with::<L, S, false>(lever(t), of_f - t);
                    }
                    for d in 0..of_psi2 {
                        block(psi2).with::<L, S, false>(output(d), 1);
                    }
                    psi2 = next;
                } else {
                    let next = block(psi2).with_ones::<L, S, true, true>(lever(0), output(0), self.dim);
                    for t in (3..of_f).step_by(2) {
                        block(psi2).with::<L, S, true>(lever(t), of_f - t);
                    }
                    psi2 = next;
                }
            }
        }
    }

    /// F of a block; returns where the next block's Ψ₂ begins.
    #[inline(always)]
    unsafe fn weigh<L: Lanes, const S: usize>(&self, coef: &[f64], mut psi2: *const f64, first: usize) -> *const f64 {
        let (m, mut out) = (self.walk.m, self.room);
        // SAFETY: passed on to the caller.
        unsafe {
            for j in first..m {
                for r in 0..((j - first) / S + 1).min(ROWS) {
                    let mut weight = L::splat(0.0);
                    for (b, coef) in self.b.iter().zip(coef.chunks_exact(L::N)) {
                        let b = Square::of_mat(b).of::<L, S>(first + r * S, j);
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

impl Job for Levers<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.sweep::<L>) }
    }
}

/// What a matrix is multiplied by, and where the product goes: the first of some tables.
#[derive(Clone, Copy)]
struct Lever {
    a: Numbers,
    sums: Numbers,
}

/// A block of rows of X from `first` on, of M, and a table of weights B.
struct Block {
    first: usize,
    m: usize,
    x: *const f64,
    b: Square,
}

/// What the rows of a block have of a product so far.
type Totals<L> = [<L as Lanes>::V; ROWS];

impl Block {
    /// The products with ones and with up to two vectors that follow them, of B ∘ X if W and else of X; and that of X with `output`
    /// if O. Returns where the next block's X begins.
    #[inline(always)]
    unsafe fn with_ones<L: Lanes, const S: usize, const W: bool, const O: bool>(
        self,
        ones: Lever,
        output: Lever,
        vectors: usize,
    ) -> *const f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            let lever = ones.after::<L, S>(self.m);
            match vectors {
                1 => self.product::<L, S, 1, W, true, O>(lever, ones, output),
                _ => self.product::<L, S, 2, W, true, O>(lever, ones, output),
            }
        }
    }

    /// The products with up to two vectors.
    #[inline(always)]
    unsafe fn with<L: Lanes, const S: usize, const W: bool>(self, lever: Lever, vectors: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            match vectors {
                1 => self.product::<L, S, 1, W, false, false>(lever, lever, lever),
                _ => self.product::<L, S, 2, W, false, false>(lever, lever, lever),
            };
        }
    }

    /// Adds what the pairs give to the products with V vectors: to rows X_ij a_j, and to columns X_ij a_i. If W, with B ∘ X in the place
    /// of X; if I, also the product with ones; if O, also that of X itself with `output`.
    #[inline(always)]
    unsafe fn product<L: Lanes, const S: usize, const V: usize, const W: bool, const I: bool, const O: bool>(
        mut self,
        lever: Lever,
        ones: Lever,
        output: Lever,
    ) -> *const f64 {
        let (first, m) = (self.first, self.m);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut levers = [lever; V];
            for v in 1..V {
                levers[v] = levers[v - 1].after::<L, S>(m);
            }
            let mut own = [[L::splat(0.0); ROWS]; V];
            for v in 0..V {
                own[v] = levers[v].own::<L, S>(first, m);
            }
            let own_output = if O { output.own::<L, S>(first, m) } else { [L::splat(0.0); ROWS] };
            let columns = Columns { levers, own, ones, output, own_output };
            let zeros = [L::splat(0.0); ROWS];
            let mut totals = ([zeros; V], zeros, zeros);
            self.corner::<L, S, V, W, I, O, 1>(0, &columns, &mut totals);
            self.corner::<L, S, V, W, I, O, 2>(1, &columns, &mut totals);
            self.corner::<L, S, V, W, I, O, 3>(2, &columns, &mut totals);
            self.corner::<L, S, V, W, I, O, 4>(3, &columns, &mut totals);
            for j in first + ROWS * S..m {
                self.column::<L, S, V, W, I, O, ROWS>(j, &columns, &mut totals);
            }
            for v in 0..V {
                levers[v].add_rows::<L, S>(first, m, totals.0[v]);
            }
            if I {
                ones.add_rows::<L, S>(first, m, totals.1);
            }
            if O {
                output.add_rows::<L, S>(first, m, totals.2);
            }
            self.x
        }
    }

    /// The columns that meet the diagonal in row `at`, and so have R rows.
    #[inline(always)]
    unsafe fn corner<
        L: Lanes,
        const S: usize,
        const V: usize,
        const W: bool,
        const I: bool,
        const O: bool,
        const R: usize,
    >(
        &mut self,
        at: usize,
        columns: &Columns<L, V>,
        totals: &mut ([Totals<L>; V], Totals<L>, Totals<L>),
    ) {
        let (from, m) = (self.first + at * S, self.m);
        for j in from.min(m)..(from + S).min(m) {
            // SAFETY: passed on to the caller.
            unsafe { self.column::<L, S, V, W, I, O, R>(j, columns, totals) }
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
        const R: usize,
    >(
        &mut self,
        j: usize,
        columns: &Columns<L, V>,
        totals: &mut ([Totals<L>; V], Totals<L>, Totals<L>),
    ) {
        let Columns { levers, own, ones, output, own_output } = columns;
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut x, mut f) = ([L::splat(0.0); R], [L::splat(0.0); R]);
            for r in 0..R {
                x[r] = L::load(self.x.add(r * L::N));
                f[r] = if W { L::mul(self.b.of::<L, S>(self.first + r * S, j), x[r]) } else { x[r] };
            }
            if I {
                let sum = ones.sums.columns.add(j * L::N);
                let mut y = L::load(sum);
                for r in 0..R {
                    totals.1[r] = L::add(totals.1[r], f[r]);
                    y = L::add(y, f[r]);
                }
                L::store(sum, y);
            }
            for v in 0..V {
                let (a, sum) = (L::load(levers[v].a.columns.add(j * L::N)), levers[v].sums.columns.add(j * L::N));
                let mut y = L::load(sum);
                for r in 0..R {
                    totals.0[v][r] = L::mul_add(f[r], a, totals.0[v][r]);
                    y = L::mul_add(f[r], own[v][r], y);
                }
                L::store(sum, y);
            }
            if O {
                let (a, sum) = (L::load(output.a.columns.add(j * L::N)), output.sums.columns.add(j * L::N));
                let mut y = L::load(sum);
                for r in 0..R {
                    totals.2[r] = L::mul_add(x[r], a, totals.2[r]);
                    y = L::mul_add(x[r], own_output[r], y);
                }
                L::store(sum, y);
            }
            self.x = self.x.add(R * L::N);
        }
    }
}

/// What the columns of a block are multiplied by: the tables, and the numbers of the block's rows in them.
struct Columns<L: Lanes, const V: usize> {
    levers: [Lever; V],
    own: [Totals<L>; V],
    ones: Lever,
    output: Lever,
    own_output: Totals<L>,
}

impl Lever {
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

    /// Adds what the rows of a block have.
    #[inline(always)]
    unsafe fn add_rows<L: Lanes, const S: usize>(self, first: usize, m: usize, totals: Totals<L>) {
        for (r, total) in totals.into_iter().enumerate().take(m.div_ceil(S) - first / S) {
            // SAFETY: passed on to the caller.
            unsafe {
                let sum = self.sums.rows.add((first / S + r) * L::N);
                L::store(sum, L::add(L::load(sum), total));
            }
        }
    }
}

/// With h_d = pull_d + Σ_q lever_qd w_q:   ω = ψ₁ Σ_d A_d h_d, and in the place of Ψ₂A_d   ψ₁ h_d + twice_b_d Ψ₂A_d; all by rows.
pub(super) struct First<'a> {
    /// Vectors of a table.
    pub len: usize,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    /// A table an output.
    pub a: *const f64,
    pub psi2_a: *mut f64,
    /// A vector an output, then a vector each for every dimension that counts.
    pub pulls: &'a [f64],
    /// A vector an output.
    pub twice_b: &'a [f64],
    pub omega: *mut f64,
}

impl Job for First<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (len, outputs) = (self.len, self.twice_b.len() / L::N);
        let levers = self.pulls.len() / self.twice_b.len() - 1;
        let pulls = self.pulls.as_ptr();
        // SAFETY: passed on to the caller.
        unsafe {
            for v in 0..len {
                let (psi1, mut omega) = (L::load(self.psi1.add(v * L::N)), L::splat(0.0));
                for d in 0..outputs {
                    let mut h = L::load(pulls.add(d * L::N));
                    for q in 0..levers {
                        let lever = L::load(pulls.add(((1 + q) * outputs + d) * L::N));
                        h = L::mul_add(lever, L::load(self.w.add((q * len + v) * L::N)), h);
                    }
                    let place = (d * len + v) * L::N;
                    omega = L::mul_add(L::load(self.a.add(place)), h, omega);
                    let (psi2_a, twice_b) = (self.psi2_a.add(place), L::load(self.twice_b.as_ptr().add(d * L::N)));
                    L::store(psi2_a, L::mul_add(psi1, h, L::mul(twice_b, L::load(psi2_a))));
                }
                L::store(self.omega.add(v * L::N), L::mul(psi1, omega));
            }
        }
    }
}

/// From r = F 1, f_q = F w_q and, if it is given, ω to what the points' moments and the inducing inputs are pulled by. With u = r w + f
/// and t = r w − f of a dimension, per lane,
///
/// ```text
/// totals += Σ r, Σ ω, then for every dimension Σ u, Σ w u, Σ w t, Σ ω w, Σ ω w²
/// points_bar_q += Σ_n (of_u u + of_t t + of_omega ω w)
/// ```
pub(super) struct Finish<'a> {
    /// Lanes that stand for inducing inputs of their own: 1 for columns, S for rows.
    pub kept: usize,
    /// Vectors of a table.
    pub len: usize,
    /// D tables.
    pub w: *const f64,
    /// 1 + D tables.
    pub sums: *const f64,
    pub omega: Option<*const f64>,
    pub pulls: &'a [Pull],
    /// 2 + 5D vectors.
    pub totals: &'a mut [[f64; PAD]],
    /// D rows of `stride` numbers.
    pub points_bar: *mut f64,
    pub stride: usize,
}

/// How strongly inducing inputs are pulled in one dimension: a number a lane.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pull {
    pub of_u: [f64; PAD],
    pub of_t: [f64; PAD],
    pub of_omega: [f64; PAD],
}

impl Job for Finish<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.omega {
                Some(omega) => self.finish::<L, true>(omega),
                None => self.finish::<L, false>(std::ptr::null()),
            }
        }
    }
}

impl Finish<'_> {
    #[inline(always)]
    unsafe fn finish<L: Lanes, const OMEGA: bool>(self, omega: *const f64) {
        let (len, points) = (self.len, L::N / self.kept);
        // SAFETY: passed on to the caller.
        unsafe {
            let mut totals = [L::splat(0.0); 2];
            for v in 0..len {
                totals[0] = L::add(totals[0], L::load(self.sums.add(v * L::N)));
                if OMEGA {
                    totals[1] = L::add(totals[1], L::load(omega.add(v * L::N)));
                }
            }
            let mut out = self.totals.iter_mut();
            for (total, out) in totals.into_iter().zip(out.by_ref()) {
                L::store(out.as_mut_ptr(), L::add(L::load(out.as_ptr()), total));
            }
            for (q, pull) in self.pulls.iter().enumerate() {
                let (of_u, of_t) = (L::load(pull.of_u.as_ptr()), L::load(pull.of_t.as_ptr()));
                let of_omega = L::load(pull.of_omega.as_ptr());
                let mut sums = [L::splat(0.0); 5];
                for first in (0..len).step_by(points) {
                    let mut bar = [L::splat(0.0); PAD];
                    for (v, bar) in (first..len).zip(&mut bar[..points]) {
                        let w = L::load(self.w.add((q * len + v) * L::N));
                        let rw = L::mul(L::load(self.sums.add(v * L::N)), w);
                        let f = L::load(self.sums.add(((1 + q) * len + v) * L::N));
                        let (u, t) = (L::add(rw, f), L::sub(rw, f));
                        sums[0] = L::add(sums[0], u);
                        sums[1] = L::mul_add(w, u, sums[1]);
                        sums[2] = L::mul_add(w, t, sums[2]);
                        *bar = L::mul_add(of_u, u, L::mul(of_t, t));
                        if OMEGA {
                            let lever = L::mul(L::load(omega.add(v * L::N)), w);
                            sums[3] = L::add(sums[3], lever);
                            sums[4] = L::mul_add(lever, w, sums[4]);
                            *bar = L::mul_add(of_omega, lever, *bar);
                        }
                    }
                    let at = self.points_bar.add(q * self.stride + first * self.kept);
                    L::store(at, L::add(L::load(at), L::fold(&bar[..points], self.kept)));
                }
                for (sum, out) in sums.into_iter().zip(out.by_ref()) {
                    L::store(out.as_mut_ptr(), L::add(L::load(out.as_ptr()), sum));
                }
            }
        }
    }
}

/// What ξ_q = ψ₁ w_q (v/c)/κ adds beside its share in ω: with δ = ψ₁ Σ_d bar_qd A_d of a dimension, per lane, by rows,
///
/// ```text
/// sums = Σ δ, Σ δ w for every dimension          points_bar_q −= Σ_n ½ δ v/c
/// ```
pub(super) struct Slopes<'a> {
    /// S.
    pub kept: usize,
    /// Vectors of a table.
    pub len: usize,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    /// A table an output.
    pub a: *const f64,
    /// For every dimension a vector an output.
    pub bar: &'a [f64],
    pub d_out: usize,
    pub widths: &'a [Width],
    /// 2D vectors.
    pub sums: &'a mut [[f64; PAD]],
    /// D rows of `stride` numbers.
    pub points_bar: *mut f64,
    pub stride: usize,
}

impl Job for Slopes<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (len, points) = (self.len, L::N / self.kept);
        // SAFETY: passed on to the caller.
        unsafe {
            for (q, (out, width)) in self.sums.chunks_exact_mut(2).zip(self.widths).enumerate() {
                let mut sums = [L::splat(0.0); 2];
                let scale = L::mul(L::splat(-0.5), L::load(width.ratio.as_ptr()));
                for first in (0..len).step_by(points) {
                    let mut bar = [L::splat(0.0); PAD];
                    for (v, bar) in (first..len).zip(&mut bar[..points]) {
                        let mut delta = L::splat(0.0);
                        for d in 0..self.d_out {
                            let bar = L::load(self.bar.as_ptr().add((q * self.d_out + d) * L::N));
                            delta = L::mul_add(bar, L::load(self.a.add((d * len + v) * L::N)), delta);
                        }
                        delta = L::mul(delta, L::load(self.psi1.add(v * L::N)));
                        sums[0] = L::add(sums[0], delta);
                        sums[1] = L::mul_add(delta, L::load(self.w.add((q * len + v) * L::N)), sums[1]);
                        *bar = L::mul(scale, delta);
                    }
                    let at = self.points_bar.add(q * self.stride + first * self.kept);
                    L::store(at, L::add(L::load(at), L::fold(&bar[..points], self.kept)));
                }
                for (sum, out) in sums.into_iter().zip(out) {
                    L::store(out.as_mut_ptr(), sum);
                }
            }
        }
    }
}

/// `out` += Σ_n coef Ψ₂, S numbers a vector in the order of the walk.
pub(super) struct Gather<'a> {
    pub walk: Walk,
    /// Vectors of the walk.
    pub vectors: usize,
    /// Ψ₂ of some packs of points, `stride` numbers apart.
    pub psi2: *const f64,
    pub stride: usize,
    /// A vector a pack, `coef_stride` numbers apart.
    pub coef: &'a [f64],
    pub coef_stride: usize,
    pub out: *mut f64,
}

impl Gather<'_> {
    #[inline(always)]
    unsafe fn gather<L: Lanes, const S: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let packs = self.coef.len().div_ceil(self.coef_stride);
            let coef = |pack: usize| L::load(self.coef.as_ptr().add(pack * self.coef_stride));
            for v in (0..self.vectors).step_by(L::N / S) {
                let mut sums = [L::splat(0.0); PAD];
                for pack in 0..packs {
                    let (coef, psi2) = (coef(pack), self.psi2.add(pack * self.stride + v * L::N));
                    for (k, sum) in sums[..L::N / S].iter_mut().enumerate() {
                        *sum = L::mul_add(coef, L::load(psi2.add(k * L::N)), *sum);
                    }
                }
                let out = self.out.add(v * S);
                L::store(out, L::add(L::load(out), L::fold(&sums[..L::N / S], S)));
            }
        }
    }
}

impl Job for Gather<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.gather::<L>) }
    }
}

/// Numbers of points side by side, M vectors, turned into a row a point.
pub(super) struct Turn {
    pub from: *const f64,
    pub m: usize,
    pub to: *mut f64,
    pub stride: usize,
}

impl Job for Turn {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for i in (0..self.m).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe { L::transpose(self.from.add(i * L::N), L::N, self.to.add(i), self.stride) }
        }
    }
}

/// The length of a vector.
pub(super) struct Length;

impl Job for Length {
    type Output = usize;

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> usize {
        L::N
    }
}

/// Adds numbers in the order of a walk, S a vector, to the lower triangle of a matrix; those on the diagonal twice.
pub(super) struct Scatter {
    pub walk: Walk,
    pub from: *const f64,
    /// M × M.
    pub to: *mut f64,
}

impl Scatter {
    /// The first N or fewer of `n` numbers.
    #[inline(always)]
    unsafe fn add<L: Lanes>(from: *const f64, to: *mut f64, n: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            if n < L::N {
                L::store_part(to, L::add(L::load_part(to, n), L::load_part(from, n)), n);
            } else {
                L::store(to, L::add(L::load(to), L::load(from)));
            }
        }
    }
}

impl Job for Scatter {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Walk { m, s } = self.walk;
        let mut from = self.from;
        for first in (0..m).step_by(ROWS * s) {
            for j in first..m {
                let rows = ((j - first) / s + 1).min(ROWS);
                let n = (rows * s).min(j - first + 1);
                // SAFETY: passed on to the caller.
                unsafe {
                    let to = self.to.add(j * m + first);
                    (0..n).step_by(L::N).for_each(|k| Self::add::<L>(from.add(k), to.add(k), n - k));
                    if rows * s > j - first {
                        *self.to.add(j * m + j) += *from.add(j - first);
                    }
                    from = from.add(rows * s);
                }
            }
        }
    }
}
