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
    let (size, a) = ((a.rows(), a.cols()), a.as_slice().as_ptr());
    let job = RowDots { size, part, a, x: x.as_ptr(), out, more: None };
    // SAFETY: the pointers cover as many numbers, as just checked.
    unsafe { run(job) }
}

/// `of_x = A x` and `of_b = Σ_j a_ij b_ij` for every row i.
///
/// # Panics
/// If the sizes do not fit.
pub fn row_dots(a: &Mat, x: &[f64], b: &Mat, of_x: &mut [f64], of_b: &mut [f64]) {
    let size = (a.rows(), a.cols());
    assert_eq!((size, size), ((b.rows(), b.cols()), (of_x.len(), x.len())), "sizes must agree");
    assert_eq!(size.0, of_b.len(), "sizes must agree");
    let (a, x, b) = (a.as_slice().as_ptr(), x.as_ptr(), b.as_slice().as_ptr());
    // SAFETY: as above.
    unsafe { run(RowDots { size, part: Part::Full, a, x, out: of_x, more: Some((b, of_b)) }) }
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

/// The dot product of each row of A with x, and with the row of B, if there is one.
struct RowDots<'a> {
    size: (usize, usize),
    part: Part,
    a: *const f64,
    x: *const f64,
    out: &'a mut [f64],
    more: Option<(*const f64, &'a mut [f64])>,
}

impl RowDots<'_> {
    /// Those of rows from `i` on, as many as are summed together; beyond the last they are the last again.
    #[inline(always)]
    unsafe fn of<L: Lanes, const MORE: bool>(&self, i: usize, b: *const f64) -> [[f64; TOGETHER]; 2] {
        let (rows, cols) = self.size;
        let columns = match self.part {
            Part::Lower => 0..(i + TOGETHER).min(cols),
            Part::Upper => i.min(cols)..cols,
            Part::Full => 0..cols,
        };
        // SAFETY: passed on to the caller.
        unsafe {
            let row: [usize; TOGETHER] = std::array::from_fn(|r| (i + r).min(rows - 1));
            let mut acc = [[L::splat(0.0); TOGETHER]; 2];
            for j in columns.clone().step_by(L::N) {
                let left = columns.end - j;
                let x = L::load_some(self.x.add(j), left);
                for r in 0..TOGETHER {
                    let at = row[r] * cols + j;
                    let a = L::load_some(self.a.add(at), left);
                    acc[0][r] = L::mul_add(a, x, acc[0][r]);
                    if MORE {
                        acc[1][r] = L::mul_add(a, L::load_some(b.add(at), left), acc[1][r]);
                    }
                }
            }
            [L::sum4(acc[0]), if MORE { L::sum4(acc[1]) } else { [0.0; TOGETHER] }]
        }
    }
}

impl Job for RowDots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let mut more = self.more.take();
        for i in (0..self.size.0).step_by(TOGETHER) {
            let some = i..(i + TOGETHER).min(self.size.0);
            // SAFETY: passed on to the caller.
            let [of_x, of_b] = unsafe {
                match &more {
                    None => self.of::<L, false>(i, std::ptr::null()),
                    Some((b, _)) => self.of::<L, true>(i, *b),
                }
            };
            self.out[some.clone()].iter_mut().zip(of_x).for_each(|(out, sum)| *out = sum);
            if let Some((_, out)) = &mut more {
                out[some].iter_mut().zip(of_b).for_each(|(out, sum)| *out = sum);
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
    unsafe { run(LowerSum { m, of_a: scale, a: at, b: None, outer: Some((-1.0, x, y)), out: at, stride: m }) }
}

/// `A ← A − 2B` in the lower triangle of a square matrix; entries near the diagonal of the other half may be written too.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn less_twice_lower(a: &mut Mat, b: &Mat) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), b.rows(), b.cols()), "sizes must agree");
    let (at, b) = (a.as_mut_slice().as_mut_ptr(), Some((-2.0, b.as_slice().as_ptr())));
    // SAFETY: the pointers cover M × M numbers, as just checked.
    unsafe { run(LowerSum { m, of_a: 1.0, a: at, b, outer: None, out: at, stride: m }) }
}

/// `out = A − B + x xᵀ` in the lower triangle of the first columns of a matrix; entries near the diagonal of the other half may be written
/// too.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn sum_lower(a: &Mat, b: &Mat, x: &[f64], out: &mut Mat) {
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
        let m = self.m;
        for i in 0..m {
            // SAFETY: passed on to the caller.
            unsafe {
                let (of_a, b) = (L::splat(self.of_a), self.b.map(|(of_b, b)| (L::splat(of_b), b)));
                let outer = self.outer.map(|(of_outer, x, y)| (L::splat(of_outer * x[i]), y.as_ptr()));
                for j in (0..=i).step_by(L::N) {
                    let (at, left) = (i * m + j, m - j);
                    let mut sum = L::mul(of_a, L::load_some(self.a.add(at), left));
                    if let Some((of_b, b)) = b {
                        sum = L::mul_add(of_b, L::load_some(b.add(at), left), sum);
                    }
                    if let Some((x, y)) = outer {
                        sum = L::mul_add(x, L::load_some(y.add(j), left), sum);
                    }
                    L::store_some(self.out.add(i * self.stride + j), sum, left);
                }
            }
        }
    }
}

