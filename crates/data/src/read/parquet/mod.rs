//! Reads Parquet files, page by page: flat columns in the encodings and codecs that common writers use by default.
//!
//! Our own, since the crate of the format's makers takes half a minute to several minutes to build. Format:
//! <https://parquet.apache.org/docs/file-format/>.

mod metadata;
mod page;
mod thrift;

use super::CHUNK_CELLS;
use super::damage::Damage;
use crate::chunk::{Chunk, Column};
use crate::error::{Error, Result};
use crate::source::ReadSeek;
use metadata::{ColumnChunk, Metadata};
use page::{Decoded, Page};
use std::io::{Read, SeekFrom};
use std::path::{Path, PathBuf};
use thrift::Value;

/// Longest footer; that of ten thousand columns in fifty row groups is shorter.
const MAX_FOOTER: u64 = 1 << 26;
/// Longest header of a page; it may carry statistics.
const MAX_HEADER: usize = 1 << 24;

/// A Parquet file being read.
pub(super) struct ParquetReader {
    path: PathBuf,
    file: Box<dyn ReadSeek>,
    length: u64,
    metadata: Metadata,
    wanted: Vec<bool>,
    /// The next row group to open.
    group: usize,
    cursors: Vec<Option<Cursor>>,
    left_in_group: u64,
    row: u64,
}

/// Where a column stands within its row group.
struct Cursor {
    at: u64,
    end: u64,
    dictionary: Option<Column>,
    page: Column,
    page_len: usize,
    page_used: usize,
}

impl ParquetReader {
    pub fn open(mut file: Box<dyn ReadSeek>, path: &Path) -> Result<Self> {
        let (length, metadata) = open(&mut *file).map_err(|damage| damage.of(path))?;
        let wanted = vec![true; metadata.columns.len()];
        let path = path.to_owned();
        Ok(Self { path, file, length, metadata, wanted, group: 0, cursors: Vec::new(), left_in_group: 0, row: 0 })
    }

    pub fn names(&self) -> Vec<String> {
        self.metadata.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Reads only the columns at `positions` from now on.
    pub fn select(&mut self, positions: &[usize]) {
        self.wanted.fill(false);
        positions.iter().for_each(|&i| self.wanted[i] = true);
    }

    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        self.check_types()?;
        self.read_chunk().map_err(|damage| damage.of(&self.path))
    }

    fn check_types(&self) -> Result<()> {
        let refused = self.metadata.columns.iter().zip(&self.wanted).filter(|(_, wanted)| **wanted);
        for (column, _) in refused {
            if let Err(type_name) = &column.stored {
                let (path, column, type_name) = (self.path.clone(), column.name.clone(), type_name.clone());
                return Err(Error::ColumnType { path, column, type_name });
            }
        }
        Ok(())
    }

    fn read_chunk(&mut self) -> std::result::Result<Option<Chunk>, Damage> {
        while self.left_in_group == 0 {
            let Some(group) = self.metadata.groups.get(self.group) else { return Ok(None) };
            self.left_in_group = group.n_rows;
            let cursor = |chunk: &ColumnChunk| Cursor {
                at: chunk.start,
                end: chunk.end.min(self.length),
                dictionary: None,
                page: Column::Missing,
                page_len: 0,
                page_used: 0,
            };
            let open = |(column, &wanted): (&metadata::Field, &bool)| match wanted {
                true => group.chunks.get(column.leaf).map(|chunk| Some(cursor(chunk))),
                false => Some(None),
            };
            let cursors = self.metadata.columns.iter().zip(&self.wanted).map(open).collect::<Option<Vec<_>>>();
            self.cursors = cursors.ok_or("a row group without all columns")?;
            self.group += 1;
        }
        let n_columns = self.cursors.len().max(1);
        let n_rows = ((CHUNK_CELLS / n_columns).clamp(1, 8192) as u64).min(self.left_in_group) as usize;
        let mut columns = Vec::with_capacity(n_columns);
        for i in 0..self.cursors.len() {
            columns.push(self.take(i, n_rows)?);
        }
        let chunk = Chunk::columns(columns, n_rows, self.row);
        self.row += n_rows as u64;
        self.left_in_group -= n_rows as u64;
        Ok(Some(chunk))
    }

