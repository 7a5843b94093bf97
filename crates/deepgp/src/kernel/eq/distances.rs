//! The vector code of `eq.rs` for K_zz and k_xz: from distances to values, and back from weights of pairs to points.

use crate::kernel::row_len;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::linalg::product::Part;
use deepgp_numerics::simd::{Job, Lanes, run};

/// Rows of pairs that are taken together.
const ROWS: usize = 4;

/// `out = 2^(2 pairs − constant)` in the upper triangle of an M × M matrix, for pairs in rows of [`row_len`].
pub(super) struct Gram<'a> {
    pub m: usize,
    pub pairs: &'a [f64],
    pub constant: f64,
    pub out: &'a mut [f64],
}

impl Job for Gram<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let (m, row) = (self.m, row_len(self.m));
        for (i, j) in (0..m).flat_map(|i| (i..m).step_by(L::N).map(move |j| (i, j))) {
            // SAFETY: passed on to the caller.
            unsafe {
                let t = L::load(self.pairs.as_ptr().add(i * row + j));
                let value = L::exp2(L::mul_sub(L::splat(2.0), t, L::splat(self.constant)));
                let out = self.out.as_mut_ptr().add(i * m + j);
                L::store_some(out, value, m - j);
            }
        }
    }
}

/// |p|² up to which squares and a product may stand for a difference, |p_i|² + |p_n|² − 2 p_i·p_n, one operation a dimension instead of
/// two. Exponents are then known to some 10⁻¹⁵ either way: p itself is rounded.
pub(super) const NEAR: f64 = 4.0;

/// `out = constant − Σ_q (p_iq − p_jq)²`, p = (z − z_0)/(unit · ℓ), for all pairs, or for i ≤ j at least, in rows of [`row_len`]. As seen
/// from one of them, points far from zero lose nothing by being scaled before they are compared.
///
/// Tells whether all of them are [`NEAR`].
pub(super) struct PairDistances<'a> {
    pub m: usize,
    pub points: &'a [f64],
    pub lengthscale: &'a [f64],
    pub unit: f64,
    pub constant: f64,
    pub wanted: Part,
    /// p, as many numbers as `points`, then a row of −|p|²/2.
    pub scaled: &'a mut [f64],
    pub out: &'a mut [f64],
}

impl Job for PairDistances<'_> {
    type Output = bool;

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) -> bool {
        // SAFETY: passed on to the caller.
        unsafe {
            self.scale::<L>();
            self.compare::<L>();
        }
        let halves = &self.scaled[self.lengthscale.len() * row_len(self.m)..][..self.m];
        halves.iter().all(|half| *half >= -0.5 * NEAR)
    }
}

impl PairDistances<'_> {
    /// p and −|p|²/2.
    #[inline(always)]
    unsafe fn scale<L: Lanes>(&mut self) {
        let (row, dim) = (row_len(self.m), self.lengthscale.len());
        // SAFETY: passed on to the caller.
        unsafe {
            for (q, l) in self.lengthscale.iter().enumerate() {
                let (z, p) = (self.points.as_ptr().add(q * row), self.scaled.as_mut_ptr().add(q * row));
                let (origin, scale) = (L::splat(*z), L::splat(1.0 / (self.unit * l)));
                for i in (0..self.m).step_by(L::N) {
                    L::store(p.add(i), L::mul(scale, L::sub(L::load(z.add(i)), origin)));
                }
            }
            for i in (0..self.m).step_by(L::N) {
                let mut square = L::splat(0.0);
                for q in 0..dim {
                    let p = L::load(self.scaled.as_ptr().add(q * row + i));
                    square = L::mul_add(p, p, square);
                }
                L::store(self.scaled.as_mut_ptr().add(dim * row + i), L::mul(L::splat(-0.5), square));
            }
        }
    }

    /// The pairs that are wanted.
    #[inline(always)]
    unsafe fn compare<L: Lanes>(&mut self) {
        const { assert!(L::N.is_multiple_of(ROWS)) };
        let row = row_len(self.m);
        // Rows of a block have their diagonals in the same vector. Beyond the last row, the last again.
        for i in (0..self.m).step_by(ROWS) {
            let row_of: [usize; ROWS] = std::array::from_fn(|r| (i + r).min(self.m - 1));
            let first = if self.wanted == Part::Full { 0 } else { i / L::N * L::N };
            for j in (first..self.m).step_by(L::N) {
                // SAFETY: passed on to the caller.
                unsafe {
                    let mut exponents = [L::splat(self.constant); ROWS];
                    for q in 0..self.lengthscale.len() {
                        let p = self.scaled.as_ptr().add(q * row);
                        let p_j = L::load(p.add(j));
                        for (exponent, i) in exponents.iter_mut().zip(row_of) {
                            let diff = L::sub(p_j, L::splat(*p.add(i)));
                            *exponent = L::neg_mul_add(diff, diff, *exponent);
                        }
                    }
                    for (exponent, i) in exponents.into_iter().zip(row_of) {
                        L::store(self.out.as_mut_ptr().add(i * row + j), exponent);
                    }
                }
            }
        }
    }
}

