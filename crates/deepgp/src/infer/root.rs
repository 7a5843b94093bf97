//! The free numbers of a positive definite Λ: Λ = RᵀR with R upper triangular.
//!
//! ```text
//! R̄ = 2 R Λ̄ (upper triangle)
//! ```

use crate::error::Result;
use deepgp_numerics::linalg::{Cholesky, Mat, Op, mul, tri};
use serde::{Deserialize, Serialize};

/// The upper triangular R of Λ = RᵀR as M(M+1)/2 free numbers: row by row, the diagonal as its logarithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Root {
    m: usize,
    packed: Vec<f64>,
}

impl Root {
    /// From the free numbers of an M × M root.
    ///
    /// # Errors
    /// [`crate::Error::Shape`] if there are not M(M+1)/2 of them.
    pub fn from_packed(m: usize, packed: Vec<f64>) -> Result<Self> {
        crate::error::expect_size("entries of a packed root", tri::packed_len(m), packed.len())?;
        Ok(Self { m, packed })
    }

    /// Checks a root that came from a file: its size, and that its numbers are finite.
    pub(super) fn check(&self, m: usize) -> Result<()> {
        crate::error::expect_size("rows of a root", m, self.m)?;
        crate::error::expect_size("entries of a packed root", tri::packed_len(m), self.packed.len())?;
        match self.packed.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(row) => Err(crate::Error::NotFinite { what: "packed root", row, column: 0, value: self.packed[row] }),
        }
    }

    /// The root of a positive definite matrix.
    ///
    /// # Errors
    /// [`crate::Error::NotPositiveDefinite`].
    pub fn of(precision: &Mat) -> Result<Self> {
        let m = precision.rows();
        let r = Cholesky::new(precision, "Λ")?.l().transpose();
        let mut packed = vec![0.0; tri::packed_len(m)];
        tri::pack(&r, &mut packed);
        for i in 0..m {
            packed[tri::row_start(m, i)] = r[(i, i)].ln();
        }
        Ok(Self { m, packed })
    }

    /// The free numbers.
    pub fn packed(&self) -> &[f64] {
        &self.packed
    }

    /// Sets the free numbers.
    pub(super) fn set(&mut self, packed: &[f64]) {
        self.packed.copy_from_slice(packed);
    }

    /// R.
    pub fn matrix(&self) -> Mat {
        Mat::from_fn(self.m, self.m, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => self.packed[tri::row_start(self.m, i) + j - i],
            std::cmp::Ordering::Equal => self.packed[tri::row_start(self.m, i)].exp(),
            std::cmp::Ordering::Greater => 0.0,
        })
    }

    /// RᵀR.
    pub fn square(r: &Mat) -> Mat {
        let mut out = Mat::default();
        mul(&mut out, r, Op::T, r, Op::Id);
        out
    }

    /// Adjoint: from the symmetric ∂ℒ/∂Λ to the free numbers, appended to `free_bar`.
    pub fn adjoint(&self, precision_bar: &Mat, free_bar: &mut Vec<f64>) {
        let r = self.matrix();
        let mut r_bar = Mat::default();
        mul(&mut r_bar, &r, Op::Id, precision_bar, Op::Id);
        for i in 0..self.m {
            for j in i..self.m {
                let slope = 2.0 * r_bar[(i, j)];
                free_bar.push(if i == j { slope * r[(i, i)] } else { slope });
            }
        }
    }
}
