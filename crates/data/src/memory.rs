//! A table in memory that stores columns: arrays of Arrow, and numbers that somebody else keeps.

use crate::error::{Error, Result};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Fields};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// A column of numbers that the caller keeps; NaN is missing. It must not change while it is read.
pub trait Numbers: Send + Sync {
    /// Number of entries.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries from `start` to `start + len`.
    ///
    /// # Panics
    /// If there are fewer.
    fn read(&self, start: usize, len: usize) -> Vec<f64>;
}

/// Named columns in memory. Nothing is copied before rows are read, and then chunk by chunk.
#[derive(Debug, Default)]
pub struct MemoryTable {
    fields: Vec<Arc<Field>>,
    columns: Vec<Stored>,
}

/// How a column is kept.
pub(crate) enum Stored {
    /// By the caller.
    Numbers(Box<dyn Numbers>),
    /// As arrays one after the other, of one type.
    Arrays {
        arrays: Vec<ArrayRef>,
        /// The row at which each ends.
        ends: Vec<usize>,
    },
}

impl Debug for Stored {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbers(numbers) => write!(f, "{} numbers", numbers.len()),
            Self::Arrays { arrays, .. } => write!(f, "{} entries in {} arrays", self.len(), arrays.len()),
        }
    }
}

impl Stored {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Arrays { ends, .. } => ends.last().copied().unwrap_or(0),
        }
    }
}

impl MemoryTable {
    /// A table without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Stored::len)
    }

    /// Names of the columns; that all are different is checked by the reader.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name().as_str())
    }

    /// Appends a column of numbers.
    ///
    /// # Errors
    /// [`Error::ColumnLength`].
    pub fn push_numbers(&mut self, name: &str, numbers: impl Numbers + 'static) -> Result<()> {
        self.push(Arc::new(Field::new(name, DataType::Float64, true)), Stored::Numbers(Box::new(numbers)))
    }

    /// Appends a column of the type that `field` says, which stands in `arrays` one after the other. Types that are not
    /// read are an error only if the column is.
    ///
    /// # Errors
    /// [`Error::ColumnLength`].
    ///
    /// # Panics
    /// If an array is of another type.
    pub fn push_arrays(&mut self, field: Arc<Field>, arrays: Vec<ArrayRef>) -> Result<()> {
        assert!(arrays.iter().all(|array| array.data_type() == field.data_type()), "arrays of one type");
        let ends = arrays.iter().scan(0, |end, array| {
            *end += array.len();
            Some(*end)
        });
        let ends = ends.collect();
        self.push(field, Stored::Arrays { arrays, ends })
    }

    fn push(&mut self, field: Arc<Field>, column: Stored) -> Result<()> {
        if !self.columns.is_empty() && column.len() != self.rows() {
            let column_name = field.name().clone();
            return Err(Error::ColumnLength { column: column_name, expected: self.rows(), found: column.len() });
        }
        self.fields.push(field);
        self.columns.push(column);
        Ok(())
    }

    /// The columns as they are kept.
    pub(crate) fn columns(&self) -> &[Stored] {
        &self.columns
    }

    /// Names and types of the columns.
    pub(crate) fn fields(&self) -> Fields {
        self.fields.iter().cloned().collect()
    }
}
