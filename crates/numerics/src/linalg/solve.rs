//! Solutions with a Cholesky factor for many right-hand sides.
//!
//! Right-hand sides lie side by side in rows. The triangles of blocks of rows are inverted beforehand, so that only
//! products are applied to right-hand sides. All matrices are row-major.

use super::Mat;
use super::product::Part;
use super::tile::{Strided, accumulate, column_tiles, load, store, unit};
use crate::simd::{Job, Lanes, PAD, run};

/// K = UᵀU: U from [`cholesky_upper`](super::factor::cholesky_upper), and the inverses of the triangles on its
/// diagonal.
#[derive(Debug, Clone, Copy)]
pub struct Factored<'a> {
    /// M rows; what stands below the diagonal is not read.
    pub(super) u: &'a Mat,
    /// See [`invert_blocks`].
    pub(super) blocks: &'a [[f64; PAD]],
}

/// U_II⁻ᵀ for every block of rows, a row a vector.
pub(super) fn invert_blocks(u: &Mat, inv_diag: &[f64], blocks: &mut Vec<[f64; PAD]>) {
    let m = u.rows();
    assert!(m <= u.cols() && m == inv_diag.len(), "sizes must agree");
    blocks.resize(m, [0.0; PAD]);
    // SAFETY: there are M rows of at least M numbers, and M of the others.
    unsafe { run(Invert { u: u.as_slice().as_ptr(), stride: u.cols(), inv_diag, blocks }) }
}

impl Factored<'_> {
    /// X = K⁻¹ T for M × N matrices; if only a lower triangle is wanted, what stands above it has no meaning. Cost: 2
    /// M² N flops, 3/2 for a square of which half is wanted.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn solve(self, t: &Mat, wanted: Part, x: &mut Mat) {
        let (m, n) = (self.u.rows(), t.cols());
        assert_eq!((m, m), (t.rows(), self.blocks.len()), "sizes must agree");
        x.reshape(m, n);
        let (from, x) = (t.as_slice().as_ptr(), x.as_mut_slice().as_mut_ptr());
        // SAFETY: the pointers cover M × N numbers, as just checked.
        unsafe { run(Solve { factored: self, n, wanted, from, x }) }
    }

    /// x ← U⁻¹ x.
    ///
    /// # Panics
    /// If the sizes do not fit.
    pub fn solve_upper(self, x: &mut [f64]) {
        assert_eq!((self.u.rows(), self.u.rows()), (x.len(), self.blocks.len()), "sizes must agree");
        // SAFETY: there are as many numbers.
        unsafe { run(SolveUpper { factored: self, x }) }
    }
}

/// The start and height of each block of rows. A block has as many rows as a vector has lanes, but for up to three
/// shorter ones, which come first: there a lower triangle has least to do.
#[inline(always)]
fn blocks(m: usize, lanes: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    let rest = m % lanes;
    let short = [4, 2, 1].into_iter().filter(move |height| rest & height != 0);
    let short = short.map(move |height| (rest & !(2 * height - 1), height));
    short.chain((rest..m).step_by(lanes).map(move |i| (i, lanes)))
}

struct Invert<'a> {
    u: *const f64,
    stride: usize,
    inv_diag: &'a [f64],
    blocks: &'a mut [[f64; PAD]],
}

impl Job for Invert<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        for (i, height) in blocks(self.inv_diag.len(), L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                match height {
                    8 => self.block::<L, 8>(i),
                    4 => self.block::<L, 4>(i),
                    2 => self.block::<L, 2>(i),
                    _ => self.block::<L, 1>(i),
                }
            }
        }
    }
}

impl Invert<'_> {
    /// Forward substitution of the R rows of I from `i` on, inside registers.
    #[inline(always)]
    unsafe fn block<L: Lanes, const R: usize>(&mut self, i: usize) {
        const { assert!(L::N <= PAD) };
        // SAFETY: passed on to the caller.
        unsafe {
            let (u, mut rows) = (self.u.add(i * self.stride + i), [L::splat(0.0); R]);
            for r in 0..R {
                let mut row = unit::<L>(r);
                for s in 0..r {
                    row = L::neg_mul_add(L::splat(*u.add(s * self.stride + r)), rows[s], row);
                }
                rows[r] = L::mul(L::splat(self.inv_diag[i + r]), row);
                L::store(self.blocks[i + r].as_mut_ptr(), rows[r]);
            }
        }
    }
}