    /// The next `n_rows` values of a column.
    fn take(&mut self, column: usize, n_rows: usize) -> std::result::Result<Column, Damage> {
        let Some(cursor) = &mut self.cursors[column] else { return Ok(Column::Missing) };
        let field = &self.metadata.columns[column];
        let Ok(stored) = field.stored else { return Ok(Column::Missing) };
        let chunk = &self.metadata.groups[self.group - 1].chunks[field.leaf];
        let codec = chunk.codec.map_err(|number| match number {
            3 => "compressed by LZO, which is not read".to_owned(),
            4 => "compressed by brotli, which is not read; use zstd".to_owned(),
            5 => "compressed by the old LZ4, which is not read; use LZ4_RAW or zstd".to_owned(),
            number => format!("compressed by the unknown codec {number}"),
        })?;
        let (mut out, mut missing) = (None::<Column>, n_rows);
        while missing > 0 {
            if cursor.page_used == cursor.page_len {
                cursor.next_page(&mut *self.file, codec, |page, dictionary| {
                    page::decode(page, stored, field.is_optional, dictionary)
                })?;
                continue;
            }
            let n = missing.min(cursor.page_len - cursor.page_used);
            let out = out.get_or_insert_with(|| cursor.page.empty());
            for i in cursor.page_used..cursor.page_used + n {
                out.push_from(&cursor.page, i).ok_or("too much text in a few rows")?;
            }
            cursor.page_used += n;
            missing -= n;
        }
        Ok(out.unwrap_or(Column::Missing))
    }
}

impl Cursor {
    fn next_page(
        &mut self,
        file: &mut dyn ReadSeek,
        codec: super::codec::Codec,
        decode: impl Fn(&Page, Option<&Column>) -> std::result::Result<Decoded, Damage>,
    ) -> std::result::Result<(), Damage> {
        if self.at >= self.end {
            return Err("a column ends before its row group".into());
        }
        // The header says how long the page is, but not how long it is itself.
        let (mut window, mut size) = (Vec::new(), 4096);
        let (header, header_len) = loop {
            window.clear();
            read_at(file, self.at, size.min((self.end - self.at) as usize), &mut window)?;
            match Value::parse(&window) {
                Some(parsed) => break parsed,
                None if window.len() < size || size >= MAX_HEADER => {
                    return Err("the header of a page cannot be parsed".into());
                }
                None => size *= 16,
            }
        };
        let body_len = header.size(3).ok_or("a page without size")?;
        let start = self.at + header_len as u64;
        self.at = start
            .checked_add(body_len as u64)
            .filter(|&at| at <= self.end)
            .ok_or("a page reaches beyond its column")?;
        let mut body = Vec::new();
        read_at(file, start, body_len, &mut body)?;
        match decode(&Page { header: &header, body: &body, codec }, self.dictionary.as_ref())? {
            Decoded::Dictionary(values) => self.dictionary = Some(values),
            Decoded::Data(values, length) => (self.page, self.page_len, self.page_used) = (values, length, 0),
            Decoded::Nothing => {}
        }
        Ok(())
    }
}

/// Length of the file, and its footer.
fn open(file: &mut dyn ReadSeek) -> std::result::Result<(u64, Metadata), Damage> {
    let length = file.seek(SeekFrom::End(0))?;
    let early = "the file ends too early";
    let mut tail = Vec::new();
    read_at(file, length.checked_sub(8).ok_or(early)?, 8, &mut tail)?;
    let footer_len = match tail.as_slice() {
        [a, b, c, d, b'P', b'A', b'R', b'1'] => u64::from(u32::from_le_bytes([*a, *b, *c, *d])),
        [.., b'P', b'A', b'R', b'E'] => return Err("encrypted Parquet files are not read".into()),
        _ => return Err("the file does not end as a Parquet file does; was it cut short?".into()),
    };
    if footer_len > MAX_FOOTER {
        return Err("the footer is too long".into());
    }
    let mut footer = Vec::new();
    read_at(file, (length - 8).checked_sub(footer_len).ok_or(early)?, footer_len as usize, &mut footer)?;
    Ok((length, Metadata::parse(&footer)?))
}

/// Appends `n` bytes from position `at`, fewer at the end of the file.
fn read_at(file: &mut dyn ReadSeek, at: u64, n: usize, out: &mut Vec<u8>) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.take(n as u64).read_to_end(out)?;
    Ok(())
}
