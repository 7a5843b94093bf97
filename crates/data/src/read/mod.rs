//! Reads a table of any supported format, chunk by chunk, so that it need not fit into memory.

mod arrow;
mod codec;
mod damage;
mod format;
mod names;
mod parquet;
mod sniff;
mod split;
mod text;

use crate::cell::Decimal;
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result};
use crate::notice::Notice;
use crate::source::Source;
use arrow::ArrowReader;
use format::Format;
pub(crate) use names::positional;
use parquet::ParquetReader;
use std::path::Path;
use text::TextReader;

/// Most columns that a table may have.
pub const MAX_COLUMNS: usize = 100_000;
/// Most bytes that one row of a text file may have.
pub const MAX_ROW_BYTES: usize = 16 << 20;

/// About this many cells make a chunk of a file that stores columns.
const CHUNK_CELLS: usize = 1 << 18;

/// Whether the first row of a text file holds the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Header {
    /// It does unless one of its cells is a number.
    #[default]
    Auto,
    /// It does.
    Yes,
    /// It is data; the columns are called c1, c2, …
    No,
}

/// How to read a text file; what is not said is found out by looking. Parquet and Arrow files need none of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// Whether there is a header.
    pub header: Header,
    /// The delimiter, one of ASCII; a space stands for any number of spaces and tabs. None: comma, tab, semicolon,
    /// bar or blanks, whichever cuts the first rows into equally many fields.
    pub delimiter: Option<char>,
    /// The decimal mark.
    pub decimal: Decimal,
}

/// A table being read.
pub struct Reader {
    source: Source,
    names: Vec<String>,
    has_header: bool,
    notices: Vec<Notice>,
    body: Body,
}

enum Body {
    Text(Box<TextReader>),
    Parquet(ParquetReader),
    Arrow(ArrowReader),
}

impl Reader {
    /// Opens a table and reads the names of its columns: CSV and its kin, Parquet, Arrow files and streams, each plain
    /// or compressed by gzip. The format is told from the first bytes, not from the name.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Format`], [`Error::Binary`], [`Error::Empty`], [`Error::RepeatedName`], or what is
    /// wrong with the first row.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let content = source.open()?;
        let (body, names, has_header) = match Format::of(&content.head, source)? {
            Format::Text => {
                let (text, names, has_header) = TextReader::open(source, content, options)?;
                (Body::Text(Box::new(text)), names, has_header)
            }
            Format::Parquet => {
                let parquet = ParquetReader::open(source.seekable(content)?, source.label())?;
                let names = parquet.names();
                (Body::Parquet(parquet), names, true)
            }
            Format::ArrowFile => {
                let arrow = ArrowReader::open_file(source.seekable(content)?, source.label())?;
                let names = arrow.names();
                (Body::Arrow(arrow), names, true)
            }
            Format::ArrowStream => {
                let arrow = ArrowReader::open_stream(Box::new(content.into_reader()), source.label())?;
                let names = arrow.names();
                (Body::Arrow(arrow), names, true)
            }
        };
        if names.is_empty() {
            return Err(Error::Empty { path: source.label().to_owned(), what: "columns" });
        }
        if names.len() > MAX_COLUMNS {
            let (path, place) = (source.label().to_owned(), Place::Row(1));
            return Err(Error::TooLong { path, place, limit: MAX_COLUMNS, unit: "columns" });
        }
        let (names, notices) = names::check(names, source)?;
        Ok(Self { source: source.clone(), names, has_header, notices, body })
    }

    /// Reads only the columns at `positions` from now on; the others may come as missing, and their types, if unknown,
    /// are no error.
    ///
    /// # Panics
    /// If a position is not one of a column.
    pub fn select(&mut self, positions: &[usize]) {
        match &mut self.body {
            // Cells of text are read on demand anyway.
            Body::Text(_) => {}
            Body::Parquet(parquet) => parquet.select(positions),
            Body::Arrow(arrow) => arrow.select(positions),
        }
    }

    /// Names of the columns, all different.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the names stand in the file; otherwise they are c1, c2, …
    pub fn has_header(&self) -> bool {
        self.has_header
    }

    /// The name that errors give the table.
    pub fn label(&self) -> &Path {
        self.source.label()
    }

    /// What was done about the names.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The next rows, at least one; `None` at the end. Chunks hold some thousand rows, fewer if they are wide.
    ///
    /// # Errors
    /// [`Error::Ragged`], [`Error::TooLong`] and [`Error::NotUtf8`] with the line; [`Error::ColumnType`] with the
    /// column; [`Error::Binary`], [`Error::Read`].
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        match &mut self.body {
            Body::Text(text) => text.next_chunk(),
            Body::Parquet(parquet) => parquet.next_chunk(),
            Body::Arrow(arrow) => arrow.next_chunk(),
        }
    }
}
