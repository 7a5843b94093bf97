//! Dense products on register tiles.
//!
//! At the sizes of inducing inputs (M = 20 to 300) a general library spends more time on packing and dispatch than on
//! arithmetic (docs/DESIGN.md): tiles read their operands where they stand, and triangles only shorten the inner range.
//! A right factor that does not stay in the cache is copied block by block, as general libraries do. All matrices are
//! row-major.

use super::Mat;
use super::tile::{Strided, VECTORS, accumulate, column_tiles, combine, store, tiles_of, zeros};
use crate::simd::{Job, Lanes, PAD, run};
use std::ops::Range;

/// Numbers of a right factor that stays in the cache: 1 MiB, half of a second-level cache of today.
const RESIDENT: usize = 1 << 17;
/// Inner size and tiles of a block of a larger one, at most half of that, and rows of the left factor that it meets.
const BLOCK_INNER: usize = 256;
const BLOCK_TILES: usize = 10;
const BLOCK_ROWS: usize = 512;
/// Rows and vectors of a tile where the right factor is a triangle, whose steps narrow tiles follow more closely: as
/// many numbers in registers, nearly, and 206 vectors of multiplications for a row of 50 columns instead of 230. Also
/// where it has no more vectors than that.
const NARROW_ROWS: usize = 10;
const NARROW_VECTORS: usize = 2;
/// Most rows and numbers in a row of other tiles.
const MOST_ROWS: usize = 8;
const MOST_WIDTH: usize = VECTORS * PAD;

/// A cache line of a copy, which is written before it is read.
#[repr(align(64))]
#[expect(dead_code, reason = "it is only ever reached by pointers")]
struct Line([f64; 8]);

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
    /// How many columns of the matrix count.
    columns: usize,
    transposed: bool,
    part: Part,
}

impl<'a> Left<'a> {
    /// A, with entries in `part` of A.
    pub fn plain(matrix: &'a Mat, part: Part) -> Self {
        Self { matrix, columns: matrix.cols(), transposed: false, part }
    }

    /// Aᵀ, with entries in `part` of Aᵀ.
    pub fn transposed(matrix: &'a Mat, part: Part) -> Self {
        Self { matrix, columns: matrix.cols(), transposed: true, part }
    }

    /// Only the first columns of A, which may be followed by others that fill up a vector.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn first(self, columns: usize) -> Self {
        assert!(columns <= self.matrix.cols(), "there are {} columns", self.matrix.cols());
        Self { columns, ..self }
    }

    fn shape(&self) -> (usize, usize) {
        let (rows, cols) = (self.matrix.rows(), self.columns);
        if self.transposed { (cols, rows) } else { (rows, cols) }
    }

    fn view(&self) -> Strided {
        let (data, stride) = (self.matrix.as_slice().as_ptr(), self.matrix.cols());
        if self.transposed { Strided::by_columns(data, stride) } else { Strided::by_rows(data, stride) }
    }
}

/// `out = op(A) B` or `out += op(A) B`, in the wanted part of the result.
///
/// With `part` other than full, entries near the diagonal of the other half may be written too.
/// Cost: 2 · rows · cols · inner flops, less what triangles save. Only if B has more than 1 MiB is memory allocated, at
/// most 1.5 MiB for copies.
///
/// # Panics
/// If the inner sizes differ, or, when adding, the shape of `out`.
pub fn product(out: &mut Mat, add: bool, a: Left<'_>, b: (&Mat, Part), part: Part) {
    product_in(out, if add { Mode::Add } else { Mode::Set }, a, b, part);
}

/// `out = −op(A) B` or `out −= op(A) B`; otherwise as [`product`].
///
/// # Panics
/// As [`product`].
pub fn negative_product(out: &mut Mat, add: bool, a: Left<'_>, b: (&Mat, Part), part: Part) {
    product_in(out, if add { Mode::Subtract } else { Mode::Negate }, a, b, part);
}