/// x ← U⁻¹ x: x_I ← U_II⁻¹ (x_I − Σ_{k>I} U_Ik x_k) from the last block to the first.
struct SolveUpper<'a> {
    factored: Factored<'a>,
    x: &'a mut [f64],
}

impl Job for SolveUpper<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { factored: Factored { u, blocks: inverses }, x } = self;
        let m = u.rows();
        for (i, height) in blocks(m, L::N).rev() {
            // SAFETY: passed on to the caller.
            unsafe {
                // Along the rows of U, so that a sum does not wait for the number before it.
                let (mut sums, end) = ([L::splat(0.0); PAD], i + height);
                for k in (end..m).step_by(L::N) {
                    let x = L::load_some(x.as_ptr().add(k), m - k);
                    for (r, sum) in sums.iter_mut().enumerate().take(height) {
                        let u = u.as_slice().as_ptr().add((i + r) * u.cols() + k);
                        *sum = L::mul_add(L::load_some(u, m - k), x, *sum);
                    }
                }
                let (at, mut right) = (x.as_mut_ptr().add(i), [0.0; PAD]);
                L::store(right.as_mut_ptr(), L::sub(L::load_some(at, height), L::fold(&sums[..L::N], 1)));
                let mut solved = L::splat(0.0);
                for s in 0..height {
                    solved = L::mul_add(L::splat(right[s]), L::load(inverses[i + s].as_ptr()), solved);
                }
                L::store_some(at, solved, height);
            }
        }
    }
}

/// X = U⁻¹ U⁻ᵀ T.
#[derive(Clone, Copy)]
struct Solve<'a> {
    factored: Factored<'a>,
    /// Columns.
    n: usize,
    wanted: Part,
    from: *const f64,
    x: *mut f64,
}

impl Job for Solve<'_> {
    type Output = ();

    /// X_I = U_II⁻ᵀ (T_I − Σ_{k<I} U_kIᵀ X_k) from the first block to the last, then X_I ← U_II⁻¹ (X_I − Σ_{k>I} U_Ik
    /// X_k) back.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let m = self.factored.u.rows();
        for (i, height) in blocks(m, L::N) {
            // SAFETY: passed on to the caller.
            unsafe { self.block::<L, false>(i, height) }
        }
        for (i, height) in blocks(m, L::N).rev() {
            // SAFETY: passed on to the caller.
            unsafe { self.block::<L, true>(i, height) }
        }
    }
}

impl Solve<'_> {
    /// A block of rows, with U if `UPPER` and else with Uᵀ.
    #[inline(always)]
    unsafe fn block<L: Lanes, const UPPER: bool>(&self, i: usize, height: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            match height {
                8 => self.rows::<L, 8, UPPER>(i),
                4 => self.rows::<L, 4, UPPER>(i),
                2 => self.rows::<L, 2, UPPER>(i),
                _ => self.rows::<L, 1, UPPER>(i),
            }
        }
    }

    #[inline(always)]
    unsafe fn rows<L: Lanes, const R: usize, const UPPER: bool>(&self, i: usize) {
        // The way up reads nothing to the right of what it writes, since rows reach the further the lower they are.
        let columns = if UPPER && self.wanted == Part::Lower { self.n.min(i + R) } else { self.n };
        for (j, vectors, tail) in column_tiles(0..columns, L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                match vectors {
                    1 => self.tile::<L, R, 1, UPPER>((i, j), tail),
                    2 => self.tile::<L, R, 2, UPPER>((i, j), tail),
                    _ => self.tile::<L, R, 3, UPPER>((i, j), tail),
                }
            }
        }
    }

    /// R rows × C vectors.
    #[inline(always)]
    unsafe fn tile<L: Lanes, const R: usize, const C: usize, const UPPER: bool>(
        &self,
        (i, j): (usize, usize),
        tail: usize,
    ) {
        let (Self { factored: Factored { u, blocks }, n, x, .. }, m) = (*self, self.factored.u.rows());
        let (at, stride) = (u.as_slice().as_ptr(), u.cols());
        // SAFETY: passed on to the caller.
        unsafe {
            let place = i * n + j;
            let mut acc = if UPPER {
                let (own, left) =
                    (load::<L, R, C>(x.add(place), n, tail), Strided::by_rows(at.add(i * stride), stride));
                accumulate::<L, R, C, true>(own, left, x.add(j), n, i + R..m, tail)
            } else {
                let (own, left) =
                    (load::<L, R, C>(self.from.add(place), n, tail), Strided::by_columns(at.add(i), stride));
                accumulate::<L, R, C, true>(own, left, x.add(j), n, 0..i, tail)
            };
            let inverse = blocks.as_ptr().add(i);
            for c in 0..C {
                multiply::<L, R, C, UPPER>(inverse, &mut acc, c);
            }
            store::<L, R, C>(acc, x.add(place), n, tail);
        }
    }
}

