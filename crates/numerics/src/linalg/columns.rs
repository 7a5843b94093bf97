//! Two matrices side by side, column by column: dot products of their columns, and mixtures with a weight for each.

use super::Mat;
use crate::simd::{Job, Lanes, run};

/// Vectors of sums that are in registers together.
const VECTORS: usize = 4;

/// `of_x = Aᵀ x` and `of_b = Σ_i a_in (b_in − share · a_in)` for every column n.
///
/// # Panics
/// If the sizes do not fit.
pub fn column_dots(a: &Mat, x: &[f64], (b, share): (&Mat, f64), of_x: &mut [f64], of_b: &mut [f64]) {
    let size = (a.rows(), a.cols());
    assert_eq!((size, size), ((b.rows(), b.cols()), (x.len(), of_x.len())), "sizes must agree");
    assert_eq!(size.1, of_b.len(), "sizes must agree");
    let (a, b) = (a.as_slice().as_ptr(), b.as_slice().as_ptr());
    let (of_x, of_b) = (of_x.as_mut_ptr(), of_b.as_mut_ptr());
    // SAFETY: the pointers cover as many numbers, as just checked.
    unsafe { run(ColumnDots { size, a, x, b, share, of_x, of_b }) }
}

struct ColumnDots<'a> {
    size: (usize, usize),
    a: *const f64,
    x: &'a [f64],
    b: *const f64,
    share: f64,
    of_x: *mut f64,
    of_b: *mut f64,
}

impl ColumnDots<'_> {
    /// C vectors of columns from `j` on.
    #[inline(always)]
    unsafe fn columns<L: Lanes, const C: usize>(&self, j: usize) {
        let (cols, left) = (self.size.1, self.size.1 - j);
        // SAFETY: passed on to the caller.
        unsafe {
            let (share, mut sums) = (L::splat(self.share), [[L::splat(0.0); C]; 2]);
            for (i, x) in self.x.iter().enumerate() {
                let (at, x) = (i * cols + j, L::splat(*x));
                for c in 0..C {
                    // Only the last vector may be a part of one.
                    let (at, left) = (at + c * L::N, if c + 1 == C { left - c * L::N } else { L::N });
                    let (a, b) = (L::load_some(self.a.add(at), left), L::load_some(self.b.add(at), left));
                    sums[0][c] = L::mul_add(x, a, sums[0][c]);
                    sums[1][c] = L::mul_add(a, L::neg_mul_add(share, a, b), sums[1][c]);
                }
            }
            for c in 0..C {
                let (at, left) = (j + c * L::N, left - c * L::N);
                L::store_some(self.of_x.add(at), sums[0][c], left);
                L::store_some(self.of_b.add(at), sums[1][c], left);
            }
        }
    }
}

impl Job for ColumnDots<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let cols = self.size.1;
        for j in (0..cols).step_by(VECTORS * L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                match (cols - j).div_ceil(L::N) {
                    1 => self.columns::<L, 1>(j),
                    2 => self.columns::<L, 2>(j),
                    3 => self.columns::<L, 3>(j),
                    _ => self.columns::<L, VECTORS>(j),
                }
            }
        }
    }
}

/// For every row i and column n, with rows p_d, q_d, r_d of `weights`,
///
/// ```text
/// out_in = Σ_d v_di p_dn + q_dn (b_d,in − share · t_in)          and then          b_d,in = r_dn t_in
/// ```
/// of D vectors (rows of V) and D matrices; `weights` has the rows of one d after those of another.
///
/// # Panics
/// If the sizes do not fit.
pub fn mix_columns(v: &Mat, t: &Mat, weights: &Mat, (b, share): (&mut [Mat], f64), out: &mut Mat) {
    let (rows, cols) = (t.rows(), t.cols());
    assert_eq!((v.rows(), v.cols()), (b.len(), rows), "sizes must agree");
    assert_eq!((weights.rows(), weights.cols()), (3 * b.len(), cols), "sizes must agree");
    assert!(b.iter().all(|b| (b.rows(), b.cols()) == (rows, cols)), "sizes must agree");
    out.reshape(rows, cols);
    let out = out.as_mut_slice().as_mut_ptr();
    // SAFETY: the pointer covers rows × cols numbers, as do `t` and all of `b`, and the others what was just checked.
    unsafe { run(MixedColumns { v, t, weights, b, share, out }) }
}

struct MixedColumns<'a> {
    v: &'a Mat,
    t: &'a Mat,
    weights: &'a Mat,
    b: &'a mut [Mat],
    share: f64,
    out: *mut f64,
}

impl MixedColumns<'_> {
    /// The terms from `d` on, D of them: they set the result if they are the FIRST, and else are added to it.
    #[inline(always)]
    unsafe fn terms<L: Lanes, const D: usize, const FIRST: bool>(&mut self, d: usize) {
        let cols = self.t.cols();
        let whole = cols / L::N * L::N;
        // SAFETY: passed on to the caller.
        unsafe {
            let mut row = MixedRow {
                share: L::splat(self.share),
                v: [L::splat(0.0); D],
                weights: std::array::from_fn(|k| std::array::from_fn(|of| self.weights.row(3 * (d + k) + of).as_ptr())),
                t: self.t.as_slice().as_ptr(),
                b: std::array::from_fn(|k| self.b[d + k].as_mut_slice().as_mut_ptr()),
                out: self.out,
            };
            for i in 0..self.t.rows() {
                for k in 0..D {
                    row.v[k] = L::splat(self.v[(d + k, i)]);
                }
                let mut j = 0;
                while j < whole {
                    row.vector::<L, FIRST, true>(j, L::N);
                    j += L::N;
                }
                if whole < cols {
                    row.vector::<L, FIRST, false>(whole, cols - whole);
                }
                (row.t, row.out) = (row.t.wrapping_add(cols), row.out.wrapping_add(cols));
                row.b = row.b.map(|b| b.wrapping_add(cols));
            }
        }
    }
}

