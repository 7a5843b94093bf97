//! Symmetric matrices stored once: the upper triangle, packed row by row.
//!
//! Entry (i, j), i ≤ j, of an M × M matrix stands at `row_start(i) + (j − i)`. A *packed gradient* holds the
//! derivative with respect to the stored entries, so an off-diagonal one counts for (i, j) and (j, i) together.

use super::Mat;
use super::product::Part;
use super::transpose::mirror;

/// Number of stored entries, M(M+1)/2.
pub const fn packed_len(m: usize) -> usize {
    m * (m + 1) / 2
}

/// Where row `i` begins in the packed triangle of an `m × m` matrix.
pub const fn row_start(m: usize, i: usize) -> usize {
    i * m - i * (i.wrapping_sub(1)) / 2
}

/// The packed triangle of a symmetric matrix.
pub fn pack(full: &Mat, packed: &mut [f64]) {
    let m = full.rows();
    let mut p = 0;
    for i in 0..m {
        packed[p..p + m - i].copy_from_slice(&full.row(i)[i..m]);
        p += m - i;
    }
}

/// The symmetric matrix of a packed triangle.
pub fn unpack(packed: &[f64], full: &mut Mat) {
    let m = full.rows();
    let mut p = 0;
    for i in 0..m {
        full.row_mut(i)[i..].copy_from_slice(&packed[p..p + m - i]);
        p += m - i;
    }
    mirror(full, Part::Upper);
}

/// Weights that make ⟨B, X⟩ of symmetric matrices a plain dot product with a packed X: off-diagonal entries doubled.
pub fn pack_weights(b: &Mat, packed: &mut [f64]) {
    let m = b.rows();
    let mut p = 0;
    for i in 0..m {
        packed[p..p + m - i].iter_mut().zip(&b.row(i)[i..m]).for_each(|(weight, b)| *weight = 2.0 * b);
        packed[p] *= 0.5;
        p += m - i;
    }
}

/// Adds `scale` times a packed symmetric matrix to the lower triangle of `full`.
pub fn add_lower(scale: f64, packed: &[f64], full: &mut Mat) {
    let m = full.rows();
    let mut p = 0;
    for i in 0..m {
        (i..m).for_each(|j| full[(j, i)] += scale * packed[p + j - i]);
        p += m - i;
    }
}

/// `y = X a` for a packed symmetric X.
pub fn packed_mul(packed: &[f64], a: &[f64], y: &mut [f64]) {
    let m = a.len();
    y.fill(0.0);
    let mut p = 0;
    for i in 0..m {
        let row = &packed[p..p + m - i];
        let (a_i, mut dot) = (a[i], row[0] * a[i]);
        for ((&x, &a_j), y_j) in row[1..].iter().zip(&a[i + 1..]).zip(&mut y[i + 1..]) {
            dot += x * a_j;
            *y_j += x * a_i;
        }
        y[i] += dot;
        p += m - i;
    }
}

/// `y = ∂/∂a Σ_{i≤j} g_ij a_i a_j` for a packed gradient g: diagonal entries count twice.
pub fn gradient_mul(packed: &[f64], a: &[f64], y: &mut [f64]) {
    packed_mul(packed, a, y);
    let m = a.len();
    for i in 0..m {
        y[i] += packed[row_start(m, i)] * a[i];
    }
}
