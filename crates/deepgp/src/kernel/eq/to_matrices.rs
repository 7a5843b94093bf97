//! From points side by side in vectors to matrices: Ā_d with a row a point, and C̄_d, a sum over points: vector code.

use super::pair_layout::{PairLayout, ROWS, with_rows_per_point};
use deepgp_numerics::simd::{Job, Lanes, PAD};

/// `out` = Σ_n coef Ψ₂ or `out` += this, S numbers a vector in the order of the layout.
pub(super) struct SumPsi2<'a> {
    pub layout: PairLayout,
    /// Vectors of the layout.
    pub vectors: usize,
    /// Ψ₂ of some vectors of points, `stride` numbers apart.
    pub psi2: *const f64,
    pub stride: usize,
    /// The factor of each, a vector, `coef_stride` numbers apart.
    pub coef: &'a [f64],
    pub coef_stride: usize,
    pub add: bool,
    pub out: *mut f64,
}

impl SumPsi2<'_> {
    #[inline(always)]
    unsafe fn sum<L: Lanes, const S: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let count = self.coef.len().div_ceil(self.coef_stride);
            let coef = |k: usize| L::load(self.coef.as_ptr().add(k * self.coef_stride));
            for v in (0..self.vectors).step_by(L::N / S) {
                let mut sums = [L::splat(0.0); PAD];
                for n in 0..count {
                    let (coef, psi2) = (coef(n), self.psi2.add(n * self.stride + v * L::N));
                    for (k, sum) in sums[..L::N / S].iter_mut().enumerate() {
                        *sum = L::mul_add(coef, L::load(psi2.add(k * L::N)), *sum);
                    }
                }
                let (out, sum) = (self.out.add(v * S), L::fold(&sums[..L::N / S], S));
                L::store(out, if self.add { L::add(L::load(out), sum) } else { sum });
            }
        }
    }
}

impl Job for SumPsi2<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { with_rows_per_point!(self.layout, self.sum::<L>) }
    }
}

/// VectorTables of points side by side, M vectors, turned into a row of M numbers a point.
pub(super) struct ToRows {
    pub from: *const f64,
    pub m: usize,
    pub points: usize,
    pub to: *mut f64,
}

impl Job for ToRows {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        const { assert!(L::N <= PAD) };
        let (m, mut image) = (self.m, [0.0; PAD * PAD]);
        for i in (0..m).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                let (from, to) = (self.from.add(i * L::N), self.to.add(i));
                if self.points == L::N && i + L::N <= m {
                    L::transpose(from, L::N, to, m);
                    continue;
                }
                L::transpose(from, L::N, image.as_mut_ptr(), L::N);
                for point in 0..self.points {
                    L::store_some(to.add(point * m), L::load(image.as_ptr().add(point * L::N)), m - i);
                }
            }
        }
    }
}

/// [`ToRows`] where points have several rows in a vector: from sums by rows, and from sums by columns, which are added
/// up over a point's lanes and multiplied by its `twice_b`.
pub(super) struct ToRowsFromParts {
    pub layout: PairLayout,
    pub points: usize,
    pub rows: *const f64,
    pub columns: *const f64,
    /// A vector.
    pub twice_b: *const f64,
    pub to: *mut f64,
}

impl ToRowsFromParts {
    #[inline(always)]
    unsafe fn transpose<L: Lanes, const S: usize>(&self) {
        const { assert!(L::N <= PAD) };
        let (m, mut image) = (self.layout.m, [0.0; PAD * PAD]);
        // SAFETY: passed on to the caller.
        unsafe {
            // All that is stored number by number first: a vector that is loaded at once would wait for them.
            for (r, i) in (0..m).step_by(S).enumerate() {
                for point in 0..self.points {
                    let (from, to) = (self.rows.add(r * L::N + point * S), self.to.add(point * m + i));
                    (0..S.min(m - i)).for_each(|s| *to.add(s) = *from.add(s));
                }
            }
            for i in (0..m).step_by(L::N) {
                L::transpose(self.columns.add(i * L::N), L::N, image.as_mut_ptr(), L::N);
                for point in 0..self.points {
                    let mut sum = L::splat(0.0);
                    for s in 0..S {
                        sum = L::add(sum, L::load(image.as_ptr().add((point * S + s) * L::N)));
                    }
                    let (to, twice_b) = (self.to.add(point * m + i), L::splat(*self.twice_b.add(point * S)));
                    L::store_some(to, L::mul_add(twice_b, sum, L::load_some(to, m - i)), m - i);
                }
            }
        }
    }
}

impl Job for ToRowsFromParts {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { with_rows_per_point!(self.layout, self.transpose::<L>) }
    }
}

/// Puts numbers in the order of a layout, S a vector, into the lower triangle of a matrix, or adds them to it; those on
/// the diagonal twice.
pub(super) struct ToLowerTriangle {
    pub layout: PairLayout,
    pub add: bool,
    pub from: *const f64,
    /// M × M.
    pub to: *mut f64,
}

impl ToLowerTriangle {
    #[inline(always)]
    unsafe fn scatter<L: Lanes, const S: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe { if self.add { self.all::<L, S, true>() } else { self.all::<L, S, false>() } }
    }

    #[inline(always)]
    unsafe fn all<L: Lanes, const S: usize, const ADD: bool>(&self) {
        let (m, height, mut from) = (self.layout.m, ROWS * S, self.from);
        for first in (0..m).step_by(height) {
            // Columns that meet the diagonal have fewer rows.
            let (corner, mut diagonal) = ((first + height).min(m), from);
            let of_column = |j: usize| ((j - first) / S + 1) * S;
            // SAFETY: passed on to the caller.
            unsafe {
                for j in first..corner {
                    self.some::<L, ADD>(j, first, from, j - first + 1);
                    from = from.add(of_column(j));
                }
                for j in corner..m {
                    self.some::<L, ADD>(j, first, from, height);
                    from = from.add(height);
                }
                // By now what was stored is in the cache: to read it at once would be to wait for it.
                for j in first..corner {
                    *self.to.add(j * m + j) += *diagonal.add(j - first);
                    diagonal = diagonal.add(of_column(j));
                }
            }
        }
    }

    /// `n` numbers of row j of the matrix from entry `first` on.
    #[inline(always)]
    unsafe fn some<L: Lanes, const ADD: bool>(&self, j: usize, first: usize, from: *const f64, n: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let to = self.to.add(j * self.layout.m + first);
            for k in (0..n).step_by(L::N) {
                let numbers = L::load_some(from.add(k), n - k);
                let sum = if ADD { L::add(L::load_some(to.add(k), n - k), numbers) } else { numbers };
                L::store_some(to.add(k), sum, n - k);
            }
        }
    }
}

impl Job for ToLowerTriangle {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { with_rows_per_point!(self.layout, self.scatter::<L>) }
    }
}
