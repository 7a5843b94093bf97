//! Cholesky factors and triangular solves on register tiles, by panels of rows.
//!
//! What a panel does to the rows below it is a product. All matrices are row-major.

use super::Mat;
use super::product::{Mode, Part, Product};
use super::tile::{Strided, accumulate, column_tiles, load, store, unit, zeros};
use crate::simd::{Job, Lanes, PAD, run, wide};
use std::ops::Range;

/// Rows of a tile of a factorisation.
const ROWS: usize = 4;
/// Rows of a panel; a matrix of up to [`ONE_PANEL`] rows is a single one.
const PANEL: usize = 48;
const ONE_PANEL: usize = 72;

/// Factors `scale · K + shift · I` = UᵀU: reads the upper triangle of `k`; `inv_diag` receives 1/U_ii.
///
/// `u` gets M rows that begin at cache lines: what is read soon after it was written should not straddle two. What
/// stands below the diagonal and beyond M has no meaning. Products of two entries are taken, so those that matter
/// should be larger than 1e-150; where they overflow a pivot fails. Cost: M³/3 flops.
///
/// # Errors
/// The first pivot that is not positive and finite; `u` is then partly filled.
///
/// # Panics
/// If the matrix is not square.
pub fn cholesky_upper(k: &Mat, scale: f64, shift: f64, u: &mut Mat, inv_diag: &mut Vec<f64>) -> Result<(), usize> {
    cholesky_solving(k, scale, shift, 0.0, u, inv_diag, None)
}

/// [`cholesky_upper`] that also solves Uᵀx = r in place, where one is given: as one more column of U this costs next to
/// nothing, and alone as much as a third of a factorisation at M = 50, since every entry waits for the last.
///
/// # Errors
/// The first pivot that is below `least_pivot`, or not positive and finite; `x` is then as it was.
///
/// # Panics
/// If the matrix is not square, or x has another length.
pub fn cholesky_solving(
    k: &Mat,
    scale: f64,
    shift: f64,
    least_pivot: f64,
    u: &mut Mat,
    inv_diag: &mut Vec<f64>,
    x: Option<&mut [f64]>,
) -> Result<(), usize> {
    let m = k.rows();
    assert!(m == k.cols() && x.as_ref().is_none_or(|x| x.len() == m), "the matrix must be square, and x fit it");
    let (stride, columns) = (row_of(m), m + usize::from(x.is_some()));
    u.reshape(m, stride);
    inv_diag.resize(m, 0.0);
    // The first panel reads K and x; later panels find their rows in U, already updated by the panels above.
    let right = x.as_ref().map(|x| x.as_ptr());
    let mut source = Source { k: k.as_slice().as_ptr(), stride: m, columns: m, scale, shift, right };
    for i in first_panel(m)..m {
        let from = i / PAD * PAD;
        let entries = u.row_mut(i)[from..m].iter_mut().zip(&k.row(i)[from..]);
        wide(|| entries.for_each(|(u, k)| *u = scale * k));
        u[(i, i)] += shift;
        if let Some(x) = &x {
            u[(i, m)] = x[i];
        }
    }
    let a = u.as_mut_slice().as_mut_ptr();
    for panel in panels(m) {
        let end = panel.end;
        // SAFETY: the pointers cover M rows and M numbers; the product reads the panel and writes rows below it.
        unsafe {
            let inv_diag = inv_diag.as_mut_ptr();
            run(Factor { source, a, stride, inv_diag, least_pivot, columns, panel: panel.clone() })?;
            source = Source { k: a, stride, columns, scale: 1.0, shift: 0.0, right: None };
            // A −= Uᵀ U for the rows below.
            let u = a.add(panel.start * stride + end);
            Product {
                a: Strided::by_columns(u, stride),
                a_part: Part::Full,
                b: u,
                b_stride: stride,
                b_part: Part::Full,
                out: a.add(end * stride + end),
                out_stride: stride,
                size: (m - end, columns - end, panel.len()),
                part: Part::Upper,
                mode: Mode::Subtract,
            }
            .run();
        }
    }
    if let Some(x) = x {
        x.iter_mut().zip(u.as_slice().chunks_exact(stride)).for_each(|(x, row)| *x = row[m]);
    }
    Ok(())
}

/// Whether 1/U_ii is that of a pivot U_ii² which is positive and finite, and not below `least`.
#[inline(always)]
fn is_pivot(inv: f64, least: f64) -> bool {
    // An infinite inverse does not pass, whatever `least` is.
    inv > 0.0 && inv * (inv * least) <= 1.0
}

