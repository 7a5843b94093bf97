//! ψ₁ of points side by side in vectors, and its products with weights: vector code.
//!
//! ```text
//! ψ₁ᵢ = s² Π_q √(ℓ_q²/c_q) · 2^(−Σ_q (z_iq − m_q)² log₂e/(2c_q))          c_q = ℓ_q² + v_q
//! ```

use super::pair_layout::{PairLayout, ROWS, VectorTables, add_to_class, with_rows_per_point};
use super::point_vectors::Width;
use crate::kernel::padded::row_len;
use deepgp_numerics::simd::{Job, Lanes, PAD};

/// The tables of a vector of points: w_q = (z_q − m_q) κ_q and γ = −½ Σ_q w_q² of all inducing inputs, or 2^γ' of
/// `psi2_by_products.rs`, and ψ₁ by rows.
pub(super) struct FillPsi1<'a> {
    pub layout: PairLayout,
    /// D rows of [`row_len`].
    pub points: *const f64,
    /// Inducing inputs relative to their middle.
    pub offsets: *const f64,
    pub widths: &'a [Width],
    /// D tables.
    pub w: VectorTables,
    pub gamma: VectorTables,
    /// Where 2^γ' is wanted, log₂ s².
    pub log_signal: Option<f64>,
    /// s² Π_q √(ℓ_q²/c_q), a vector.
    pub peak: &'a [f64; PAD],
    pub psi1: *mut f64,
    /// The largest Σ_q C_q o_iq² so far, lane by lane, where 2^γ' is wanted: no y is larger.
    pub largest: *mut f64,
}

impl FillPsi1<'_> {
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

    /// For D dimensions, or any number if D is 0; 2^γ' instead of γ if P.
    #[inline(always)]
    unsafe fn fill_of<L: Lanes, const S: usize, const D: usize, const P: bool>(&self) {
        let (m, rows) = (self.layout.m, self.layout.rows());
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
        let Self { layout, w, gamma, .. } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            let [sums, _, _] = self.of::<L, 1, D, false, R>(w.columns, layout.m, at);
            for (k, sum) in sums.into_iter().enumerate() {
                L::store(gamma.columns.add((at + k) * L::N), sum);
            }
        }
    }

    /// w, γ or 2^γ', and ψ₁ of R vectors of rows.
    #[inline(always)]
    unsafe fn rows<L: Lanes, const S: usize, const D: usize, const P: bool, const R: usize>(&self, at: usize) {
        let Self { layout, w, gamma, .. } = *self;
        // SAFETY: passed on to the caller.
        unsafe {
            let [sums, squares, exponents] = self.of::<L, S, D, P, R>(w.rows, layout.rows(), at);
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

    /// Writes w of R vectors; returns γ, or if P γ' + ½ Σ_q C_q o_q² and Σ_q C_q o_q², and −Σ_q (z_q − m_q)²
    /// log₂e/(2c_q) of each.
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
                let place = q * row_len(self.layout.m) + at * S;
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

/// Calls `some` for every [`ROWS`] of `n` rows and `one` for each that is left, so that what they share is loaded once
/// for several.
#[inline(always)]
fn by_rows(n: usize, some: impl Fn(usize), one: impl Fn(usize)) {
    let mut r = 0;
    while r + ROWS <= n {
        some(r);
        r += ROWS;
    }
    (r..n).for_each(one);
}

impl Job for FillPsi1<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { with_rows_per_point!(self.layout, self.fill::<L>) }
    }
}

/// Σ_i ψ₁ A_d for every output and then, for every dimension that is wanted, Σ_i ψ₁ w_q A_d for every output, in
/// `sums`: where S = 1 a vector each at the beginning of N, and else N vectors that are added to, see [`add_to_class`].
pub(super) struct Psi1Dots<'a> {
    pub layout: PairLayout,
    pub psi1: *const f64,
    /// D tables.
    pub w: *const f64,
    pub a: *const f64,
    pub d_out: usize,
    pub sums: &'a mut [f64],
}

impl Psi1Dots<'_> {
    /// Where S = 1: the classes of a sum stay in registers, and are added up in order. With slopes if W.
    #[inline(always)]
    unsafe fn total<L: Lanes, const W: bool>(&self, w: *const f64, a: *const f64) -> L::V {
        let len = self.layout.rows();
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
            if self.layout.s == 1 {
                return L::store(sums, self.total::<L, W>(w, a));
            }
            for v in 0..self.layout.rows() {
                add_to_class::<L>(sums, v, self.layout.s, self.term::<L, W>(w, a, v));
            }
        }
    }
}

impl Job for Psi1Dots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (count, sums) = (self.sums.len() / (L::N * L::N), self.sums.as_mut_ptr());
        let table = self.layout.rows() * L::N;
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
