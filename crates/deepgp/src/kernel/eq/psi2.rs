//! The vector code of `sweep.rs` on the way forward: ψ₁, Ψ₂, and their products with weights.

use super::pack::{Exponents, Width};
use super::walk::{Numbers, ROWS, Square, Walk, add_to_class, for_rows};
use crate::kernel::row_len;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Job, Lanes, PAD};
use std::ops::Range;

/// The tables of a pack: w_q = (z_q − m_q) κ_q and γ = −½ Σ_q w_q² of all inducing inputs, or 2^γ' of `powers.rs`, and ψ₁ by rows.
pub(super) struct Fill<'a> {
    pub walk: Walk,
    /// D rows of [`row_len`].
    pub points: *const f64,
    /// The same as seen from their middle.
    pub offsets: *const f64,
    pub widths: &'a [Width],
    /// D tables.
    pub w: Numbers,
    pub gamma: Numbers,
    /// Where 2^γ' is wanted, log₂ s².
    pub log_signal: Option<f64>,
    /// s² Π_q √(ℓ_q²/c_q), a vector.
    pub peak: &'a [f64; PAD],
    pub psi1: *mut f64,
    /// The largest Σ_q C_q o_iq² so far, lane by lane, where 2^γ' is wanted: no y is larger.
    pub largest: *mut f64,
}

impl Fill<'_> {
    #[inline(always)]
    unsafe fn fill<L: Lanes, const S: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            // Vectors with several rows of a point have γ always.
            match (self.widths.len(), S == 1 && self.log_signal.is_some()) {
                (2, false) => self.fill_of::<L, S, 2, false>(),
                (2, true) => self.fill_of::<L, S, 2, true>(),
                (_, false) => self.fill_of::<L, S, 0, false>(),
                (_, true) => self.fill_of::<L, S, 0, true>(),
            }
        }
    }

    /// For D dimensions, or any number if D is 0; 2^γ' in the place of γ if P.
    #[inline(always)]
    unsafe fn fill_of<L: Lanes, const S: usize, const D: usize, const P: bool>(&self) {
        let (m, rows) = (self.walk.m, self.walk.rows());
        // SAFETY: passed on to the caller.
        unsafe {
            if S > 1 {
                by_rows(m, |j| self.columns::<L, D, ROWS>(j), |j| self.columns::<L, D, 1>(j));
            }
            by_rows(rows, |r| self.rows::<L, S, D, P, ROWS>(r), |r| self.rows::<L, S, D, P, 1>(r));
        }
    }

    /// w and γ of R columns, where rows have tables of their own.
    #[inline(always)]
    unsafe fn columns<L: Lanes, const D: usize, const R: usize>(&self, at: usize) {
        let Self { walk, w, gamma, .. } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            let [sums, _, _] = self.of::<L, 1, D, false, R>(w.columns, walk.m, at);
            for (k, sum) in sums.into_iter().enumerate() {
                L::store(gamma.columns.add((at + k) * L::N), sum);
            }
        }
    }

    /// w, γ or 2^γ', and ψ₁ of R vectors of rows.
    #[inline(always)]
    unsafe fn rows<L: Lanes, const S: usize, const D: usize, const P: bool, const R: usize>(&self, at: usize) {
        let Self { walk, w, gamma, .. } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            let [sums, squares, exponents] = self.of::<L, S, D, P, R>(w.rows, walk.rows(), at);
            if P {
                let mut largest = L::load(self.largest);
                for square in squares {
                    largest = L::max(largest, square);
                }
                L::store(self.largest, largest);
            }
            let peak = L::load(self.peak.as_ptr());
            for (k, (sum, exponent)) in sums.into_iter().zip(exponents).enumerate() {
                let sum = if P { L::exp2_inside(L::neg_mul_add(L::splat(0.5), squares[k], sum)) } else { sum };
                L::store(gamma.rows.add((at + k) * L::N), sum);
                L::store(self.psi1.add((at + k) * L::N), L::mul(peak, L::exp2(exponent)));
            }
        }
    }

    /// Writes w of R vectors; returns γ, or if P γ' + ½ Σ_q C_q o_q² and Σ_q C_q o_q², and −Σ_q (z_q − m_q)² log₂e/(2c_q) of each.
    #[inline(always)]
    unsafe fn of<L: Lanes, const S: usize, const D: usize, const P: bool, const R: usize>(
        &self,
        out: *mut f64,
        len: usize,
        at: usize,
    ) -> [[L::V; R]; 3] {
        // SAFETY: passed on to the caller.
        unsafe {
            let log_signal = if P { self.log_signal.unwrap_or(0.0) } else { 0.0 };
            let (mut gamma, mut squares, mut exponent) =
                ([L::splat(log_signal); R], [L::splat(0.0); R], [L::splat(0.0); R]);
            for q in 0..if D > 0 { D } else { self.widths.len() } {
                let width = self.widths.get_unchecked(q);
                let (mean, of_offset) = (L::load(width.mean.as_ptr()), L::load(width.of_offset.as_ptr()));
                let (kappa, kappa_c) = (L::load(width.kappa.as_ptr()), L::load(width.kappa_c.as_ptr()));
                let place = q * row_len(self.walk.m) + at * S;
                for k in 0..R {
                    let d = L::sub(L::spread(self.points.add(place + k * S), S), mean);
                    let (w, of_psi1) = (L::mul(d, kappa), L::mul(d, kappa_c));
                    L::store(out.add((q * len + at + k) * L::N), w);
                    gamma[k] = L::neg_mul_add(if P { w } else { L::mul(w, L::splat(0.5)) }, w, gamma[k]);
                    if P {
                        let o = L::spread(self.offsets.add(place + k * S), S);
                        squares[k] = L::mul_add(L::mul(o, of_offset), o, squares[k]);
                    }
                    exponent[k] = L::neg_mul_add(of_psi1, of_psi1, exponent[k]);
                }
            }
            [gamma, squares, exponent]
        }
    }
}

