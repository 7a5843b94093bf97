//! Rows of matrices: dot products of many at a time, their sums and multiples, sums of triangles.

use super::Mat;
use super::product::Part;
use super::transpose::mirror;
use crate::simd::{Job, Lanes, run};

/// `out = A x` for A with entries in `part`; beyond it A must be zero.
///
/// # Panics
/// If the sizes do not fit.
pub fn mul_vec(a: &Mat, part: Part, x: &[f64], out: &mut [f64]) {
    assert_eq!((a.rows(), a.cols()), (out.len(), x.len()), "sizes must agree");
    let (size, a) = ((a.rows(), a.cols()), a.as_slice().as_ptr());
    let job = RowDots { size, part, a, x: x.as_ptr(), out };
    // SAFETY: the pointers cover as many numbers, as just checked.
    unsafe { run(job) }
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

/// `out += Σ_i a_i` over the rows of A.
///
/// # Panics
/// If the sizes do not fit.
pub fn add_rows(a: &Mat, out: &mut [f64]) {
    assert_eq!(a.cols(), out.len(), "sizes must agree");
    let (size, x) = ((a.rows(), a.cols()), None);
    // SAFETY: the pointers cover as many numbers, as just checked.
    unsafe { run(RowSum { size, part: Part::Full, a: a.as_slice().as_ptr(), x, out: out.as_mut_ptr() }) }
}

/// `out = Aᵀ x` for a square A with entries in `part`, all of it or the lower triangle.
fn row_sum(a: &Mat, part: Part, x: &[f64], out: &mut [f64]) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), x.len(), out.len()), "sizes must agree");
    let (size, x) = ((m, m), Some(x.as_ptr()));
    // SAFETY: the pointers cover M × M and M numbers, as just checked.
    unsafe { run(RowSum { size, part, a: a.as_slice().as_ptr(), x, out: out.as_mut_ptr() }) }
}

/// The sum of the rows of a matrix or a lower triangle, each times its number; without numbers, their sum added to what
/// is there.
struct RowSum {
    size: (usize, usize),
    part: Part,
    a: *const f64,
    x: Option<*const f64>,
    out: *mut f64,
}

/// Vectors of the sum that are in registers together.
const VECTORS: usize = 4;

impl RowSum {
    /// C vectors of the result from column `j` on, of which the last has `tail` lanes (0: all).
    #[inline(always)]
    unsafe fn columns<L: Lanes, const C: usize>(&self, j: usize, tail: usize) {
        let (rows, cols) = self.size;
        // SAFETY: passed on to the caller.
        unsafe {
            let load = |c: usize, at: *const f64| {
                if c + 1 == C && tail > 0 { L::load_part(at.add(c * L::N), tail) } else { L::load(at.add(c * L::N)) }
            };
            let (mut acc, out) = ([L::splat(0.0); C], self.out.add(j));
            if self.x.is_none() {
                for (c, acc) in acc.iter_mut().enumerate() {
                    *acc = load(c, out);
                }
            }
            let first = if self.part == Part::Lower { j } else { 0 };
            for k in first..rows {
                let (row, x) = (self.a.add(k * cols + j), L::splat(self.x.map_or(1.0, |x| *x.add(k))));
                for (c, acc) in acc.iter_mut().enumerate() {
                    *acc = L::mul_add(x, load(c, row), *acc);
                }
            }
            for (c, acc) in acc.into_iter().enumerate() {
                let at = out.add(c * L::N);
                if c + 1 == C && tail > 0 { L::store_part(at, acc, tail) } else { L::store(at, acc) }
            }
        }
    }
}

impl Job for RowSum {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let cols = self.size.1;
        for j in (0..cols).step_by(VECTORS * L::N) {
            let left = (cols - j).min(VECTORS * L::N);
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

/// The dot product of each row of A with x.
struct RowDots<'a> {
    size: (usize, usize),
    part: Part,
    a: *const f64,
    x: *const f64,
    out: &'a mut [f64],
}

impl Job for RowDots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (rows, cols) = self.size;
        for i in (0..rows).step_by(TOGETHER) {
            let columns = match self.part {
                Part::Lower => 0..(i + TOGETHER).min(cols),
                Part::Upper => i.min(cols)..cols,
                Part::Full => 0..cols,
            };
            // SAFETY: passed on to the caller.
            let sums = unsafe {
                // Beyond the last row it is the last again.
                let row: [usize; TOGETHER] = std::array::from_fn(|r| (i + r).min(rows - 1));
                let mut acc = [L::splat(0.0); TOGETHER];
                for j in columns.clone().step_by(L::N) {
                    let left = columns.end - j;
                    let x = L::load_some(self.x.add(j), left);
                    for r in 0..TOGETHER {
                        acc[r] = L::mul_add(L::load_some(self.a.add(row[r] * cols + j), left), x, acc[r]);
                    }
                }
                L::sum4(acc)
            };
            self.out[i..rows.min(i + TOGETHER)].iter_mut().zip(sums).for_each(|(out, sum)| *out = sum);
        }
    }
}

