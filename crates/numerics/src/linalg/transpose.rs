//! Transposes by blocks that fit into registers: entry by entry they cost as much as a product at M = 50.

use super::Mat;
use super::product::Part;
use crate::simd::{Job, Lanes, PAD, run};

/// Copies the given half of a square matrix over the other; columns to its right are left as they are.
///
/// # Panics
/// If there are fewer columns than rows.
pub fn mirror(a: &mut Mat, from: Part) {
    let (m, stride) = (a.rows(), a.cols());
    assert!(m <= stride, "the matrix must have a square");
    // SAFETY: the pointer covers M rows of at least M numbers.
    unsafe { run(Mirror { a: a.as_mut_slice().as_mut_ptr(), m, stride, from }) }
}

/// `A ← ½ (A + Aᵀ)`.
///
/// # Panics
/// If the matrix is not square.
pub fn symmetrise(a: &mut Mat) {
    let m = a.rows();
    assert_eq!(m, a.cols(), "the matrix must be square");
    let a = a.as_mut_slice().as_mut_ptr();
    // SAFETY: the pointer covers M × M numbers.
    unsafe { run(Symmetrise { from: a, to: a, m, scale: 0.5 }) }
}

/// `A ← ½ (A + Aᵀ) ∘ K` off the diagonal and 0 on it, for a symmetric K, whose upper triangle is read.
///
/// # Panics
/// If the matrices are not square, or not of one size.
pub fn weigh_symmetric(a: &mut Mat, k: &Mat) {
    let m = a.rows();
    assert_eq!((m, m, m), (a.cols(), k.rows(), k.cols()), "the matrices must be square, and of one size");
    // SAFETY: the pointers cover M × M numbers.
    unsafe { run(Weights { a: a.as_mut_slice().as_mut_ptr(), k: k.as_slice().as_ptr(), m }) }
}

/// `to = from + fromᵀ`.
///
/// # Panics
/// If the matrix is not square.
pub fn add_transpose_into(from: &Mat, to: &mut Mat) {
    let m = from.rows();
    assert_eq!(m, from.cols(), "the matrix must be square");
    to.reshape(m, m);
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_slice().as_mut_ptr());
    // SAFETY: both pointers cover M × M numbers.
    unsafe { run(Symmetrise { from, to, m, scale: 1.0 }) }
}

/// `to = fromᵀ`, into existing memory.
pub fn transpose_into(from: &Mat, to: &mut Mat) {
    let (rows, cols) = (from.rows(), from.cols());
    to.reshape(cols, rows);
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_slice().as_mut_ptr());
    // SAFETY: both pointers cover rows × cols numbers.
    unsafe { run(Transpose { from, part: Part::Full, to, stride: rows, rows, cols }) }
}

impl Mat {
    /// The transpose, copied.
    pub fn transpose(&self) -> Self {
        let mut out = Self::default();
        transpose_into(self, &mut out);
        out
    }
}

/// [`transpose_into`] rows of `stride` numbers, of which those beyond the matrix are left as they are.
///
/// # Panics
/// If there are too few of them.
pub fn transpose_rows_into(from: &Mat, to: &mut [f64], stride: usize) {
    let (rows, cols) = (from.rows(), from.cols());
    assert!(rows <= stride && cols * stride <= to.len(), "room for the transpose");
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_ptr());
    // SAFETY: the pointers cover rows of numbers, as just checked.
    unsafe { run(Transpose { from, part: Part::Full, to, stride, rows, cols }) }
}

/// `to = fromᵀ` for a square matrix with zeros above its diagonal; `to` must have zeros below its own, or another
/// shape.
///
/// # Panics
/// If the matrix is not square.
pub fn transpose_lower_into(from: &Mat, to: &mut Mat) {
    let m = from.rows();
    assert_eq!(m, from.cols(), "the matrix must be square");
    if (to.rows(), to.cols()) != (m, m) {
        to.reset(m, m);
    }
    let (from, to) = (from.as_slice().as_ptr(), to.as_mut_slice().as_mut_ptr());
    // SAFETY: both pointers cover M × M numbers.
    unsafe { run(Transpose { from, part: Part::Lower, to, stride: m, rows: m, cols: m }) }
}

