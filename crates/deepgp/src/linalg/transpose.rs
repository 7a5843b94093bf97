//! Transposes by blocks that fit into registers: entry by entry they cost as much as a product at M = 50.

use super::Mat;
use super::tile::Part;
use crate::simd::{Job, Lanes, PAD, run};

/// Copies the given half of a square matrix over the other.
///
/// # Panics
/// If the matrix is not square.
pub fn mirror(a: &mut Mat, from: Part) {
    let m = a.rows();
    assert_eq!(m, a.cols(), "the matrix must be square");
    // SAFETY: the pointer covers M × M numbers.
    unsafe { run(Mirror { a: a.as_mut_slice().as_mut_ptr(), m, from }) }
}

/// `A ← ½ (A + Aᵀ)`.
///
/// # Panics
/// If the matrix is not square.
pub fn symmetrise(a: &mut Mat) {
    let m = a.rows();
    assert_eq!(m, a.cols(), "the matrix must be square");
    // SAFETY: the pointer covers M × M numbers.
    unsafe { run(Symmetrise { a: a.as_mut_slice().as_mut_ptr(), m }) }
}

/// `to = fromᵀ`, into existing memory.
pub fn transpose_into(from: &Mat, to: &mut Mat) {
    let (rows, cols) = (from.rows(), from.cols());
    to.reshape(cols, rows);
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_slice().as_mut_ptr());
    // SAFETY: both pointers cover rows × cols numbers.
    unsafe { run(Transpose { from, to, rows, cols }) }
}

struct Mirror {
    a: *mut f64,
    m: usize,
    from: Part,
}

impl Mirror {
    /// Entry (i, j), i < j, and its mirror image become one.
    #[inline(always)]
    unsafe fn entry(&self, i: usize, j: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (upper, lower) = (self.a.add(i * self.m + j), self.a.add(j * self.m + i));
            if self.from == Part::Lower { *upper = *lower } else { *lower = *upper }
        }
    }
}

impl Job for Mirror {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (m, whole) = (self.m, self.m / L::N * L::N);
        // SAFETY: passed on to the caller.
        unsafe {
            for i in (0..whole).step_by(L::N) {
                for j in (i + L::N..whole).step_by(L::N) {
                    let (upper, lower) = (self.a.add(i * m + j), self.a.add(j * m + i));
                    if self.from == Part::Lower {
                        L::transpose(lower, m, upper, m);
                    } else {
                        L::transpose(upper, m, lower, m);
                    }
                }
                // The block on the diagonal.
                for r in i..i + L::N {
                    (r + 1..i + L::N).for_each(|c| self.entry(r, c));
                }
            }
            for j in whole..m {
                (0..j).for_each(|i| self.entry(i, j));
            }
        }
    }
}

struct Symmetrise {
    a: *mut f64,
    m: usize,
}

impl Symmetrise {
    /// Entry (i, j), i < j, and its mirror image become their mean.
    #[inline(always)]
    unsafe fn entry(&self, i: usize, j: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (upper, lower) = (self.a.add(i * self.m + j), self.a.add(j * self.m + i));
            let mean = 0.5 * (*upper + *lower);
            (*upper, *lower) = (mean, mean);
        }
    }
}

impl Job for Symmetrise {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        const { assert!(L::N <= PAD) };
        let (m, whole) = (self.m, self.m / L::N * L::N);
        let mut block = [0.0; PAD * PAD];
        // SAFETY: passed on to the caller.
        unsafe {
            for i in (0..whole).step_by(L::N) {
                for j in (i + L::N..whole).step_by(L::N) {
                    let (upper, lower) = (self.a.add(i * m + j), self.a.add(j * m + i));
                    L::transpose(lower, m, block.as_mut_ptr(), L::N);
                    for r in 0..L::N {
                        let (upper, lower) = (upper.add(r * m), block.as_ptr().add(r * L::N));
                        L::store(upper, L::mul(L::splat(0.5), L::add(L::load(upper), L::load(lower))));
                    }
                    L::transpose(upper, m, lower, m);
                }
                // The block on the diagonal.
                for r in i..i + L::N {
                    (r + 1..i + L::N).for_each(|c| self.entry(r, c));
                }
            }
            for j in whole..m {
                (0..j).for_each(|i| self.entry(i, j));
            }
        }
    }
}

struct Transpose {
    from: *const f64,
    to: *mut f64,
    rows: usize,
    cols: usize,
}

impl Job for Transpose {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { from, to, rows, cols } = self;
        let (whole_rows, whole_cols) = (rows / L::N * L::N, cols / L::N * L::N);
        // SAFETY: passed on to the caller.
        unsafe {
            for i in (0..whole_rows).step_by(L::N) {
                for j in (0..whole_cols).step_by(L::N) {
                    L::transpose(from.add(i * cols + j), cols, to.add(j * rows + i), rows);
                }
            }
            for i in 0..rows {
                // What whole blocks have left.
                for j in if i < whole_rows { whole_cols } else { 0 }..cols {
                    *to.add(j * rows + i) = *from.add(i * cols + j);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced::on_each;

    fn numbered(rows: usize, cols: usize) -> Mat {
        Mat::from_fn(rows, cols, |i, j| (100 * i + j) as f64)
    }

    #[test]
    fn transposes_of_any_shape_on_every_instruction_set() {
        on_each(|isa| {
            for (rows, cols) in [(0, 0), (1, 1), (3, 5), (8, 8), (7, 16), (16, 9), (50, 50), (25, 33)] {
                let (from, mut to) = (numbered(rows, cols), Mat::default());
                transpose_into(&from, &mut to);
                assert_eq!(to, Mat::from_fn(cols, rows, |i, j| from[(j, i)]), "{isa:?} {rows} × {cols}");
            }
        });
    }

    #[test]
    fn either_half_over_the_other_on_every_instruction_set() {
        on_each(|isa| {
            for m in [0, 1, 2, 4, 7, 8, 9, 16, 20, 50] {
                let a = numbered(m, m);
                for (part, from_upper) in [(Part::Upper, true), (Part::Lower, false)] {
                    let mut found = a.clone();
                    mirror(&mut found, part);
                    let expected =
                        Mat::from_fn(m, m, |i, j| if (i <= j) == from_upper { a[(i, j)] } else { a[(j, i)] });
                    assert_eq!(found, expected, "{isa:?} {m} {part:?}");
                }
                let mut found = a.clone();
                symmetrise(&mut found);
                let expected = Mat::from_fn(m, m, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]));
                assert_eq!(found, expected, "{isa:?} {m}");
            }
        });
    }
}
