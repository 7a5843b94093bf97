//! Products of a matrix with a vector: dot products of many rows at a time, and sums of rows.

use super::Mat;
use super::product::Part;
use crate::simd::{Job, Lanes, run};

/// `out = A x` for A with entries in `part`; beyond it A must be zero.
///
/// # Panics
/// If the sizes do not fit.
pub fn mul_vec(a: &Mat, part: Part, x: &[f64], out: &mut [f64]) {
    assert_eq!((a.rows(), a.cols()), (out.len(), x.len()), "sizes must agree");
    let job = RowDots { size: (a.rows(), a.cols()), part, a: a.as_slice().as_ptr(), b: x.as_ptr(), b_stride: 0, out };
    // SAFETY: the pointers cover as many numbers, as just checked.
    unsafe { run(job) }
}

/// `out_i = Σ_j a_ij b_ij`.
///
/// # Panics
/// If the sizes differ.
pub fn row_dots(a: &Mat, b: &Mat, out: &mut [f64]) {
    let size = (a.rows(), a.cols());
    assert_eq!((size, size.0), ((b.rows(), b.cols()), out.len()), "sizes must agree");
    let (a, b, b_stride) = (a.as_slice().as_ptr(), b.as_slice().as_ptr(), size.1);
    // SAFETY: as above.
    unsafe { run(RowDots { size, part: Part::Full, a, b, b_stride, out }) }
}

/// `out = Lᵀ x` for a lower triangular L with zeros above its diagonal.
///
/// # Panics
/// If the sizes do not fit.
pub fn mul_lower_transposed(l: &Mat, x: &[f64], out: &mut [f64]) {
    row_sum(l, Part::Lower, x, out);
}

/// `out = A x` for a symmetric A: a sum of its rows, which needs no sums inside vectors.
///
/// # Panics
/// If the sizes do not fit.
pub fn mul_symmetric(a: &Mat, x: &[f64], out: &mut [f64]) {
    row_sum(a, Part::Full, x, out);
}

/// `out = Aᵀ x` for a square A with entries in `part`, all of it or the lower triangle.
fn row_sum(a: &Mat, part: Part, x: &[f64], out: &mut [f64]) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), x.len(), out.len()), "sizes must agree");
    // SAFETY: the pointers cover M × M and M numbers, as just checked.
    unsafe { run(RowSum { m, part, a: a.as_slice().as_ptr(), x: x.as_ptr(), out: out.as_mut_ptr() }) }
}

/// The sum of the rows of a square matrix or a lower triangle, each times its number.
struct RowSum {
    m: usize,
    part: Part,
    a: *const f64,
    x: *const f64,
    out: *mut f64,
}

/// Vectors of the sum that are in registers together.
const VECTORS: usize = 4;

impl RowSum {
    /// C vectors of the result from column `j` on, of which the last has `tail` lanes (0: all).
    #[inline(always)]
    unsafe fn columns<L: Lanes, const C: usize>(&self, j: usize, tail: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut acc = [L::splat(0.0); C];
            let first = if self.part == Part::Lower { j } else { 0 };
            for k in first..self.m {
                let (row, x) = (self.a.add(k * self.m + j), L::splat(*self.x.add(k)));
                for (c, acc) in acc.iter_mut().enumerate() {
                    let at = row.add(c * L::N);
                    let a = if c + 1 == C && tail > 0 { L::load_part(at, tail) } else { L::load(at) };
                    *acc = L::mul_add(x, a, *acc);
                }
            }
            for (c, acc) in acc.into_iter().enumerate() {
                let at = self.out.add(j + c * L::N);
                if c + 1 == C && tail > 0 { L::store_part(at, acc, tail) } else { L::store(at, acc) }
            }
        }
    }
}

impl Job for RowSum {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for j in (0..self.m).step_by(VECTORS * L::N) {
            let left = (self.m - j).min(VECTORS * L::N);
            // SAFETY: passed on to the caller.
            unsafe {
                match left.div_ceil(L::N) {
                    1 => self.columns::<L, 1>(j, left % L::N),
                    2 => self.columns::<L, 2>(j, left % L::N),
                    3 => self.columns::<L, 3>(j, left % L::N),
                    _ => self.columns::<L, VECTORS>(j, left % L::N),
                }
            }
        }
    }
}

/// Rows that are summed together.
const TOGETHER: usize = 4;

/// The dot product of each row of A with the row of B `b_stride` numbers after the last one.
struct RowDots<'a> {
    size: (usize, usize),
    part: Part,
    a: *const f64,
    b: *const f64,
    b_stride: usize,
    out: &'a mut [f64],
}

impl Job for RowDots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (rows, cols) = self.size;
        for (i, out) in self.out.chunks_mut(TOGETHER).enumerate() {
            let i = i * TOGETHER;
            let columns = match self.part {
                Part::Lower => 0..(i + TOGETHER).min(cols),
                Part::Upper => i.min(cols)..cols,
                Part::Full => 0..cols,
            };
            // SAFETY: passed on to the caller. Rows beyond the last are the last again.
            unsafe {
                let row: [usize; TOGETHER] = std::array::from_fn(|r| (i + r).min(rows - 1));
                let mut acc = [L::splat(0.0); TOGETHER];
                for j in columns.clone().step_by(L::N) {
                    let left = columns.end - j;
                    let load = |p: *const f64| if left < L::N { L::load_part(p, left) } else { L::load(p) };
                    for (acc, row) in acc.iter_mut().zip(row) {
                        let (a, b) = (self.a.add(row * cols + j), self.b.add(row * self.b_stride + j));
                        *acc = L::mul_add(load(a), load(b), *acc);
                    }
                }
                out.copy_from_slice(&L::sum4(acc)[..out.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced::on_each;

    #[test]
    fn products_of_rows_on_every_instruction_set() {
        on_each(|isa| {
            for (rows, cols) in [(1, 1), (3, 5), (4, 8), (9, 17), (50, 50), (50, 2)] {
                for part in [Part::Full, Part::Lower, Part::Upper] {
                    let inside = |i: usize, j: usize| match part {
                        Part::Full => true,
                        Part::Lower => j <= i,
                        Part::Upper => j >= i,
                    };
                    let a =
                        Mat::from_fn(rows, cols, |i, j| if inside(i, j) { ((7 * i + j) as f64).sin() } else { 0.0 });
                    let x: Vec<f64> = (0..cols).map(|j| (j as f64).cos()).collect();
                    let mut found = vec![0.0; rows];
                    mul_vec(&a, part, &x, &mut found);
                    for i in 0..rows {
                        let expected: f64 = a.row(i).iter().zip(&x).map(|(a, x)| a * x).sum();
                        assert!((found[i] - expected).abs() < 1e-13, "{isa:?} {rows} × {cols} {part:?}");
                    }
                    if part != Part::Upper && rows == cols {
                        let mut sums = vec![0.0; rows];
                        row_sum(&a, part, &x, &mut sums);
                        for j in 0..cols {
                            let expected: f64 = a.column(j).iter().zip(&x).map(|(a, x)| a * x).sum();
                            assert!((sums[j] - expected).abs() < 1e-13, "{isa:?} {rows}");
                        }
                    }
                    row_dots(&a, &a, &mut found);
                    for i in 0..rows {
                        let expected: f64 = a.row(i).iter().map(|a| a * a).sum();
                        assert!((found[i] - expected).abs() < 1e-13, "{isa:?} {rows} × {cols}");
                    }
                }
            }
        });
    }
}
