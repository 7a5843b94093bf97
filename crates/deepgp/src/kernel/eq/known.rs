//! The exponentiated quadratic law at known inputs, which are Gaussian ones without variance.

use crate::kernel::{Eq, Law, PsiTables, row_len};
use crate::linalg::Mat;
use crate::simd::{Job, Lanes, PAD, run};
use std::cell::Cell;
use std::f64::consts::LOG2_E;

/// Points in registers together.
const QUAD: usize = 4;

thread_local! {
    /// √(log₂e)/(2ℓ), and a quad of points in the units of the tables, for every dimension; kept between calls.
    static KNOWN: Cell<(Vec<f64>, Vec<[f64; QUAD]>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// k(x_n, z_i) = 2^(log₂ s² − 2 Σ_q (p_iq − p_nq)²) into the rows of `k` (N × M), p = √(log₂e)/(2ℓ) times what is seen from the first
/// inducing input: its scaled tables.
pub(super) fn known(law: &Eq, tables: &PsiTables, x: &Mat, k: &mut Mat) {
    let (m, dim, row) = (tables.z.rows(), law.dim_in(), row_len(tables.z.rows()));
    assert!(tables.scaled.len() >= dim * row && (k.rows(), k.cols()) == (x.rows(), m), "the tables belong to this law");
    assert_eq!((x.cols(), tables.z.cols()), (dim, dim), "inputs have as many columns as there are lengthscales");
    let (mut scale, mut quad) = KNOWN.take();
    scale.clear();
    scale.extend(law.lengthscale.iter().map(|l| 0.5 * LOG2_E.sqrt() / l));
    quad.resize(dim, [0.0; QUAD]);
    let job = Known {
        x,
        origin: tables.z.row(0),
        centres: tables.scaled.as_ptr(),
        m,
        base: law.signal_var.log2(),
        scale: &scale,
        quad: &mut quad,
        out: k.as_mut_slice().as_mut_ptr(),
    };
    // SAFETY: rows of centres have room past their ends, and there are as many rows of M numbers as points.
    unsafe { run(job) };
    KNOWN.set((scale, quad));
}

/// `out = 2^(base − 2 Σ_q (c_q − p_q)²)` for every centre c and point x, p = scale (x − origin): a row of M numbers a point.
struct Known<'a> {
    x: &'a Mat,
    origin: &'a [f64],
    /// D rows of [`row_len`].
    centres: *const f64,
    m: usize,
    base: f64,
    scale: &'a [f64],
    /// p of the points in registers, for every dimension.
    quad: &'a mut [[f64; QUAD]],
    out: *mut f64,
}

impl Known<'_> {
    /// G points from point `n` on.
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, n: usize) {
        const { assert!(L::N <= PAD && G <= QUAD) };
        let (row, dim) = (row_len(self.m), self.scale.len());
        // SAFETY: passed on to the caller.
        unsafe {
            let (x, out) = (self.x.as_slice().as_ptr().add(n * dim), self.out.add(n * self.m));
            for (q, (p, (scale, origin))) in self.quad.iter_mut().zip(self.scale.iter().zip(self.origin)).enumerate() {
                (0..G).for_each(|g| p[g] = scale * (*x.add(g * dim + q) - origin));
            }
            for i in (0..self.m).step_by(L::N) {
                let (mut squares, mut centres) = ([L::splat(0.0); G], self.centres.add(i));
                for p in &*self.quad {
                    let centre = L::load(centres);
                    for (square, p) in squares.iter_mut().zip(p) {
                        let u = L::sub(centre, L::splat(*p));
                        *square = L::mul_add(u, u, *square);
                    }
                    centres = centres.wrapping_add(row);
                }
                let left = self.m - i;
                for (g, square) in squares.into_iter().enumerate() {
                    let exponent = L::neg_mul_add(L::splat(2.0), square, L::splat(self.base));
                    L::store_some(out.add(g * self.m + i), L::exp2(exponent), left);
                }
            }
        }
    }
}

impl Job for Known<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(mut self) {
        let points = self.x.rows();
        // SAFETY: passed on to the caller.
        unsafe {
            if points < QUAD {
                (0..points).for_each(|n| self.sweep::<L, 1>(n));
                return;
            }
            // The last four are those that end with the last point, some of them for a second time.
            for n in (0..points).step_by(QUAD) {
                self.sweep::<L, QUAD>(n.min(points - QUAD));
            }
        }
    }
}