/// Numbers in a row of U, which has room for one more column: whole cache lines, but not pages, whose beginnings would
/// compete for the same places in the cache.
fn row_of(m: usize) -> usize {
    const LINE: usize = 8;
    const PAGE: usize = 512;
    let lines = (m + 1).next_multiple_of(LINE);
    if lines.is_multiple_of(PAGE) { lines + LINE } else { lines }
}

/// Rows of the first panel of an M × M matrix.
fn first_panel(m: usize) -> usize {
    if m <= ONE_PANEL { m } else { PANEL }
}

/// The rows of an M × M matrix in panels.
fn panels(m: usize) -> impl Iterator<Item = Range<usize>> {
    let height = first_panel(m);
    let mut start = 0;
    std::iter::from_fn(move || {
        let panel = start..(start + height).min(m);
        start = panel.end;
        (!panel.is_empty()).then_some(panel)
    })
}

/// A lower triangular right-hand side.
#[derive(Debug, Clone, Copy)]
pub enum Right<'a> {
    /// I.
    Identity,
    /// A matrix with zeros above its diagonal.
    Lower(&'a Mat),
}

/// Solves UᵀX = R for a lower triangular right-hand side, with U and `inv_diag` from [`cholesky_upper`].
///
/// What stands below the diagonal of U is not read. `x` must be lower triangular, or of another shape. Cost: M³/3
/// flops. With R = I this gives L⁻¹, L = Uᵀ.
///
/// # Panics
/// If the sizes differ.
pub fn solve_lower(u: &Mat, inv_diag: &[f64], right: Right<'_>, x: &mut Mat) {
    let (m, stride) = (u.rows(), u.cols());
    assert_eq!((row_of(m), m), (stride, inv_diag.len()), "sizes must agree");
    if (x.rows(), x.cols()) != (m, m) {
        x.reset(m, m);
    }
    // As in the factorisation, the first panel takes its rows from R, the others find theirs in the place of X.
    let mut source = match right {
        Right::Identity => None,
        Right::Lower(r) => {
            assert_eq!((m, m), (r.rows(), r.cols()), "sizes must agree");
            Some(r.as_slice().as_ptr())
        }
    };
    for i in first_panel(m)..m {
        let row = &mut x.row_mut(i)[..=i];
        match right {
            Right::Identity => {
                row.fill(0.0);
                row[i] = 1.0;
            }
            Right::Lower(r) => row.copy_from_slice(&r.row(i)[..=i]),
        }
    }
    let (u, inv_diag, x) = (u.as_slice().as_ptr(), inv_diag.as_ptr(), x.as_mut_slice().as_mut_ptr());
    for panel in panels(m) {
        let end = panel.end;
        // SAFETY: the pointers cover M × M and M numbers; the product reads rows of the panel and writes rows below it.
        unsafe {
            run(Solve { u, stride, inv_diag, source, x, m, panel: panel.clone() });
            source = Some(x);
            // R −= Uᵀ X for the rows below.
            Product {
                a: Strided::by_columns(u.add(panel.start * stride + end), stride),
                a_part: Part::Full,
                b: x.add(panel.start * m),
                b_stride: m,
                b_part: Part::Full,
                out: x.add(end * m),
                out_stride: m,
                size: (m - end, end, panel.len()),
                part: Part::Full,
                mode: Mode::Subtract,
            }
            .run();
        }
    }
}

/// Calls the given code with constants R and C equal to `rows` (1 to 4) and `vectors` (1 to 3).
macro_rules! with_tile {
    ($rows:expr, $vectors:expr, $call:ident ! ( $($arg:tt)* )) => {
        match ($rows, $vectors) {
            (1, 1) => $call!(1, 1, $($arg)*),
            (1, 2) => $call!(1, 2, $($arg)*),
            (1, _) => $call!(1, 3, $($arg)*),
            (2, 1) => $call!(2, 1, $($arg)*),
            (2, 2) => $call!(2, 2, $($arg)*),
            (2, _) => $call!(2, 3, $($arg)*),
            (3, 1) => $call!(3, 1, $($arg)*),
            (3, 2) => $call!(3, 2, $($arg)*),
            (3, _) => $call!(3, 3, $($arg)*),
            (_, 1) => $call!(4, 1, $($arg)*),
            (_, 2) => $call!(4, 2, $($arg)*),
            (_, _) => $call!(4, 3, $($arg)*),
        }
    };
}

