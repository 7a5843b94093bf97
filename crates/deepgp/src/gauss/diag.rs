//! Independent normals of points: what flows between layers.

use deepgp_numerics::Mat;
use std::ops::Range;

/// N(mean, diag var) of each of N points in D dimensions: inputs of a layer, its outputs, or the adjoints of both.
/// An input with variance 0 is exact.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiagGaussian {
    /// N × D.
    pub mean: Mat,
    /// N × D.
    pub var: Mat,
}

impl DiagGaussian {
    /// Zeros for as many points in so many dimensions.
    pub fn zeros(n_points: usize, dim: usize) -> Self {
        Self { mean: Mat::zeros(n_points, dim), var: Mat::zeros(n_points, dim) }
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.mean.rows()
    }

    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.mean.cols()
    }

    /// Means and variances of point `n`.
    ///
    /// # Panics
    /// If there is no such point.
    pub fn point(&self, n: usize) -> (&[f64], &[f64]) {
        (self.mean.row(n), self.var.row(n))
    }

    /// Sets means and variances of point `n`.
    ///
    /// # Panics
    /// If there is no such point, or a slice has not one number for each dimension.
    pub fn set_point(&mut self, n: usize, mean: &[f64], var: &[f64]) {
        self.mean.row_mut(n).copy_from_slice(mean);
        self.var.row_mut(n).copy_from_slice(var);
    }

    /// Sets the points from `first` on to those of another.
    ///
    /// # Panics
    /// If there are not as many, here or there, or not in as many dimensions.
    pub fn copy_points(&mut self, first: usize, from: &DiagGaussian, points: Range<usize>) {
        self.mean.copy_rows(first, &from.mean, points.clone());
        self.var.copy_rows(first, &from.var, points);
    }

    /// Takes the shape of as many points in so many dimensions, keeping its memory; what it holds then is unspecified.
    pub fn reshape(&mut self, n_points: usize, dim: usize) {
        self.mean.reshape(n_points, dim);
        self.var.reshape(n_points, dim);
    }
}
