//! Some consecutive rows of a table, as they were read.

use crate::cell::{Cell, Decimal};
use crate::error::Place;
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
    Columns { columns: Vec<Column>, first: u64 },
}

/// A column of a file that stores columns.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// NaN is missing.
    Numbers(Vec<f64>),
    Texts(Texts),
    /// A column that is not wanted or has no values, of any length.
    Missing,
}

/// Texts one after the other in one string; an empty one is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Most bytes of text in one column of one chunk or page: a dictionary lets small files claim a lot.
    const MAX_BYTES: usize = 1 << 29;

    fn push(&mut self, text: &str) -> Option<()> {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        (self.text.len() <= Self::MAX_BYTES).then_some(())
    }

    fn get(&self, i: usize) -> &str {
        slice(&self.text, &self.ends, i)
    }
}

impl Column {
    /// A column of texts without entries.
    pub fn texts() -> Self {
        Self::Texts(Texts::default())
    }

    /// A column of the same kind without entries.
    pub fn empty(&self) -> Self {
        match self {
            Self::Numbers(_) => Self::Numbers(Vec::new()),
            Self::Texts(_) => Self::texts(),
            Self::Missing => Self::Missing,
        }
    }

    /// Appends a missing entry.
    pub fn push_missing(&mut self) {
        match self {
            Self::Numbers(values) => values.push(f64::NAN),
            Self::Texts(texts) => _ = texts.push(""),
            Self::Missing => {}
        }
    }

    /// Appends a number to a column of numbers; `None` if it is of another kind.
    pub fn push_number(&mut self, value: f64) -> Option<()> {
        match self {
            Self::Numbers(values) => {
                values.push(value);
                Some(())
            }
            Self::Texts(_) | Self::Missing => None,
        }
    }

    /// Appends a text to a column of texts; `None` if it grows beyond measure or is of another kind.
    pub fn push_text(&mut self, text: &str) -> Option<()> {
        match self {
            Self::Texts(texts) => texts.push(text),
            Self::Numbers(_) | Self::Missing => None,
        }
    }

    /// Appends entry `i` of a column of the same kind; `None` if there is none, or the texts grow beyond measure.
    pub fn push_from(&mut self, other: &Self, i: usize) -> Option<()> {
        match (self, other) {
            (Self::Numbers(values), Self::Numbers(others)) => values.push(*others.get(i)?),
            (Self::Texts(texts), Self::Texts(others)) => texts.push((i < others.ends.len()).then(|| others.get(i))?)?,
            (Self::Missing, Self::Missing) => {}
            _ => return None,
        }
        Some(())
    }
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
            Cells::Columns { columns, .. } => match &columns[col] {
                Column::Numbers(values) if values[row].is_nan() => Cell::Missing,
                Column::Numbers(values) => Cell::Number(values[row]),
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
            Cells::Columns { columns, .. } => match &columns[col] {
                Column::Numbers(values) => values[row].to_string().into(),
                Column::Texts(texts) => texts.get(row).trim().into(),
                Column::Missing => "".into(),
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
            Cells::Columns { first, .. } => Place::Row(first + row as u64 + 1),
        }
    }
}
