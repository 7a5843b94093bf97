//! Reads Arrow files and streams (Feather version 2 is the former), batch by batch.
//!
//! A stream is a list of messages; a file is the same with an index at its end. Our own, since the crate of the
//! format's makers takes three minutes to build. Format: <https://arrow.apache.org/docs/format/Columnar.html>.

mod batch;
mod field;
mod flat;

use super::CHUNK_CELLS;
use super::damage::Damage;
use crate::chunk::{Chunk, Column};
use crate::error::{Error, Result};
use crate::source::ReadSeek;
use batch::Batch;
use field::Field;
use flat::Table;
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Longest metadata of a message.
const MAX_METADATA: usize = 1 << 26;

/// Most entries of a dictionary; a category has fewer by far.
const MAX_DICTIONARY: usize = 1 << 24;

/// An Arrow stream being read.
pub(super) struct ArrowReader {
    path: PathBuf,
    input: Input,
    fields: Vec<Field>,
    wanted: Vec<bool>,
    dictionaries: HashMap<i64, Column>,
    batch: Option<Batch>,
    /// Rows of the batch that were handed out.
    used: usize,
    row: u64,
}

/// Where messages come from.
enum Input {
    Stream(Box<dyn Read + Send>),
    /// The positions of dictionaries, then those of batches.
    File {
        file: Box<dyn ReadSeek>,
        messages: std::vec::IntoIter<u64>,
    },
}

impl Input {
    fn next_message(&mut self) -> std::result::Result<Option<Message>, Damage> {
        match self {
            Self::Stream(stream) => message(stream),
            Self::File { file, messages } => {
                let Some(at) = messages.next() else { return Ok(None) };
                file.seek(SeekFrom::Start(at))?;
                Ok(Some(message(&mut **file)?.ok_or("no message where the index says")?))
            }
        }
    }
}

/// A message: metadata and body.
struct Message {
    metadata: Vec<u8>,
    body: Vec<u8>,
}

impl ArrowReader {
    /// Reads the schema of a stream.
    pub fn open_stream(mut stream: Box<dyn Read + Send>, path: &Path) -> Result<Self> {
        let fields = stream_schema(&mut stream).map_err(|damage| damage.of(path))?;
        Ok(Self::new(Input::Stream(stream), fields, path))
    }

    /// Reads the schema of a file.
    pub fn open_file(mut file: Box<dyn ReadSeek>, path: &Path) -> Result<Self> {
        let (fields, messages) = footer(&mut *file).map_err(|damage| damage.of(path))?;
        Ok(Self::new(Input::File { file, messages: messages.into_iter() }, fields, path))
    }

    fn new(input: Input, fields: Vec<Field>, path: &Path) -> Self {
        let (path, wanted) = (path.to_owned(), vec![true; fields.len()]);
        Self { path, input, fields, wanted, dictionaries: HashMap::new(), batch: None, used: 0, row: 0 }
    }

    pub fn names(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.name.clone()).collect()
    }

    /// Reads only the columns at `positions` from now on.
    pub fn select(&mut self, positions: &[usize]) {
        self.wanted.fill(false);
        positions.iter().for_each(|&i| self.wanted[i] = true);
    }

    pub fn next_chunk(&mut self) -> Result<Option<Chunk>> {
        for (field, _) in self.fields.iter().zip(&self.wanted).filter(|(_, wanted)| **wanted) {
            if let Some(type_name) = field.refused() {
                let (path, column, type_name) = (self.path.clone(), field.name.clone(), type_name.to_owned());
                return Err(Error::ColumnType { path, column, type_name });
            }
        }
        self.read_chunk().map_err(|damage| damage.of(&self.path))
    }

    fn read_chunk(&mut self) -> std::result::Result<Option<Chunk>, Damage> {
        while self.batch.as_ref().is_none_or(|batch| self.used >= batch.n_rows) {
            if !self.next_batch()? {
                return Ok(None);
            }
        }
        let Some(batch) = &self.batch else { return Ok(None) };
        let n_rows = (CHUNK_CELLS / self.fields.len().max(1)).clamp(1, 8192).min(batch.n_rows - self.used);
        let columns = batch.slice(self.used, self.used + n_rows, &self.dictionaries)?;
        let chunk = Chunk::columns(columns, n_rows, self.row);
        self.used += n_rows;
        self.row += n_rows as u64;
        Ok(Some(chunk))
    }

    /// Reads on to the next batch of rows; false at the end.
    fn next_batch(&mut self) -> std::result::Result<bool, Damage> {
        while let Some(Message { metadata, body }) = self.input.next_message()? {
            let message = Table::root(&metadata).ok_or("a message cannot be parsed")?;
            let header = message.table(2).ok_or("a message without header")?;
            match message.u8(1) {
                2 => self.read_dictionary(&header, &body)?,
                3 => {
                    self.batch = Some(Batch::new(&header, &body, &self.fields, &self.wanted)?);
                    self.used = 0;
                    return Ok(true);
                }
                _ => {}
            }
        }
        Ok(false)
    }

    fn read_dictionary(&mut self, header: &Table, body: &[u8]) -> std::result::Result<(), Damage> {
        let id = header.i64(0);
        let user = self.fields.iter().find(|field| field.dictionary.is_some_and(|(used, _)| used == id));
        // The dictionary of a column within a column, or of one that is refused, is of no use.
        let Some(field) = user.filter(|field| field.refused().is_none()) else { return Ok(()) };
        let data = header.table(1).ok_or("a dictionary without values")?;
        let batch = Batch::new(&data, body, &[field.without_dictionary()], &[true])?;
        if batch.n_rows > MAX_DICTIONARY {
            return Err("a dictionary of too many entries".into());
        }
        let values = batch.slice(0, batch.n_rows, &HashMap::new())?.pop().ok_or("a dictionary without values")?;
        let is_delta = header.u8(2) != 0;
        match self.dictionaries.get_mut(&id) {
            Some(known) if is_delta => {
                (0..batch.n_rows)
                    .try_for_each(|i| known.push_from(&values, i))
                    .ok_or("a dictionary grows too large")?;
            }
            _ => _ = self.dictionaries.insert(id, values),
        }
        Ok(())
    }
}

