//! From weights of pairs (k̄ ∘ k) to derivatives with respect to Z and ℓ: vector code.

use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Job, Lanes, run};

/// The rows of `x` relative to `origin`, and a column of ones. Differences do not depend on the origin, but the closer
/// it is, the less sums of products cancel.
pub(super) fn relative_to(origin: &[f64], x: &Mat, out: &mut Mat) {
    let (rows, dim) = (x.rows(), origin.len());
    assert_eq!(dim, x.cols(), "as many coordinates as the origin has");
    out.reshape(rows, dim + 1);
    let (x, out) = (x.as_slice().as_ptr(), out.as_mut_slice().as_mut_ptr());
    // SAFETY: the pointers cover rows of D and of D + 1 numbers.
    unsafe { run(Relative { rows, origin, x, out }) }
}

struct Relative<'a> {
    rows: usize,
    origin: &'a [f64],
    x: *const f64,
    out: *mut f64,
}

impl Job for Relative<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let dim = self.origin.len();
        for q in (0..dim).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                let origin = L::load_some(self.origin.as_ptr().add(q), dim - q);
                for i in 0..self.rows {
                    let relative = L::sub(L::load_some(self.x.add(i * dim + q), dim - q), origin);
                    L::store_some(self.out.add(i * (dim + 1) + q), relative, dim - q);
                }
            }
        }
        for i in 0..self.rows {
            // SAFETY: passed on to the caller.
            unsafe { *self.out.add(i * (dim + 1) + dim) = 1.0 }
        }
    }
}

/// `w ← w ∘ k`, entry by entry, and the sums of the rows of the result.
pub(super) fn multiply_entries(w: &mut Mat, k: &Mat, row_sums: &mut Vec<f64>) {
    let (rows, cols) = (w.rows(), w.cols());
    assert_eq!((rows, cols), (k.rows(), k.cols()), "a weight for every value");
    row_sums.resize(rows, 0.0);
    let (w, k) = (w.as_mut_slice().as_mut_ptr(), k.as_slice().as_ptr());
    // SAFETY: the pointers cover rows × cols numbers.
    unsafe { run(MultiplyEntries { cols, w, k, row_sums }) }
}

struct MultiplyEntries<'a> {
    cols: usize,
    w: *mut f64,
    k: *const f64,
    row_sums: &'a mut [f64],
}

impl Job for MultiplyEntries<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let cols = self.cols;
        for (block, sums) in self.row_sums.chunks_mut(4).enumerate() {
            // SAFETY: passed on to the caller.
            unsafe {
                let mut acc = [L::splat(0.0); 4];
                for (r, acc) in acc.iter_mut().enumerate().take(sums.len()) {
                    let row = (4 * block + r) * cols;
                    for j in (0..cols).step_by(L::N) {
                        let (w, k) = (self.w.add(row + j), self.k.add(row + j));
                        let weighted = L::mul(L::load_some(w, cols - j), L::load_some(k, cols - j));
                        L::store_some(w, weighted, cols - j);
                        *acc = L::add(*acc, weighted);
                    }
                }
                sums.iter_mut().zip(L::sum4(acc)).for_each(|(out, sum)| *out = sum);
            }
        }
    }
}

/// What weights W of pairs add to the gradients of Z and ℓ, from their moment W [Z, 1] or Wᵀ [X, 1], whose last column
/// is w:
///
/// ```text
/// z̄_iq += scale (moment_iq − w_i z_iq)/ℓ_q²          sums_q += Σ_i z_iq (w_i z_iq − share · moment_iq)
/// ```
pub(super) struct PairMoment<'a> {
    /// Z relative to the first inducing input, and a column of ones, M × (D + 1).
    pub relative: &'a Mat,
    /// M × (D + 1).
    pub moment: &'a Mat,
    /// 1/ℓ.
    pub inverse: &'a [f64],
    pub scale: f64,
    pub share: f64,
}

impl PairMoment<'_> {
    /// Adds to z̄ and to the sums of every dimension.
    ///
    /// # Panics
    /// If these are not of one layer.
    pub fn add_to(self, z_bar: &mut Mat, sums: &mut [f64]) {
        let (m, dim) = (z_bar.rows(), z_bar.cols());
        assert!(
            (self.relative.rows(), self.relative.cols()) == (m, dim + 1)
                && (self.moment.rows(), self.moment.cols()) == (m, dim + 1)
                && (self.inverse.len(), sums.len()) == (dim, dim),
            "sums of this layer"
        );
        let z_bar = z_bar.as_mut_slice().as_mut_ptr();
        // SAFETY: the pointers cover M rows of D + 1 and of D numbers, as just checked.
        unsafe { run(AddPairMoment { pairs: self, m, z_bar, sums }) }
    }
}

struct AddPairMoment<'a> {
    pairs: PairMoment<'a>,
    m: usize,
    z_bar: *mut f64,
    sums: &'a mut [f64],
}

impl Job for AddPairMoment<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let PairMoment { relative, moment, inverse, scale, share } = self.pairs;
        let dim = inverse.len();
        let (relative, moments) = (relative.as_slice().as_ptr(), moment.as_slice().as_ptr());
        for q in (0..dim).step_by(L::N) {
            let left = dim - q;
            // SAFETY: passed on to the caller.
            unsafe {
                let inverse = L::load_some(inverse.as_ptr().add(q), left);
                let (scale, share) = (L::mul(L::splat(scale), L::mul(inverse, inverse)), L::splat(share));
                let (sum_at, mut sum) = (self.sums.as_mut_ptr().add(q), L::splat(0.0));
                for i in 0..self.m {
                    let row = i * (dim + 1);
                    let (z, moment) =
                        (L::load_some(relative.add(row + q), left), L::load_some(moments.add(row + q), left));
                    let weighted = L::mul(L::splat(*moments.add(row + dim)), z);
                    let bar = self.z_bar.add(i * dim + q);
                    L::store_some(bar, L::mul_add(L::sub(moment, weighted), scale, L::load_some(bar, left)), left);
                    sum = L::mul_add(z, L::neg_mul_add(share, moment, weighted), sum);
                }
                L::store_some(sum_at, L::add(L::load_some(sum_at, left), sum), left);
            }
        }
    }
}

/// `squares_q += Σ_n u_n x_nq²` for the first columns of X, as many as there are squares.
///
/// # Panics
/// If there are fewer columns, or the numbers of rows differ.
pub(super) fn add_squares(x: &Mat, u: &[f64], squares: &mut [f64]) {
    assert!(squares.len() <= x.cols() && u.len() == x.rows(), "sizes must agree");
    // SAFETY: there are as many rows as weights, and a column for each of the squares.
    unsafe { run(AddSquares { x: x.as_slice().as_ptr(), stride: x.cols(), u, squares }) }
}

struct AddSquares<'a> {
    x: *const f64,
    stride: usize,
    u: &'a [f64],
    squares: &'a mut [f64],
}

impl Job for AddSquares<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        for (q, squares) in (0..).step_by(L::N).zip(self.squares.chunks_mut(L::N)) {
            let n = squares.len();
            // SAFETY: passed on to the caller.
            unsafe {
                let mut sum = L::load_some(squares.as_ptr(), n);
                for (row, u) in self.u.iter().enumerate() {
                    let x = L::load_some(self.x.add(row * self.stride + q), n);
                    sum = L::mul_add(L::mul(L::splat(*u), x), x, sum);
                }
                L::store_some(squares.as_mut_ptr(), sum, n);
            }
        }
    }
}
