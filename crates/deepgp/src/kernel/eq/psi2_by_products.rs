//! Ψ₂ of inputs with small variances as products of powers of two: vector code.
//!
//! Of the three powers only one, which is small, depends on the pair.
//!
//! With the inducing inputs relative to the middle of all of them, o = z − (z⁻ + z⁺)/2, and C_q = 2 v_q κ_q²/ℓ_q²,
//!
//! ```text
//! 2^(T_ij + γ_i + γ_j − Σ_q w_iq w_jq) = 2^γ'_i 2^γ'_j 2^y_ij
//! γ'_i = log₂ s² − Σ_q (w_iq² + ½ C_q o_iq²)      y_ij = Σ_q C_q o_iq o_jq
//! ```
//! No terms of γ' cancel, and y is as small as v/ℓ²: 2^y is then a polynomial of low degree, which needs no table,
//! rounding or scaling. A pair takes D + 2 operations and one for every power of y.

use super::pair_layout::ROWS;
use super::psi2::FillPsi2;
use crate::kernel::padded::row_len;
use deepgp_numerics::simd::{Lanes, small_power};

/// What all pairs of a block of rows share: C_q o_iq of D dimensions (of all, in memory, if D is 0), and 2^γ'_i.
struct Rows<L: Lanes, const D: usize> {
    scaled_offsets: [[L::V; ROWS]; D],
    powers: [L::V; ROWS],
}

impl FillPsi2<'_> {
    /// For D dimensions, or any number if D is 0, by a polynomial of
    /// [`SMALL_POWERS`](deepgp_numerics::simd::SMALL_POWERS); where S = 1. `gamma` has 2^γ'.
    #[inline(always)]
    pub(super) unsafe fn by_products<L: Lanes, const D: usize>(&mut self, polynomial: usize) -> usize {
        // SAFETY: passed on to the caller.
        unsafe {
            match polynomial {
                0 => self.by_polynomial::<L, D, 0>(),
                1 => self.by_polynomial::<L, D, 1>(),
                2 => self.by_polynomial::<L, D, 2>(),
                3 => self.by_polynomial::<L, D, 3>(),
                4 => self.by_polynomial::<L, D, 4>(),
                _ => self.by_polynomial::<L, D, 5>(),
            }
        }
    }

    /// Fills Ψ₂ by polynomial number P.
    #[inline(always)]
    unsafe fn by_polynomial<L: Lanes, const D: usize, const P: usize>(&mut self) -> usize {
        let (m, mut out) = (self.layout.m, self.out);
        for first in self.rows.clone().step_by(ROWS) {
            // SAFETY: passed on to the caller.
            unsafe {
                let (start, rows) = (out, self.rows_of::<L, D>(first));
                out = self.column::<L, D, P, 1, true>(&rows, first, out);
                out = self.column::<L, D, P, 2, true>(&rows, first + 1, out);
                out = self.column::<L, D, P, 3, true>(&rows, first + 2, out);
                out = self.column::<L, D, P, 4, true>(&rows, first + 3, out);
                for j in first + ROWS..m {
                    out = self.column::<L, D, P, ROWS, false>(&rows, j, out);
                }
                self.add_dots::<L, 1>(first, start);
            }
        }
        // SAFETY: both point at the same Ψ₂.
        unsafe { out.offset_from_unsigned(self.out) / L::N }
    }

    /// Factors of the rows from `first` on; where there are fewer, the last is repeated.
    #[inline(always)]
    unsafe fn rows_of<L: Lanes, const D: usize>(&self, first: usize) -> Rows<L, D> {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut rows = Rows { scaled_offsets: [[L::splat(0.0); ROWS]; D], powers: [L::splat(0.0); ROWS] };
            for r in 0..ROWS {
                let i = (first + r).min(self.layout.m - 1);
                rows.powers[r] = L::load(self.gamma.columns.add(i * L::N));
                for (q, scaled) in rows.scaled_offsets.iter_mut().enumerate() {
                    scaled[r] = self.scaled_offset::<L>(q, i);
                }
                for q in (0..self.dim).filter(|_| D == 0) {
                    L::store(self.scratch.add((q * ROWS + r) * L::N), self.scaled_offset::<L>(q, i));
                }
            }
            rows
        }
    }

    /// The first R rows of column j, if there is one, the last of them at the diagonal if C.
    #[inline(always)]
    unsafe fn column<L: Lanes, const D: usize, const P: usize, const R: usize, const C: bool>(
        &self,
        rows: &Rows<L, D>,
        j: usize,
        out: *mut f64,
    ) -> *mut f64 {
        // SAFETY: passed on to the caller.
        unsafe {
            if C && j >= self.layout.m {
                return out;
            }
            let mut y = [L::splat(0.0); R];
            for (q, scaled) in rows.scaled_offsets.iter().enumerate() {
                let o = self.offset::<L>(q, j);
                for (y, scaled) in y.iter_mut().zip(scaled) {
                    *y = if q == 0 { L::mul(*scaled, o) } else { L::mul_add(*scaled, o, *y) };
                }
            }
            for q in (0..self.dim).filter(|_| D == 0) {
                let o = self.offset::<L>(q, j);
                for (r, y) in y.iter_mut().enumerate() {
                    *y = L::mul_add(L::load(self.scratch.add((q * ROWS + r) * L::N)), o, *y);
                }
            }
            let column = L::load(self.gamma.columns.add(j * L::N));
            for (r, y) in y.into_iter().enumerate() {
                let value = L::mul(L::mul(small_power::<L, P>(y), rows.powers[r]), column);
                L::store(out.add(r * L::N), if C && r + 1 == R { L::mul(value, L::splat(0.5)) } else { value });
            }
            out.add(R * L::N)
        }
    }

    /// o_jq.
    #[inline(always)]
    unsafe fn offset<L: Lanes>(&self, q: usize, j: usize) -> L::V {
        // SAFETY: passed on to the caller.
        unsafe { L::splat(*self.offsets.add(q * row_len(self.layout.m) + j)) }
    }

    /// C_q o_iq.
    #[inline(always)]
    unsafe fn scaled_offset<L: Lanes>(&self, q: usize, i: usize) -> L::V {
        // SAFETY: passed on to the caller.
        unsafe { L::mul(L::load(self.widths.get_unchecked(q).of_offset.as_ptr()), self.offset::<L>(q, i)) }
    }
}
