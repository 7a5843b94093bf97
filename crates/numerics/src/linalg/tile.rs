//! Register tiles: up to 8 rows × 3 vectors of a result stay in registers while the inner index runs.
//!
//! Products and factorisations are made of them.

use crate::simd::{Lanes, PAD};
use std::hint::black_box;
use std::ops::Range;

/// Vectors of a tile.
pub(super) const VECTORS: usize = 3;

/// A matrix read by broadcasting single entries: (i, k) stands at `data[i · row + k · inner]`, where one of the strides
/// is 1.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    pub data: *const f64,
    pub row: usize,
    pub inner: usize,
}

impl Strided {
    /// The matrix whose rows stand one after the other, `stride` numbers apart.
    pub fn by_rows(data: *const f64, stride: usize) -> Self {
        Self { data, row: stride, inner: 1 }
    }

    /// The matrix whose columns do.
    pub fn by_columns(data: *const f64, stride: usize) -> Self {
        Self { data, row: 1, inner: stride }
    }
}

/// 1 in the given lane, 0 in the others.
#[inline(always)]
pub(super) unsafe fn unit<L: Lanes>(lane: usize) -> L::V {
    const { assert!(L::N <= PAD) };
    static UNIT: [f64; 2 * PAD] = {
        let mut numbers = [0.0; 2 * PAD];
        numbers[PAD] = 1.0;
        numbers
    };
    // SAFETY: passed on to the caller; `lane` is less than the length of a vector, and that at most PAD.
    unsafe { L::load(UNIT.as_ptr().add(PAD - lane)) }
}

/// R × C vectors of zeros.
#[inline(always)]
pub(super) unsafe fn zeros<L: Lanes, const R: usize, const C: usize>() -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe { [[L::splat(0.0); C]; R] }
}

/// R × C vectors from memory.
#[inline(always)]
pub(super) unsafe fn load<L: Lanes, const R: usize, const C: usize>(
    from: *const f64,
    stride: usize,
    tail: usize,
) -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut out = zeros::<L, R, C>();
        combine::<L, R, C>(&mut out, from, stride, tail, |_, old, _| old);
        out
    }
}

/// Adds R × C vectors of Σ_k a(i, k) b(k, j) for k in `range`, or subtracts them if LESS. `a` points at (i, 0), `b` at
/// (0, j); the last vector has `tail` lanes (0: all).
///
/// Whatever can be decided before the loop is: instructions that do not multiply take the place of those that do.
#[inline(always)]
pub(super) unsafe fn accumulate<L: Lanes, const R: usize, const C: usize, const LESS: bool>(
    acc: [[L::V; C]; R],
    a: Strided,
    b: *const f64,
    b_stride: usize,
    range: Range<usize>,
    tail: usize,
) -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        if a.row == 1 {
            let entry = |r: usize, k: usize| *a.data.add(r + k * a.inner);
            with_tail::<L, R, C, LESS>(acc, entry, b, b_stride, range, tail)
        } else {
            // A pointer a row, which the compiler must not know to be a stride apart: it would add strides in the loop.
            let rows: [*const f64; R] = black_box(std::array::from_fn(|r| a.data.add(r * a.row)));
            with_tail::<L, R, C, LESS>(acc, |r, k| *rows[r].add(k), b, b_stride, range, tail)
        }
    }
}

/// The loop for a last vector that is whole, or that is not.
#[inline(always)]
unsafe fn with_tail<L: Lanes, const R: usize, const C: usize, const LESS: bool>(
    acc: [[L::V; C]; R],
    a: impl Fn(usize, usize) -> f64,
    b: *const f64,
    b_stride: usize,
    range: Range<usize>,
    tail: usize,
) -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        if tail == 0 {
            over::<L, R, C, LESS>(acc, a, |c, at| L::load(at.add(c * L::N)), b, b_stride, range)
        } else {
            let load = |c: usize, at: *const f64| {
                let at = at.add(c * L::N);
                if c + 1 == C { L::load_part(at, tail) } else { L::load(at) }
            };
            over::<L, R, C, LESS>(acc, a, load, b, b_stride, range)
        }
    }
}

/// The loop over the inner index.
#[inline(always)]
unsafe fn over<L: Lanes, const R: usize, const C: usize, const LESS: bool>(
    mut acc: [[L::V; C]; R],
    a: impl Fn(usize, usize) -> f64,
    load: impl Fn(usize, *const f64) -> L::V,
    b: *const f64,
    b_stride: usize,
    range: Range<usize>,
) -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        for k in range {
            let (row, mut b_k) = (b.add(k * b_stride), [L::splat(0.0); C]);
            for (c, v) in b_k.iter_mut().enumerate() {
                *v = load(c, row);
            }
            for (r, acc) in acc.iter_mut().enumerate() {
                let a_rk = L::splat(a(r, k));
                for (acc, b) in acc.iter_mut().zip(b_k) {
                    *acc = if LESS { L::neg_mul_add(a_rk, b, *acc) } else { L::mul_add(a_rk, b, *acc) };
                }
            }
        }
    }
    acc
}

/// Tiles of some columns: start, number of vectors, lanes of the last one (0: all).
///
/// Four vectors are two and two, not three and one: in a tile of one vector an entry is broadcast for a single
/// multiplication. That makes 4 % of a product at M = 50.
#[inline(always)]
pub(super) fn column_tiles(columns: Range<usize>, lanes: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    tiles_of(columns, lanes, VECTORS)
}

/// Tiles of at most so many vectors.
#[inline(always)]
pub(super) fn tiles_of(
    columns: Range<usize>,
    lanes: usize,
    most: usize,
) -> impl Iterator<Item = (usize, usize, usize)> {
    let mut j = columns.start;
    std::iter::from_fn(move || {
        if j >= columns.end {
            return None;
        }
        let (start, left) = (j, columns.end - j);
        let vectors = match left.div_ceil(lanes) {
            4 => 2,
            all => all.min(most),
        };
        j += vectors * lanes;
        Some((start, vectors, if j > columns.end { left % lanes } else { 0 }))
    })
}

/// acc ← f((r, c), old, acc) with R × C vectors of old values from memory.
#[inline(always)]
pub(super) unsafe fn combine<L: Lanes, const R: usize, const C: usize>(
    acc: &mut [[L::V; C]; R],
    from: *const f64,
    stride: usize,
    tail: usize,
    f: impl Fn((usize, usize), L::V, L::V) -> L::V,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for (r, row) in acc.iter_mut().enumerate() {
            for (c, v) in row.iter_mut().enumerate() {
                let at = from.add(r * stride + c * L::N);
                let old = if c + 1 == C && tail > 0 { L::load_part(at, tail) } else { L::load(at) };
                *v = f((r, c), old, *v);
            }
        }
    }
}

/// Stores R × C vectors.
#[inline(always)]
pub(super) unsafe fn store<L: Lanes, const R: usize, const C: usize>(
    acc: [[L::V; C]; R],
    to: *mut f64,
    stride: usize,
    tail: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for (r, row) in acc.into_iter().enumerate() {
            for (c, v) in row.into_iter().enumerate() {
                let at = to.add(r * stride + c * L::N);
                if c + 1 == C && tail > 0 {
                    L::store_part(at, v, tail);
                } else {
                    L::store(at, v);
                }
            }
        }
    }
}