fn stream_schema(input: &mut impl Read) -> std::result::Result<Vec<Field>, Damage> {
    let first = message(input)?.ok_or("no schema")?;
    let message = Table::root(&first.metadata).ok_or("the schema cannot be parsed")?;
    if message.u8(1) != 1 {
        return Err("the first message is no schema".into());
    }
    field::fields(&message.table(2).ok_or("the schema cannot be parsed")?)
}

/// The columns of a file and the positions of its messages, from the index at its end.
fn footer(file: &mut dyn ReadSeek) -> std::result::Result<(Vec<Field>, Vec<u64>), Damage> {
    let early = "the file does not end as an Arrow file does; was it cut short?";
    let length = file.seek(SeekFrom::End(0))?;
    let end = length.checked_sub(10).ok_or(early)?;
    file.seek(SeekFrom::Start(end))?;
    let tail = take(file, 10)?;
    let size =
        tail.strip_suffix(b"ARROW1").and_then(|size| size.try_into().ok()).map(u32::from_le_bytes).ok_or(early)?;
    if size as usize > MAX_METADATA {
        return Err("the index is too long".into());
    }
    file.seek(SeekFrom::Start(end.checked_sub(u64::from(size)).ok_or(early)?))?;
    let bytes = take(file, size as usize)?;
    let footer = Table::root(&bytes).ok_or("the index cannot be parsed")?;
    let fields = field::fields(&footer.table(1).ok_or("no schema")?)?;
    // A block is a position, the length of the metadata and that of the body.
    let blocks = footer.structs::<3>(2).zip(footer.structs::<3>(3)).ok_or("the index cannot be parsed")?;
    let positions = blocks.0.into_iter().chain(blocks.1).map(|[at, ..]| u64::try_from(at));
    Ok((fields, positions.collect::<std::result::Result<_, _>>().map_err(|_| "a negative position")?))
}

/// The next message; `None` at the end of the stream or of the bytes.
fn message(input: &mut (impl Read + ?Sized)) -> std::result::Result<Option<Message>, Damage> {
    let head = take(input, 8)?;
    let Some(size) = head.strip_prefix(&[0xff; 4]).and_then(|size| size.try_into().ok()).map(u32::from_le_bytes) else {
        return Ok(None);
    };
    match size as usize {
        0 => Ok(None),
        size if size > MAX_METADATA => Err("the metadata of a message is too long".into()),
        size => {
            let metadata = take(input, size)?;
            let body_len = Table::root(&metadata).ok_or("a message cannot be parsed")?.i64(3);
            let body_len = usize::try_from(body_len).map_err(|_| "a message of negative length")?;
            let body = take(input, body_len)?;
            if body.len() < body_len {
                return Err("the file ends within a message; was it cut short?".into());
            }
            Ok(Some(Message { metadata, body }))
        }
    }
}

/// The next `n` bytes, fewer at the end: what a message claims is not allocated before it is there.
fn take(input: &mut (impl Read + ?Sized), n: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(n as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