/// Calls `some` for every [`ROWS`] of `n` rows and `one` for each that is left, so that what they share is loaded once for several.
#[inline(always)]
fn by_rows(n: usize, some: impl Fn(usize), one: impl Fn(usize)) {
    let mut r = 0;
    while r + ROWS <= n {
        some(r);
        r += ROWS;
    }
    (r..n).for_each(one);
}

impl Job for Fill<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { for_rows!(self.walk, self.fill::<L>) }
    }
}

/// Σ_i ψ₁ A_d for every output and then, for every dimension that is wanted, Σ_i ψ₁ w_q A_d for every output, in `sums`: where S = 1 a vector
/// each at the beginning of N, and else N vectors that are added to, see [`add_to_class`].
pub(super) struct FirstDots<'a> {
    pub walk: Walk,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    pub a: *const f64,
    pub d_out: usize,
    pub sums: &'a mut [f64],
}

impl FirstDots<'_> {
    /// Where S = 1: the classes of a sum stay in registers, and are added up in order. With slopes if W.
    #[inline(always)]
    unsafe fn total<L: Lanes, const W: bool>(&self, w: *const f64, a: *const f64) -> L::V {
        let len = self.walk.rows();
        // SAFETY: passed on to the caller.
        unsafe {
            let mut classes = [L::splat(0.0); PAD];
            let whole = len / L::N * L::N;
            for first in (0..whole).step_by(L::N) {
                for (k, class) in classes[..L::N].iter_mut().enumerate() {
                    *class = L::add(*class, self.term::<L, W>(w, a, first + k));
                }
            }
            for (k, class) in classes[..L::N].iter_mut().enumerate() {
                if whole + k < len {
                    *class = L::add(*class, self.term::<L, W>(w, a, whole + k));
                }
            }
            let mut total = L::splat(0.0);
            for class in &classes[..L::N] {
                total = L::add(total, *class);
            }
            total
        }
    }

    /// Vector v of a sum.
    #[inline(always)]
    unsafe fn term<L: Lanes, const W: bool>(&self, w: *const f64, a: *const f64, v: usize) -> L::V {
        // SAFETY: passed on to the caller.
        unsafe {
            let psi1 = L::load(self.psi1.add(v * L::N));
            let psi1 = if W { L::mul(psi1, L::load(w.add(v * L::N))) } else { psi1 };
            L::mul(psi1, L::load(a.add(v * L::N)))
        }
    }

    /// A sum, from the tables of its dimension and output.
    #[inline(always)]
    unsafe fn sum<L: Lanes, const W: bool>(&self, sums: *mut f64, w: *const f64, a: *const f64) {
        // SAFETY: passed on to the caller.
        unsafe {
            if self.walk.s == 1 {
                return L::store(sums, self.total::<L, W>(w, a));
            }
            for v in 0..self.walk.rows() {
                add_to_class::<L>(sums, v, self.walk.s, self.term::<L, W>(w, a, v));
            }
        }
    }
}

