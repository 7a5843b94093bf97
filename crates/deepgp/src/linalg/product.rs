//! Dense products on register tiles.
//!
//! At the sizes of inducing inputs (M = 20 to 300) a general library spends more time on packing and dispatch than on
//! arithmetic (docs/DESIGN.md): tiles read their operands where they stand, and triangles only shorten the inner range. A right
//! factor that does not stay in the cache is copied block by block, as general libraries do. All matrices are row-major.

use super::Mat;
use super::tile::{Strided, VECTORS, accumulate, column_tiles, combine, store, zeros};
use crate::simd::{Job, Lanes, PAD, run};
use std::cell::Cell;
use std::ops::Range;

/// Numbers of a right factor that stays in the cache: 1 MiB, half of a second-level cache of today.
const RESIDENT: usize = 1 << 17;
/// Inner size and tiles of a block of a larger one, at most half of that.
const BLOCK_INNER: usize = 256;
const BLOCK_TILES: usize = 10;
/// Most rows and numbers in a row of a tile.
const MOST_ROWS: usize = 8;
const MOST_WIDTH: usize = VECTORS * PAD;
/// Numbers of a block and of the rows of the left factor that it meets at a time.
const COPY: usize = BLOCK_INNER * (BLOCK_TILES * MOST_WIDTH + MOST_ROWS);

thread_local! {
    /// Room for copies, kept between products.
    static ROOM: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

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
    unsafe { job.run() }
}

/// Clears what a product reads above the diagonal of a lower triangular left factor: it takes several rows at a time.
pub fn clear_above(lower: &mut Mat) {
    let cols = lower.cols();
    for i in 0..lower.rows() {
        let next = (i / MOST_ROWS + 1) * MOST_ROWS;
        lower.row_mut(i)[(i + 1).min(cols)..next.min(cols)].fill(0.0);
    }
}

/// What becomes of the result of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Set,
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
        let (_, cols, inner) = self.size;
        // SAFETY: passed on to the caller; there is room for the copies.
        unsafe {
            if cols * inner <= RESIDENT {
                return run(InPlace(self));
            }
            let mut room = ROOM.take();
            room.resize(COPY, 0.0);
            run(Copied { product: self, room: room.as_mut_ptr() });
            ROOM.set(room);
        }
    }

    /// Rows of tiles: the first row and the number of rows.
    #[inline(always)]
    fn row_tiles<L: Lanes>(&self) -> impl Iterator<Item = (usize, usize)> + use<L> {
        let (rows, mut i) = (self.size.0, 0);
        std::iter::from_fn(move || {
            let height = match rows - i {
                0 => return None,
                MOST_ROWS.. if L::N >= MOST_ROWS => MOST_ROWS,
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
            i += height;
            Some((i - height, height))
        })
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
            let mut acc = zeros::<L, R, C>();
            if mode == Mode::Continue {
                combine::<L, R, C>(&mut acc, out, out_stride, tail, |_, old, _| old);
            }
            let mut acc = accumulate::<L, R, C>(acc, a, b, b_stride, range, tail);
            match mode {
                Mode::Set | Mode::Continue => {}
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
        for (i, height) in product.row_tiles::<L>() {
            let wanted = match product.part {
                Part::Full => 0..cols,
                Part::Lower => 0..cols.min(i + height),
                Part::Upper => (i / L::N * L::N).min(cols)..cols,
            };
            for (j, vectors, tail) in column_tiles(wanted, L::N) {
                let range = product.entries(i..i + height, j..(j + vectors * L::N).min(cols));
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
/// Except where it adds, the numbers are those of [`InPlace`]: a sum over the inner index goes on where the block before left it.
struct Copied {
    product: Product,
    /// [`COPY`] numbers.
    room: *mut f64,
}

impl Job for Copied {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { product, room } = self;
        let Product { a, b, b_stride, out, out_stride, .. } = product;
        let (_, cols, inner) = product.size;
        let width = VECTORS * L::N;
        // SAFETY: the room is large enough for both.
        let copy_of_b = unsafe { room.add(BLOCK_INNER * MOST_ROWS) };
        let copy_of_a = Strided { data: room, row: 1, inner: MOST_ROWS };
        for first in (0..cols).step_by(BLOCK_TILES * width) {
            let columns = first..(first + BLOCK_TILES * width).min(cols);
            for start in (0..inner).step_by(BLOCK_INNER) {
                let block = start..(start + BLOCK_INNER).min(inner);
                let mode = match product.mode {
                    Mode::Set if start > 0 => Mode::Continue,
                    mode => mode,
                };
                for (t, (j, vectors, tail)) in column_tiles(columns.clone(), L::N).enumerate() {
                    let numbers = if tail > 0 { (vectors - 1) * L::N + tail } else { vectors * L::N };
                    // SAFETY: rows of the block, and of its copy.
                    unsafe {
                        let mut to = copy_of_b.add(t * BLOCK_INNER * width);
                        for k in block.clone() {
                            std::ptr::copy_nonoverlapping(b.add(k * b_stride + j), to, numbers);
                            to = to.add(width);
                        }
                    }
                }
                for (i, height) in product.row_tiles::<L>() {
                    let is_wanted = |tile: &Range<usize>| match product.part {
                        Part::Full => true,
                        Part::Lower => tile.start < i + height,
                        Part::Upper => tile.end > i,
                    };
                    let mut is_copied = false;
                    for (t, (j, vectors, tail)) in column_tiles(columns.clone(), L::N).enumerate() {
                        let tile = j..(j + vectors * L::N).min(cols);
                        let entries = product.entries(i..i + height, tile.clone());
                        let range = entries.start.max(block.start)..entries.end.min(block.end);
                        // A first block without entries sets zeros.
                        if !is_wanted(&tile) || (range.is_empty() && mode != Mode::Set) {
                            continue;
                        }
                        // SAFETY: the tile lies inside the matrices that were checked, and the copies in their room.
                        unsafe {
                            if !is_copied {
                                for (k, to) in block.clone().zip((0..).step_by(MOST_ROWS)) {
                                    for r in 0..height {
                                        *room.add(to + r) = *a.data.add((i + r) * a.row + k * a.inner);
                                    }
                                }
                                is_copied = true;
                            }
                            let range = range.start.min(block.end) - start..range.end.max(start) - start;
                            let (b, out) = (copy_of_b.add(t * BLOCK_INNER * width), out.add(i * out_stride + j));
                            Tile { a: copy_of_a, b, b_stride: width, range, out, out_stride, mode }
                                .run::<L>(height, vectors, tail);
                        }
                    }
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
        for (rows, cols, inner) in [(19, 247, 600), (370, 370, 370)] {
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
    fn what_stands_above_a_cleared_triangle_is_not_read() {
        on_each(|isa| {
            for m in [1, 7, 8, 9, 15, 50, 370] {
                let full = pseudo_random(m, m, 3);
                let (lower, right) = (masked(&full, Part::Lower), pseudo_random(m, m, 4));
                let mut cleared = Mat::from_fn(m, m, |i, j| if j <= i { full[(i, j)] } else { f64::NAN });
                clear_above(&mut cleared);
                let (mut found, mut expected) = (Mat::default(), Mat::default());
                for (left, out) in [(&cleared, &mut found), (&lower, &mut expected)] {
                    product(out, false, Left::plain(left, Part::Lower), (&right, Part::Full), Part::Full);
                }
                assert_eq!(found, expected, "{isa:?} {m}");
            }
        });
    }
}