fn product_in(out: &mut Mat, mode: Mode, a: Left<'_>, b: (&Mat, Part), part: Part) {
    let ((rows, inner), (b, b_part)) = (a.shape(), b);
    assert_eq!(inner, b.rows(), "inner sizes must agree");
    if matches!(mode, Mode::Add | Mode::Subtract) {
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
        mode,
    };
    // SAFETY: the pointers cover rows × inner, inner × cols and rows × cols numbers, as just checked, and `out` is
    // borrowed mutably, so it does not overlap the others.
    unsafe { job.run() }
}

/// The lower triangle of a square matrix with its diagonal halved, so that X = A + Aᵀ of a symmetric X; above it zeros
/// as far as a product reads there of a lower triangular left factor, which takes several rows at a time.
///
/// # Panics
/// If the matrix is not square.
pub fn halve_lower(a: &mut Mat) {
    let m = a.rows();
    assert_eq!(m, a.cols(), "the matrix must be square");
    // SAFETY: the pointer covers M × M numbers.
    unsafe { run(HalveLower { a: a.as_mut_slice().as_mut_ptr(), m }) }
}

struct HalveLower {
    a: *mut f64,
    m: usize,
}

impl HalveLower {
    /// What the numbers of a row of a block count for.
    const SHARES: [[f64; MOST_ROWS]; MOST_ROWS] = {
        let mut shares = [[1.0; MOST_ROWS]; MOST_ROWS];
        let mut i = 0;
        while i < MOST_ROWS {
            shares[i][i] = 0.5;
            i += 1;
        }
        shares
    };

    /// The block on the diagonal from row `first` on, which is whole if W.
    #[inline(always)]
    unsafe fn block<L: Lanes, const W: bool>(&self, first: usize) {
        let rows = if W { MOST_ROWS } else { self.m - first };
        for i in 0..rows {
            for j in (0..rows).step_by(L::N) {
                // SAFETY: passed on to the caller.
                unsafe {
                    let at = self.a.add((first + i) * self.m + first + j);
                    let share = L::load(const { &Self::SHARES }[i].as_ptr().add(j));
                    // What stands above the diagonal need not even be a number.
                    let kept = if j > i { L::splat(0.0) } else { L::load_some(at, i + 1 - j) };
                    L::store_some(at, L::mul(share, kept), rows - j);
                }
            }
        }
    }
}

impl Job for HalveLower {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for first in (0..self.m).step_by(MOST_ROWS) {
            // SAFETY: passed on to the caller.
            unsafe {
                if first + MOST_ROWS <= self.m { self.block::<L, true>(first) } else { self.block::<L, false>(first) }
            }
        }
    }
}

/// What becomes of the result of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Set,
    Negate,
    Add,
    Subtract,
    /// The sum goes on from what is there.
    Continue,
}

/// A product of what pointers point at, which must not overlap `out`.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub a: Strided,
    pub a_part: Part,
    pub b: *const f64,
    pub b_stride: usize,
    pub b_part: Part,
    pub out: *mut f64,
    pub out_stride: usize,
    /// Rows, columns, inner size.
    pub size: (usize, usize, usize),
    pub part: Part,
    pub mode: Mode,
}

impl Product {
    /// Does it.
    ///
    /// # Safety
    /// The pointers must cover what `size` and the strides say.
    pub unsafe fn run(self) {
        let (rows, cols, inner) = self.size;
        if rows == 0 || cols == 0 {
            return;
        }
        if cols * inner <= RESIDENT {
            // SAFETY: passed on to the caller.
            return unsafe { run(InPlace(self)) };
        }
        // Without zeros: to write them would take as long as to copy.
        let copied_rows = rows.min(BLOCK_ROWS).next_multiple_of(MOST_ROWS);
        let mut lines: Vec<Line> = Vec::with_capacity(BLOCK_INNER * (copied_rows + BLOCK_TILES * MOST_WIDTH) / 8);
        let copies = lines.as_mut_ptr().cast::<f64>();
        // SAFETY: passed on to the caller; there is space for the copies.
        unsafe { run(Copied { product: self, copied_rows, copies }) }
    }

