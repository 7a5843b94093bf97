//! A matrix and a number per row or column: dot products of many rows at a time, sums of rows, multiples of rows.

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

/// The sum of the rows of a matrix or a lower triangle, each times its number; without numbers, their sum added to what is there.
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
                    for (acc, row) in acc.iter_mut().zip(row) {
                        let (a, b) = (self.a.add(row * cols + j), self.b.add(row * self.b_stride + j));
                        *acc = L::mul_add(L::load_some(a, left), L::load_some(b, left), *acc);
                    }
                }
                out.iter_mut().zip(L::sum4(acc)).for_each(|(out, sum)| *out = sum);
            }
        }
    }
}

/// `to = diag(weight) · from`.
///
/// # Panics
/// If the shapes differ.
pub(super) fn scale_rows(from: &Mat, weight: impl Fn(usize) -> f64, to: &mut Mat) {
    let (rows, cols) = (from.rows(), from.cols());
    assert_eq!((rows, cols), (to.rows(), to.cols()), "shapes must agree");
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_slice().as_mut_ptr());
    // SAFETY: the pointers cover rows × cols numbers.
    unsafe { run(ScaledRows { rows, cols, from, weight, to }) }
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

/// `A ← scale · A − x yᵀ` in the lower triangle of a square matrix; entries near the diagonal of the other half may be written too.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn less_outer_lower(a: &mut Mat, scale: f64, x: &[f64], y: &[f64]) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), x.len(), y.len()), "sizes must agree");
    let at = a.as_mut_slice().as_mut_ptr();
    // SAFETY: the pointers cover M × M and M numbers, as just checked.
    unsafe {
        run(OuterSum { part: Part::Lower, m, of_a: scale, a: at, b: None, of_outer: -1.0, x, y, out: at, stride: m })
    }
}

/// `out = A − B + x xᵀ` in the upper triangle of the first columns of a matrix; entries near the diagonal of the other half may be written
/// too.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn sum_upper(a: &Mat, b: &Mat, x: &[f64], out: &mut Mat) {
    let (m, stride) = (a.rows(), out.cols());
    assert_eq!((m, m, m, m, m), (a.cols(), b.rows(), b.cols(), x.len(), out.rows()), "sizes must agree");
    assert!(m <= stride, "room for the square");
    let (a, b, out) = (a.as_slice().as_ptr(), Some(b.as_slice().as_ptr()), out.as_mut_slice().as_mut_ptr());
    // SAFETY: the pointers cover M × M, M and M × stride numbers, as just checked.
    unsafe { run(OuterSum { part: Part::Upper, m, of_a: 1.0, a, b, of_outer: 1.0, x, y: x, out, stride }) }
}

/// A multiple of A, less B if there is one, and a multiple of an outer product.
struct OuterSum<'a> {
    /// The triangle that is wanted.
    part: Part,
    m: usize,
    of_a: f64,
    /// M × M.
    a: *const f64,
    /// M × M.
    b: Option<*const f64>,
    of_outer: f64,
    x: &'a [f64],
    y: &'a [f64],
    /// Rows of M numbers and more, which may be those of A.
    out: *mut f64,
    stride: usize,
}

impl Job for OuterSum<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (m, y) = (self.m, self.y.as_ptr());
        for (i, x) in self.x.iter().enumerate() {
            let wanted = if self.part == Part::Lower { 0..i + 1 } else { i / L::N * L::N..m };
            // SAFETY: passed on to the caller.
            unsafe {
                let (of_a, x) = (L::splat(self.of_a), L::splat(self.of_outer * x));
                for j in wanted.step_by(L::N) {
                    let (at, left) = (i * m + j, m - j);
                    let mut sum = L::mul(x, L::load_some(y.add(j), left));
                    if let Some(b) = self.b {
                        sum = L::sub(sum, L::load_some(b.add(at), left));
                    }
                    sum = L::mul_add(of_a, L::load_some(self.a.add(at), left), sum);
                    L::store_some(self.out.add(i * self.stride + j), sum, left);
                }
            }
        }
    }
}

/// `out_n = Σ_d a_nd v_d + weight(n, d) b_d,n`: of D vectors (rows of V) and the n-th rows of D matrices, for A with D columns.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn mix_rows(a: &Mat, v: &Mat, b: &[Mat], weight: impl Fn(usize, usize) -> f64, out: &mut Mat) {
    let (rows, cols) = (a.rows(), v.cols());
    assert_eq!((a.cols(), v.rows()), (b.len(), b.len()), "sizes must agree");
    assert!(b.iter().all(|b| (b.rows(), b.cols()) == (rows, cols)), "sizes must agree");
    out.reshape(rows, cols);
    let out = out.as_mut_slice().as_mut_ptr();
    // SAFETY: the pointer covers rows × cols numbers, as do all of `b`, and `v` as many columns.
    unsafe { run(MixedRows { a, v, b, weight, out }) }
}

