//! Products of a packed symmetric matrix with a few vectors.

use super::row_len;
use crate::linalg::tri;
use crate::simd::{Aligned, Job, Lanes, PAD, run, wide};

/// What becomes of the diagonal of a packed matrix in a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Diagonal {
    /// It counts once: the matrix is symmetric.
    Once,
    /// It counts twice: the matrix is half of a packed gradient.
    Twice,
}

/// The products of a packed M × M matrix with vectors, all in rows of [`row_len`]; `parts` are working memory.
pub(super) fn multiply(
    m: usize,
    (matrix, diagonal): (&[f64], Diagonal),
    vectors: &[f64],
    (columns, rows): (&mut Aligned, &mut Aligned),
    out: &mut [f64],
) {
    assert!(
        matrix.len() >= tri::packed_len(m) + PAD && columns.len().min(rows.len()) >= vectors.len(),
        "tables are padded"
    );
    columns[..vectors.len()].fill(0.0);
    let job = PackedProduct {
        m,
        matrix: matrix.as_ptr(),
        diagonal,
        count: vectors.len() / row_len(m),
        vectors: vectors.as_ptr(),
        columns: columns.as_mut_ptr(),
        rows: rows.as_mut_ptr(),
    };
    // SAFETY: rows have `row_len` numbers and the triangle room past its end; the vectors are zero beyond M.
    unsafe { run(job) };
    let parts = out.iter_mut().zip(columns[..vectors.len()].iter().zip(rows.iter()));
    wide(|| parts.for_each(|(y, (column, row))| *y = column + row));
}

/// Y = X V for a packed symmetric X and a few vectors V, in two parts to be added: what entries give to their columns, and to
/// their rows.
struct PackedProduct {
    m: usize,
    matrix: *const f64,
    diagonal: Diagonal,
    /// How many vectors.
    count: usize,
    /// Rows of [`row_len`] numbers, zero beyond M.
    vectors: *const f64,
    /// As many rows each; the first must be zero at the start.
    columns: *mut f64,
    rows: *mut f64,
}

/// Rows of X that are taken together, so that the columns are loaded and stored once for all of them.
const TOGETHER: usize = 4;

impl PackedProduct {
    /// The products with V vectors from number `first` on.
    #[inline(always)]
    unsafe fn with<L: Lanes, const V: usize>(&self, first: usize) {
        let mut start = 0;
        for i in (0..self.m).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                start = self.rows::<L, V, 0>(first, i, start);
                if L::N > TOGETHER && i + TOGETHER < self.m {
                    start = self.rows::<L, V, TOGETHER>(first, i + TOGETHER, start);
                }
            }
        }
        debug_assert!(start <= tri::packed_len(self.m));
    }

    /// Rows `i` to `i + TOGETHER`, the first of which begins at `start` of the triangle; i is O more than a multiple of
    /// the vector length. Returns where the next rows begin.
    #[inline(always)]
    unsafe fn rows<L: Lanes, const V: usize, const O: usize>(&self, first: usize, i: usize, start: usize) -> usize {
        let (m, length) = (self.m, row_len(self.m));
        let diagonal = if self.diagonal == Diagonal::Twice { 0 } else { 1 };
        // SAFETY: passed on to the caller. Past the end of a row stands the next one: there the vectors are zero, and
        // columns beyond M are never read. Rows beyond the last are the last again, with zero weight.
        unsafe {
            // Entry (i + r, j) stands at row[r] + j.
            let (mut row, mut at) = ([self.matrix; TOGETHER], start);
            for (r, row) in row.iter_mut().enumerate() {
                *row = self.matrix.add(at).wrapping_sub(i + r);
                if i + r + 1 < m {
                    at += m - i - r;
                }
            }
            let vector: [*const f64; V] = std::array::from_fn(|v| self.vectors.add((first + v) * length));
            let column: [*mut f64; V] = std::array::from_fn(|v| self.columns.add((first + v) * length));
            let own: [[L::V; TOGETHER]; V] =
                std::array::from_fn(|v| std::array::from_fn(|r| L::splat(*vector[v].add(i + r))));
            let mut dots = [[L::splat(0.0); TOGETHER]; V];
            // The chunk that holds the diagonal: entries left of it belong to other rows.
            let j = i - O;
            let x: [_; TOGETHER] = std::array::from_fn(|r| {
                let x = row[r].wrapping_add(j);
                (L::load_from(x, O + r), L::load_from(x, O + r + diagonal))
            });
            for v in 0..V {
                let (a, mut y) = (L::load(vector[v].add(j)), L::load(column[v].add(j)));
                for r in 0..TOGETHER {
                    dots[v][r] = L::mul(x[r].0, a);
                    y = L::mul_add(x[r].1, own[v][r], y);
                }
                L::store(column[v].add(j), y);
            }
            for j in (j + L::N..m).step_by(L::N) {
                let x: [_; TOGETHER] = std::array::from_fn(|r| L::load(row[r].wrapping_add(j)));
                for v in 0..V {
                    let (a, mut y) = (L::load(vector[v].add(j)), L::load(column[v].add(j)));
                    for r in 0..TOGETHER {
                        dots[v][r] = L::mul_add(x[r], a, dots[v][r]);
                        y = L::mul_add(x[r], own[v][r], y);
                    }
                    L::store(column[v].add(j), y);
                }
            }
            for v in 0..V {
                let sums = L::sum4(dots[v]);
                std::ptr::copy_nonoverlapping(sums.as_ptr(), self.rows.add((first + v) * length + i), TOGETHER);
            }
            at
        }
    }
}

impl Job for PackedProduct {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        const { assert!((L::N == TOGETHER || L::N == 2 * TOGETHER) && L::N <= PAD) };
        let mut first = 0;
        while first < self.count {
            // SAFETY: passed on to the caller.
            first += unsafe {
                match self.count - first {
                    1 => {
                        self.with::<L, 1>(first);
                        1
                    }
                    2 => {
                        self.with::<L, 2>(first);
                        2
                    }
                    _ => {
                        self.with::<L, 3>(first);
                        3
                    }
                }
            };
        }
    }
}