    /// Tiles of some columns: [`column_tiles`], but of an upper triangle the part of a vector comes first, where
    /// columns are short.
    #[inline(always)]
    fn tiles(&self, columns: Range<usize>, lanes: usize) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let part = if self.b_part == Part::Upper { columns.len() % lanes } else { 0 };
        let first = (part > 0).then_some((columns.start, 1, part));
        let most = if self.is_narrow(lanes) { NARROW_VECTORS } else { VECTORS };
        first.into_iter().chain(tiles_of(columns.start + part..columns.end, lanes, most))
    }

    /// Whether its tiles are narrow, for which there must be registers enough. A left factor that is a triangle may
    /// have something else than zeros beside the blocks of [`MOST_ROWS`] on its diagonal.
    #[inline(always)]
    fn is_narrow(&self, lanes: usize) -> bool {
        let has_narrow = self.b_part != Part::Full || self.size.1 <= NARROW_VECTORS * lanes;
        self.a_part == Part::Full && has_narrow && lanes >= MOST_ROWS
    }

    /// Where the inner index meets entries of both factors, for a tile of the result.
    #[inline(always)]
    fn entries(&self, rows: Range<usize>, columns: Range<usize>) -> Range<usize> {
        // op(A)_ik has entries for k ≤ i (lower) or k ≥ i (upper); B_kj for k ≥ j (lower) or k ≤ j (upper).
        let mut range = 0..self.size.2;
        match self.a_part {
            Part::Lower => range.end = range.end.min(rows.end),
            Part::Upper => range.start = range.start.max(rows.start),
            Part::Full => {}
        }
        match self.b_part {
            Part::Lower => range.start = range.start.max(columns.start),
            Part::Upper => range.end = range.end.min(columns.end),
            Part::Full => {}
        }
        range
    }
}

/// Rows of tiles, narrow ones or others: the first row and the number of rows.
#[inline(always)]
fn row_tiles<L: Lanes>(rows: Range<usize>, is_narrow: bool) -> impl Iterator<Item = (usize, usize)> + use<L> {
    let mut i = rows.start;
    std::iter::from_fn(move || {
        let height = match rows.end - i {
            0 => return None,
            NARROW_ROWS.. if is_narrow => NARROW_ROWS,
            MOST_ROWS.. if L::N >= MOST_ROWS => MOST_ROWS,
            4.. => 4,
            2.. => 2,
            _ => 1,
        };
        i += height;
        Some((i - height, height))
    })
}

/// A tile of a product: the operands at its first row and column, and the place of the result.
struct Tile {
    a: Strided,
    b: *const f64,
    b_stride: usize,
    range: Range<usize>,
    out: *mut f64,
    out_stride: usize,
    mode: Mode,
}

impl Tile {
    #[inline(always)]
    unsafe fn run<L: Lanes>(self, height: usize, vectors: usize, tail: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            match (height, vectors) {
                (NARROW_ROWS, NARROW_VECTORS) => self.of::<L, NARROW_ROWS, NARROW_VECTORS>(tail),
                (NARROW_ROWS, _) => self.of::<L, NARROW_ROWS, 1>(tail),
                (8, 3) => self.of::<L, 8, 3>(tail),
                (8, 2) => self.of::<L, 8, 2>(tail),
                (8, _) => self.of::<L, 8, 1>(tail),
                (4, 3) => self.of::<L, 4, 3>(tail),
                (4, 2) => self.of::<L, 4, 2>(tail),
                (4, _) => self.of::<L, 4, 1>(tail),
                (2, 3) => self.of::<L, 2, 3>(tail),
                (2, 2) => self.of::<L, 2, 2>(tail),
                (2, _) => self.of::<L, 2, 1>(tail),
                (_, 3) => self.of::<L, 1, 3>(tail),
                (_, 2) => self.of::<L, 1, 2>(tail),
                (_, _) => self.of::<L, 1, 1>(tail),
            }
        }
    }

    /// R rows × C vectors.
    #[inline(always)]
    unsafe fn of<L: Lanes, const R: usize, const C: usize>(self, tail: usize) {
        let Self { a, b, b_stride, range, out, out_stride, mode } = self;
        // SAFETY: passed on to the caller.
        unsafe {
            // Not as one of two values: that would go through memory, and cost a third of a product.
            let mut acc = zeros::<L, R, C>();
            if mode == Mode::Continue {
                combine::<L, R, C>(&mut acc, out, out_stride, tail, |_, old, _| old);
            }
            let mut acc = accumulate::<L, R, C, false>(acc, a, b, b_stride, range, tail);
            match mode {
                Mode::Set | Mode::Continue => {}
                Mode::Negate => {
                    for row in &mut acc {
                        for v in row {
                            *v = L::sub(L::splat(0.0), *v);
                        }
                    }
                }
                Mode::Add => combine::<L, R, C>(&mut acc, out, out_stride, tail, |_, old, new| L::add(old, new)),
                Mode::Subtract => combine::<L, R, C>(&mut acc, out, out_stride, tail, |_, old, new| L::sub(old, new)),
            }
            store::<L, R, C>(acc, out, out_stride, tail);
        }
    }
}

