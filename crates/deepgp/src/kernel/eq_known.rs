//! The exponentiated quadratic law at known inputs, which are Gaussian ones without variance.

use super::eq_jobs::{Centres, ExpSweep, Points, QUAD, Rows};
use super::eq_shape::Shape;
use super::{Eq, Law, PsiTables, row_len};
use crate::linalg::Mat;
use crate::simd::{Aligned, run};
use std::cell::Cell;
use std::f64::consts::LOG2_E;

thread_local! {
    /// What [`known`] needs for a quad of points, kept between calls.
    static KNOWN: Cell<Option<(Shape, Aligned)>> = const { Cell::new(None) };
}

/// k(x_n, z_i) = ψ₁ at v = 0 into the rows of `k` (N × M).
pub(super) fn known(law: &Eq, tables: &PsiTables, x: &Mat, k: &mut Mat) {
    let (m, dim, row) = (tables.z.rows(), law.dim_in(), row_len(tables.z.rows()));
    assert!(tables.points.len() >= dim * row && (k.rows(), k.cols()) == (x.rows(), m), "the tables belong to this law");
    let (mut shape, mut zeros) = KNOWN
        .take()
        .filter(|(shape, _)| shape.dim == dim)
        .unwrap_or_else(|| (Shape::zeros(dim, 1), Aligned::default()));
    zeros.expect(row);
    for q in 0..dim {
        shape.kappa[q * QUAD..][..QUAD].fill((0.5 * LOG2_E).sqrt() / law.lengthscale[q]);
    }
    shape.base.fill(law.signal_var.log2());
    let mut n = 0;
    while n < x.rows() {
        let points = if x.rows() - n < QUAD { Points::One } else { Points::Quads(1) };
        for (i, (shift, kappa)) in shape.shift.iter_mut().zip(&shape.kappa).enumerate() {
            *shift = kappa * x[(n + (i % QUAD).min(points.rows() - 1), i / QUAD)];
        }
        let job = ExpSweep {
            points,
            centres: Centres { at: tables.points.as_ptr(), stride: row, len: m, dim },
            widths: shape.widths(),
            table: zeros.as_ptr(),
            out: Rows { at: k.row_mut(n).as_mut_ptr(), stride: m },
            weights: None,
            dots: &mut [],
        };
        // SAFETY: tables have room past their ends; as many rows of M numbers as there are points begin at row n.
        unsafe { run(job) };
        n += points.rows();
    }
    KNOWN.set(Some((shape, zeros)));
}