impl Job for FirstDots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (count, sums) = (self.sums.len() / (L::N * L::N), self.sums.as_mut_ptr());
        let table = self.walk.rows() * L::N;
        for t in 0..count {
            let (q, d) = (t / self.d_out, t % self.d_out);
            // SAFETY: passed on to the caller; there are as many numbers of each sum.
            unsafe {
                let (sums, a) = (sums.add(t * L::N * L::N), self.a.add(d * table));
                if q == 0 {
                    self.sum::<L, false>(sums, a, a);
                } else {
                    self.sum::<L, true>(sums, self.w.add((q - 1) * table), a);
                }
            }
        }
    }
}

/// Ψ₂ = 2^(T + γ_i + γ_j − Σ_q w_iq w_jq), or as [`Exponents`] says, but for its peak, halved where i = j, and
/// `dots` += Σ_pairs B_d Ψ₂. Returns the number of vectors.
pub(super) struct Exponentials<'a> {
    pub walk: Walk,
    /// Powers only where S = 1.
    pub exponents: Exponents,
    pub widths: &'a [Width],
    /// Rows i of the pairs: whole blocks.
    pub rows: Range<usize>,
    pub dim: usize,
    pub table: Square,
    pub w: Numbers,
    pub gamma: Numbers,
    /// The inducing inputs as seen from their middle, D rows of [`row_len`].
    pub offsets: *const f64,
    /// Room for a vector of each dimension for the rows of a block.
    pub room: *mut f64,
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
            // Every form takes time to compile, and most layers have two dimensions; vectors with several rows of a point, which are few,
            // always look at what vanishes.
            if const { S > 1 } {
                return self.sweep::<L, S, 0, true>();
            }
            match (self.exponents, self.dim) {
                (Exponents::Guarded, 2) => self.sweep::<L, S, 2, true>(),
                (Exponents::Inside, 2) => self.sweep::<L, S, 2, false>(),
                (Exponents::Powers(polynomial), 2) => self.powers::<L, 2>(polynomial),
                (Exponents::Guarded, _) => self.sweep::<L, S, 0, true>(),
                (Exponents::Inside, _) => self.sweep::<L, S, 0, false>(),
                (Exponents::Powers(polynomial), _) => self.powers::<L, 0>(polynomial),
            }
        }
    }

    /// For D dimensions, or any number if D is 0; with a look at what vanishes if V.
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const S: usize, const D: usize, const V: bool>(&mut self) -> usize {
        let (m, mut out) = (self.walk.m, self.out);
        for first in self.rows.clone().step_by(ROWS * S) {
            // SAFETY: passed on to the caller.
            unsafe {
                let start = out;
                out = self.corner::<L, S, D, V, 0>(first, out);
                out = self.corner::<L, S, D, V, 1>(first, out);
                out = self.corner::<L, S, D, V, 2>(first, out);
                out = self.corner::<L, S, D, V, 3>(first, out);
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
                let sums = row_dots::<L, S>(Square::of_mat(b), psi2, first, self.walk.m);
                for (r, sum) in sums.into_iter().enumerate() {
                    add_to_class::<L>(dots, first / S + r, S, sum);
                }
            }
        }
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
    unsafe fn corner<L: Lanes, const S: usize, const D: usize, const V: bool, const R: usize>(
        &self,
        first: usize,
        mut out: *mut f64,
    ) -> *mut f64 {
        let m = self.walk.m;
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

/// What pairs count for where column k of S meets the diagonal, lane by lane: above it all, on it half.
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