/// A product whose right factor stays in the cache.
struct InPlace(Product);

impl Job for InPlace {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self(product) = self;
        let Product { a, b, b_stride, out, out_stride, mode, .. } = product;
        let cols = product.size.1;
        for (i, height) in row_tiles::<L>(0..product.size.0, product.is_narrow(L::N)) {
            let wanted = match product.part {
                Part::Full => 0..cols,
                Part::Lower => 0..cols.min(i + height),
                Part::Upper => (i / L::N * L::N).min(cols)..cols,
            };
            for (j, vectors, tail) in product.tiles(wanted, L::N) {
                let end = j + vectors * L::N - if tail > 0 { L::N - tail } else { 0 };
                let range = product.entries(i..i + height, j..end);
                // SAFETY: the tile lies inside the matrices that were checked.
                unsafe {
                    let a = Strided { data: a.data.add(i * a.row), ..a };
                    let out = out.add(i * out_stride + j);
                    Tile { a, b: b.add(j), b_stride, range, out, out_stride, mode }.run::<L>(height, vectors, tail);
                }
            }
        }
    }
}

/// A product with blocks of both factors copied, so that they lie in the cache, and on few pages.
///
/// Except where it adds, the numbers are those of [`InPlace`]: a sum over the inner index goes on where the block
/// before left it.
struct Copied {
    product: Product,
    /// Rows of the left factor that are copied at a time, at most.
    copied_rows: usize,
    /// Their copies, [`BLOCK_INNER`] numbers a row, then those of the right factor.
    copies: *mut f64,
}

impl Job for Copied {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (rows, cols, inner) = self.product.size;
        for i in (0..rows).step_by(BLOCK_ROWS) {
            for k in (0..inner).step_by(BLOCK_INNER) {
                let (rows, block) = (i..(i + BLOCK_ROWS).min(rows), k..(k + BLOCK_INNER).min(inner));
                let width = BLOCK_TILES * VECTORS * L::N;
                // SAFETY: these lie inside the matrices that were checked.
                unsafe {
                    self.copy_left::<L>(rows.clone(), block.clone());
                    for j in (0..cols).step_by(width) {
                        let columns = j..(j + width).min(cols);
                        self.copy_right::<L>(rows.clone(), block.clone(), columns.clone());
                        self.multiply::<L>(rows.clone(), block.clone(), columns);
                    }
                }
            }
        }
    }
}

impl Copied {
    /// The copy of rows of the left factor that a tile reads, the first of them the `i`-th of the block: all entries
    /// with the same inner index together.
    #[inline(always)]
    fn left(&self, i: usize, height: usize) -> Strided {
        // SAFETY: the copies of rows before it take this much space.
        Strided::by_columns(unsafe { self.copies.add(i * BLOCK_INNER) }, height)
    }

    /// The copy of the `t`-th tile of the right factor, row after row.
    #[inline(always)]
    fn right<L: Lanes>(&self, t: usize) -> *mut f64 {
        // SAFETY: the copies of the left factor and of the tiles before it take this much space.
        unsafe { self.copies.add(BLOCK_INNER * (self.copied_rows + t * VECTORS * L::N)) }
    }

