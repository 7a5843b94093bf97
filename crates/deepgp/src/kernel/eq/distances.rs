//! Scaled distances between inducing inputs, and K_zz from them: vector code.

use crate::kernel::padded::row_len;
use deepgp_numerics::linalg::product::Part;
use deepgp_numerics::simd::{Job, Lanes};

/// Rows of pairs that are taken together.
const ROWS: usize = 4;

/// `out = 2^(2 pairs − constant)` in the upper triangle of an M × M matrix, for pairs in rows of [`row_len`].
pub(super) struct Gram<'a> {
    pub m: usize,
    pub pairs: &'a [f64],
    pub constant: f64,
    pub out: &'a mut [f64],
}

impl Job for Gram<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (m, row) = (self.m, row_len(self.m));
        for (i, j) in (0..m).flat_map(|i| (i..m).step_by(L::N).map(move |j| (i, j))) {
            // SAFETY: passed on to the caller.
            unsafe {
                let t = L::load(self.pairs.as_ptr().add(i * row + j));
                let value = L::exp2(L::mul_sub(L::splat(2.0), t, L::splat(self.constant)));
                let out = self.out.as_mut_ptr().add(i * m + j);
                L::store_some(out, value, m - j);
            }
        }
    }
}

/// Largest |p|² for which |p_i|² + |p_n|² − 2 p_i·p_n may replace |p_i − p_n|², which takes one operation a dimension
/// instead of two. Exponents are exact to about 10⁻¹⁵ either way, since p itself is rounded.
pub(super) const CLOSE_SQUARED_NORM: f64 = 4.0;

/// `out = constant − Σ_q (p_iq − p_jq)²`, p = (z − z_0)/(unit · ℓ), for all pairs, or for i ≤ j at least, in rows of
/// [`row_len`]. Relative to one of them, points far from zero lose no digits when they are scaled before they are
/// compared.
///
/// Returns whether all of them are [`CLOSE_SQUARED_NORM`].
pub(super) struct PairDistances<'a> {
    pub m: usize,
    pub points: &'a [f64],
    pub lengthscale: &'a [f64],
    pub unit: f64,
    pub constant: f64,
    pub wanted: Part,
    /// p, as many numbers as `points`, then a row of −|p|²/2.
    pub scaled: &'a mut [f64],
    pub out: &'a mut [f64],
}

impl Job for PairDistances<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) -> bool {
        // SAFETY: passed on to the caller.
        unsafe {
            self.scale::<L>();
            self.compare::<L>();
        }
        let halves = &self.scaled[self.lengthscale.len() * row_len(self.m)..][..self.m];
        halves.iter().all(|half| *half >= -0.5 * CLOSE_SQUARED_NORM)
    }
}

impl PairDistances<'_> {
    /// p and −|p|²/2.
    #[inline(always)]
    unsafe fn scale<L: Lanes>(&mut self) {
        let (row, dim) = (row_len(self.m), self.lengthscale.len());
        // SAFETY: passed on to the caller.
        unsafe {
            for (q, l) in self.lengthscale.iter().enumerate() {
                let (z, p) = (self.points.as_ptr().add(q * row), self.scaled.as_mut_ptr().add(q * row));
                let (origin, scale) = (L::splat(*z), L::splat(1.0 / (self.unit * l)));
                for i in (0..self.m).step_by(L::N) {
                    L::store(p.add(i), L::mul(scale, L::sub(L::load(z.add(i)), origin)));
                }
            }
            for i in (0..self.m).step_by(L::N) {
                let mut square = L::splat(0.0);
                for q in 0..dim {
                    let p = L::load(self.scaled.as_ptr().add(q * row + i));
                    square = L::mul_add(p, p, square);
                }
                L::store(self.scaled.as_mut_ptr().add(dim * row + i), L::mul(L::splat(-0.5), square));
            }
        }
    }

    /// The pairs that are wanted.
    #[inline(always)]
    unsafe fn compare<L: Lanes>(&mut self) {
        const { assert!(L::N.is_multiple_of(ROWS)) };
        let row = row_len(self.m);
        // Rows of a block have their diagonals in the same vector. Rows beyond the last repeat the last.
        for i in (0..self.m).step_by(ROWS) {
            let row_of: [usize; ROWS] = std::array::from_fn(|r| (i + r).min(self.m - 1));
            let first = if self.wanted == Part::Full { 0 } else { i / L::N * L::N };
            for j in (first..self.m).step_by(L::N) {
                // SAFETY: passed on to the caller.
                unsafe {
                    let mut exponents = [L::splat(self.constant); ROWS];
                    for q in 0..self.lengthscale.len() {
                        let p = self.scaled.as_ptr().add(q * row);
                        let p_j = L::load(p.add(j));
                        for (exponent, i) in exponents.iter_mut().zip(row_of) {
                            let diff = L::sub(p_j, L::splat(*p.add(i)));
                            *exponent = L::neg_mul_add(diff, diff, *exponent);
                        }
                    }
                    for (exponent, i) in exponents.into_iter().zip(row_of) {
                        L::store(self.out.as_mut_ptr().add(i * row + j), exponent);
                    }
                }
            }
        }
    }
}
