//! Hands pages of a Parquet file to its decoder, once what they claim is known to be possible.
//!
//! The decoder asks for as much memory as a page says that it needs, and a failing request ends the process. So the
//! numbers that it takes from a page are compared with the bytes that are there, before.

use super::thrift::{unfolded_size, varint};
use crate::source::ReadSeek;
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescPtr;
use std::io::{Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// Most bytes that a page may unfold to, however large the file.
const MAX_PAGE: u64 = 1 << 29;
/// A page of a small file may unfold to this, and to so many times the length of the file.
const SMALL_PAGE: u64 = 1 << 24;
const MAX_RATIO: u64 = 1 << 10;
/// Most texts of a page whose lengths are stored apart from them.
const MAX_TEXTS: u64 = 1 << 24;

fn damaged(what: impl Into<String>) -> ParquetError {
    ParquetError::General(what.into())
}

/// A file that several columns are read from by turns.
#[derive(Clone)]
pub(super) struct SharedFile {
    file: Arc<Mutex<Box<dyn ReadSeek>>>,
    length: u64,
}

impl SharedFile {
    pub fn new(mut file: Box<dyn ReadSeek>) -> std::io::Result<Self> {
        let length = file.seek(SeekFrom::End(0))?;
        Ok(Self { file: Arc::new(Mutex::new(file)), length })
    }

    /// Appends up to `n` bytes from position `at`.
    fn read_at(&self, at: u64, n: usize, out: &mut Vec<u8>) -> std::io::Result<usize> {
        // A read that panicked has left nothing half done: every read seeks first.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        (&mut **file).take(n as u64).read_to_end(out)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SharedFile {
    type T = HeaderBytes;

    /// The header of the page at `start`.
    fn get_read(&self, start: u64) -> Result<HeaderBytes> {
        HeaderBytes::new(self.clone(), start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|&end| end <= self.length);
        end.ok_or_else(|| damaged("the file ends before its last page"))?;
        let mut bytes = Vec::with_capacity(length);
        match self.read_at(start, length, &mut bytes).map_err(|cause| ParquetError::External(cause.into()))? {
            read if read == length => Ok(bytes.into()),
            _ => Err(damaged("the file became shorter while it was read")),
        }
    }
}

/// The bytes of a page's header, whose length is known only once it is parsed.
pub(super) struct HeaderBytes {
    file: SharedFile,
    window: std::io::Cursor<Vec<u8>>,
    next: u64,
}

impl HeaderBytes {
    /// As many bytes as most headers have.
    const WINDOW: usize = 256;

    fn new(file: SharedFile, start: u64) -> Result<Self> {
        let mut header = Self { file, window: Default::default(), next: start };
        header.refill().map_err(|cause| ParquetError::External(cause.into()))?;
        let limit = MAX_PAGE.min(SMALL_PAGE + MAX_RATIO.saturating_mul(header.file.length));
        match unfolded_size(header.window.get_ref()) {
            Some(size) if size <= limit => Ok(header),
            Some(size) => Err(damaged(format!("a page of {size} bytes in a file of {}", header.file.length))),
            None => Err(damaged("the header of a page cannot be parsed")),
        }
    }

    fn refill(&mut self) -> std::io::Result<()> {
        let mut window = std::mem::take(&mut self.window).into_inner();
        window.clear();
        self.next += self.file.read_at(self.next, Self::WINDOW, &mut window)? as u64;
        self.window = std::io::Cursor::new(window);
        Ok(())
    }
}

impl Read for HeaderBytes {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self.window.read(out)? {
            0 if !out.is_empty() => {
                self.refill()?;
                self.window.read(out)
            }
            n => Ok(n),
        }
    }
}

/// Takes a run of numbers packed by their differences, and tells how many it claims to have.
///
/// ```text
/// run     block size, parts of a block, count, first number; blocks
/// block   smallest difference; bits per number for each part; the parts, of (block size / parts) numbers each
/// ```
fn delta_count(bytes: &mut &[u8]) -> Option<u64> {
    let (block_size, n_parts, count) = (varint(bytes)?, varint(bytes)?, varint(bytes)?);
    varint(bytes)?;
    let part_size = block_size.checked_div(n_parts)?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        varint(bytes)?;
        let (widths, rest) = bytes.split_at_checked(usize::try_from(n_parts).ok()?)?;
        *bytes = rest;
        for &width in widths {
            if left == 0 {
                break;
            }
            let size = u64::from(width).checked_mul(part_size)? / 8;
            *bytes = bytes.get(usize::try_from(size).ok()?..)?;
            left = left.saturating_sub(part_size);
        }
        if part_size == 0 {
            return None;
        }
    }
    Some(count)
}

/// All columns of a file, each as a sequence of its pages.
pub(super) struct PagesOfColumns {
    file: SharedFile,
    metadata: Arc<ParquetMetaData>,
}

impl PagesOfColumns {
    pub fn new(file: &SharedFile, metadata: &Arc<ParquetMetaData>) -> Self {
        Self { file: file.clone(), metadata: Arc::clone(metadata) }
    }
}

