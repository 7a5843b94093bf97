//! What the exponentiated quadratic law computes from Z and its parameters once per step.

use super::distances::PairDistances;
use super::moments::relative_to;
use super::parameters::Eq;
use crate::kernel::law::Tables;
use crate::kernel::padded::row_len;
use deepgp_numerics::linalg::Mat;
use deepgp_numerics::linalg::product::Part;
use deepgp_numerics::linalg::transpose::transpose_rows_into;
use deepgp_numerics::simd::{Aligned, run};
use std::f64::consts::LOG2_E;

/// Tables of the exponentiated quadratic law.
#[derive(Debug, Clone, Default)]
pub struct EqTables {
    /// The inducing inputs, M × D.
    pub(super) z: Mat,
    /// Their transpose, D rows of [`row_len`].
    pub(super) points: Aligned,
    /// The least and the largest of them in each dimension; none where inputs are exact.
    pub(super) ends: Vec<[f64; 2]>,
    /// The inducing inputs relative to the middle of `ends`, D rows of [`row_len`]; none where inputs are exact.
    pub(super) offsets: Aligned,
    /// The inducing inputs relative to the first, and a column of ones, M × (D + 1).
    pub(super) relative: Mat,
    /// T/log 2 = (−¼ Σ_q (z_iq − z_jq)²/ℓ_q² + 2 log s²)/log 2, rows of [`row_len`], zero beyond M; the upper triangle
    /// where inputs are exact.
    pub(super) pairs: Aligned,
    /// p = √(log₂e)/(2ℓ) (z − z_0), D rows of [`row_len`], then a row of −½|p|².
    pub(super) scaled: Aligned,
    /// Whether all p are so small that squares and a product may replace a difference.
    pub(super) near: bool,
    /// √(log₂e)/(2ℓ) of every dimension, then zeros up to [`row_len`].
    pub(super) scale: Vec<f64>,
    /// The first inducing input, then zeros up to [`row_len`].
    pub(super) origin: Vec<f64>,
}

impl Tables for EqTables {
    fn z(&self) -> &Mat {
        &self.z
    }
}

impl EqTables {
    /// Builds all of them, or what is enough where inputs are exact if only the upper triangle of the pairs is wanted.
    pub(super) fn prepare(&mut self, law: &Eq, z: &Mat, wanted: Part) {
        let (m, dim, row) = (z.rows(), z.cols(), row_len(z.rows()));
        self.z.clone_from(z);
        relative_to(z.row(0), z, &mut self.relative);
        self.points.resize(dim * row);
        transpose_rows_into(z, &mut self.points, row);
        self.ends.clear();
        if wanted == Part::Full {
            self.ends.extend(self.points.chunks_exact(row).map(|points| ends(&points[..m])));
            self.offsets.resize(dim * row);
            let of_dimensions = self.points.chunks_exact(row).zip(self.offsets.chunks_exact_mut(row));
            for ((points, offsets), [low, high]) in of_dimensions.zip(&self.ends) {
                let middle = low + 0.5 * (high - low);
                offsets.iter_mut().zip(points).for_each(|(o, z)| *o = z - middle);
            }
        }
        [&mut self.scale, &mut self.origin].into_iter().for_each(Vec::clear);
        self.scale.extend(law.lengthscale.iter().map(|l| 0.5 * LOG2_E.sqrt() / l));
        self.origin.extend_from_slice(z.row(0));
        [&mut self.scale, &mut self.origin].into_iter().for_each(|numbers| numbers.resize(row_len(dim), 0.0));
        self.scaled.resize((dim + 1) * row);
        self.pairs.resize(m * row);
        let job = PairDistances {
            m,
            points: &self.points,
            lengthscale: &law.lengthscale,
            unit: 2.0 / LOG2_E.sqrt(),
            constant: 2.0 * law.signal_var.log2(),
            wanted,
            scaled: &mut self.scaled,
            out: &mut self.pairs,
        };
        // SAFETY: points and pairs are rows of `row_len`.
        self.near = unsafe { run(job) };
    }
}

/// The least and the largest of some numbers; NaN is skipped.
fn ends(numbers: &[f64]) -> [f64; 2] {
    numbers.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[least, largest], &x| {
        [if x < least { x } else { least }, if x > largest { x } else { largest }]
    })
}
