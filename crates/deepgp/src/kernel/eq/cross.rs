//! k(X, Z) of the exponentiated quadratic law at exact inputs: vector code.

use super::distances::CLOSE_SQUARED_NORM;
use super::parameters::Eq;
use super::tables::EqTables;
use crate::kernel::padded::row_len;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::simd::{Job, Lanes, PAD, run};
use std::ops::Range;

/// Points in registers together, and vectors of inducing inputs.
const POINTS: usize = 4;
const VECTORS: usize = 4;
/// Exponents that stay in the first-level cache until all of them are there.
const CACHED: usize = 4096;

/// k(x_n, z_i) = 2^(log₂ s² − 2 Σ_q (p_iq − p_nq)²) into the rows of `k` (N × M), p = √(log₂e)/(2ℓ) times the input
/// relative to the first inducing input. `placed` is working memory.
pub(super) fn cross(law: &Eq, tables: &EqTables, x: &Mat, k: &mut Mat, placed: &mut Vec<f64>) {
    let (m, dim, row) = (tables.z.rows(), law.lengthscale.len(), row_len(tables.z.rows()));
    assert_eq!(tables.scaled.len(), (dim + 1) * row, "the tables belong to this law");
    assert!((k.rows(), k.cols()) == (x.rows(), m), "a row for every point");
    assert_eq!((x.cols(), tables.z.cols()), (dim, dim), "inputs have as many columns as there are lengthscales");
    assert_eq!((tables.scale.len(), tables.origin.len()), (row_len(dim), row_len(dim)), "whole vectors");
    placed.resize(POINTS * row_len(dim), 0.0);
    let job = Cross {
        x,
        centres: tables.scaled.as_ptr(),
        near: tables.near,
        m,
        base: law.signal_var.log2(),
        scale: &tables.scale,
        origin: &tables.origin,
        placed,
        out: k.as_mut_slice().as_mut_ptr(),
    };
    // SAFETY: rows of centres have space past their ends, and there are as many rows of M numbers as points.
    unsafe { run(job) };
}

/// `out = 2^(base − 2 Σ_q (c_q − p_q)²)` for every centre c and point x, p = scale (x − origin): a row of M numbers a
/// point.
struct Cross<'a> {
    x: &'a Mat,
    /// D rows of [`row_len`], then one of −|c|²/2; and whether all centres are near the origin.
    centres: *const f64,
    near: bool,
    m: usize,
    base: f64,
    /// Numbers of every dimension, then zeros that fill up a vector.
    scale: &'a [f64],
    origin: &'a [f64],
    /// p of some points, rows of [`row_len`].
    placed: &'a mut [f64],
    out: *mut f64,
}

impl Cross<'_> {
    /// p of the G points from point `n` on, and |p|² of each.
    #[inline(always)]
    unsafe fn place<L: Lanes, const G: usize>(&mut self, n: usize) -> [f64; POINTS] {
        let Self { x, scale, origin, placed, .. } = self;
        let dim = x.cols();
        // SAFETY: passed on to the caller.
        unsafe {
            let (x, mut squares) = (x.as_slice().as_ptr().add(n * dim), [L::splat(0.0); POINTS]);
            for q in (0..dim).step_by(L::N) {
                let (scale, origin) = (L::load(scale.as_ptr().add(q)), L::load(origin.as_ptr().add(q)));
                for (g, square) in squares.iter_mut().enumerate().take(G) {
                    let p = L::mul(scale, L::sub(L::load_some(x.add(g * dim + q), dim - q), origin));
                    L::store(placed.as_mut_ptr().add(g * row_len(dim) + q), p);
                    *square = L::mul_add(p, p, *square);
                }
            }
            L::sum4(squares)
        }
    }

    /// One point. Its values must not depend on other points, so only its own square decides between the forms.
    #[inline(always)]
    unsafe fn point<L: Lanes>(&mut self, n: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.place::<L, 1>(n) {
                square if self.near && square[0] <= CLOSE_SQUARED_NORM => self.exponents::<L, 1, true>(n, square),
                square => self.exponents::<L, 1, false>(n, square),
            }
        }
    }

    /// The four points from point `n` on, together if all of them are near the origin or none of them is.
    #[inline(always)]
    unsafe fn four_points<L: Lanes>(&mut self, n: usize) {
        // SAFETY: passed on to the caller.
        unsafe {
            let squares = self.place::<L, POINTS>(n);
            match squares.iter().filter(|square| self.near && **square <= CLOSE_SQUARED_NORM).count() {
                POINTS => self.exponents::<L, POINTS, true>(n, squares),
                0 => self.exponents::<L, POINTS, false>(n, squares),
                _ => {
                    for n in n..n + POINTS {
                        self.point::<L>(n);
                    }
                }
            }
        }
    }

    /// The exponents of G points from point `n` on, whose p are in `placed`.
    #[inline(always)]
    unsafe fn exponents<L: Lanes, const G: usize, const CLOSE: bool>(&self, n: usize, squares: [f64; POINTS]) {
        for i in (0..self.m).step_by(VECTORS * L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                match (self.m - i).div_ceil(L::N) {
                    1 => self.tile::<L, G, 1, CLOSE>(n, i, squares),
                    2 => self.tile::<L, G, 2, CLOSE>(n, i, squares),
                    3 => self.tile::<L, G, 3, CLOSE>(n, i, squares),
                    _ => self.tile::<L, G, VECTORS, CLOSE>(n, i, squares),
                }
            }
        }
    }

    /// C vectors of centres from `i` on. Exponents are base − 2|p|² + 4 (p·c − |c|²/2) if CLOSE.
    #[inline(always)]
    unsafe fn tile<L: Lanes, const G: usize, const C: usize, const CLOSE: bool>(
        &self,
        n: usize,
        i: usize,
        squares: [f64; POINTS],
    ) {
        const { assert!(L::N <= PAD && G <= POINTS) };
        let (row, dim) = (row_len(self.m), self.x.cols());
        // SAFETY: passed on to the caller.
        unsafe {
            let (mut sums, mut centres) = ([[L::splat(0.0); C]; G], self.centres.add(i));
            if CLOSE {
                for c in 0..C {
                    let half = L::load(self.centres.add(dim * row + i + c * L::N));
                    (0..G).for_each(|g| sums[g][c] = half);
                }
            }
            let placed = self.placed.as_ptr();
            for q in 0..dim {
                let mut centre = [L::splat(0.0); C];
                (0..C).for_each(|c| centre[c] = L::load(centres.add(c * L::N)));
                for (g, sums) in sums.iter_mut().enumerate() {
                    let p = L::splat(*placed.add(g * row_len(dim) + q));
                    for (sum, centre) in sums.iter_mut().zip(centre) {
                        *sum = if CLOSE {
                            L::mul_add(p, centre, *sum)
                        } else {
                            let u = L::sub(centre, p);
                            L::mul_add(u, u, *sum)
                        };
                    }
                }
                centres = centres.wrapping_add(row);
            }
            for (g, (sums, square)) in sums.into_iter().zip(squares).enumerate() {
                let (of_sum, base) = if CLOSE { (4.0, self.base - 2.0 * square) } else { (-2.0, self.base) };
                for (c, sum) in sums.into_iter().enumerate() {
                    let (at, left) = (i + c * L::N, self.m - i - c * L::N);
                    let exponent = L::mul_add(L::splat(of_sum), sum, L::splat(base));
                    L::store_some(self.out.add((n + g) * self.m + at), exponent, left);
                }
            }
        }
    }

    /// Powers of two of the exponents of some points, whose rows follow each other.
    #[inline(always)]
    unsafe fn exponentials<L: Lanes>(&self, points: Range<usize>) {
        let end = points.end * self.m;
        for at in (points.start * self.m..end).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                let (at, left) = (self.out.add(at), end - at);
                L::store_some(at, L::exp2(L::load_some(at, left)), left);
            }
        }
    }
}

