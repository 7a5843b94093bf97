//! A dense row-major matrix: the one container for tables and matrices in this crate.

use crate::error::{Error, Result};
use crate::simd::Aligned;
use std::ops::{Index, IndexMut};

/// Dense `rows × cols` matrix of `f64`, row by row in one allocation, which begins at a cache line unless it came from
/// elsewhere.
#[derive(Debug, PartialEq, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Stored")]
pub struct Mat {
    rows: usize,
    cols: usize,
    data: Aligned,
}

impl Clone for Mat {
    fn clone(&self) -> Self {
        Self { rows: self.rows, cols: self.cols, data: self.data.clone() }
    }

    /// Keeps its allocation where it can, which a derived form would not.
    fn clone_from(&mut self, source: &Self) {
        (self.rows, self.cols) = (source.rows, source.cols);
        self.data.clone_from(&source.data);
    }
}

/// What a file says a matrix is, before it is believed.
#[derive(serde::Deserialize)]
struct Stored {
    rows: usize,
    cols: usize,
    data: Vec<f64>,
}

impl TryFrom<Stored> for Mat {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        Self::from_vec(stored.rows, stored.cols, stored.data)
    }
}

impl Mat {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: Aligned::zeros(area(rows, cols)) }
    }

    /// The identity, or its first columns or rows when not square.
    pub fn identity(rows: usize, cols: usize) -> Self {
        Self::from_fn(rows, cols, |i, j| if i == j { 1.0 } else { 0.0 })
    }

    /// The matrix with entries `f(i, j)`.
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut out = Self::zeros(rows, cols);
        for i in 0..rows {
            for j in 0..cols {
                out[(i, j)] = f(i, j);
            }
        }
        out
    }

    /// Takes row-major `data` as it is.
    ///
    /// # Errors
    /// [`Error::Shape`] if `data` does not hold `rows * cols` numbers.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<f64>) -> Result<Self> {
        crate::error::expect_size("matrix entries", rows.saturating_mul(cols), data.len())?;
        Ok(Self { rows, cols, data: data.into() })
    }

    /// Stacks equally long rows.
    ///
    /// # Errors
    /// [`Error::Shape`] if the rows differ in length.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self> {
        let cols = rows.first().map_or(0, |r| r.as_ref().len());
        let mut out = Self::zeros(rows.len(), cols);
        for (i, row) in rows.iter().enumerate() {
            crate::error::expect_size("columns of a row", cols, row.as_ref().len())?;
            out.row_mut(i).copy_from_slice(row.as_ref());
        }
        Ok(out)
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[inline]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    ///
    /// # Panics
    /// If `i` is not a row.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, writable.
    ///
    /// # Panics
    /// If `i` is not a row.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// The rows, in order.
    pub fn iter_rows(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.rows).map(|i| self.row(i))
    }

    /// The rows from `first` on, in order; of a matrix without columns none.
    ///
    /// # Panics
    /// If there are fewer than `first`.
    #[inline]
    pub fn rows_from(&self, first: usize) -> std::slice::ChunksExact<'_, f64> {
        self.data[first * self.cols..].chunks_exact(self.cols.max(1))
    }

    /// The rows from `first` on, mutable.
    ///
    /// # Panics
    /// As [`Mat::rows_from`].
    #[inline]
    pub fn rows_from_mut(&mut self, first: usize) -> std::slice::ChunksExactMut<'_, f64> {
        self.data[first * self.cols..].chunks_exact_mut(self.cols.max(1))
    }

    /// Column `j`, copied.
    pub fn column(&self, j: usize) -> Vec<f64> {
        (0..self.rows).map(|i| self[(i, j)]).collect()
    }

    /// The entries (i, i), from the first on, to be changed.
    pub fn diagonal_mut(&mut self) -> impl Iterator<Item = &mut f64> {
        self.data.iter_mut().step_by(self.cols + 1).take(self.rows.min(self.cols))
    }

    /// The trace: the sum of the diagonal.
    pub fn trace(&self) -> f64 {
        self.fold_diagonal(|sum, entry| sum + entry)
    }

    /// Folds the diagonal with an operation whose order does not matter, starting from 0.
    pub fn fold_diagonal(&self, f: impl Fn(f64, f64) -> f64) -> f64 {
        let end = self.rows.min(self.cols).checked_sub(1).map_or(0, |last| last * (self.cols + 1) + 1);
        fold_steps(&self.data[..end], self.cols + 1, f)
    }

    /// The sum of the last column; 0 if there is none.
    pub fn sum_of_last(&self) -> f64 {
        let first = self.cols.saturating_sub(1);
        fold_steps(self.data.get(first..).unwrap_or_default(), self.cols.max(1), |sum, entry| sum + entry)
    }

    /// All entries, row by row.
    #[inline]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row by row, writable.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The rows named by `indices`, in that order.
    ///
    /// # Panics
    /// If an index is not a row.
    pub fn select_rows(&self, indices: &[usize]) -> Self {
        let mut out = Self::default();
        out.gather_rows(self, indices);
        out
    }

    /// Becomes the rows of `source` named by `indices`, keeping its allocation.
    ///
    /// # Panics
    /// If an index is not a row of `source`.
    pub fn gather_rows(&mut self, source: &Mat, indices: &[usize]) {
        self.reshape(indices.len(), source.cols);
        for (row, &i) in self.data.chunks_exact_mut(source.cols.max(1)).zip(indices) {
            row.copy_from_slice(source.row(i));
        }
    }

    /// Takes the rows named by `rows` out, in that order; the others close up in place. Beside the rows taken out it
    /// needs no memory.
    ///
    /// # Panics
    /// If `rows` is not strictly ascending or names a row that is not there.
    pub fn take_rows(&mut self, rows: &[usize]) -> Self {
        assert!(rows.is_sorted_by(|a, b| a < b), "rows to take must ascend");
        let taken = self.select_rows(rows);
        let mut kept = rows.first().map_or(self.rows, |&first| first);
        for (k, &row) in rows.iter().enumerate() {
            let next = rows.get(k + 1).map_or(self.rows, |&next| next);
            self.data.copy_within((row + 1) * self.cols..next * self.cols, kept * self.cols);
            kept += next - row - 1;
        }
        self.data.truncate(kept * self.cols);
        self.rows = kept;
        taken
    }

    /// Becomes `rows × cols` of zeros, keeping its allocation where it can.
    pub fn reset(&mut self, rows: usize, cols: usize) {
        self.data.truncate(0);
        self.reshape(rows, cols);
    }

    /// Takes a shape: numbers stay in their order, row by row, as far as there is room, and those that come after them
    /// are zero.
    pub fn reshape(&mut self, rows: usize, cols: usize) {
        let len = area(rows, cols);
        self.data.truncate(len);
        self.data.extend_to(len);
        (self.rows, self.cols) = (rows, cols);
    }

    /// Appends a row; a matrix without rows takes its width.
    ///
    /// # Panics
    /// If there are rows of another width.
    pub fn push_row(&mut self, row: &[f64]) {
        assert!(self.rows == 0 || self.cols == row.len(), "{} numbers do not fit {} columns", row.len(), self.cols);
        self.cols = row.len();
        self.rows += 1;
        self.data.extend_from_slice(row);
    }

    /// Appends rows, whose entries have no meaning; a matrix without rows takes their width.
    ///
    /// # Panics
    /// If there are rows of another width.
    pub fn extend_rows(&mut self, rows: usize, cols: usize) {
        assert!(self.rows == 0 || self.cols == cols, "{cols} columns beside {}", self.cols);
        self.data.lengthen(area(self.rows + rows, cols));
        (self.rows, self.cols) = (self.rows + rows, cols);
    }

    /// Sets every entry to zero.
    pub fn fill_zero(&mut self) {
        self.data.fill(0.0);
    }

    /// Copies `rows` of a matrix with as many columns over the rows from `first` on.
    ///
    /// # Panics
    /// If the numbers of columns differ, or a row is not there.
    pub fn copy_rows(&mut self, first: usize, from: &Mat, rows: std::ops::Range<usize>) {
        let cols = self.cols;
        assert_eq!(cols, from.cols, "as many columns");
        let numbers = &from.data[rows.start * cols..rows.end * cols];
        self.data[first * cols..][..numbers.len()].copy_from_slice(numbers);
    }

    /// `self += scale * other`, entry by entry.
    ///
    /// # Panics
    /// If the shapes differ.
    pub fn add_scaled(&mut self, scale: f64, other: &Mat) {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "shapes must agree");
        crate::simd::axpy(scale, &other.data, &mut self.data);
    }

    /// Checks that there is at least one row and column and that every entry is finite.
    ///
    /// # Errors
    /// [`Error::Empty`] or [`Error::NotFinite`], naming `what`, row, column and value.
    pub fn check_data(&self, what: &'static str) -> Result<()> {
        if self.rows == 0 || self.cols == 0 {
            return Err(Error::Empty { what, rows: self.rows, columns: self.cols });
        }
        match self.data.iter().position(|v| !v.is_finite()) {
            None => Ok(()),
            Some(p) => Err(Error::NotFinite { what, row: p / self.cols, column: p % self.cols, value: self.data[p] }),
        }
    }
}