struct MixedRows<'a, F> {
    a: &'a Mat,
    v: &'a Mat,
    b: &'a [Mat],
    weight: F,
    out: *mut f64,
}

impl<F: Fn(usize, usize) -> f64> MixedRows<'_, F> {
    /// The terms from `d` on of row `i`, D of them; the first set the row, the others add to it.
    #[inline(always)]
    unsafe fn terms<L: Lanes, const D: usize>(&self, i: usize, d: usize) {
        let cols = self.v.cols();
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut v, mut b) = ([std::ptr::null(); D], [std::ptr::null(); D]);
            let mut weights = [(L::splat(0.0), L::splat(0.0)); D];
            for k in 0..D {
                (v[k], b[k]) = (self.v.row(d + k).as_ptr(), self.b[d + k].row(i).as_ptr());
                weights[k] = (L::splat(self.a[(i, d + k)]), L::splat((self.weight)(i, d + k)));
            }
            let out = self.out.add(i * cols);
            for j in (0..cols).step_by(L::N) {
                let left = cols - j;
                let mut sum = if d > 0 { L::load_some(out.add(j), left) } else { L::splat(0.0) };
                for k in 0..D {
                    let (of_v, of_b) = weights[k];
                    sum = L::mul_add(of_b, L::load_some(b[k].add(j), left), sum);
                    sum = L::mul_add(of_v, L::load_some(v[k].add(j), left), sum);
                }
                L::store_some(out.add(j), sum, left);
            }
        }
    }
}

impl<F: Fn(usize, usize) -> f64> Job for MixedRows<'_, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let terms = self.b.len();
        for i in 0..self.a.rows() {
            for d in (0..terms).step_by(2) {
                // SAFETY: passed on to the caller.
                unsafe { if d + 1 < terms { self.terms::<L, 2>(i, d) } else { self.terms::<L, 1>(i, d) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_matrices::{largest_difference, pseudo_random};
    use super::*;
    use crate::simd::forced::on_each;

    #[test]
    fn mixtures_of_rows_on_every_instruction_set() {
        on_each(|isa| {
            for (rows, cols, terms) in [(1, 1, 1), (3, 5, 2), (4, 8, 3), (9, 17, 1), (5, 50, 4)] {
                let (a, v) = (pseudo_random(rows, terms, 1), pseudo_random(terms, cols, 2));
                let b: Vec<Mat> = (0..terms).map(|d| pseudo_random(rows, cols, 3 + d as u64)).collect();
                let (weight, mut found) = (|n: usize, d: usize| (n as f64 - d as f64).cos(), Mat::default());
                mix_rows(&a, &v, &b, weight, &mut found);
                let expected = Mat::from_fn(rows, cols, |n, j| {
                    (0..terms).map(|d| a[(n, d)] * v[(d, j)] + weight(n, d) * b[d][(n, j)]).sum()
                });
                assert!(largest_difference(&found, &expected) < 1e-14, "{isa:?} {rows} × {cols}, {terms} terms");
            }
        });
    }

    #[test]
    fn sums_with_outer_products_on_every_instruction_set() {
        on_each(|isa| {
            for m in [1, 3, 4, 8, 17, 50] {
                let (a, b) = (pseudo_random(m, m, 1), pseudo_random(m, m, 2));
                let (x, y) = (pseudo_random(1, m, 3), pseudo_random(1, m, 4));
                let (x, y) = (x.row(0), y.row(0));
                let (mut lower, mut upper) = (a.clone(), Mat::zeros(m, m + 3));
                less_outer_lower(&mut lower, -2.0, x, y);
                sum_upper(&a, &b, x, &mut upper);
                for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
                    if j <= i {
                        assert!((lower[(i, j)] + 2.0 * a[(i, j)] + x[i] * y[j]).abs() < 1e-15, "{isa:?} {m}");
                    }
                    if j >= i {
                        let expected = a[(i, j)] - b[(i, j)] + x[i] * x[j];
                        assert!((upper[(i, j)] - expected).abs() < 1e-15, "{isa:?} {m}");
                    }
                }
                assert!((0..m).all(|i| upper.row(i)[m..] == [0.0; 3]), "{isa:?} {m}: what is beyond the square stays");
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
