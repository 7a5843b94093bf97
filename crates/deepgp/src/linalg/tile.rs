//! Small dense products, Cholesky factors and triangular solves on register tiles.
//!
//! At the sizes of inducing inputs (M = 20 to 500) a general library spends more time on packing and dispatch than on
//! arithmetic (docs/DESIGN.md). Here a tile of up to 8 rows × 3 vectors of the result stays in registers while the inner
//! index runs; triangular factors only shorten its range. Factorisations go by panels of rows: what a panel does to the
//! rows below it is a product. All matrices are row-major.

use super::Mat;
use crate::simd::{Job, Lanes, PAD, run, wide};
use std::ops::Range;

/// Rows of a tile of a factorisation.
const ROWS: usize = 4;
/// Vectors of a tile.
const VECTORS: usize = 3;
/// Rows of a panel; a matrix of up to [`ONE_PANEL`] rows is a single one.
const PANEL: usize = 48;
const ONE_PANEL: usize = 72;

/// Where a matrix has entries, or which part of a result is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Everywhere.
    Full,
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
}

/// The left factor of a product: a matrix or its transpose, with the part where op(A) has entries.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a> {
    matrix: &'a Mat,
    transposed: bool,
    part: Part,
}

impl<'a> Left<'a> {
    /// A, with entries in `part` of A.
    pub fn plain(matrix: &'a Mat, part: Part) -> Self {
        Self { matrix, transposed: false, part }
    }

    /// Aᵀ, with entries in `part` of Aᵀ.
    pub fn transposed(matrix: &'a Mat, part: Part) -> Self {
        Self { matrix, transposed: true, part }
    }

    fn shape(&self) -> (usize, usize) {
        let (rows, cols) = (self.matrix.rows(), self.matrix.cols());
        if self.transposed { (cols, rows) } else { (rows, cols) }
    }

    fn view(&self) -> Strided {
        let (row, inner) = if self.transposed { (1, self.matrix.cols()) } else { (self.matrix.cols(), 1) };
        Strided { data: self.matrix.as_slice().as_ptr(), row, inner }
    }
}

/// `out = op(A) B` or `out += op(A) B`, in the wanted part of the result.
///
/// With `part` other than full, entries near the diagonal of the other half may be written too.
/// Cost: 2 · rows · cols · inner flops, less what triangles save.
///
/// # Panics
/// If the inner sizes differ, or, when adding, the shape of `out`.
pub fn product(out: &mut Mat, add: bool, a: Left<'_>, b: (&Mat, Part), part: Part) {
    let ((rows, inner), (b, b_part)) = (a.shape(), b);
    assert_eq!(inner, b.rows(), "inner sizes must agree");
    if add {
        assert_eq!((out.rows(), out.cols()), (rows, b.cols()), "shapes must agree");
    } else if (out.rows(), out.cols()) != (rows, b.cols()) {
        out.reshape(rows, b.cols());
    }
    let job = Product {
        a: a.view(),
        a_part: a.part,
        b: b.as_slice().as_ptr(),
        b_stride: b.cols(),
        b_part,
        out: out.as_mut_slice().as_mut_ptr(),
        out_stride: b.cols(),
        size: (rows, b.cols(), inner),
        part,
        mode: if add { Mode::Add } else { Mode::Set },
    };
    // SAFETY: the pointers cover rows × inner, inner × cols and rows × cols numbers, as just checked, and `out` is
    // borrowed mutably, so it does not overlap the others.
    unsafe { run(job) }
}

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
            run(Product {
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
            });
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
            run(Product {
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
            });
        }
    }
}

/// A matrix read by broadcasting single entries: (i, k) stands at `data[i · row + k · inner]`.
#[derive(Clone, Copy)]
struct Strided {
    data: *const f64,
    row: usize,
    inner: usize,
}

/// Accumulates R × C vectors of Σ_k a(i, k) b(k, j) for k in `range`. `a` points at (i, 0), `b` at (0, j); the last vector
/// has `tail` lanes (0: all).
#[inline(always)]
unsafe fn accumulate<L: Lanes, const R: usize, const C: usize>(
    a: Strided,
    b: *const f64,
    b_stride: usize,
    range: Range<usize>,
    tail: usize,
) -> [[L::V; C]; R] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut acc = [[L::splat(0.0); C]; R];
        for k in range {
            let row = b.add(k * b_stride);
            let mut b_k = [L::splat(0.0); C];
            for (c, v) in b_k.iter_mut().enumerate() {
                *v = if c + 1 == C && tail > 0 {
                    L::load_part(row.add(c * L::N), tail)
                } else {
                    L::load(row.add(c * L::N))
                };
            }
            for (r, acc) in acc.iter_mut().enumerate() {
                let a_rk = L::splat(*a.data.add(r * a.row + k * a.inner));
                for (acc, b) in acc.iter_mut().zip(b_k) {
                    *acc = L::mul_add(a_rk, b, *acc);
                }
            }
        }
        acc
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

