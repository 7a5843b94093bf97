//! Reads a table of any supported format, chunk by chunk, so that it need not fit into memory.

#[cfg(feature = "columnar")]
mod arrow;
#[cfg(feature = "columnar")]
mod columnar;
#[cfg(feature = "columnar")]
mod damage;
mod format;
#[cfg(feature = "columnar")]
mod in_memory;
mod names;
#[cfg(feature = "columnar")]
mod open_columns;
#[cfg(feature = "columnar")]
mod parquet;
mod sniff;
mod split;
mod text;

use crate::cell::Decimal;
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result};
use crate::notice::Notice;
use crate::source::Source;
use crate::temporal::Temporal;
use format::Format;
pub(crate) use names::positional;
use std::path::Path;
use text::TextReader;

/// Most columns that a table may have.
pub const MAX_COLUMNS: usize = 100_000;
/// Most bytes that one row of a text file may have.
pub const MAX_ROW_BYTES: usize = 16 << 20;

/// About this many cells make a chunk of a file that stores columns.
#[cfg(feature = "columnar")]
const CHUNK_CELLS: usize = 1 << 18;

/// Whether the first row of a text file holds the names of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Header {
    /// The first row holds names unless one of its cells is a number.
    #[default]
    Auto,
    /// The first row holds names.
    Yes,
    /// The first row is data; the columns are called c1, c2, …
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
    name_notices: Vec<Notice>,
    wanted: Vec<bool>,
    /// Columns of times that are not taken for numbers.
    is_understood: Vec<bool>,
    notices: Vec<Notice>,
    body: Body,
}

enum Body {
    Text(Box<TextReader>),
    #[cfg(feature = "columnar")]
    Columns(Box<dyn columnar::ColumnReader>),
}

impl Reader {
    /// Opens a table and reads the names of its columns: CSV and its kin, Parquet, Arrow files and streams, each plain
    /// or compressed by gzip; or columns in memory. The format is recognised by the first bytes, not from the name.
    /// Parquet and Arrow need the feature `columnar`.
    ///
    /// # Errors
    /// [`Error::Read`], [`Error::Format`], [`Error::DamagedFile`], [`Error::Empty`], [`Error::RepeatedName`], or what
    /// is wrong with the first row.
    pub fn open(source: &Source, options: &ReadOptions) -> Result<Self> {
        let (body, names, has_header) = Self::opened(source, options)?;
        if names.is_empty() {
            return Err(Error::Empty { path: source.label().to_owned(), what: "columns" });
        }
        if names.len() > MAX_COLUMNS {
            let (path, place) = (source.label().to_owned(), Place::Row(1));
            return Err(Error::TooLong { path, place, limit: MAX_COLUMNS, unit: "columns" });
        }
        let (names, name_notices) = names::check(names, source)?;
        let (source, wanted, is_understood) = (source.clone(), vec![true; names.len()], vec![false; names.len()]);
        let notices = Vec::new();
        let mut reader = Self { source, names, has_header, name_notices, wanted, is_understood, notices, body };
        reader.note_times();
        Ok(reader)
    }

    /// The rows of a table to come, the names as they stand in it, and whether they do.
    fn opened(source: &Source, options: &ReadOptions) -> Result<(Body, Vec<String>, bool)> {
        #[cfg(feature = "columnar")]
        if let Some(table) = source.columns() {
            let columns = in_memory::MemoryReader::new(table.clone(), source.label());
            return Ok(of_columns(Box::new(columns)));
        }
        let content = source.open()?;
        match Format::of(&content.head, source)? {
            Format::Text => {
                let (text, names, has_header) = TextReader::open(source, content, options)?;
                Ok((Body::Text(Box::new(text)), names, has_header))
            }
            #[cfg(feature = "columnar")]
            Format::Columns(format) => Ok(of_columns(open_columns::open_columns(format, content, source)?)),
            #[cfg(not(feature = "columnar"))]
            Format::Columns(format) => Err(format.not_built(source)),
        }
    }

    /// Reads only the columns at `positions`; the others may come as missing, and their types, if unknown, are no
    /// error. To be called before the first chunk; later it has no effect on Parquet and Arrow.
    ///
    /// # Panics
    /// If a position is not one of a column.
    pub fn select(&mut self, positions: &[usize]) {
        self.wanted.fill(false);
        positions.iter().for_each(|&i| self.wanted[i] = true);
        match &mut self.body {
            // Cells of text are read on demand anyway.
            Body::Text(_) => {}
            #[cfg(feature = "columnar")]
            Body::Columns(columns) => columns.select(&self.wanted),
        }
        self.note_times();
    }

    /// Says nothing of the times in the columns at `positions`, which are more than numbers to whoever reads them.
    pub(crate) fn withhold_times(&mut self, positions: &[usize]) {
        positions.iter().for_each(|&i| self.is_understood[i] = true);
        self.note_times();
    }

    /// The kind of time that a column holds, if its file says so.
    pub(crate) fn temporal(&self, position: usize) -> Option<Temporal> {
        self.body.temporal(position)
    }

    fn note_times(&mut self) {
        self.notices = self.name_notices.clone();
        let is_noted = |i: usize| self.wanted[i] && !self.is_understood[i];
        let columns = self.names.iter().enumerate().filter(|(i, _)| is_noted(*i));
        let times = columns
            .filter_map(|(i, column)| Some(Notice::Times { column: column.clone(), kind: self.body.temporal(i)? }));
        self.notices.extend(times);
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

    /// What was done about the names, and which of the wanted columns hold times.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The next rows, at least one; `None` at the end. Chunks hold some thousand rows, fewer if they are wide.
    ///
    /// # Errors
    /// [`Error::Ragged`], [`Error::TooLong`] and [`Error::NotUtf8`] with the line; [`Error::ColumnType`] with the
    /// column; [`Error::DamagedFile`], [`Error::Read`].
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        match &mut self.body {
            Body::Text(text) => text.next_chunk(),
            #[cfg(feature = "columnar")]
            Body::Columns(columns) => {
                for (i, field) in columns.fields().iter().enumerate().filter(|(i, _)| self.wanted[*i]) {
                    if let Some(type_name) = columnar::refused(field.data_type()) {
                        let (path, column) = (self.source.label().to_owned(), self.names[i].clone());
                        return Err(Error::ColumnType { path, column, type_name: type_name.to_owned() });
                    }
                }
                columns.next_chunk()
            }
        }
    }
}

/// What [`Reader::open`] takes from a table that stores columns, which have names.
#[cfg(feature = "columnar")]
fn of_columns(columns: Box<dyn columnar::ColumnReader>) -> (Body, Vec<String>, bool) {
    let names = columns.fields().iter().map(|field| field.name().clone()).collect();
    (Body::Columns(columns), names, true)
}

impl Body {
    /// The kind of time in column `i`.
    #[cfg_attr(not(feature = "columnar"), expect(unused_variables, reason = "text has no such columns"))]
    fn temporal(&self, i: usize) -> Option<Temporal> {
        match self {
            Self::Text(_) => None,
            #[cfg(feature = "columnar")]
            Self::Columns(columns) => columnar::temporal(columns.fields()[i].data_type()),
        }
    }
}
