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
    let (mut kappa, mut shift) = KNOWN.take();
    kappa.clear();
    kappa.extend(law.lengthscale.iter().map(|l| (0.5 * LOG2_E).sqrt() / l));
    shift.resize(dim, [0.0; QUAD]);
    let mut n = 0;
    while n < x.rows() {
        let points = if x.rows() - n < QUAD { 1 } else { QUAD };
        for (q, (shift, kappa)) in shift.iter_mut().zip(&kappa).enumerate() {
            (0..points).for_each(|g| shift[g] = kappa * x[(n + g, q)]);
        }
        let job = Known {
            points,
            centres: tables.points.as_ptr(),
            m,
            base: law.signal_var.log2(),
            kappa: &kappa,
            shift: &shift,
            out: k.row_mut(n).as_mut_ptr(),
        };
        // SAFETY: rows of centres have room past their ends; as many rows of M numbers as there are points begin at row n.
        unsafe { run(job) };
        n += points;
    }
    KNOWN.set((kappa, shift));
}

/// `out = 2^(base − Σ_q (κ_q c_q − shift_q)²)` for every centre c and point: a row of M numbers a point.
struct Known<'a> {
    /// One or [`QUAD`].
    points: usize,
    /// D rows of [`row_len`].
    centres: *const f64,
    m: usize,
    base: f64,
    kappa: &'a [f64],
    shift: &'a [[f64; QUAD]],
    out: *mut f64,
}

impl Known<'_> {
    #[inline(always)]
    unsafe fn sweep<L: Lanes, const G: usize>(&self) {
        const { assert!(L::N <= PAD) };
        let row = row_len(self.m);
        for i in (0..self.m).step_by(L::N) {
            // SAFETY: passed on to the caller.
            unsafe {
                let mut exponent = [L::splat(self.base); G];
                for (q, (kappa, shift)) in self.kappa.iter().zip(self.shift).enumerate() {
                    let (centre, kappa) = (L::load(self.centres.add(q * row + i)), L::splat(*kappa));
                    for (exponent, shift) in exponent.iter_mut().zip(shift) {
                        let u = L::mul_sub(centre, kappa, L::splat(*shift));
                        *exponent = L::neg_mul_add(u, u, *exponent);
                    }
                }
                let left = self.m - i;
                for (g, exponent) in exponent.into_iter().enumerate() {
                    let (at, value) = (self.out.add(g * self.m + i), L::exp2(exponent));
                    L::store_some(at, value, left);
                }
            }
        }
    }
}

impl Job for Known<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<L: Lanes>(self) {
        // SAFETY: passed on to the caller.
        unsafe { if self.points == 1 { self.sweep::<L, 1>() } else { self.sweep::<L, QUAD>() } }
    }
}
