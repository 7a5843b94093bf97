//! Reads delimited text: CSV, TSV and their kin.

use super::split::{Delimiter, Fields, Progress, Splitter};
use super::{Header, MAX_COLUMNS, MAX_ROW_BYTES, ReadOptions, positional, sniff};
use crate::cell::{Cell, Decimal};
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result};
use crate::source::{Content, Source};
use std::io::{ErrorKind, Read};

/// A chunk is complete with this many rows or bytes, whichever comes first.
const CHUNK_ROWS: usize = 8192;
const CHUNK_BYTES: usize = 1 << 19;
/// Bytes asked for at a time.
const PIECE: usize = 1 << 16;

/// Delimited text, record by record.
pub(super) struct TextReader {
    source: Source,
    input: Box<dyn Read + Send>,
    /// Bytes read and not yet split: `piece[used..filled]`.
    piece: Vec<u8>,
    used: usize,
    filled: usize,
    splitter: Splitter,
    lines: LineCounter,
    decimal: Decimal,
    n_columns: usize,
    /// The first record and its line, when it is data and not yet handed out.
    pending: Option<(Fields, u64)>,
}

impl TextReader {
    /// Finds out how the text is delimited and reads the first record: the reader, names, and whether the file has
    /// them.
    pub fn open(source: &Source, content: Content, options: &ReadOptions) -> Result<(Self, Vec<String>, bool)> {
        let sample = content.head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&content.head);
        let skipped = content.head.len() - sample.len();
        let delimiter = match options.delimiter {
            Some(' ') => Delimiter::Blanks,
            Some(c) if c.is_ascii() && !matches!(c, '"' | '\n' | '\r') => Delimiter::Byte(c as u8),
            Some(_) => {
                let (what, hint) = ("not delimited by that character".to_owned(), "choose one of ASCII, no quote");
                return Err(Error::Format { path: source.label().to_owned(), what, hint });
            }
            None => sniff::delimiter(sample, content.is_whole()),
        };
        let mut reader = Self {
            source: source.clone(),
            input: Box::new(content.into_reader()),
            piece: vec![0; PIECE],
            used: 0,
            filled: 0,
            splitter: Splitter::new(delimiter),
            lines: LineCounter::default(),
            decimal: options.decimal,
            n_columns: 0,
            pending: None,
        };
        reader.skip(skipped)?;
        let mut first = Fields::default();
        let Some(line) = reader.next_record(&mut first)? else {
            return Err(Error::Empty { path: source.label().to_owned(), what: "header" });
        };
        reader.n_columns = first.record_len();
        let cells = (0..first.record_len()).map(|i| reader.utf8(&first, i, line)).collect::<Result<Vec<_>>>()?;
        let has_header = match options.header {
            Header::Yes => true,
            Header::No => false,
            Header::Auto => !cells.iter().any(|cell| matches!(Cell::parse(cell, options.decimal), Cell::Number(_))),
        };
        let names = if has_header {
            cells.iter().map(|cell| cell.trim().to_owned()).collect()
        } else {
            (0..cells.len()).map(positional).collect()
        };
        if !has_header {
            reader.pending = Some((first, line));
        }
        Ok((reader, names, has_header))
    }

    /// The next rows, or `None` at the end.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        let (mut fields, mut lines) = (Fields::default(), Vec::new());
        if let Some((first, line)) = self.pending.take() {
            fields = first;
            fields.close();
            lines.push(line);
        }
        while lines.len() < CHUNK_ROWS && fields.n_bytes() < CHUNK_BYTES {
            let Some(line) = self.next_record(&mut fields)? else { break };
            if fields.record_len() != self.n_columns {
                return Err(self.ragged(&fields, line));
            }
            fields.close();
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let (bytes, ends) = fields.into_parts();
        let text = self.utf8_chunk(bytes, &ends, &lines)?;
        Ok(Some(Chunk::delimited(text, ends, lines, self.decimal)))
    }

    /// Reads one record behind those in `fields` and tells the line on which it begins. Lines of blanks are passed
    /// over.
    fn next_record(&mut self, fields: &mut Fields) -> Result<Option<u64>> {
        let mut line = None;
        loop {
            if self.used == self.filled {
                self.refill()?;
            }
            let input = &self.piece[self.used..self.filled];
            let (progress, used) = self.splitter.feed(input, fields);
            // Line ends before the first byte of a record belong to blank lines.
            let passed_over = || input[..used].iter().take_while(|b| self.splitter.passes_over(**b)).count();
            let lead = if line.is_some() { 0 } else { passed_over() };
            self.lines.count(&input[..lead]);
            if lead < used {
                line.get_or_insert(self.lines.line());
                self.lines.count(&input[lead..used]);
            }
            self.used += used;
            let place = Place::Line(line.unwrap_or(self.lines.line()));
            match progress {
                Progress::End => return Ok(None),
                _ if fields.record_bytes() > MAX_ROW_BYTES => return Err(self.too_long(place, MAX_ROW_BYTES, "bytes")),
                _ if fields.record_len() > MAX_COLUMNS => return Err(self.too_long(place, MAX_COLUMNS, "columns")),
                Progress::NeedsInput => {}
                Progress::Record if fields.is_blank() => {
                    fields.drop_record();
                    line = None;
                }
                Progress::Record => return Ok(Some(line.unwrap_or(self.lines.line()))),
            }
        }
    }

    fn refill(&mut self) -> Result<()> {
        self.used = 0;
        self.filled = loop {
            match self.input.read(&mut self.piece) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.map_err(|cause| self.source.read_error(cause))?,
            }
        };
        Ok(())
    }

    fn skip(&mut self, n_bytes: usize) -> Result<()> {
        let mut mark = vec![0; n_bytes];
        self.input.read_exact(&mut mark).map_err(|cause| self.source.read_error(cause))
    }

    /// The bytes as text whose every field is text by itself.
    fn utf8_chunk(&self, bytes: Vec<u8>, ends: &[usize], lines: &[u64]) -> Result<String> {
        match String::from_utf8(bytes) {
            // Halves of a character on both sides of a delimiter make one when joined, but no two fields.
            Ok(text) if text.is_ascii() || ends.iter().all(|&end| text.is_char_boundary(end)) => Ok(text),
            faulty => {
                let bytes = faulty.map_or_else(|error| error.into_bytes(), String::into_bytes);
                let start = |i: usize| i.checked_sub(1).map_or(0, |before| ends[before]);
                let is_faulty = |&i: &usize| std::str::from_utf8(&bytes[start(i)..ends[i]]).is_err();
                let field = (0..ends.len()).find(is_faulty).unwrap_or(0);
                Err(self.not_utf8(lines[field / self.n_columns], field % self.n_columns))
            }
        }
    }

    fn utf8<'a>(&self, fields: &'a Fields, i: usize, line: u64) -> Result<&'a str> {
        std::str::from_utf8(fields.field(i)).map_err(|_| self.not_utf8(line, i))
    }

    fn not_utf8(&self, line: u64, index: usize) -> Error {
        Error::NotUtf8 { path: self.source.label().to_owned(), place: Place::Line(line), field: index + 1 }
    }

    fn too_long(&self, place: Place, limit: usize, unit: &'static str) -> Error {
        Error::TooLong { path: self.source.label().to_owned(), place, limit, unit }
    }

    fn ragged(&self, fields: &Fields, line: u64) -> Error {
        let found = fields.record_len();
        let hint = if (0..found).any(|i| fields.field(i).contains(&b'\n')) {
            "is a quote not closed?"
        } else if found == self.n_columns + 1 && fields.field(found - 1).is_empty() {
            "the line ends with a delimiter"
        } else if found > self.n_columns {
            "put fields that contain the delimiter in quotes"
        } else {
            ""
        };
        let path = self.source.label().to_owned();
        Error::Ragged { path, place: Place::Line(line), expected: self.n_columns, found, hint }
    }
}

/// Counts lines that end in `\n`, `\r\n` or `\r`. The parser's own count slips at `\r\n` and at blank lines.
#[derive(Default)]
struct LineCounter {
    ended: u64,
    after_return: bool,
}

impl LineCounter {
    /// The line of the next byte, from 1.
    fn line(&self) -> u64 {
        self.ended + 1
    }

    fn count(&mut self, bytes: &[u8]) {
        for at in memchr::memchr2_iter(b'\r', b'\n', bytes) {
            let after_return = at.checked_sub(1).map_or(self.after_return, |before| bytes[before] == b'\r');
            self.ended += u64::from(bytes[at] == b'\r' || !after_return);
        }
        self.after_return = bytes.last().map_or(self.after_return, |&last| last == b'\r');
    }
}