    /// Where the inner index meets entries of both factors inside a block, if that part of the result is wanted.
    #[inline(always)]
    fn range(&self, rows: Range<usize>, block: &Range<usize>, columns: Range<usize>) -> Option<Range<usize>> {
        let is_wanted = match self.product.part {
            Part::Full => true,
            Part::Lower => columns.start < rows.end,
            Part::Upper => columns.end > rows.start,
        };
        let entries = self.product.entries(rows, columns);
        let clamp = |k: usize| k.clamp(block.start, block.end) - block.start;
        is_wanted.then(|| clamp(entries.start)..clamp(entries.end))
    }

    #[inline(always)]
    unsafe fn copy_left<L: Lanes>(&self, rows: Range<usize>, block: Range<usize>) {
        let a = self.product.a;
        for (i, height) in row_tiles::<L>(rows.clone(), false) {
            let to = self.left(i - rows.start, height).data.cast_mut();
            // SAFETY: passed on to the caller; there is space for the copy.
            unsafe {
                let from = a.data.add(i * a.row + block.start * a.inner);
                // Whole vectors, as they stand or turned.
                let by_vectors = if height != L::N {
                    0
                } else if a.row == 1 {
                    (0..block.len()).for_each(|k| L::store(to.add(k * L::N), L::load(from.add(k * a.inner))));
                    block.len()
                } else {
                    let whole = block.len() / L::N * L::N;
                    (0..whole).step_by(L::N).for_each(|k| L::transpose(from.add(k), a.row, to.add(k * L::N), L::N));
                    whole
                };
                for k in by_vectors..block.len() {
                    (0..height).for_each(|r| *to.add(k * height + r) = *from.add(r * a.row + k * a.inner));
                }
            }
        }
    }