/// The rows of `x` as seen from `origin`, and a column of ones. Differences do not depend on the origin, but sums of products
/// cancel the less the closer it is.
pub(super) fn see_from(origin: &[f64], x: &Mat, out: &mut Mat) {
    let (rows, dim) = (x.rows(), origin.len());
    assert_eq!(dim, x.cols(), "as many coordinates as the origin has");
    out.reshape(rows, dim + 1);
    let (x, out) = (x.as_slice().as_ptr(), out.as_mut_slice().as_mut_ptr());
    // SAFETY: the pointers cover rows of D and of D + 1 numbers.
    unsafe { run(Seen { rows, origin, x, out }) }
}

struct Seen<'a> {
    rows: usize,
    origin: &'a [f64],
    x: *const f64,
    out: *mut f64,
}

impl Job for Seen<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let dim = self.origin.len();
        for q in (0..dim).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                let origin = L::load_some(self.origin.as_ptr().add(q), dim - q);
                for i in 0..self.rows {
                    let seen = L::sub(L::load_some(self.x.add(i * dim + q), dim - q), origin);
                    L::store_some(self.out.add(i * (dim + 1) + q), seen, dim - q);
                }
            }
        }
        for i in 0..self.rows {
            // SAFETY: passed on to the caller.
            unsafe { *self.out.add(i * (dim + 1) + dim) = 1.0 }
        }
    }
}

/// `w ← w ∘ k` entry by entry, with the sums of the rows.
pub(super) fn weigh(w: &mut Mat, k: &Mat, row_sums: &mut Vec<f64>) {
    let (rows, cols) = (w.rows(), w.cols());
    assert_eq!((rows, cols), (k.rows(), k.cols()), "a weight for every value");
    row_sums.resize(rows, 0.0);
    let (w, k) = (w.as_mut_slice().as_mut_ptr(), k.as_slice().as_ptr());
    // SAFETY: the pointers cover rows × cols numbers.
    unsafe { run(Weigh { cols, w, k, row_sums }) }
}

struct Weigh<'a> {
    cols: usize,
    w: *mut f64,
    k: *const f64,
    row_sums: &'a mut [f64],
}

impl Job for Weigh<'_> {
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
                        let weighed = L::mul(L::load_some(w, cols - j), L::load_some(k, cols - j));
                        L::store_some(w, weighed, cols - j);
                        *acc = L::add(*acc, weighed);
                    }
                }
                sums.iter_mut().zip(L::sum4(acc)).for_each(|(out, sum)| *out = sum);
            }
        }
    }
}

/// What weights of pairs pull inducing inputs by, from their moment (M × (D + 1)), whose last column is w:
///
/// ```text
/// z̄_iq += scale (moment_iq − w_i z_iq)/ℓ_q²          sums_q += Σ_i z_iq (w_i z_iq − share · moment_iq)
/// ```
/// with z as `seen` from the first (M × (D + 1)) and 1/ℓ given.
pub(super) fn pull(
    seen: &Mat,
    moment: &Mat,
    (scale, share): (f64, f64),
    inverse: &[f64],
    z_bar: &mut Mat,
    sums: &mut [f64],
) {
    let (m, dim) = (z_bar.rows(), z_bar.cols());
    assert!(
        (seen.rows(), seen.cols()) == (m, dim + 1)
            && (moment.rows(), moment.cols()) == (m, dim + 1)
            && (inverse.len(), sums.len()) == (dim, dim),
        "sums of this layer"
    );
    let (seen, moment) = (seen.as_slice().as_ptr(), moment.as_slice().as_ptr());
    let z_bar = z_bar.as_mut_slice().as_mut_ptr();
    // SAFETY: the pointers cover M rows of D + 1 and of D numbers, as just checked.
    unsafe { run(Pull { m, seen, moment, scale, share, inverse, z_bar, sums }) }
}

struct Pull<'a> {
    m: usize,
    seen: *const f64,
    moment: *const f64,
    scale: f64,
    share: f64,
    inverse: &'a [f64],
    z_bar: *mut f64,
    sums: &'a mut [f64],
}

impl Job for Pull<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        let dim = self.inverse.len();
        for q in (0..dim).step_by(L::N) {
            let left = dim - q;
            // SAFETY: passed on to the caller.
            unsafe {
                let inverse = L::load_some(self.inverse.as_ptr().add(q), left);
                let (scale, share) = (L::mul(L::splat(self.scale), L::mul(inverse, inverse)), L::splat(self.share));
                let (sum_at, mut sum) = (self.sums.as_mut_ptr().add(q), L::splat(0.0));
                for i in 0..self.m {
                    let row = i * (dim + 1);
                    let (z, moment) =
                        (L::load_some(self.seen.add(row + q), left), L::load_some(self.moment.add(row + q), left));
                    let weighted = L::mul(L::splat(*self.moment.add(row + dim)), z);
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
    unsafe { run(Squares { x: x.as_slice().as_ptr(), stride: x.cols(), u, squares }) }
}

struct Squares<'a> {
    x: *const f64,
    stride: usize,
    u: &'a [f64],
    squares: &'a mut [f64],
}

impl Job for Squares<'_> {
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