/// Forward substitution of R rows inside registers: rows of UᵀX = acc, U's diagonal block at `u` (R × R).
#[inline(always)]
unsafe fn substitute<L: Lanes, const R: usize, const C: usize>(
    acc: &mut [[L::V; C]; R],
    u: *const f64,
    stride: usize,
    inv_diag: *const f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for r in 0..R {
            for s in 0..r {
                let u_sr = L::splat(*u.add(s * stride + r));
                for c in 0..C {
                    acc[r][c] = L::neg_mul_add(u_sr, acc[s][c], acc[r][c]);
                }
            }
            let inv = L::splat(*inv_diag.add(r));
            for c in 0..C {
                acc[r][c] = L::mul(acc[r][c], inv);
            }
        }
    }
}

/// `scale · K + shift · I`, of which a factorisation reads the upper triangle, and what stands to the right of it.
#[derive(Clone, Copy)]
struct Source {
    k: *const f64,
    stride: usize,
    columns: usize,
    scale: f64,
    shift: f64,
    /// One more column, of which K has nothing.
    right: Option<*const f64>,
}

impl Source {
    /// R × C vectors of it from row `i` and column `j` on. Where i = j, the diagonal is in the first vector.
    #[inline(always)]
    unsafe fn tile<L: Lanes, const R: usize, const C: usize>(self, (i, j): (usize, usize)) -> [[L::V; C]; R] {
        const { assert!(R <= L::N) };
        // Of the last vector.
        let lanes = self.columns - (j + (C - 1) * L::N);
        // SAFETY: passed on to the caller.
        unsafe {
            let (scale, mut out) = (L::splat(self.scale), zeros::<L, R, C>());
            for (r, row) in out.iter_mut().enumerate() {
                for (c, v) in row.iter_mut().enumerate() {
                    let at = self.k.add((i + r) * self.stride + j + c * L::N);
                    let is_last = c + 1 == C;
                    let mut entries = L::mul(scale, if is_last { L::load_some(at, lanes) } else { L::load(at) });
                    if i == j && c == 0 {
                        entries = L::mul_add(L::splat(self.shift), unit::<L>(r), entries);
                    }
                    if let Some(right) = self.right
                        && is_last
                        && lanes < L::N
                    {
                        entries = L::mul_add(L::splat(*right.add(i + r)), unit::<L>(lanes), entries);
                    }
                    *v = entries;
                }
            }
            out
        }
    }
}

/// Factors the rows of a panel, given that the rows above have been subtracted.
struct Factor {
    source: Source,
    a: *mut f64,
    stride: usize,
    inv_diag: *mut f64,
    least_pivot: f64,
    /// M, and one if there is something to be solved.
    columns: usize,
    panel: Range<usize>,
}

impl Job for Factor {
    /// The first pivot that will not do.
    type Output = Result<(), usize>;

    /// Row block I of U: U_I = U_II⁻ᵀ (A_I − Σ_{k<I} U_kIᵀ U_k), columns from I on, k in the panel.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> Result<(), usize> {
        let Factor { source, a, stride, inv_diag, least_pivot, columns, panel } = self;
        for i in panel.clone().step_by(ROWS) {
            let height = ROWS.min(panel.end - i);
            let mut pivots = Pivots::default();
            for (tile, (j, vectors, tail)) in column_tiles(i..columns, L::N).enumerate() {
                macro_rules! tile {
                    ($r:literal, $c:literal, ) => {
                        // SAFETY: all pointers stay inside the matrix of M rows and the M diagonal entries.
                        unsafe {
                            let (left, own) = (Strided::by_columns(a.add(i), stride), source.tile::<L, $r, $c>((i, j)));
                            let (above, to) = (panel.start..i, a.add(i * stride + j));
                            let mut acc = accumulate::<L, $r, $c, true>(own, left, a.add(j), stride, above, tail);
                            if tile == 0 {
                                // The block on the diagonal: its pivots are found by scalars before its rows are
                                // solved.
                                pivots = Pivots::of::<L, $r>(acc.map(|row| row[0]));
                                (0..$r).for_each(|r| *inv_diag.add(i + r) = pivots.inv_root[r]);
                            }
                            pivots.solve::<L, $r, $c>(&mut acc);
                            store::<L, $r, $c>(acc, to, stride, tail);
                        }
                    };
                }
                with_tile!(height, vectors, tile!());
            }
        }
        // After a pivot that will not do whatever follows has no meaning, but nothing else happens: one look is enough.
        // SAFETY: as above.
        let fails = |i: &usize| !is_pivot(unsafe { *inv_diag.add(*i) }, least_pivot);
        if panel.clone().fold(false, |any, i| any | fails(&i)) {
            return Err(panel.clone().find(fails).unwrap_or(panel.start));
        }
        Ok(())
    }
}