/// Where blocks of `lanes` begin that cover `n` ≥ `lanes` rows or columns. The remainder is covered by one block that
/// overlaps another, which is done first: stores of single numbers would stall the vector loads that follow them.
#[inline(always)]
fn starts(n: usize, lanes: usize) -> impl Iterator<Item = usize> {
    let first = usize::from(!n.is_multiple_of(lanes));
    (0..n.div_ceil(lanes)).map(move |block| if block < first { n - lanes } else { (block - first) * lanes })
}

/// Pairs i < j of an M × M matrix that blocks at [`starts`] and on the diagonal do not reach, where M ≥ `lanes`.
#[inline(always)]
fn left_over(m: usize, lanes: usize) -> impl Iterator<Item = (usize, usize)> {
    let whole = m / lanes * lanes;
    (whole - lanes..m - lanes).flat_map(move |i| (whole..m).map(move |j| (i, j)))
}

struct Mirror {
    a: *mut f64,
    m: usize,
    stride: usize,
    from: Part,
}

impl Mirror {
    /// Entry (i, j), i < j, and its mirror image become one.
    #[inline(always)]
    unsafe fn entry(&self, i: usize, j: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let (upper, lower) = (self.a.add(i * self.stride + j), self.a.add(j * self.stride + i));
            if self.from == Part::Lower { *upper = *lower } else { *lower = *upper }
        }
    }

    /// The block from (i, i) on.
    #[inline(always)]
    unsafe fn diagonal<L: Lanes>(&self, i: usize) {
        const { assert!(L::N <= PAD) };
        let mut image = [0.0; PAD * PAD];
        // SAFETY: passed on to the caller.
        unsafe {
            let block = self.a.add(i * self.stride + i);
            L::transpose(block, self.stride, image.as_mut_ptr(), L::N);
            for r in 0..L::N {
                let (row, image) = (block.add(r * self.stride), L::load(image.as_ptr().add(r * L::N)));
                if self.from == Part::Lower {
                    let own = L::load_part(row, r);
                    L::store(row, image);
                    L::store_part(row, own, r);
                } else {
                    L::store_part(row, image, r);
                }
            }
        }
    }
}

impl Job for Mirror {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (m, stride) = (self.m, self.stride);
        // SAFETY: passed on to the caller.
        unsafe {
            if m < L::N {
                (0..m).for_each(|j| (0..j).for_each(|i| self.entry(i, j)));
                return;
            }
            for i in starts(m, L::N) {
                self.diagonal::<L>(i);
                for j in starts(m, L::N).filter(|j| *j >= i + L::N) {
                    let (upper, lower) = (self.a.add(i * stride + j), self.a.add(j * stride + i));
                    if self.from == Part::Lower {
                        L::transpose(lower, stride, upper, stride);
                    } else {
                        L::transpose(upper, stride, lower, stride);
                    }
                }
            }
            left_over(m, L::N).for_each(|(i, j)| self.entry(i, j));
        }
    }
}

/// `to = scale (from + fromᵀ)`. The two may be the same if the scale is ½: some blocks are taken twice, and means of
/// equals are these.
struct Symmetrise {
    from: *const f64,
    to: *mut f64,
    m: usize,
    scale: f64,
}

impl Symmetrise {
    /// Entry (i, j), i ≤ j, and its mirror image.
    #[inline(always)]
    unsafe fn entry(&self, i: usize, j: usize) {
        let (upper, lower) = (i * self.m + j, j * self.m + i);
        // SAFETY: passed on to the caller.
        unsafe {
            let sum = self.scale * (*self.from.add(upper) + *self.from.add(lower));
            (*self.to.add(upper), *self.to.add(lower)) = (sum, sum);
        }
    }

