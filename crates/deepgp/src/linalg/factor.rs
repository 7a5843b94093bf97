//! Cholesky factors and triangular solves on register tiles, by panels of rows: what a panel does to the rows below it is a
//! product. All matrices are row-major.

use super::Mat;
use super::product::{Mode, Part, Product};
use super::tile::{Strided, accumulate, column_tiles, combine, store, zeros};
use crate::simd::{Job, Lanes, PAD, run, wide};
use std::ops::Range;

/// Rows of a tile of a factorisation.
const ROWS: usize = 4;
/// Rows of a panel; a matrix of up to [`ONE_PANEL`] rows is a single one.
const PANEL: usize = 48;
const ONE_PANEL: usize = 72;

/// Factors `scale · K + shift · I` = UᵀU: reads the upper triangle of `k`; `inv_diag` receives 1/U_ii.
///
/// What stands below the diagonal of `u` has no meaning. Cost: M³/3 flops.
///
/// # Errors
/// The first pivot that is not positive and finite; `u` is then partly filled.
///
/// # Panics
/// If the matrix is not square.
pub fn cholesky_upper(k: &Mat, scale: f64, shift: f64, u: &mut Mat, inv_diag: &mut Vec<f64>) -> Result<(), usize> {
    let m = k.rows();
    assert_eq!(m, k.cols(), "the matrix must be square");
    u.reshape(m, m);
    inv_diag.resize(m, 0.0);
    // The first panel takes its rows from K, the others find theirs, less what those above them do, in the place of U.
    let mut source = Source { k: k.as_slice().as_ptr(), scale, shift };
    for i in panels(m).next().map_or(0, |first| first.end)..m {
        let from = i / PAD * PAD;
        let entries = u.row_mut(i)[from..].iter_mut().zip(&k.row(i)[from..]);
        wide(|| entries.for_each(|(u, k)| *u = scale * k));
        u[(i, i)] += shift;
    }
    let (a, inv_diag) = (u.as_mut_slice().as_mut_ptr(), inv_diag.as_mut_ptr());
    for panel in panels(m) {
        let end = panel.end;
        // SAFETY: the pointers cover M × M and M numbers; the product reads the panel and writes rows below it.
        unsafe {
            run(Factor { source, a, inv_diag, m, panel: panel.clone() })?;
            source = Source { k: a, scale: 1.0, shift: 0.0 };
            // A −= Uᵀ U for the rows below.
            let u = a.add(panel.start * m + end);
            Product {
                a: Strided { data: u, row: 1, inner: m },
                a_part: Part::Full,
                b: u,
                b_stride: m,
                b_part: Part::Full,
                out: a.add(end * m + end),
                out_stride: m,
                size: (m - end, m - end, panel.len()),
                part: Part::Upper,
                mode: Mode::Subtract,
            }
            .run();
        }
    }
    Ok(())
}

