//! Matrices as arrays of NumPy, and back.

use crate::errors::Failure;
use deepgp_numerics::linalg::Mat;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A matrix of float64, row by row.
pub type Array<'py> = Bound<'py, PyArray2<f64>>;

/// Numbers row by row as an array of so many columns.
///
/// # Errors
/// What NumPy says.
pub fn array(py: Python<'_>, numbers: Vec<f64>, columns: usize) -> PyResult<Array<'_>> {
    let rows = numbers.len().checked_div(columns).unwrap_or(0);
    PyArray1::from_vec(py, numbers).reshape([rows, columns])
}

/// A matrix of an array, copied.
///
/// # Errors
/// [`Failure`] unless it has so many rows and columns.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>, rows: usize, columns: usize) -> Result<Mat, Failure> {
    if array.shape() != [rows, columns] {
        let found = array.shape();
        let message = format!("expected an array of {rows} × {columns}, found {} × {}", found[0], found[1]);
        return Err(Failure::data(message));
    }
    let view = array.as_array();
    Ok(Mat::from_fn(rows, columns, |i, j| view[(i, j)]))
}