impl RowGroups for PagesOfColumns {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, leaf: usize) -> Result<Box<dyn PageIterator>> {
        let (file, metadata) = (self.file.clone(), Arc::clone(&self.metadata));
        Ok(Box::new(ColumnPages { file, metadata, leaf, group: 0 }))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }
}

/// The pages of one column, row group by row group.
struct ColumnPages {
    file: SharedFile,
    metadata: Arc<ParquetMetaData>,
    leaf: usize,
    group: usize,
}

impl Iterator for ColumnPages {
    type Item = Result<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        let group = self.metadata.row_groups().get(self.group)?;
        self.group += 1;
        Some(CheckedPages::new(&self.file, group, self.leaf).map(|pages| Box::new(pages) as Box<dyn PageReader>))
    }
}

impl PageIterator for ColumnPages {}

/// The pages of a column within a row group, each looked at before the decoder has it.
struct CheckedPages {
    pages: SerializedPageReader<SharedFile>,
    column: ColumnDescPtr,
    encodings: Vec<Encoding>,
    n_rows: u64,
    has_dictionary: bool,
}

impl CheckedPages {
    fn new(file: &SharedFile, group: &RowGroupMetaData, leaf: usize) -> Result<Self> {
        let chunk = group.columns().get(leaf).ok_or_else(|| damaged("a row group without all columns"))?;
        let n_rows = u64::try_from(group.num_rows()).map_err(|_| damaged("a row group of negative length"))?;
        if chunk.compressed_size() < 0
            || chunk.dictionary_page_offset().unwrap_or(0) < 0
            || chunk.data_page_offset() < 0
        {
            return Err(damaged("a column at a negative position"));
        }
        let (start, length) = chunk.byte_range();
        if start.checked_add(length).is_none_or(|end| end > file.length) {
            return Err(damaged("a column reaches beyond the end of the file"));
        }
        let rows = usize::try_from(n_rows).map_err(|_| damaged("too many rows"))?;
        Ok(Self {
            pages: SerializedPageReader::new(Arc::new(file.clone()), chunk, rows, None)?,
            column: chunk.column_descr_ptr(),
            encodings: chunk.encodings().collect(),
            n_rows,
            has_dictionary: false,
        })
    }

    fn check(&self, page: &Page) -> Result<()> {
        let n_values = u64::from(page.num_values());
        match page {
            Page::DictionaryPage { buf, .. } => {
                let room = buf.len() as u64 / self.least_width()?;
                (n_values <= room).then_some(()).ok_or_else(|| damaged("a dictionary that is shorter than it says"))
            }
            _ if !self.has_dictionary && is_by_dictionary(page.encoding()) => {
                Err(damaged("a page without its dictionary"))
            }
            // Columns with parts, which have more values than rows, are not read.
            _ if n_values > self.n_rows => Err(damaged("a page of more values than its row group has rows")),
            Page::DataPage { buf, encoding, .. } => {
                let values = self.column.max_def_level() > 0;
                let values = if values { skip_levels(buf) } else { Some(&buf[..]) };
                self.check_lengths(values, *encoding, n_values)
            }
            Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                let values = usize::try_from(levels).ok().and_then(|levels| buf.get(levels..));
                self.check_lengths(values, *encoding, n_values)
            }
        }
    }

    /// Bytes that a value of a dictionary takes at least.
    fn least_width(&self) -> Result<u64> {
        Ok(match self.column.physical_type() {
            Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            Physical::INT96 => 12,
            Physical::FIXED_LEN_BYTE_ARRAY => u64::try_from(self.column.type_length()).unwrap_or(0).max(1),
            Physical::BOOLEAN => return Err(damaged("a dictionary of truth values")),
        })
    }

    /// Checks the lengths that the decoder of texts makes room for all at once.
    fn check_lengths(&self, values: Option<&[u8]>, encoding: Encoding, n_values: u64) -> Result<()> {
        let n_runs = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            // The type to decode as was chosen by the encodings that the column names.
            Encoding::DELTA_BYTE_ARRAY if !self.encodings.contains(&encoding) => {
                return Err(damaged("a page in an encoding that its column does not name"));
            }
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        let mut rest = values.ok_or_else(|| damaged("a page is shorter than its levels"))?;
        for _ in 0..n_runs {
            let count = delta_count(&mut rest).ok_or_else(|| damaged("the lengths of texts cannot be parsed"))?;
            if count > n_values.min(MAX_TEXTS) {
                return Err(damaged(format!("{count} lengths of texts in a page of {n_values}")));
            }
        }
        Ok(())
    }
}

fn is_by_dictionary(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

/// What follows the levels of a page of version 1, which say their length.
fn skip_levels(page: &[u8]) -> Option<&[u8]> {
    let (length, rest) = page.split_first_chunk::<4>()?;
    rest.get(usize::try_from(u32::from_le_bytes(*length)).ok()?..)
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
            self.has_dictionary |= page.is_dictionary_page();
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
