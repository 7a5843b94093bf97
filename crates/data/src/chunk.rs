//! Some consecutive rows of a table, as they were read.

use crate::cell::{Cell, Decimal};
#[cfg(feature = "columnar")]
use crate::column::Column;
use crate::error::Place;
use crate::temporal::Temporal;
use std::borrow::Cow;

/// Some consecutive rows of a table. Text is kept as it stands in the file and read on demand, so that columns nobody
/// asks for cost nothing.
#[derive(Debug, Clone)]
pub struct Chunk {
    rows: usize,
    cols: usize,
    cells: Cells,
}

#[derive(Debug, Clone)]
enum Cells {
    /// Row by row: cell i is `text[ends[i − 1]..ends[i]]`.
    Delimited { text: String, ends: Vec<usize>, lines: Vec<u64>, decimal: Decimal },
    /// Column by column, from row `first` of the file on.
    #[cfg(feature = "columnar")]
    Columns { columns: Vec<Column>, first: u64 },
}

fn slice<'a>(text: &'a str, ends: &[usize], i: usize) -> &'a str {
    let start = i.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[i]]
}

impl Chunk {
    /// Rows of text; every entry of `ends` must be a character boundary of `text`.
    pub(crate) fn delimited(text: String, ends: Vec<usize>, lines: Vec<u64>, decimal: Decimal) -> Self {
        let rows = lines.len();
        let cols = ends.len().checked_div(rows).unwrap_or(0);
        Self { rows, cols, cells: Cells::Delimited { text, ends, lines, decimal } }
    }

    /// Columns of `rows` entries each.
    #[cfg(feature = "columnar")]
    pub(crate) fn columns(columns: Vec<Column>, rows: usize, first: u64) -> Self {
        Self { rows, cols: columns.len(), cells: Cells::Columns { columns, first } }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// What stands in a cell.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn cell(&self, row: usize, col: usize) -> Cell<'_> {
        match &self.cells {
            Cells::Delimited { text, ends, decimal, .. } => {
                Cell::parse(slice(text, ends, row * self.cols + col), *decimal)
            }
            #[cfg(feature = "columnar")]
            Cells::Columns { columns, .. } => match &columns[col] {
                Column::Numbers(values) | Column::Times(_, values) if values[row].is_nan() => Cell::Missing,
                Column::Numbers(values) | Column::Times(_, values) => Cell::Number(values[row]),
                // As in a text file, so that a model accepts the same data in any format.
                Column::Texts(texts) => Cell::parse(texts.get(row), Decimal::Point),
                Column::Missing => Cell::Missing,
            },
        }
    }

    /// The cell as it is written, without surrounding blanks: the name of a category's level.
    ///
    /// # Panics
    /// If there is no such cell.
    pub fn text(&self, row: usize, col: usize) -> Cow<'_, str> {
        match &self.cells {
            Cells::Delimited { text, ends, .. } => slice(text, ends, row * self.cols + col).trim().into(),
            #[cfg(feature = "columnar")]
            Cells::Columns { columns, .. } => match &columns[col] {
                Column::Numbers(values) | Column::Times(_, values) => values[row].to_string().into(),
                Column::Texts(texts) => texts.get(row).trim().into(),
                Column::Missing => "".into(),
            },
        }
    }

    /// The kind of time that a column holds, if its file says so; its cells are then days or seconds.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn temporal(&self, col: usize) -> Option<Temporal> {
        assert!(col < self.cols, "column {col} of {}", self.cols);
        match &self.cells {
            Cells::Delimited { .. } => None,
            #[cfg(feature = "columnar")]
            Cells::Columns { columns, .. } => match columns[col] {
                Column::Times(kind, _) => Some(kind),
                Column::Numbers(_) | Column::Texts(_) | Column::Missing => None,
            },
        }
    }

    /// Where a row stands in its file.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn place(&self, row: usize) -> Place {
        match &self.cells {
            Cells::Delimited { lines, .. } => Place::Line(lines[row]),
            #[cfg(feature = "columnar")]
            Cells::Columns { first, .. } => Place::Row(first + row as u64 + 1),
        }
    }
}
