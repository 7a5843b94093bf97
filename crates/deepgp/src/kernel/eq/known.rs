//! The exponentiated quadratic law at known inputs, which are Gaussian ones without variance.

use crate::kernel::{Eq, Law, PsiTables, row_len};
use crate::linalg::Mat;
use crate::simd::{Job, Lanes, PAD, run};
use std::cell::Cell;
use std::f64::consts::LOG2_E;

/// Points in registers together.
const QUAD: usize = 4;

thread_local! {
    /// κ, and κ x of a quad of points, for every dimension; kept between calls.
    static KNOWN: Cell<(Vec<f64>, Vec<[f64; QUAD]>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// k(x_n, z_i) = 2^(log₂ s² − Σ_q (κ_q z_iq − κ_q x_nq)²), κ = √(½ log₂e)/ℓ, into the rows of `k` (N × M).
pub(super) fn known(law: &Eq, tables: &PsiTables, x: &Mat, k: &mut Mat) {
    let (m, dim, row) = (tables.z.rows(), law.dim_in(), row_len(tables.z.rows()));
    assert!(tables.points.len() >= dim * row && (k.rows(), k.cols()) == (x.rows(), m), "the tables belong to this law");
    assert_eq!(x.cols(), dim, "inputs have as many columns as there are lengthscales");
    let (mut kappa, mut shift) = KNOWN.take();
    kappa.clear();
    kappa.extend(law.lengthscale.iter().map(|l| (0.5 * LOG2_E).sqrt() / l));
    shift.resize(dim, [0.0; QUAD]);
    let job = Known {
        x,
        centres: tables.points.as_ptr(),
        m,
        base: law.signal_var.log2(),
        kappa: &kappa,
        shift: &mut shift,
        out: k.as_mut_slice().as_mut_ptr(),
    };
    // SAFETY: rows of centres have room past their ends, and there are as many rows of M numbers as points.
    unsafe { run(job) };
    KNOWN.set((kappa, shift));
}

/// `out = 2^(base − Σ_q (κ_q c_q − κ_q x_q)²)` for every centre c and point x: a row of M numbers a point.
struct Known<'a> {
    x: &'a Mat,
    /// D rows of [`row_len`].
    centres: *const f64,
    m: usize,
    base: f64,
    kappa: &'a [f64],
    /// κ x of the points in registers, for every dimension.
    shift: &'a mut [[f64; QUAD]],
    out: *mut f64,
}

impl Known<'_> {
    /// G points from point `n` on.
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&mut self, n: usize) {
        const { assert!(L::N <= PAD && G <= QUAD) };
        let (row, dim) = (row_len(self.m), self.kappa.len());
        // SAFETY: passed on to the caller.
        unsafe {
            let (x, out) = (self.x.as_slice().as_ptr().add(n * dim), self.out.add(n * self.m));
            for (q, (shift, kappa)) in self.shift.iter_mut().zip(self.kappa).enumerate() {
                (0..G).for_each(|g| shift[g] = kappa * *x.add(g * dim + q));
            }
            for i in (0..self.m).step_by(L::N) {
                let mut exponent = [L::splat(self.base); G];
                for (q, (kappa, shift)) in self.kappa.iter().zip(&*self.shift).enumerate() {
                    let (centre, kappa) = (L::load(self.centres.add(q * row + i)), L::splat(*kappa));
                    for (exponent, shift) in exponent.iter_mut().zip(shift) {
                        let u = L::mul_sub(centre, kappa, L::splat(*shift));
                        *exponent = L::neg_mul_add(u, u, *exponent);
                    }
                }
                let left = self.m - i;
                for (g, exponent) in exponent.into_iter().enumerate() {
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
