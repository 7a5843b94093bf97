//! Reads columns in memory, some thousand rows at a time.

use super::CHUNK_CELLS;
use super::columnar::{self, ColumnReader};
use super::damage::{Damage, contain};
use crate::chunk::Chunk;
use crate::column::Column;
use crate::error::Result as ReadResult;
use crate::memory::{MemoryTable, Stored};
use arrow_schema::Fields;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A table in memory being read.
pub(super) struct MemoryReader {
    table: Arc<MemoryTable>,
    label: PathBuf,
    fields: Fields,
    wanted: Vec<bool>,
    row: usize,
}

impl MemoryReader {
    /// From the first row on.
    pub fn new(table: Arc<MemoryTable>, label: &Path) -> Self {
        let (fields, wanted) = (table.fields(), vec![true; table.columns().len()]);
        Self { table, label: label.to_owned(), fields, wanted, row: 0 }
    }

    fn read_chunk(&mut self) -> Result<Option<Chunk>, Damage> {
        let (row, columns) = (self.row, self.table.columns());
        let wanted = || columns.iter().zip(&self.wanted).map(|(column, wanted)| wanted.then_some(column));
        let most = (CHUNK_CELLS / columns.len().max(1)).clamp(1, 8192);
        let n_rows = wanted().flatten().map(|column| together(column, row)).fold(self.table.rows() - row, usize::min);
        let n_rows = n_rows.min(most);
        if n_rows == 0 {
            return Ok(None);
        }
        let read = |column: Option<&Stored>| column.map_or(Ok(Column::Missing), |column| read(column, row, n_rows));
        let chunk = Chunk::columns(wanted().map(read).collect::<Result<_, _>>()?, n_rows, row as u64);
        self.row += n_rows;
        Ok(Some(chunk))
    }
}

/// The array of a column that has a row, and its first row.
fn place(ends: &[usize], row: usize) -> (usize, usize) {
    let array = ends.partition_point(|end| *end <= row);
    (array, array.checked_sub(1).map_or(0, |before| ends[before]))
}

/// From `row` on, how many rows a column has in one piece.
fn together(column: &Stored, row: usize) -> usize {
    match column {
        Stored::Numbers(numbers) => numbers.len() - row,
        Stored::Arrays { ends, .. } => ends.get(place(ends, row).0).map_or(0, |end| end - row),
    }
}

fn read(column: &Stored, row: usize, len: usize) -> Result<Column, Damage> {
    match column {
        Stored::Numbers(numbers) => Ok(Column::Numbers(numbers.read(row, len))),
        Stored::Arrays { arrays, ends } => {
            let (array, first) = place(ends, row);
            columnar::column(&arrays[array], row - first, len)
        }
    }
}

impl ColumnReader for MemoryReader {
    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn select(&mut self, wanted: &[bool]) {
        self.wanted.copy_from_slice(wanted);
    }

    fn next_chunk(&mut self) -> ReadResult<Option<Chunk>> {
        contain(|| self.read_chunk()).map_err(|damage| damage.of(&self.label))
    }
}