    /// The block from (i, j) on and its mirror image, i = j among them.
    #[inline(always)]
    unsafe fn block<L: Lanes>(&self, i: usize, j: usize) {
        const { assert!(L::N <= PAD) };
        let (m, mut image) = (self.m, [0.0; PAD * PAD]);
        let (upper, lower) = (i * m + j, j * m + i);
        // SAFETY: passed on to the caller.
        unsafe {
            L::transpose(self.from.add(lower), m, image.as_mut_ptr(), L::N);
            for r in 0..L::N {
                let sum = L::add(L::load(self.from.add(upper + r * m)), L::load(image.as_ptr().add(r * L::N)));
                L::store(self.to.add(upper + r * m), L::mul(L::splat(self.scale), sum));
            }
            if i < j {
                L::transpose(self.to.add(upper), m, self.to.add(lower), m);
            }
        }
    }
}

impl Job for Symmetrise {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let m = self.m;
        // SAFETY: passed on to the caller.
        unsafe {
            if m < L::N {
                (0..m).for_each(|j| (0..=j).for_each(|i| self.entry(i, j)));
                return;
            }
            for i in starts(m, L::N) {
                self.block::<L>(i, i);
                starts(m, L::N).filter(|j| *j >= i + L::N).for_each(|j| self.block::<L>(i, j));
            }
            left_over(m, L::N).for_each(|(i, j)| self.entry(i, j));
        }
    }
}

/// `A ← ½ (A + Aᵀ) ∘ K` off the diagonal, by blocks of which each is taken once.
struct Weights {
    a: *mut f64,
    k: *const f64,
    m: usize,
}

impl Weights {
    /// Entry (i, j), i < j, and its mirror image.
    #[inline(always)]
    unsafe fn entry(&self, i: usize, j: usize) {
        let (upper, lower) = (i * self.m + j, j * self.m + i);
        // SAFETY: passed on to the caller.
        unsafe {
            let weight = 0.5 * (*self.a.add(upper) + *self.a.add(lower)) * *self.k.add(upper);
            (*self.a.add(upper), *self.a.add(lower)) = (weight, weight);
        }
    }

    /// The rows of the block from (i, j) on, i ≤ j, into `out`; where i = j, what stands below the diagonal there has
    /// no meaning.
    #[inline(always)]
    unsafe fn rows<L: Lanes>(&self, i: usize, j: usize, out: *mut f64, stride: usize) {
        const { assert!(L::N <= PAD) };
        let mut image = [0.0; PAD * PAD];
        // SAFETY: passed on to the caller.
        unsafe {
            L::transpose(self.a.add(j * self.m + i), self.m, image.as_mut_ptr(), L::N);
            for r in 0..L::N {
                let at = (i + r) * self.m + j;
                let sum = L::add(L::load(self.a.add(at)), L::load(image.as_ptr().add(r * L::N)));
                L::store(out.add(r * stride), L::mul(L::mul(L::splat(0.5), sum), L::load(self.k.add(at))));
            }
        }
    }

    /// The block from (i, i) on.
    #[inline(always)]
    unsafe fn diagonal<L: Lanes>(&self, i: usize) {
        let (mut block, mut image) = ([0.0; PAD * PAD], [0.0; PAD * PAD]);
        // SAFETY: passed on to the caller.
        unsafe {
            self.rows::<L>(i, i, block.as_mut_ptr(), L::N);
            (0..L::N).for_each(|r| block[r * L::N + r] = 0.0);
            L::transpose(block.as_ptr(), L::N, image.as_mut_ptr(), L::N);
            for r in 0..L::N {
                let row = self.a.add((i + r) * self.m + i);
                L::store(row, L::load(block.as_ptr().add(r * L::N)));
                L::store_part(row, L::load(image.as_ptr().add(r * L::N)), r);
            }
        }
    }
}

impl Job for Weights {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let m = self.m;
        let whole = m / L::N * L::N;
        // SAFETY: passed on to the caller.
        unsafe {
            for i in (0..whole).step_by(L::N) {
                self.diagonal::<L>(i);
                for j in (i + L::N..whole).step_by(L::N) {
                    let upper = self.a.add(i * m + j);
                    self.rows::<L>(i, j, upper, m);
                    L::transpose(upper, m, self.a.add(j * m + i), m);
                }
            }
            for j in whole..m {
                (0..j).for_each(|i| self.entry(i, j));
                *self.a.add(j * m + j) = 0.0;
            }
        }
    }
}

