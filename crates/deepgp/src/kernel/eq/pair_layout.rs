//! The layout of points in the lanes of vectors, and the order of their pairs of inducing inputs.
//!
//! A vector holds G points with S rows i of pairs (i, j) each: lane g · S + s has row s of point g. Where there are
//! enough points for whole vectors, S is 1. So sums over the pairs of a point need no sums over lanes, and the rows of
//! a triangle have no tails.

use crate::kernel::padded::row_len;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Job, Lanes, PAD};
use std::ops::Range;

/// Rows of vectors that are processed together.
pub(super) const ROWS: usize = 4;

/// The order of the pairs i ≤ j of M inducing inputs: by blocks of [`ROWS`] · S rows i, in each block column by
/// column j, first those at the diagonal, which have fewer rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PairLayout {
    pub m: usize,
    /// S, rows of a point in a vector: a power of two.
    pub s: usize,
}

impl PairLayout {
    /// Vectors of a table with a number for every row of pairs.
    pub fn rows(self) -> usize {
        self.in_vectors(self.m + self.s - 1)
    }

    /// `rows`/S, rounded down; a shift, since the processor is slow at divisions by numbers that the compiler does not
    /// know.
    pub fn in_vectors(self, rows: usize) -> usize {
        rows >> self.s.trailing_zeros()
    }

    /// The rows of pairs in ranges of whole blocks, none of which has more vectors than this unless a single block has.
    pub fn row_ranges(self, vectors: usize) -> impl Iterator<Item = Range<usize>> {
        let (Self { m, s }, mut first) = (self, 0);
        std::iter::from_fn(move || {
            let start = first;
            let fits = |first: usize| (self.in_vectors(first - start) + ROWS) * (m - start) <= vectors;
            while first < m && (first == start || fits(first)) {
                first += ROWS * s;
            }
            (start < m).then_some(start..first.min(m))
        })
    }

    /// Vectors of the whole triangle.
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
pub(super) struct PairTable {
    at: *const f64,
    stride: usize,
}

impl PairTable {
    pub fn new(numbers: &[f64], m: usize) -> Self {
        Self { at: numbers.as_ptr(), stride: row_len(m) }
    }

    pub fn of_mat(table: &Mat) -> Self {
        Self { at: table.as_slice().as_ptr(), stride: table.cols() }
    }

    /// The numbers of the pairs (i, j) to (i + S − 1, j), for every point.
    #[inline(always)]
    pub unsafe fn of<L: Lanes, const S: usize>(self, i: usize, j: usize) -> L::V {
        // One number is read along its row, several across.
        let place = if S == 1 { i * self.stride + j } else { j * self.stride + i };
        // SAFETY: passed on to the caller.
        unsafe { L::spread(self.at.add(place), S) }
    }
}

/// Tables of the numbers that a point has for every inducing input, as vectors: `columns` has one for each column j of
/// the pairs, `rows` one for each S rows. They are the same where S = 1.
#[derive(Clone, Copy)]
pub(super) struct VectorTables {
    pub columns: *mut f64,
    pub rows: *mut f64,
}

impl VectorTables {
    /// Table number `t`, and those after it.
    #[inline(always)]
    pub unsafe fn table<L: Lanes>(self, t: usize, columns: usize, rows: usize) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { Self { columns: self.columns.add(t * columns * L::N), rows: self.rows.add(t * rows * L::N) } }
    }
}

/// Runs a job's body for the S of a layout.
macro_rules! with_rows_per_point {
    ($layout:expr, $self:ident.$body:ident::<$lanes:ident>) => {
        match $layout.s {
            1 => $self.$body::<$lanes, 1>(),
            2 => $self.$body::<$lanes, 2>(),
            s if s == 8 && const { $lanes::N == 8 } => $self.$body::<$lanes, 8>(),
            _ => $self.$body::<$lanes, 4>(),
        }
    };
}

pub(super) use with_rows_per_point;

/// A vector of equal lanes for each of some numbers.
pub(super) struct Broadcast<'a> {
    pub from: &'a [f64],
    pub to: *mut f64,
}

impl Job for Broadcast<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for (i, number) in self.from.iter().enumerate() {
            // SAFETY: passed on to the caller.
            unsafe { L::store(self.to.add(i * L::N), L::splat(*number)) }
        }
    }
}

/// Adds to a sum over inducing inputs i, which is kept in classes i mod N, so that it does not depend on S: each sum
/// has N/S vectors, and row r of vectors is added to number r mod N/S.
#[inline(always)]
pub(super) unsafe fn add_to_class<L: Lanes>(sums: *mut f64, row: usize, s: usize, term: L::V) {
    // SAFETY: passed on to the caller.
    unsafe {
        let classes = L::N >> s.trailing_zeros();
        let at = sums.add((row & (classes - 1)) * L::N);
        L::store(at, L::add(L::load(at), term));
    }
}

/// The totals of what [`add_to_class`] summed, class by class in order: a number a point.
pub(super) struct ClassTotals<'a> {
    pub sums: &'a [f64],
    pub s: usize,
}

impl Job for ClassTotals<'_> {
    type Output = [f64; PAD];

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> [f64; PAD] {
        let mut totals = [0.0; PAD];
        if self.s > 1 {
            for vector in self.sums[..L::N * L::N / self.s].chunks_exact(L::N) {
                for (total, point) in totals.iter_mut().zip(vector.chunks_exact(self.s)) {
                    point.iter().for_each(|term| *total += term);
                }
            }
            return totals;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            let mut total = L::splat(0.0);
            for vector in self.sums[..L::N * L::N].chunks_exact(L::N) {
                total = L::add(total, L::load(vector.as_ptr()));
            }
            L::store(totals.as_mut_ptr(), total);
        }
        totals
    }
}

/// `out` += ½ Σ over the vectors of a table, lane by lane.
pub(super) struct HalfSum<'a> {
    pub table: *const f64,
    pub len: usize,
    pub out: &'a mut [f64],
}

impl Job for HalfSum<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sums = [L::splat(0.0); 2];
            for v in (0..self.len).step_by(2) {
                sums[0] = L::add(sums[0], L::load(self.table.add(v * L::N)));
                if v + 1 < self.len {
                    sums[1] = L::add(sums[1], L::load(self.table.add((v + 1) * L::N)));
                }
            }
            let out = self.out[..L::N].as_mut_ptr();
            L::store(out, L::mul_add(L::splat(0.5), L::add(sums[0], sums[1]), L::load(out)));
        }
    }
}

/// The length of a vector.
pub(super) struct VectorLength;

impl Job for VectorLength {
    type Output = usize;

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> usize {
        L::N
    }
}
