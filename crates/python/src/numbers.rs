//! Columns of NumPy arrays, read where they are.

use deepgp_data::Numbers;
use numpy::{Element, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// A column of an array that Python owns: `len` entries, each `stride` bytes after the one before.
struct Column<T> {
    first: *const T,
    stride: isize,
    len: usize,
    to_number: fn(T) -> f64,
    /// Keeps the entries where they are.
    _owner: Py<PyArray2<T>>,
}

// SAFETY: the entries are only read, and `_owner` keeps them. Python code that writes to the array while a table made
// of it is read breaks the promise of `Numbers`: then numbers are of before or after, each whole, as with any library that
// reads arrays without the interpreter's lock.
unsafe impl<T> Send for Column<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Column<T> {}

impl<T: Copy> Numbers for Column<T> {
    fn len(&self) -> usize {
        self.len
    }

    fn read(&self, start: usize, len: usize) -> Vec<f64> {
        assert!(start.checked_add(len).is_some_and(|end| end <= self.len), "rows of a column");
        let entry = |i: usize| {
            // SAFETY: i < len by the assertion, and NumPy has laid out `len` aligned entries at this stride.
            let value = unsafe { self.first.byte_offset(self.stride * i as isize).read_volatile() };
            (self.to_number)(value)
        };
        (start..start + len).map(entry).collect()
    }
}

/// The columns of an array if its entries are of type `T`; it must be aligned.
fn columns<T: Element + Copy + 'static>(array: &Bound<'_, PyAny>, to_number: fn(T) -> f64) -> Option<Vec<Kept>> {
    let array = array.cast::<PyArray2<T>>().ok()?;
    let (shape, strides) = (array.shape(), array.strides());
    let column = |j: usize| {
        // SAFETY: column j < shape[1] begins there; of an array without rows nothing is read.
        let first = unsafe { array.data().cast_const().byte_offset(strides[1] * j as isize) };
        let owner = array.clone().unbind();
        Kept(Box::new(Column { first, stride: strides[0], len: shape[0], to_number, _owner: owner }))
    };
    Some((0..shape[1]).map(column).collect())
}

/// A column of numbers of any type.
pub struct Kept(Box<dyn Numbers>);

impl Numbers for Kept {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, len: usize) -> Vec<f64> {
        self.0.read(start, len)
    }
}

/// The columns of a two-dimensional array of numbers in the machine's byte order, aligned; nothing for other arrays.
pub fn columns_of(array: &Bound<'_, PyAny>) -> Option<Vec<Kept>> {
    columns::<f64>(array, |v| v)
        .or_else(|| columns::<f32>(array, f64::from))
        .or_else(|| columns::<i64>(array, |v| v as f64))
        .or_else(|| columns::<i32>(array, f64::from))
        .or_else(|| columns::<i16>(array, f64::from))
        .or_else(|| columns::<i8>(array, f64::from))
        .or_else(|| columns::<u64>(array, |v| v as f64))
        .or_else(|| columns::<u32>(array, f64::from))
        .or_else(|| columns::<u16>(array, f64::from))
        .or_else(|| columns::<u8>(array, f64::from))
}