/// For every row n, with (p, q, r) the weights of n and d,
///
/// ```text
/// out_n = Σ_d p v_d + q b_d,n          and then          b_d,n = r t_n
/// ```
/// of D vectors (rows of V) and the rows of D matrices.
///
/// # Panics
/// If the sizes do not fit.
pub(crate) fn mix_rows(
    v: &Mat,
    t: &Mat,
    weights: impl Fn(usize, usize) -> (f64, f64, f64),
    b: &mut [Mat],
    out: &mut Mat,
) {
    let (rows, cols) = (t.rows(), t.cols());
    assert_eq!((v.rows(), v.cols()), (b.len(), cols), "sizes must agree");
    assert!(b.iter().all(|b| (b.rows(), b.cols()) == (rows, cols)), "sizes must agree");
    out.reshape(rows, cols);
    let out = out.as_mut_slice().as_mut_ptr();
    // SAFETY: the pointer covers rows × cols numbers, as do `t` and all of `b`, and `v` as many columns.
    unsafe { run(MixedRows { v, t, weights, b, out }) }
}

struct MixedRows<'a, F> {
    v: &'a Mat,
    t: &'a Mat,
    weights: F,
    b: &'a mut [Mat],
    out: *mut f64,
}

impl<F: Fn(usize, usize) -> (f64, f64, f64)> MixedRows<'_, F> {
    /// The terms from `d` on of row `i`, D of them; the first set the row, the others add to it.
    #[inline(always)]
    unsafe fn terms<L: Lanes, const D: usize>(&mut self, i: usize, d: usize) {
        let cols = self.v.cols();
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut v, mut b) = ([std::ptr::null(); D], [std::ptr::null_mut(); D]);
            let mut weights = [(L::splat(0.0), L::splat(0.0), L::splat(0.0)); D];
            for k in 0..D {
                (v[k], b[k]) = (self.v.row(d + k).as_ptr(), self.b[d + k].row_mut(i).as_mut_ptr());
                let (of_v, of_b, of_t) = (self.weights)(i, d + k);
                weights[k] = (L::splat(of_v), L::splat(of_b), L::splat(of_t));
            }
            let (t, out) = (self.t.row(i).as_ptr(), self.out.add(i * cols));
            for j in (0..cols).step_by(L::N) {
                let left = cols - j;
                let mut sum = if d > 0 { L::load_some(out.add(j), left) } else { L::splat(0.0) };
                let t = L::load_some(t.add(j), left);
                for k in 0..D {
                    let (of_v, of_b, of_t) = weights[k];
                    sum = L::mul_add(of_b, L::load_some(b[k].add(j), left), sum);
                    sum = L::mul_add(of_v, L::load_some(v[k].add(j), left), sum);
                    L::store_some(b[k].add(j), L::mul(of_t, t), left);
                }
                L::store_some(out.add(j), sum, left);
            }
        }
    }
}

impl<F: Fn(usize, usize) -> (f64, f64, f64)> Job for MixedRows<'_, F> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let terms = self.b.len();
        for i in 0..self.t.rows() {
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
                let (v, t) = (pseudo_random(terms, cols, 1), pseudo_random(rows, cols, 2));
                let b: Vec<Mat> = (0..terms).map(|d| pseudo_random(rows, cols, 3 + d as u64)).collect();
                let weights = |n: usize, d: usize| ((n + d) as f64, (n as f64 - d as f64).cos(), (n * d) as f64);
                let (mut scaled, mut found) = (b.clone(), Mat::default());
                mix_rows(&v, &t, weights, &mut scaled, &mut found);
                let expected = Mat::from_fn(rows, cols, |n, j| {
                    (0..terms).map(|d| weights(n, d).0 * v[(d, j)] + weights(n, d).1 * b[d][(n, j)]).sum()
                });
                assert!(largest_difference(&found, &expected) < 1e-13, "{isa:?} {rows} × {cols}, {terms} terms");
                for (d, scaled) in scaled.iter().enumerate() {
                    let expected = Mat::from_fn(rows, cols, |n, j| weights(n, d).2 * t[(n, j)]);
                    assert_eq!(*scaled, expected, "{isa:?} {rows} × {cols}, term {d} of {terms}");
                }
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
                let (mut less, mut less_twice, mut sum) = (a.clone(), a.clone(), Mat::zeros(m, m + 3));
                less_twice_lower(&mut less_twice, &b);
                less_outer_lower(&mut less, -2.0, x, y);
                sum_lower(&a, &b, x, &mut sum);
                for (i, j) in (0..m).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    assert!((less[(i, j)] + 2.0 * a[(i, j)] + x[i] * y[j]).abs() < 1e-15, "{isa:?} {m}");
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
                    let (mut of_x, mut of_b) = (vec![0.0; rows], vec![0.0; rows]);
                    row_dots(&a, &x, &a, &mut of_x, &mut of_b);
                    for i in 0..rows {
                        let expected: f64 = a.row(i).iter().map(|a| a * a).sum();
                        assert!((of_b[i] - expected).abs() < 1e-13, "{isa:?} {rows} × {cols}");
                        assert!((of_x[i] - found[i]).abs() < 1e-13, "{isa:?} {rows} × {cols}");
                    }
                }
            }
        });
    }
}