/// Folds every `step`-th number, from the first, with an operation whose order does not matter, starting from 0. There
/// are four accumulators, since an operation on one has to wait for the last.
fn fold_steps(numbers: &[f64], step: usize, f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut four = [0.0; 4];
    for some in numbers.chunks(4 * step) {
        for (k, folded) in four.iter_mut().enumerate() {
            if let Some(number) = some.get(k * step) {
                *folded = f(*folded, *number);
            }
        }
    }
    f(f(four[0], four[1]), f(four[2], four[3]))
}

/// rows · cols.
///
/// # Panics
/// If that is more than a machine word can say: vector code trusts a matrix to hold as many numbers as its shape says.
fn area(rows: usize, cols: usize) -> usize {
    rows.checked_mul(cols).expect("a matrix has fewer entries than a machine word can count")
}

impl Index<(usize, usize)> for Mat {
    type Output = f64;
    #[inline]
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        debug_assert!(j < self.cols);
        &self.data[i * self.cols + j]
    }
}

impl IndexMut<(usize, usize)> for Mat {
    #[inline]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        debug_assert!(j < self.cols);
        &mut self.data[i * self.cols + j]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagonals_of_any_shape() {
        for (rows, cols) in [(0, 0), (0, 3), (1, 1), (3, 5), (5, 3), (9, 9)] {
            let mut a = Mat::from_fn(rows, cols, |i, j| (10 * i + j) as f64);
            let expected: Vec<f64> = (0..rows.min(cols)).map(|i| a[(i, i)]).collect();
            let largest = expected.iter().copied().fold(0.0, f64::max);
            assert_eq!(a.fold_diagonal(f64::max), largest, "{rows} × {cols}");
            assert_eq!(a.trace(), expected.iter().sum::<f64>(), "{rows} × {cols}");
            let last: f64 = a.iter_rows().filter_map(<[f64]>::last).sum();
            assert_eq!(a.sum_of_last(), last, "{rows} × {cols}");
            a.diagonal_mut().for_each(|entry| *entry = -1.0);
            let others = |i: usize, j: usize| if i == j { -1.0 } else { (10 * i + j) as f64 };
            assert_eq!(a, Mat::from_fn(rows, cols, others), "{rows} × {cols}");
        }
    }

    #[test]
    fn rows_that_are_taken_leave_the_others_in_order() {
        let all = Mat::from_fn(6, 2, |i, j| (10 * i + j) as f64);
        for rows in [vec![], vec![0], vec![5], vec![1, 2, 4], vec![0, 1, 2, 3, 4, 5]] {
            let mut rest = all.clone();
            assert_eq!(rest.take_rows(&rows), all.select_rows(&rows));
            let others: Vec<usize> = (0..6).filter(|i| !rows.contains(i)).collect();
            assert_eq!(rest.as_slice(), all.select_rows(&others).as_slice(), "{rows:?}");
            assert_eq!((rest.rows(), rest.cols()), (others.len(), 2));
        }
    }

    #[test]
    #[should_panic(expected = "must ascend")]
    fn rows_to_take_must_ascend() {
        Mat::zeros(3, 1).take_rows(&[1, 1]);
    }
}