/// A block on the diagonal, factored as VᵀDV with ones on the diagonal of V: a pivot then waits for a division of the
/// last, not for its root, and rows that are solved do not wait for roots until they are done.
#[derive(Default)]
struct Pivots {
    /// V, above its diagonal.
    share: [[f64; ROWS]; ROWS],
    /// 1/√D.
    inv_root: [f64; ROWS],
}

impl Pivots {
    /// The factor of the block in the first lanes of R vectors, of which the upper triangle is read.
    #[inline(always)]
    unsafe fn of<L: Lanes, const R: usize>(rows: [L::V; R]) -> Self {
        const { assert!(R <= L::N && L::N <= PAD) };
        let (mut out, mut block) = (Self::default(), [[0.0; PAD]; R]);
        // SAFETY: passed on to the caller.
        unsafe {
            for r in 0..R {
                L::store(block[r].as_mut_ptr(), rows[r]);
            }
            for r in 0..R {
                let inverse = 1.0 / block[r][r];
                for s in r + 1..R {
                    for c in s..R {
                        // Not (u_rs/d) u_rc: the product does not wait for the division.
                        block[s][c] = L::neg_mul_add_1(block[r][s] * block[r][c], inverse, block[s][c]);
                    }
                    out.share[r][s] = block[r][s] * inverse;
                }
            }
        }
        (0..R).for_each(|r| out.inv_root[r] = 1.0 / block[r][r].sqrt());
        out
    }

    /// Rows of (VᵀD^½)⁻¹ acc, inside registers.
    #[inline(always)]
    unsafe fn solve<L: Lanes, const R: usize, const C: usize>(&self, acc: &mut [[L::V; C]; R]) {
        // SAFETY: passed on to the caller.
        unsafe {
            for r in 0..R {
                for s in r + 1..R {
                    let share = L::splat(self.share[r][s]);
                    for c in 0..C {
                        acc[s][c] = L::neg_mul_add(share, acc[r][c], acc[s][c]);
                    }
                }
            }
            for (row, inv_root) in acc.iter_mut().zip(&self.inv_root) {
                let inv_root = L::splat(*inv_root);
                row.iter_mut().for_each(|v| *v = L::mul(*v, inv_root));
            }
        }
    }
}

/// R × C vectors of I from row `i` and column `j` on.
#[inline(always)]
unsafe fn identity<L: Lanes, const R: usize, const C: usize>((i, j): (usize, usize)) -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut out = zeros::<L, R, C>();
        for c in 0..C {
            // The rows of a block have their ones in the same vector.
            let lane = i.wrapping_sub(j + c * L::N);
            for r in (0..R).filter(|_| lane < L::N) {
                out[r][c] = unit::<L>(lane + r);
            }
        }
        out
    }
}

/// Solves the rows of a panel, given that the rows above have been subtracted.
struct Solve {
    u: *const f64,
    stride: usize,
    inv_diag: *const f64,
    /// R; none is I.
    source: Option<*const f64>,
    x: *mut f64,
    m: usize,
    panel: Range<usize>,
}

impl Job for Solve {
    type Output = ();