    /// Copies what rows of the result need, row by row.
    #[inline(always)]
    unsafe fn copy_right<L: Lanes>(&self, rows: Range<usize>, block: Range<usize>, columns: Range<usize>) {
        let Product { b, b_stride, .. } = self.product;
        let Some(range) = self.range(rows, &block, columns.clone()) else { return };
        for k in range {
            for (t, (j, vectors, tail)) in column_tiles(columns.clone(), L::N).enumerate() {
                // SAFETY: passed on to the caller; there is space for the copy.
                unsafe {
                    let from = b.add((block.start + k) * b_stride + j);
                    let to = self.right::<L>(t).add(k * VECTORS * L::N);
                    for c in 0..vectors {
                        let (at, is_part) = (from.add(c * L::N), c + 1 == vectors && tail > 0);
                        L::store(to.add(c * L::N), if is_part { L::load_part(at, tail) } else { L::load(at) });
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn multiply<L: Lanes>(&self, rows: Range<usize>, block: Range<usize>, columns: Range<usize>) {
        let Product { out, out_stride, .. } = self.product;
        let mode = match self.product.mode {
            Mode::Set if block.start > 0 => Mode::Continue,
            Mode::Negate if block.start > 0 => Mode::Subtract,
            mode => mode,
        };
        for (i, height) in row_tiles::<L>(rows.clone(), false) {
            for (t, (j, vectors, tail)) in column_tiles(columns.clone(), L::N).enumerate() {
                let tile = j..(j + vectors * L::N).min(columns.end);
                let Some(range) = self.range(i..i + height, &block, tile) else { continue };
                // A first block without entries sets zeros.
                if range.is_empty() && !matches!(mode, Mode::Set | Mode::Negate) {
                    continue;
                }
                // SAFETY: passed on to the caller; the copies are there.
                unsafe {
                    let (a, b, out) =
                        (self.left(i - rows.start, height), self.right::<L>(t), out.add(i * out_stride + j));
                    (0..height).for_each(|r| L::prefetch(out.add(r * out_stride), vectors));
                    Tile { a, b, b_stride: VECTORS * L::N, range, out, out_stride, mode }
                        .run::<L>(height, vectors, tail);
                }
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
                    let mut negative = Mat::default();
                    negative_product(&mut negative, false, view, (&right, b_part), part);
                    negative_product(&mut negative, true, view, (&right, b_part), part);
                    negative.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
                    let error = largest_difference(&masked(&negative, part), &masked(&expected, part));
                    assert!(error < 1e-13, "negative {m} {a_part:?} {b_part:?} {part:?} {transposed}: {error}");
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

    /// Sums in order, without tiles.
    fn plainly(a: &Mat, b: &Mat) -> Mat {
        Mat::from_fn(a.rows(), b.cols(), |i, j| (0..a.cols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
    }

    #[test]
    fn a_right_factor_that_is_copied_gives_the_same_numbers() {
        on_each(|_| check_a_right_factor_that_is_copied_gives_the_same_numbers());
    }

    fn check_a_right_factor_that_is_copied_gives_the_same_numbers() {
        const TRIANGLES: [(Part, Part, Part); 6] = [
            (Part::Full, Part::Full, Part::Full),
            (Part::Full, Part::Upper, Part::Full),
            (Part::Full, Part::Lower, Part::Full),
            (Part::Lower, Part::Full, Part::Upper),
            (Part::Upper, Part::Lower, Part::Lower),
            (Part::Lower, Part::Lower, Part::Full),
        ];
        for (rows, cols, inner) in [(19, 247, 600), (370, 370, 370), (BLOCK_ROWS + 13, 263, 500)] {
            let (a, b) = (pseudo_random(rows, inner, 3), pseudo_random(inner, cols, 4));
            assert!(cols * inner > RESIDENT);
            for (a_part, b_part, part) in TRIANGLES {
                let (a, b) = (masked(&a, a_part), masked(&b, b_part));
                let (expected, stored) = (masked(&plainly(&a, &b), part), a.transpose());
                for view in [Left::plain(&a, a_part), Left::transposed(&stored, a_part)] {
                    let (mut copied, mut in_place) = (Mat::default(), Mat::zeros(rows, cols));
                    product(&mut copied, false, view, (&b, b_part), part);
                    let job = Product {
                        a: view.view(),
                        a_part,
                        b: b.as_slice().as_ptr(),
                        b_stride: cols,
                        b_part,
                        out: in_place.as_mut_slice().as_mut_ptr(),
                        out_stride: cols,
                        size: (rows, cols, inner),
                        part,
                        mode: Mode::Set,
                    };
                    // SAFETY: as in `product`.
                    unsafe { run(InPlace(job)) };
                    assert_eq!(masked(&copied, part), masked(&in_place, part), "{rows} {a_part:?} {b_part:?} {part:?}");
                    assert!(largest_difference(&masked(&copied, part), &expected) < 1e-12);
                    let mut negative = Mat::default();
                    negative_product(&mut negative, false, view, (&b, b_part), part);
                    negative.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
                    assert!(largest_difference(&masked(&negative, part), &expected) < 1e-12);
                    product(&mut copied, true, view, (&b, b_part), part);
                    let twice = Mat::from_fn(rows, cols, |i, j| 2.0 * expected[(i, j)]);
                    assert!(
                        largest_difference(&masked(&copied, part), &twice) < 1e-12,
                        "{a_part:?} {b_part:?} {part:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_stands_above_a_halved_triangle_is_not_read() {
        on_each(|isa| {
            for m in [1, 7, 8, 9, 15, 50, 370] {
                let full = pseudo_random(m, m, 3);
                let right = pseudo_random(m, m, 4);
                let half = Mat::from_fn(m, m, |i, j| if j == i { 0.5 } else { f64::from(j < i) } * full[(i, j)]);
                let mut halved = Mat::from_fn(m, m, |i, j| if j <= i { full[(i, j)] } else { f64::NAN });
                halve_lower(&mut halved);
                let (mut found, mut expected) = (Mat::default(), Mat::default());
                for (left, out) in [(&halved, &mut found), (&half, &mut expected)] {
                    product(out, false, Left::plain(left, Part::Lower), (&right, Part::Full), Part::Full);
                }
                assert_eq!(found, expected, "{isa:?} {m}");
            }
        });
    }
}