struct Transpose {
    from: *const f64,
    /// Where there are entries: everywhere, or in the lower triangle.
    part: Part,
    to: *mut f64,
    /// From one row of the transpose to the next.
    stride: usize,
    rows: usize,
    cols: usize,
}

impl Job for Transpose {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let Self { from, part, to, stride, rows, cols } = self;
        // SAFETY: passed on to the caller.
        unsafe {
            if rows.min(cols) < L::N {
                for i in 0..rows {
                    (0..cols).for_each(|j| *to.add(j * stride + i) = *from.add(i * cols + j));
                }
                return;
            }
            for i in starts(rows, L::N) {
                let end = if part == Part::Lower { i + L::N } else { cols };
                for j in starts(cols, L::N).filter(|j| *j < end) {
                    L::transpose(from.add(i * cols + j), cols, to.add(j * stride + i), stride);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::forced::on_each;

    fn numbered(rows: usize, cols: usize) -> Mat {
        Mat::from_fn(rows, cols, |i, j| (100 * i + j) as f64)
    }

    #[test]
    fn transposes_of_any_shape_on_every_instruction_set() {
        on_each(|isa| {
            for (rows, cols) in [(0, 0), (1, 1), (3, 5), (8, 8), (7, 16), (16, 9), (11, 13), (50, 50), (25, 33)] {
                let (from, mut to) = (numbered(rows, cols), Mat::default());
                transpose_into(&from, &mut to);
                assert_eq!(to, Mat::from_fn(cols, rows, |i, j| from[(j, i)]), "{isa:?} {rows} × {cols}");
                let mut wide = Mat::from_fn(cols, rows + 3, |_, _| -1.0);
                transpose_rows_into(&from, wide.as_mut_slice(), rows + 3);
                let expected = Mat::from_fn(cols, rows + 3, |i, j| if j < rows { from[(j, i)] } else { -1.0 });
                assert_eq!(wide, expected, "{isa:?} {rows} × {cols}");
            }
        });
    }

    #[test]
    fn transposes_of_triangles_on_every_instruction_set() {
        on_each(|isa| {
            let mut to = Mat::default();
            for m in [1, 3, 7, 8, 9, 11, 16, 20, 50, 50] {
                let from = Mat::from_fn(m, m, |i, j| if j <= i { (100 * i + j) as f64 } else { 0.0 });
                transpose_lower_into(&from, &mut to);
                assert_eq!(to, Mat::from_fn(m, m, |i, j| from[(j, i)]), "{isa:?} {m}");
            }
        });
    }

    #[test]
    fn either_half_over_the_other_on_every_instruction_set() {
        on_each(|isa| {
            for m in [0, 1, 2, 4, 5, 7, 8, 9, 11, 15, 16, 20, 31, 50] {
                let a = numbered(m, m);
                for (part, from_upper) in [(Part::Upper, true), (Part::Lower, false)] {
                    let mut found = a.clone();
                    mirror(&mut found, part);
                    let expected =
                        Mat::from_fn(m, m, |i, j| if (i <= j) == from_upper { a[(i, j)] } else { a[(j, i)] });
                    assert_eq!(found, expected, "{isa:?} {m} {part:?}");
                }
                let mut found = a.clone();
                symmetrise(&mut found);
                let expected = Mat::from_fn(m, m, |i, j| 0.5 * (a[(i, j)] + a[(j, i)]));
                assert_eq!(found, expected, "{isa:?} {m}");
                let mut found = a.clone();
                let k = Mat::from_fn(m, m, |i, j| if i <= j { (7 * i + j) as f64 } else { f64::NAN });
                weigh_symmetric(&mut found, &k);
                let weight = |i: usize, j: usize| 0.5 * (a[(i, j)] + a[(j, i)]) * k[(i.min(j), i.max(j))];
                let expected = Mat::from_fn(m, m, |i, j| if i == j { 0.0 } else { weight(i, j) });
                assert_eq!(found, expected, "{isa:?} {m}");
                add_transpose_into(&a, &mut found);
                let expected = Mat::from_fn(m, m, |i, j| a[(i, j)] + a[(j, i)]);
                assert_eq!(found, expected, "{isa:?} {m}");
            }
        });
    }
}
