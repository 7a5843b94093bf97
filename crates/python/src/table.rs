//! Tables out of what Python has: files by name, arrays of numbers, lists of texts, times, and streams of Arrow.

use crate::errors::Failure;
use crate::numbers::columns_of;
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, RecordBatchReader, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray,
};
use arrow_schema::{ArrowError, Field};
use deepgp_data::{MemoryTable, ReadOptions, Reader, Source};
use deepgp_fit::TableSettings;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::path::PathBuf;
use std::sync::Arc;

/// What NumPy writes for a missing time.
const NAT: i64 = i64::MIN;

/// A table: a file, or columns in memory, to which more can be added until it is used.
#[pyclass(module = "deepgp._deepgp")]
pub struct Table {
    label: PathBuf,
    options: TableSettings,
    /// Nothing for a file.
    columns: Option<Arc<MemoryTable>>,
}

/// What is wrong with a stream of Arrow.
fn of_stream(error: &ArrowError) -> Failure {
    Failure::data(format!("the stream of Arrow cannot be read: {error}"))
}

impl Table {
    /// For the library.
    pub fn source(&self) -> Source {
        match &self.columns {
            Some(table) => Source::from_columns(self.label.clone(), Arc::clone(table)),
            None => Source::new(self.label.clone()),
        }
    }

    /// How a file is written.
    pub fn options(&self) -> TableSettings {
        self.options
    }

    /// Number of rows, where it is known before they are read.
    pub fn source_rows(&self) -> Option<usize> {
        self.columns.as_ref().map(|table| table.rows())
    }

    fn read_options(&self) -> ReadOptions {
        self.options.read_options()
    }

    fn change(&mut self) -> PyResult<&mut MemoryTable> {
        let table = self.columns.as_mut().ok_or_else(|| PyTypeError::new_err("no columns can be added to a file"))?;
        Arc::get_mut(table).ok_or_else(|| PyTypeError::new_err("no columns can be added to a table in use"))
    }

    fn push(&mut self, name: &str, array: ArrayRef) -> PyResult<()> {
        let field = Arc::new(Field::new(name, array.data_type().clone(), true));
        Ok(self.change()?.push_arrays(field, vec![array]).map_err(Failure::from)?)
    }
}

#[pymethods]
impl Table {
    /// A table in memory without columns, called `label` in errors.
    #[new]
    fn new(label: PathBuf) -> Self {
        Self { label, options: TableSettings::default(), columns: Some(Arc::default()) }
    }

    /// The file of this name, and how it is written: the settings `header`, `delimiter` and `decimal` as JSON.
    #[staticmethod]
    #[pyo3(signature = (path, options = "{}"))]
    fn of_file(path: PathBuf, options: &str) -> PyResult<Self> {
        let options = serde_json::from_str(options).map_err(|error| Failure::settings(error.to_string()))?;
        Ok(Self { label: path, options, columns: None })
    }

    /// Adds the columns of a two-dimensional array of numbers, which are read where they are.
    fn add_numbers(&mut self, names: Vec<String>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let columns = columns_of(array).ok_or_else(|| PyTypeError::new_err("expected a matrix of numbers"))?;
        if columns.len() != names.len() {
            return Err(PyValueError::new_err("expected a name for each column"));
        }
        let table = self.change()?;
        for (name, column) in names.iter().zip(columns) {
            table.push_numbers(name, column).map_err(Failure::from)?;
        }
        Ok(())
    }

    /// Adds a column of texts; `None` is missing.
    fn add_texts(&mut self, name: &str, texts: Vec<Option<String>>) -> PyResult<()> {
        self.push(name, Arc::new(StringArray::from(texts)))
    }

    /// Adds a column of truth values; `None` is missing.
    fn add_booleans(&mut self, name: &str, values: Vec<Option<bool>>) -> PyResult<()> {
        self.push(name, Arc::new(BooleanArray::from(values)))
    }

    /// Adds a column of times since 1970 as NumPy counts them in a unit: D, s, ms, us or ns.
    fn add_times(&mut self, name: &str, times: Vec<i64>, unit: &str) -> PyResult<()> {
        let times = times.into_iter().map(|time| Some(time).filter(|time| *time != NAT));
        let array: ArrayRef = match unit {
            "D" => Arc::new(times.map(|day| day.and_then(|day| i32::try_from(day).ok())).collect::<Date32Array>()),
            "s" => Arc::new(times.collect::<TimestampSecondArray>()),
            "ms" => Arc::new(times.collect::<TimestampMillisecondArray>()),
            "us" => Arc::new(times.collect::<TimestampMicrosecondArray>()),
            "ns" => Arc::new(times.collect::<TimestampNanosecondArray>()),
            _ => return Err(PyValueError::new_err(format!("no unit of times: {unit:?}"))),
        };
        self.push(name, array)
    }

    /// Adds all columns of a stream of Arrow, as `__arrow_c_stream__` gives it; nothing is copied.
    fn add_stream(&mut self, capsule: &Bound<'_, PyCapsule>) -> PyResult<()> {
        let pointer = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: a capsule of this name holds such a stream. It is moved out, and an empty one stays.
        let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) }.map_err(|e| of_stream(&e))?;
        let schema = reader.schema();
        let mut arrays: Vec<Vec<ArrayRef>> = vec![Vec::new(); schema.fields().len()];
        for batch in reader {
            let batch = batch.map_err(|error| of_stream(&error))?;
            arrays.iter_mut().zip(batch.columns()).for_each(|(column, array)| column.push(array.clone()));
        }
        let table = self.change()?;
        for (field, arrays) in schema.fields().iter().zip(arrays) {
            table.push_arrays(field.clone(), arrays).map_err(Failure::from)?;
        }
        Ok(())
    }

    /// Names of the columns.
    fn names(&self) -> PyResult<Vec<String>> {
        match &self.columns {
            Some(table) => Ok(table.names().map(str::to_owned).collect()),
            None => {
                let reader = Reader::open(&self.source(), &self.read_options()).map_err(Failure::from)?;
                Ok(reader.names().to_vec())
            }
        }
    }

    /// Number of rows; nothing for a file.
    fn rows(&self) -> Option<usize> {
        self.columns.as_ref().map(|table| table.rows())
    }
}