/// Tiles of `first..last` columns: start, number of vectors, lanes of the last one (0: all).
#[inline(always)]
fn column_tiles(columns: Range<usize>, lanes: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let width = VECTORS * lanes;
    columns.clone().step_by(width).map(move |j| {
        let left = (columns.end - j).min(width);
        (j, left.div_ceil(lanes), left % lanes)
    })
}

/// What becomes of the result of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Set,
    Add,
    Subtract,
}

struct Product {
    a: Strided,
    a_part: Part,
    b: *const f64,
    b_stride: usize,
    b_part: Part,
    out: *mut f64,
    out_stride: usize,
    size: (usize, usize, usize),
    part: Part,
    mode: Mode,
}

impl Job for Product {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (rows, cols, inner) = self.size;
        let mut i = 0;
        while i < rows {
            let height = match rows - i {
                8.. if L::N >= 8 => 8,
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
            let wanted = match self.part {
                Part::Full => 0..cols,
                Part::Lower => 0..cols.min(i + height),
                Part::Upper => (i / L::N * L::N).min(cols)..cols,
            };
            for (j, vectors, tail) in column_tiles(wanted, L::N) {
                let end = (j + vectors * L::N).min(cols);
                // op(A)_ik has entries for k ≤ i (lower) or k ≥ i (upper); B_kj for k ≥ j (lower) or k ≤ j (upper).
                let mut range = 0..inner;
                match self.a_part {
                    Part::Lower => range.end = range.end.min(i + height),
                    Part::Upper => range.start = range.start.max(i),
                    Part::Full => {}
                }
                match self.b_part {
                    Part::Lower => range.start = range.start.max(j),
                    Part::Upper => range.end = range.end.min(end),
                    Part::Full => {}
                }
                // SAFETY: the tile lies inside the matrices that were checked.
                unsafe {
                    match (height, vectors) {
                        (8, 3) => self.tile::<L, 8, 3>(i, j, range, tail),
                        (8, 2) => self.tile::<L, 8, 2>(i, j, range, tail),
                        (8, _) => self.tile::<L, 8, 1>(i, j, range, tail),
                        (4, 3) => self.tile::<L, 4, 3>(i, j, range, tail),
                        (4, 2) => self.tile::<L, 4, 2>(i, j, range, tail),
                        (4, _) => self.tile::<L, 4, 1>(i, j, range, tail),
                        (2, 3) => self.tile::<L, 2, 3>(i, j, range, tail),
                        (2, 2) => self.tile::<L, 2, 2>(i, j, range, tail),
                        (2, _) => self.tile::<L, 2, 1>(i, j, range, tail),
                        (_, 3) => self.tile::<L, 1, 3>(i, j, range, tail),
                        (_, 2) => self.tile::<L, 1, 2>(i, j, range, tail),
                        (_, _) => self.tile::<L, 1, 1>(i, j, range, tail),
                    }
                }
            }
            i += height;
        }
    }
}

impl Product {
    /// R rows × C vectors of the result, from row `i` and column `j` on.
    #[inline(always)]
    unsafe fn tile<L: Lanes, const R: usize, const C: usize>(
        &self,
        i: usize,
        j: usize,
        range: Range<usize>,
        tail: usize,
    ) {
        // SAFETY: passed on to the caller.
        unsafe {
            let a = Strided { data: self.a.data.add(i * self.a.row), ..self.a };
            let mut acc = accumulate::<L, R, C>(a, self.b.add(j), self.b_stride, range, tail);
            let at = self.out.add(i * self.out_stride + j);
            match self.mode {
                Mode::Set => {}
                Mode::Add => combine::<L, R, C>(&mut acc, at, self.out_stride, tail, |_, old, new| L::add(old, new)),
                Mode::Subtract => {
                    combine::<L, R, C>(&mut acc, at, self.out_stride, tail, |_, old, new| L::sub(old, new))
                }
            }
            store::<L, R, C>(acc, at, self.out_stride, tail);
        }
    }
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

/// acc ← f((r, c), old, acc) with R × C vectors of old values from memory.
#[inline(always)]
unsafe fn combine<L: Lanes, const R: usize, const C: usize>(
    acc: &mut [[L::V; C]; R],
    from: *const f64,
    stride: usize,
    tail: usize,
    f: impl Fn((usize, usize), L::V, L::V) -> L::V,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for (r, row) in acc.iter_mut().enumerate() {
            for (c, v) in row.iter_mut().enumerate() {
                let at = from.add(r * stride + c * L::N);
                let old = if c + 1 == C && tail > 0 { L::load_part(at, tail) } else { L::load(at) };
                *v = f((r, c), old, *v);
            }
        }
    }
}