    /// Row block I of X: X_I = U_II⁻ᵀ (R_I − Σ_{k<I} U_kIᵀ X_k), columns up to I, k in the panel; X_kj has entries for
    /// k ≥ j.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        const { assert!(L::N.is_multiple_of(ROWS)) };
        let Solve { u, stride, inv_diag, source, x, m, panel } = self;
        for i in panel.clone().step_by(ROWS) {
            let height = ROWS.min(panel.end - i);
            for (j, vectors, tail) in column_tiles(0..i + height, L::N) {
                macro_rules! tile {
                    ($r:literal, $c:literal, ) => {
                        // SAFETY: all pointers stay inside the matrices that `solve_lower` checked.
                        unsafe {
                            let left = Strided::by_columns(u.add(i), stride);
                            let own = match source {
                                Some(source) => load::<L, $r, $c>(source.add(i * m + j), m, tail),
                                None => identity::<L, $r, $c>((i, j)),
                            };
                            let above = j.min(i).max(panel.start)..i;
                            let mut acc = accumulate::<L, $r, $c, true>(own, left, x.add(j), m, above, tail);
                            substitute::<L, $r, $c>(&mut acc, u.add(i * stride + i), stride, inv_diag.add(i));
                            store::<L, $r, $c>(acc, x.add(i * m + j), m, tail);
                        }
                    };
                }
                with_tile!(height, vectors, tile!());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_matrices::{largest_difference, masked, pseudo_random};
    use super::*;
    use crate::linalg::{Op, mul};
    use crate::simd::forced::on_each;

    #[test]
    fn factor_and_inverse_rebuild_the_matrix() {
        on_each(|_| check_factor_and_inverse_rebuild_the_matrix());
    }

    fn check_factor_and_inverse_rebuild_the_matrix() {
        for m in (1..=100).chain([129, 200]) {
            let root = pseudo_random(m, m + 3, 5);
            let mut a = Mat::default();
            mul(&mut a, &root, Op::Id, &root, Op::T);
            (0..m).for_each(|i| a[(i, i)] += 0.1);
            let half = Mat::from_fn(m, m, |i, j| 0.5 * if i == j { a[(i, i)] - 3.0 } else { a[(i, j)] });
            let (mut u, mut inv_diag) = (Mat::default(), Vec::new());
            assert_eq!(cholesky_upper(&half, 2.0, 3.0, &mut u, &mut inv_diag), Ok(()), "{m}");
            // What has no meaning must not be read.
            let given = Mat::from_fn(m, u.cols(), |i, j| if i <= j && j < m { u[(i, j)] } else { f64::NAN });
            let u = Mat::from_fn(m, m, |i, j| if i <= j { u[(i, j)] } else { 0.0 });
            let mut rebuilt = Mat::default();
            mul(&mut rebuilt, &u, Op::T, &u, Op::Id);
            assert!(largest_difference(&rebuilt, &a) < 1e-12, "{m}");
            for right in [Mat::identity(m, m), masked(&a, Part::Lower)] {
                let (mut x, mut found) = (Mat::default(), Mat::default());
                solve_lower(&given, &inv_diag, Right::Lower(&right), &mut x);
                mul(&mut found, &u, Op::T, &x, Op::Id);
                assert!(largest_difference(&found, &right) < 1e-12 * m as f64, "{m}");
            }
            let mut x = a.row(0).to_vec();
            let (mut u_again, mut inv_diag_again) = (Mat::default(), Vec::new());
            let again = cholesky_solving(&half, 2.0, 3.0, 0.0, &mut u_again, &mut inv_diag_again, Some(&mut x));
            assert_eq!((again, &inv_diag_again), (Ok(()), &inv_diag), "{m}");
            for i in 0..m {
                let found: f64 = (0..=i).map(|k| u[(k, i)] * x[k]).sum();
                assert!((found - a[(0, i)]).abs() < 1e-12 * m as f64, "{m}");
            }
            let (mut l_inv, mut solved) = (Mat::default(), Mat::default());
            solve_lower(&given, &inv_diag, Right::Identity, &mut l_inv);
            solve_lower(&given, &inv_diag, Right::Lower(&Mat::identity(m, m)), &mut solved);
            assert_eq!(l_inv, solved, "{m}");
        }
    }

    #[test]
    fn the_failing_pivot_is_named() {
        on_each(|_| check_the_failing_pivot_is_named());
    }

    fn check_the_failing_pivot_is_named() {
        for (bad, m) in [(0, 10), (3, 10), (4, 10), (9, 10), (50, 100), (99, 100)] {
            let mut a = Mat::identity(m, m);
            a[(bad, bad)] = -1.0;
            assert_eq!(cholesky_upper(&a, 1.0, 0.0, &mut Mat::default(), &mut Vec::new()), Err(bad));
            a[(bad, bad)] = 0.3;
            for (least, expected) in [(0.31, Err(bad)), (0.29, Ok(()))] {
                let mut x = vec![1.0; m];
                let found = cholesky_solving(&a, 1.0, 0.0, least, &mut Mat::default(), &mut Vec::new(), Some(&mut x));
                assert_eq!(found, expected, "{bad} of {m}, at least {least}");
                assert!(found.is_ok() || x == vec![1.0; m], "what is to be solved is as it was");
            }
            let mut a = Mat::identity(m, m);
            a[(bad, bad)] = f64::NAN;
            assert_eq!(cholesky_upper(&a, 1.0, 0.0, &mut Mat::default(), &mut Vec::new()), Err(bad));
        }
    }
}