/// A row of [`MixedColumns`].
struct MixedRow<V, const D: usize> {
    share: V,
    v: [V; D],
    /// Weights of v, of B and of T.
    weights: [[*const f64; 3]; D],
    t: *const f64,
    b: [*mut f64; D],
    out: *mut f64,
}

impl<V: Copy, const D: usize> MixedRow<V, D> {
    /// The columns from `j` on: a vector, which is whole if W.
    #[inline(always)]
    unsafe fn vector<L: Lanes<V = V>, const FIRST: bool, const W: bool>(&self, j: usize, left: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sum = if FIRST { L::splat(0.0) } else { load::<L, W>(self.out.add(j), left) };
            let t = load::<L, W>(self.t.add(j), left);
            for k in 0..D {
                let [of_v, of_b, of_t] = self.weights[k];
                let rest = L::neg_mul_add(self.share, t, load::<L, W>(self.b[k].add(j), left));
                sum = L::mul_add(load::<L, W>(of_b.add(j), left), rest, sum);
                sum = L::mul_add(load::<L, W>(of_v.add(j), left), self.v[k], sum);
                store::<L, W>(self.b[k].add(j), L::mul(load::<L, W>(of_t.add(j), left), t), left);
            }
            store::<L, W>(self.out.add(j), sum, left);
        }
    }
}

impl Job for MixedColumns<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let terms = self.b.len();
        for d in (0..terms).step_by(2) {
            // SAFETY: passed on to the caller.
            unsafe {
                match (d + 1 < terms, d == 0) {
                    (true, true) => self.terms::<L, 2, true>(d),
                    (true, false) => self.terms::<L, 2, false>(d),
                    (false, true) => self.terms::<L, 1, true>(d),
                    (false, false) => self.terms::<L, 1, false>(d),
                }
            }
        }
    }
}

/// Loads a vector, or only `left` lanes of it if not W.
#[inline(always)]
unsafe fn load<L: Lanes, const W: bool>(from: *const f64, left: usize) -> L::V {
    // SAFETY: passed on to the caller.
    unsafe { if W { L::load(from) } else { L::load_part(from, left) } }
}

/// Stores a vector, or only `left` lanes of it if not W.
#[inline(always)]
unsafe fn store<L: Lanes, const W: bool>(to: *mut f64, v: L::V, left: usize) {
    // SAFETY: passed on to the caller.
    unsafe { if W { L::store(to, v) } else { L::store_part(to, v, left) } }
}

#[cfg(test)]
mod tests {
    use super::super::test_matrices::{largest_difference, pseudo_random};
    use super::*;
    use crate::simd::forced::on_each;

    #[test]
    fn mixtures_of_columns_on_every_instruction_set() {
        on_each(|isa| {
            for (rows, cols, terms) in [(1, 1, 1), (3, 5, 2), (4, 8, 3), (9, 17, 1), (5, 50, 4)] {
                let (v, t) = (pseudo_random(terms, rows, 1), pseudo_random(rows, cols, 2));
                let b: Vec<Mat> = (0..terms).map(|d| pseudo_random(rows, cols, 3 + d as u64)).collect();
                let (weights, share) = (pseudo_random(3 * terms, cols, 9), 0.3);
                let (mut scaled, mut found) = (b.clone(), Mat::default());
                mix_columns(&v, &t, &weights, (&mut scaled, share), &mut found);
                let rest = |d: usize, i: usize, n: usize| b[d][(i, n)] - share * t[(i, n)];
                let term = |d: usize, i: usize, n: usize| {
                    weights[(3 * d, n)] * v[(d, i)] + weights[(3 * d + 1, n)] * rest(d, i, n)
                };
                let expected = Mat::from_fn(rows, cols, |i, n| (0..terms).map(|d| term(d, i, n)).sum());
                assert!(largest_difference(&found, &expected) < 1e-13, "{isa:?} {rows} × {cols}, {terms} terms");
                for (d, scaled) in scaled.iter().enumerate() {
                    let expected = Mat::from_fn(rows, cols, |i, n| weights[(3 * d + 2, n)] * t[(i, n)]);
                    assert_eq!(*scaled, expected, "{isa:?} {rows} × {cols}, term {d} of {terms}");
                }
                let (mut of_x, mut of_b) = (vec![0.0; cols], vec![0.0; cols]);
                column_dots(&t, v.row(0), (&b[0], share), &mut of_x, &mut of_b);
                for n in 0..cols {
                    let expected: f64 = (0..rows).map(|i| t[(i, n)] * v[(0, i)]).sum();
                    assert!((of_x[n] - expected).abs() < 1e-13, "{isa:?} {rows} × {cols}");
                    let expected: f64 = (0..rows).map(|i| t[(i, n)] * rest(0, i, n)).sum();
                    assert!((of_b[n] - expected).abs() < 1e-13, "{isa:?} {rows} × {cols}");
                }
            }
        });
    }
}