/// The rows of an M × M matrix in panels.
fn panels(m: usize) -> impl Iterator<Item = Range<usize>> {
    let height = if m <= ONE_PANEL { m.max(1) } else { PANEL };
    (0..m).step_by(height).map(move |start| start..(start + height).min(m))
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
/// What stands below the diagonal of U is not read. `x` must be lower triangular, or of another shape. Cost: M³/3 flops.
/// With R = I this gives L⁻¹, L = Uᵀ.
///
/// # Panics
/// If the sizes differ.
pub fn solve_lower(u: &Mat, inv_diag: &[f64], right: Right<'_>, x: &mut Mat) {
    let m = u.rows();
    assert_eq!((m, m), (u.cols(), inv_diag.len()), "sizes must agree");
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
    for i in panels(m).next().map_or(0, |first| first.end)..m {
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
            run(Solve { u, inv_diag, source, x, m, panel: panel.clone() });
            source = Some(x);
            // R −= Uᵀ X for the rows below.
            Product {
                a: Strided { data: u.add(panel.start * m + end), row: 1, inner: m },
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

/// Solves Uᵀx = r in place, with U and `inv_diag` from [`cholesky_upper`]. Cost: M² flops.
///
/// # Panics
/// If the sizes differ.
pub fn solve_vector(u: &Mat, inv_diag: &[f64], x: &mut [f64]) {
    let m = u.rows();
    assert_eq!((m, m, m), (u.cols(), inv_diag.len(), x.len()), "sizes must agree");
    // SAFETY: the pointers cover M × M and M numbers, as just checked.
    unsafe { run(Substitution { u: u.as_slice().as_ptr(), inv_diag: inv_diag.as_ptr(), x: x.as_mut_ptr(), m }) }
}

/// Forward substitution of a vector: what is found of it is taken off the rest, a row of U at a time.
struct Substitution {
    u: *const f64,
    inv_diag: *const f64,
    x: *mut f64,
    m: usize,
}

impl Job for Substitution {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { u, inv_diag, x, m } = self;
        for i in 0..m {
            // SAFETY: passed on to the caller.
            unsafe {
                let found = *x.add(i) * *inv_diag.add(i);
                *x.add(i) = found;
                let found = L::splat(found);
                for j in (i + 1..m).step_by(L::N) {
                    let (u, x, left) = (u.add(i * m + j), x.add(j), m - j);
                    L::store_some(x, L::neg_mul_add(found, L::load_some(u, left), L::load_some(x, left)), left);
                }
            }
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

/// Forward substitution of R rows inside registers: rows of UᵀX = acc, U's diagonal block at `u` (R × R, stride m).
#[inline(always)]
unsafe fn substitute<L: Lanes, const R: usize, const C: usize>(
    acc: &mut [[L::V; C]; R],
    u: *const f64,
    m: usize,
    inv_diag: *const f64,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for r in 0..R {
            for s in 0..r {
                let u_sr = L::splat(*u.add(s * m + r));
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

/// 1 in the given lane, 0 in the others.
#[inline(always)]
unsafe fn unit<L: Lanes>(lane: usize) -> L::V {
    const { assert!(L::N <= PAD) };
    static UNIT: [f64; 2 * PAD] = {
        let mut numbers = [0.0; 2 * PAD];
        numbers[PAD] = 1.0;
        numbers
    };
    // SAFETY: passed on to the caller; `lane` is less than the length of a vector, and that at most PAD.
    unsafe { L::load(UNIT.as_ptr().add(PAD - lane)) }
}

/// `scale · K + shift · I`, of which a factorisation reads the upper triangle.
#[derive(Clone, Copy)]
struct Source {
    k: *const f64,
    scale: f64,
    shift: f64,
}

impl Source {
    /// acc ← these entries less acc, R × C vectors from row `i` and column `j` on. Where i = j, the diagonal is in the first
    /// vector.
    #[inline(always)]
    unsafe fn less<L: Lanes, const R: usize, const C: usize>(
        self,
        acc: &mut [[L::V; C]; R],
        (i, j, m): (usize, usize, usize),
        tail: usize,
    ) {
        const { assert!(R <= L::N) };
        // SAFETY: passed on to the caller.
        unsafe {
            let scale = L::splat(self.scale);
            combine::<L, R, C>(acc, self.k.add(i * m + j), m, tail, |(r, c), old, new| {
                let mut entries = L::mul(scale, old);
                if i == j && c == 0 {
                    entries = L::mul_add(L::splat(self.shift), unit::<L>(r), entries);
                }
                L::sub(entries, new)
            });
        }
    }
}

/// Factors the rows of a panel, given that the rows above have been subtracted.
struct Factor {
    source: Source,
    a: *mut f64,
    inv_diag: *mut f64,
    m: usize,
    panel: Range<usize>,
}

impl Job for Factor {
    type Output = Result<(), usize>;

    /// Row block I of U: U_I = U_II⁻ᵀ (A_I − Σ_{k<I} U_kIᵀ U_k), columns from I on, k in the panel.
    #[inline(always)]
    unsafe fn run<L: Lanes>(self) -> Result<(), usize> {
        let Factor { source, a, inv_diag, m, panel } = self;
        for i in panel.clone().step_by(ROWS) {
            let height = ROWS.min(panel.end - i);
            for (tile, (j, vectors, tail)) in column_tiles(i..m, L::N).enumerate() {
                macro_rules! tile {
                    ($r:literal, $c:literal, ) => {
                        // SAFETY: all pointers stay inside the M × M matrix and the M diagonal entries.
                        unsafe {
                            let left = Strided { data: a.add(i), row: 1, inner: m };
                            let mut acc =
                                accumulate::<L, $r, $c>(zeros::<L, $r, $c>(), left, a.add(j), m, panel.start..i, tail);
                            source.less::<L, $r, $c>(&mut acc, (i, j, m), tail);
                            if tile == 0 {
                                // The block on the diagonal: factor it by scalars before its rows are solved.
                                store::<L, $r, $c>(acc, a.add(i * m + j), m, tail);
                                factor_block::<$r>(a.add(i * m + i), m, inv_diag.add(i)).map_err(|r| i + r)?;
                            }
                            substitute::<L, $r, $c>(&mut acc, a.add(i * m + i), m, inv_diag.add(i));
                            if tile == 0 {
                                let block = save_block::<$r>(a.add(i * m + i), m);
                                store::<L, $r, $c>(acc, a.add(i * m + j), m, tail);
                                restore_block::<$r>(a.add(i * m + i), m, &block);
                            } else {
                                store::<L, $r, $c>(acc, a.add(i * m + j), m, tail);
                            }
                        }
                    };
                }
                with_tile!(height, vectors, tile!());
            }
        }
        Ok(())
    }
}

/// Factors the R × R block at `a` in place (upper triangle), scalar by scalar.
///
/// First as UᵀD⁻¹U with the pivots D on the diagonal of U: a pivot then waits for a division of the last, not for its root.
#[inline(always)]
unsafe fn factor_block<const R: usize>(a: *mut f64, stride: usize, inv_diag: *mut f64) -> Result<(), usize> {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut block = save_block::<R>(a, stride);
        for r in 0..R {
            let pivot = block[r][r];
            if !(pivot > 0.0 && pivot.is_finite()) {
                return Err(r);
            }
            let inverse = 1.0 / pivot;
            for s in r + 1..R {
                let share = block[r][s] * inverse;
                for c in s..R {
                    block[s][c] -= share * block[r][c];
                }
            }
        }
        for (r, row) in block.iter_mut().enumerate() {
            let root = row[r].sqrt();
            let inverse = 1.0 / root;
            *inv_diag.add(r) = inverse;
            row[r] = root;
            row[r + 1..].iter_mut().for_each(|u| *u *= inverse);
        }
        restore_block::<R>(a, stride, &block);
        Ok(())
    }
}

/// The R × R block at `a`, copied.
#[inline(always)]
unsafe fn save_block<const R: usize>(a: *const f64, stride: usize) -> [[f64; R]; R] {
    // SAFETY: passed on to the caller.
    std::array::from_fn(|r| std::array::from_fn(|c| unsafe { *a.add(r * stride + c) }))
}

/// Puts the upper triangle of a block back: it is what is asked for, and substitution gives it only up to rounding.
#[inline(always)]
unsafe fn restore_block<const R: usize>(a: *mut f64, stride: usize, block: &[[f64; R]; R]) {
    for (r, row) in block.iter().enumerate() {
        for (c, value) in row.iter().enumerate().skip(r) {
            // SAFETY: passed on to the caller.
            unsafe { *a.add(r * stride + c) = *value }
        }
    }
}

/// Solves the rows of a panel, given that the rows above have been subtracted.
struct Solve {
    u: *const f64,
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
        let Solve { u, inv_diag, source, x, m, panel } = self;
        for i in panel.clone().step_by(ROWS) {
            let height = ROWS.min(panel.end - i);
            for (j, vectors, tail) in column_tiles(0..i + height, L::N) {
                macro_rules! tile {
                    ($r:literal, $c:literal, ) => {
                        // SAFETY: all pointers stay inside the matrices that `solve_lower` checked.
                        unsafe {
                            let left = Strided { data: u.add(i), row: 1, inner: m };
                            let mut acc = accumulate::<L, $r, $c>(
                                zeros::<L, $r, $c>(),
                                left,
                                x.add(j),
                                m,
                                j.min(i).max(panel.start)..i,
                                tail,
                            );
                            let from = source.unwrap_or(x).add(i * m + j);
                            combine::<L, $r, $c>(&mut acc, from, m, tail, |(r, c), old, new| {
                                if source.is_some() {
                                    return L::sub(old, new);
                                }
                                // The rows of a block have their ones in the same vector.
                                let lane = i.wrapping_sub(j + c * L::N);
                                L::sub(if lane < L::N { unit::<L>(lane + r) } else { L::splat(0.0) }, new)
                            });
                            substitute::<L, $r, $c>(&mut acc, u.add(i * m + i), m, inv_diag.add(i));
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
            let u = masked(&u, Part::Upper);
            let mut rebuilt = Mat::default();
            mul(&mut rebuilt, &u, Op::T, &u, Op::Id);
            assert!(largest_difference(&rebuilt, &a) < 1e-12, "{m}");
            for right in [Mat::identity(m, m), masked(&a, Part::Lower)] {
                let (mut x, mut found) = (Mat::default(), Mat::default());
                solve_lower(&u, &inv_diag, Right::Lower(&right), &mut x);
                mul(&mut found, &u, Op::T, &x, Op::Id);
                assert!(largest_difference(&found, &right) < 1e-12 * m as f64, "{m}");
            }
            let mut x = a.row(0).to_vec();
            solve_vector(&u, &inv_diag, &mut x);
            for i in 0..m {
                let found: f64 = (0..=i).map(|k| u[(k, i)] * x[k]).sum();
                assert!((found - a[(0, i)]).abs() < 1e-12 * m as f64, "{m}");
            }
            let (mut l_inv, mut solved) = (Mat::default(), Mat::default());
            solve_lower(&u, &inv_diag, Right::Identity, &mut l_inv);
            solve_lower(&u, &inv_diag, Right::Lower(&Mat::identity(m, m)), &mut solved);
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
            let mut a = Mat::identity(m, m);
            a[(bad, bad)] = f64::NAN;
            assert_eq!(cholesky_upper(&a, 1.0, 0.0, &mut Mat::default(), &mut Vec::new()), Err(bad));
        }
    }
}