/// acc ← T acc, or Tᵀ acc if `UPPER`, for a lower triangular T, a row a vector: one vector of every row, number `c`.
#[inline(always)]
unsafe fn multiply<L: Lanes, const R: usize, const C: usize, const UPPER: bool>(
    t: *const [f64; PAD],
    acc: &mut [[L::V; C]; R],
    c: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut column = [L::splat(0.0); R];
        for r in 0..R {
            column[r] = acc[r][c];
        }
        for r in 0..R {
            let mut sum = L::mul(L::splat((*t.add(r))[r]), column[r]);
            for s in 0..R {
                if UPPER && s > r {
                    sum = L::mul_add(L::splat((*t.add(s))[r]), column[s], sum);
                } else if !UPPER && s < r {
                    sum = L::mul_add(L::splat((*t.add(r))[s]), column[s], sum);
                }
            }
            acc[r][c] = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::factor::cholesky_upper;
    use super::super::test_matrices::{largest_difference, masked, pseudo_random};
    use super::*;
    use crate::linalg::{Op, mul};
    use crate::simd::forced::on_each;

    #[test]
    fn solutions_on_every_instruction_set() {
        on_each(|isa| {
            for (m, n) in (1..=20).map(|m| (m, 3)).chain([(50, 50), (33, 64), (67, 1), (100, 26)]) {
                let root = pseudo_random(m, m + 3, 5);
                let mut k = Mat::default();
                mul(&mut k, &root, Op::Id, &root, Op::T);
                (0..m).for_each(|i| k[(i, i)] += 0.1);
                let (mut u, mut inv_diag, mut blocks) = (Mat::default(), Vec::new(), Vec::new());
                assert_eq!(cholesky_upper(&k, 1.0, 0.0, &mut u, &mut inv_diag), Ok(()));
                invert_blocks(&u, &inv_diag, &mut blocks);
                // What has no meaning must not be read.
                let u = Mat::from_fn(m, u.cols(), |i, j| if i <= j && j < m { u[(i, j)] } else { f64::NAN });
                let factored = Factored { u: &u, blocks: &blocks };
                let (t, mut x, mut found) = (pseudo_random(m, n, 7), Mat::default(), Mat::default());
                factored.solve(&t, Part::Full, &mut x);
                mul(&mut found, &k, Op::Id, &x, Op::Id);
                assert!(largest_difference(&found, &t) < 1e-12 * m as f64, "{isa:?} {m} × {n}");
                let mut lower = Mat::default();
                factored.solve(&t, Part::Lower, &mut lower);
                let largest = largest_difference(&masked(&lower, Part::Lower), &masked(&x, Part::Lower));
                assert_eq!(largest, 0.0, "{isa:?} {m} × {n}");
                let mut single = t.column(0);
                factored.solve_upper(&mut single);
                for i in 0..m {
                    let found: f64 = (i..m).map(|k| u[(i, k)] * single[k]).sum();
                    assert!((found - t[(i, 0)]).abs() < 1e-12 * m as f64, "{isa:?} {m}");
                }
            }
        });
    }
}