/// Stores R × C vectors.
#[inline(always)]
unsafe fn store<L: Lanes, const R: usize, const C: usize>(
    acc: [[L::V; C]; R],
    to: *mut f64,
    stride: usize,
    tail: usize,
) {
    // SAFETY: passed on to the caller.
    unsafe {
        for (r, row) in acc.into_iter().enumerate() {
            for (c, v) in row.into_iter().enumerate() {
                let at = to.add(r * stride + c * L::N);
                if c + 1 == C && tail > 0 {
                    L::store_part(at, v, tail);
                } else {
                    L::store(at, v);
                }
            }
        }
    }
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
                            let mut acc = accumulate::<L, $r, $c>(left, a.add(j), m, panel.start..i, tail);
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
                            let mut acc =
                                accumulate::<L, $r, $c>(left, x.add(j), m, j.min(i).max(panel.start)..i, tail);
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
    use super::*;
    use crate::linalg::{Op, mul};
    use crate::simd::forced::on_each;

    fn pseudo_random(rows: usize, cols: usize, seed: u64) -> Mat {
        let mut state = seed;
        Mat::from_fn(rows, cols, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
    }

    fn masked(a: &Mat, part: Part) -> Mat {
        Mat::from_fn(a.rows(), a.cols(), |i, j| match part {
            Part::Full => a[(i, j)],
            Part::Lower if j <= i => a[(i, j)],
            Part::Upper if j >= i => a[(i, j)],
            _ => 0.0,
        })
    }

    fn largest_difference(a: &Mat, b: &Mat) -> f64 {
        a.as_slice().iter().zip(b.as_slice()).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
    }

    #[test]
    fn products_with_triangles_equal_the_library() {
        on_each(|_| check_products_with_triangles_equal_the_library());
    }

    fn check_products_with_triangles_equal_the_library() {
        const PARTS: [Part; 3] = [Part::Full, Part::Lower, Part::Upper];
        for m in [1, 2, 3, 4, 5, 7, 8, 9, 16, 23, 24, 25, 33, 50, 67] {
            let (a, b) = (pseudo_random(m, m, 1), pseudo_random(m, m, 2));
            for (a_part, b_part, part) in
                PARTS.iter().flat_map(|p| PARTS.iter().flat_map(move |q| PARTS.iter().map(move |r| (*p, *q, *r))))
            {
                for transposed in [false, true] {
                    let left = masked(&a, a_part);
                    let stored = if transposed { left.transpose() } else { left.clone() };
                    let right = masked(&b, b_part);
                    let mut expected = Mat::default();
                    mul(&mut expected, &left, Op::Id, &right, Op::Id);
                    let view =
                        if transposed { Left::transposed(&stored, a_part) } else { Left::plain(&stored, a_part) };
                    let mut found = Mat::default();
                    product(&mut found, false, view, (&right, b_part), part);
                    let error = largest_difference(&masked(&found, part), &masked(&expected, part));
                    assert!(error < 1e-13, "{m} {a_part:?} {b_part:?} {part:?} {transposed}: {error}");
                    product(&mut found, true, view, (&right, b_part), part);
                    expected.as_mut_slice().iter_mut().for_each(|v| *v *= 2.0);
                    let error = largest_difference(&masked(&found, part), &masked(&expected, part));
                    assert!(error < 1e-13, "adding {m} {a_part:?} {b_part:?} {part:?} {transposed}: {error}");
                }
            }
        }
    }

    #[test]
    fn products_of_any_shape() {
        on_each(|_| check_products_of_any_shape());
    }

    fn check_products_of_any_shape() {
        for (rows, cols, inner) in [(1, 1, 1), (5, 3, 2), (32, 50, 13), (50, 2, 32), (7, 100, 1), (3, 30, 40)] {
            let (a, b) = (pseudo_random(rows, inner, 3), pseudo_random(inner, cols, 4));
            let (mut expected, mut found) = (Mat::default(), Mat::default());
            mul(&mut expected, &a, Op::Id, &b, Op::Id);
            product(&mut found, false, Left::plain(&a, Part::Full), (&b, Part::Full), Part::Full);
            assert!(largest_difference(&found, &expected) < 1e-13, "{rows} {cols} {inner}");
        }
    }

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