impl Job for Cross<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let points = self.x.rows();
        let some_rows = (CACHED / self.m).max(1).next_multiple_of(POINTS);
        for first in (0..points).step_by(some_rows) {
            let (mut begin, end) = (first, points.min(first + some_rows));
            // SAFETY: passed on to the caller.
            unsafe {
                // Loops, not closures, which would be compiled without vectors.
                if let Some(last) = points.checked_sub(POINTS) {
                    // The last four are those that end with the last point, some of them for a second time.
                    for n in (first..end).step_by(POINTS) {
                        self.four_points::<L>(n.min(last));
                    }
                    begin = first.min(last);
                } else {
                    for n in first..end {
                        self.point::<L>(n);
                    }
                }
                self.exponentials::<L>(begin..end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::eq::scratch::EqScratch;
    use crate::kernel::law::Law;
    use deepgp_numerics::simd::forced::on_each;

    /// Near points, far ones, both among four, fewer than four, and centres that are far: values are those of the law,
    /// and a row alone has the bits that it has among others.
    #[test]
    fn values_are_those_of_the_law_beside_any_others() {
        let law = Eq { lengthscale: vec![0.7, 1.3, 2.1], signal_var: 1.7 };
        let number = |i: usize, q: usize, width: f64| width * (1.3 * i as f64 + 2.9 * q as f64).sin();
        on_each(|isa| {
            for (points, m, of_x, of_z) in [
                (1, 3, 0.5, 0.5),
                (3, 8, 3.0, 1.0),
                (9, 17, 2.0, 1.0),
                (50, 50, 3.0, 1.0),
                (7, 33, 0.5, 9.0),
                (9, 1300, 3.0, 1.0),
            ] {
                // Every seventh point is still farther away.
                let x = Mat::from_fn(points, 3, |n, q| number(n, q, if n % 7 == 5 { 20.0 } else { of_x }));
                let z = Mat::from_fn(m, 3, |i, q| number(i + 100, q, of_z));
                let mut scratch = EqScratch::default();
                let (mut tables, mut k, mut alone) = (EqTables::default(), Mat::default(), Mat::default());
                law.prepare_exact(&z, &mut tables);
                assert_eq!(tables.near, of_z < 2.0, "both forms are to be met");
                law.cross_from_tables(&tables, &x, &mut k, &mut scratch);
                for n in 0..points {
                    for i in 0..m {
                        let square = |q: usize| ((x[(n, q)] - z[(i, q)]) / law.lengthscale[q]).powi(2);
                        let square: f64 = (0..3).map(square).sum();
                        let expected = law.signal_var * (-0.5 * square).exp();
                        let error = (k[(n, i)] - expected).abs();
                        assert!(
                            error <= 2e-15 * (1.0 + square) * expected,
                            "{isa:?} {points} × {m} at ({n}, {i}): {error}"
                        );
                    }
                    law.cross_from_tables(&tables, &Mat::from_fn(1, 3, |_, q| x[(n, q)]), &mut alone, &mut scratch);
                    assert_eq!(alone.row(0), k.row(n), "{isa:?} {points} × {m}, point {n}");
                }
            }
        });
    }
}