/// `to = diag(weight) · from`.
///
/// # Panics
/// If the shapes differ.
fn scale_rows(from: &Mat, weight: impl Fn(usize) -> f64, to: &mut Mat) {
    let (rows, cols) = (from.rows(), from.cols());
    assert_eq!((rows, cols), (to.rows(), to.cols()), "shapes must agree");
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_slice().as_mut_ptr());
    // SAFETY: the pointers cover rows × cols numbers.
    unsafe { run(ScaledRows { rows, cols, from, weight, to }) }
}

impl Mat {
    /// Becomes `diag(weight) · other`, every row of `other` times its weight, keeping its allocation.
    pub fn set_scaled_rows(&mut self, other: &Mat, weight: impl Fn(usize) -> f64) {
        self.reshape(other.rows(), other.cols());
        scale_rows(other, weight, self);
    }
}

struct ScaledRows<F> {
    rows: usize,
    cols: usize,
    from: *const f64,
    weight: F,
    to: *mut f64,
}

impl<F: Fn(usize) -> f64> Job for ScaledRows<F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for i in 0..self.rows {
            // SAFETY: passed on to the caller.
            unsafe {
                let (from, to) = (self.from.add(i * self.cols), self.to.add(i * self.cols));
                let weight = L::splat((self.weight)(i));
                for j in (0..self.cols).step_by(L::N) {
                    let left = self.cols - j;
                    L::store_some(to.add(j), L::mul(weight, L::load_some(from.add(j), left)), left);
                }
            }
        }
    }
}

/// `A ← scale · (A − B) − x yᵀ` in the lower triangle of a square matrix, without B if there is none; entries near the
/// diagonal of the other half may be written too.
///
/// # Panics
/// If the sizes do not fit.
pub fn less_outer_lower(a: &mut Mat, scale: f64, b: Option<&Mat>, x: &[f64], y: &[f64]) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), x.len(), y.len()), "sizes must agree");
    assert!(b.is_none_or(|b| (b.rows(), b.cols()) == (m, m)), "sizes must agree");
    let (at, b) = (a.as_mut_slice().as_mut_ptr(), b.map(|b| (-scale, b.as_slice().as_ptr())));
    // SAFETY: the pointers cover M × M and M numbers, as just checked.
    unsafe { run(LowerSum { m, of_a: scale, a: at, b, outer: Some((-1.0, x, y)), out: at, stride: m }) }
}

/// `out = a · A + b · B` for symmetric matrices, of which the lower triangles are read.
///
/// # Panics
/// If the sizes do not fit.
pub fn combine_symmetric(of_a: f64, a: &Mat, of_b: f64, b: &Mat, out: &mut Mat) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), b.rows(), b.cols()), "sizes must agree");
    out.reshape(m, m);
    let (at, a, b) = (out.as_mut_slice().as_mut_ptr(), a.as_slice().as_ptr(), Some((of_b, b.as_slice().as_ptr())));
    // SAFETY: the pointers cover M × M numbers, as just checked.
    unsafe { run(LowerSum { m, of_a, a, b, outer: None, out: at, stride: m }) }
    mirror(out, Part::Lower);
}

/// `A ← A + scale · B` in the lower triangle of a square matrix; entries near the diagonal of the other half may be
/// written too.
///
/// # Panics
/// If the sizes do not fit.
pub fn add_scaled_lower(a: &mut Mat, scale: f64, b: &Mat) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), b.rows(), b.cols()), "sizes must agree");
    let (at, b) = (a.as_mut_slice().as_mut_ptr(), Some((scale, b.as_slice().as_ptr())));
    // SAFETY: the pointers cover M × M numbers, as just checked.
    unsafe { run(LowerSum { m, of_a: 1.0, a: at, b, outer: None, out: at, stride: m }) }
}

/// `out = A − B + x xᵀ` in the lower triangle of the first columns of a matrix; entries near the diagonal of the other
/// half may be written too.
///
/// # Panics
/// If the sizes do not fit.
pub fn sum_lower(a: &Mat, b: &Mat, x: &[f64], out: &mut Mat) {
    let (m, stride) = (a.rows(), out.cols());
    assert_eq!((m, m, m, m, m), (a.cols(), b.rows(), b.cols(), x.len(), out.rows()), "sizes must agree");
    assert!(m <= stride, "room for the square");
    let (a, b, out) = (a.as_slice().as_ptr(), Some((-1.0, b.as_slice().as_ptr())), out.as_mut_slice().as_mut_ptr());
    // SAFETY: the pointers cover M × M, M and M × stride numbers, as just checked.
    unsafe { run(LowerSum { m, of_a: 1.0, a, b, outer: Some((1.0, x, x)), out, stride }) }
}

/// The sum of multiples of A, of B and of an outer product, as far as there are such, in the lower triangle.
struct LowerSum<'a> {
    m: usize,
    of_a: f64,
    /// M × M.
    a: *const f64,
    /// M × M.
    b: Option<(f64, *const f64)>,
    outer: Option<(f64, &'a [f64], &'a [f64])>,
    /// Rows of M numbers and more, which may be those of A.
    out: *mut f64,
    stride: usize,
}

impl Job for LowerSum<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match (self.b.is_some(), self.outer.is_some()) {
                (false, false) => self.rows::<L, false, false>(),
                (true, false) => self.rows::<L, true, false>(),
                (false, true) => self.rows::<L, false, true>(),
                (true, true) => self.rows::<L, true, true>(),
            }
        }
    }
}

impl LowerSum<'_> {
    /// With B if `B`, and with an outer product if `O`.
    #[inline(always)]
    unsafe fn rows<L: Lanes, const B: bool, const O: bool>(&self) {
        let (of_b, b) = self.b.unwrap_or((0.0, self.a));
        let (of_outer, x, y) = self.outer.unwrap_or((0.0, &[], &[]));
        // SAFETY: passed on to the caller.
        unsafe {
            let (of_a, of_b) = (L::splat(self.of_a), L::splat(of_b));
            for i in 0..self.m {
                let x = L::splat(if O { of_outer * x[i] } else { 0.0 });
                let sum = |a: L::V, b: L::V, y: L::V| {
                    let sum = L::mul(of_a, a);
                    let sum = if B { L::mul_add(of_b, b, sum) } else { sum };
                    if O { L::mul_add(x, y, sum) } else { sum }
                };
                let (a, b, y, out) =
                    (self.a.add(i * self.m), b.add(i * self.m), y.as_ptr(), self.out.add(i * self.stride));
                // Whole vectors up to the last, which may reach beyond the row.
                let last = i / L::N * L::N;
                let mut j = 0;
                while j < last {
                    let y = if O { L::load(y.add(j)) } else { of_a };
                    L::store(out.add(j), sum(L::load(a.add(j)), if B { L::load(b.add(j)) } else { of_a }, y));
                    j += L::N;
                }
                let left = self.m - last;
                let y = if O { L::load_some(y.add(last), left) } else { of_a };
                let b = if B { L::load_some(b.add(last), left) } else { of_a };
                L::store_some(out.add(last), sum(L::load_some(a.add(last), left), b, y), left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_matrices::pseudo_random;
    use super::*;
    use crate::simd::forced::on_each;

    #[test]
    fn sums_with_outer_products_on_every_instruction_set() {
        on_each(|isa| {
            for m in [1, 3, 4, 8, 17, 50] {
                let (a, b) = (pseudo_random(m, m, 1), pseudo_random(m, m, 2));
                let (x, y) = (pseudo_random(1, m, 3), pseudo_random(1, m, 4));
                let (x, y) = (x.row(0), y.row(0));
                let (mut less, mut less_twice, mut sum) = (a.clone(), a.clone(), Mat::zeros(m, m + 3));
                let (mut less_both, mut combined) = (a.clone(), Mat::default());
                combine_symmetric(0.3, &a, -0.7, &b, &mut combined);
                less_outer_lower(&mut less_both, -2.0, Some(&b), x, y);
                add_scaled_lower(&mut less_twice, -2.0, &b);
                less_outer_lower(&mut less, -2.0, None, x, y);
                sum_lower(&a, &b, x, &mut sum);
                for (i, j) in (0..m).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    assert!((less[(i, j)] + 2.0 * a[(i, j)] + x[i] * y[j]).abs() < 1e-15, "{isa:?} {m}");
                    let expected = 0.3 * a[(i, j)] - 0.7 * b[(i, j)];
                    assert!((combined[(i, j)] - expected).abs() < 1e-15, "{isa:?} {m}");
                    assert_eq!(combined[(i, j)], combined[(j, i)], "{isa:?} {m}");
                    let expected = less[(i, j)] + 2.0 * b[(i, j)];
                    assert!((less_both[(i, j)] - expected).abs() < 1e-15, "{isa:?} {m}");
                    assert!((less_twice[(i, j)] - a[(i, j)] + 2.0 * b[(i, j)]).abs() < 1e-15, "{isa:?} {m}");
                    let expected = a[(i, j)] - b[(i, j)] + x[i] * x[j];
                    assert!((sum[(i, j)] - expected).abs() < 1e-15, "{isa:?} {m}");
                }
                assert!((0..m).all(|i| sum.row(i)[m..] == [0.0; 3]), "{isa:?} {m}: what is beyond the square stays");
            }
        });
    }

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
                    let mut sums = x.clone();
                    add_rows(&a, &mut sums);
                    for j in 0..cols {
                        let expected = x[j] + a.column(j).iter().sum::<f64>();
                        assert!((sums[j] - expected).abs() < 1e-13, "{isa:?} {rows} × {cols}");
                    }
                    let (weight, mut scaled) = (|i: usize| (i as f64).cos(), Mat::default());
                    scaled.set_scaled_rows(&a, weight);
                    let expected = Mat::from_fn(rows, cols, |i, j| weight(i) * a[(i, j)]);
                    assert_eq!(scaled, expected, "{isa:?} {rows} × {cols}");
                }
            }
        });
    }
}
