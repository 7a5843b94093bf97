//! Reads Arrow files and streams by the crate of the format's makers, batch by batch.
//!
//! A stream is a sequence of messages; a file (and Feather version 2) is the same with an index at its end.

mod message;

use super::CHUNK_CELLS;
use super::columnar::{self, ColumnReader};
use super::damage::{Damage, contain};
use crate::chunk::Chunk;
use crate::column::Column;
use crate::error::Result as ReadResult;
use crate::source::ReadSeek;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_footer_length, read_record_batch};
use arrow_ipc::{Endianness, MessageHeader, root_as_footer};
use arrow_schema::{Fields, SchemaRef};
use message::{MAX_METADATA, Message, check_batch, take};
use std::collections::HashMap;
use std::io::{Read, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of the length of the index and of the mark behind it.
const TAIL: usize = 10;

/// An Arrow stream being read.
pub(super) struct ArrowReader {
    path: PathBuf,
    input: Input,
    schema: SchemaRef,
    /// For each column the numbers of its dictionaries.
    dictionary_ids: Vec<Vec<i64>>,
    wanted: Vec<bool>,
    dictionaries: HashMap<i64, ArrayRef>,
    /// The wanted columns of some rows.
    batch: Option<RecordBatch>,
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
    fn next_message(&mut self) -> Result<Option<Message>, Damage> {
        match self {
            Self::Stream(stream) => Message::read(stream),
            Self::File { file, messages } => {
                let Some(at) = messages.next() else { return Ok(None) };
                file.seek(SeekFrom::Start(at))?;
                Ok(Some(Message::read(&mut **file)?.ok_or("no message where the index says")?))
            }
        }
    }
}

impl ArrowReader {
    /// Reads the schema of a stream.
    pub fn open_stream(mut stream: Box<dyn Read + Send>, path: &Path) -> ReadResult<Self> {
        contain(|| {
            let message = Message::read(&mut stream)?.ok_or("no schema")?;
            let schema = message.header()?.header_as_schema().ok_or("the first message is no schema")?;
            Self::new(Input::Stream(stream), schema, path)
        })
        .map_err(|damage| damage.of(path))
    }

    /// Reads the schema of a file.
    pub fn open_file(mut file: Box<dyn ReadSeek>, path: &Path) -> ReadResult<Self> {
        contain(|| {
            let index = index(&mut *file)?;
            let footer = root_as_footer(&index).map_err(|error| format!("the index cannot be parsed: {error}"))?;
            let schema = footer.schema().ok_or("no schema")?;
            let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
            let positions = blocks.map(|block| u64::try_from(block.offset()));
            let positions: Vec<u64> = positions.collect::<Result<_, _>>().map_err(|_| "a negative position")?;
            Self::new(Input::File { file, messages: positions.into_iter() }, schema, path)
        })
        .map_err(|damage| damage.of(path))
    }

    fn new(input: Input, stored: arrow_ipc::Schema, path: &Path) -> Result<Self, Damage> {
        if stored.endianness() != Endianness::Little {
            return Err("big-endian Arrow files are not read".into());
        }
        let fields = stored.fields().ok_or("no schema")?;
        let dictionary_ids = fields.iter().map(dictionary_ids).collect();
        let schema = SchemaRef::new(try_fb_to_schema(stored)?);
        let (path, wanted) = (path.to_owned(), vec![true; schema.fields().len()]);
        let dictionaries = HashMap::new();
        Ok(Self { path, input, schema, dictionary_ids, wanted, dictionaries, batch: None, used: 0, row: 0 })
    }

    fn read_chunk(&mut self) -> Result<Option<Chunk>, Damage> {
        let batch = loop {
            match &self.batch {
                Some(batch) if self.used < batch.num_rows() => break batch,
                _ => {
                    // Let go of the old one before there is a new one.
                    self.batch = None;
                    self.used = 0;
                    self.batch = self.next_batch()?;
                    if self.batch.is_none() {
                        return Ok(None);
                    }
                }
            }
        };
        let n_rows = (CHUNK_CELLS / batch.num_columns().max(1)).clamp(1, 8192).min(batch.num_rows() - self.used);
        let mut arrays = batch.columns().iter();
        let column = |&wanted: &bool| match wanted {
            true => columnar::column(arrays.next().ok_or("a column is missing")?, self.used, n_rows),
            false => Ok(Column::Missing),
        };
        let columns = self.wanted.iter().map(column).collect::<Result<_, _>>()?;
        let chunk = Chunk::columns(columns, n_rows, self.row);
        self.used += n_rows;
        self.row += n_rows as u64;
        Ok(Some(chunk))
    }

    /// Reads on to the next batch of rows; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Damage> {
        let wanted: Vec<usize> = (0..self.wanted.len()).filter(|&i| self.wanted[i]).collect();
        while let Some(message) = self.input.next_message()? {
            let header = message.header()?;
            match header.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = header.header_as_record_batch().ok_or("a batch without its description")?;
                    check_batch(&batch, message.body())?;
                    let (body, version) = (message.body(), header.version());
                    let schema = SchemaRef::clone(&self.schema);
                    return Ok(Some(read_record_batch(
                        body,
                        batch,
                        schema,
                        &self.dictionaries,
                        Some(&wanted),
                        &version,
                    )?));
                }
                MessageHeader::DictionaryBatch => {
                    let batch = header.header_as_dictionary_batch().ok_or("a dictionary without its description")?;
                    // The dictionary of a column that nobody wants may be of a type that is not read.
                    if wanted.iter().any(|&i| self.dictionary_ids[i].contains(&batch.id())) {
                        check_batch(&batch.data().ok_or("a dictionary without values")?, message.body())?;
                        let (body, version) = (message.body(), header.version());
                        read_dictionary(body, batch, &self.schema, &mut self.dictionaries, &version)?;
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }
}
impl ColumnReader for ArrowReader {
    fn fields(&self) -> &Fields {
        self.schema.fields()
    }

    fn select(&mut self, wanted: &[bool]) {
        if self.batch.is_none() {
            self.wanted.copy_from_slice(wanted);
        }
    }

    fn next_chunk(&mut self) -> ReadResult<Option<Chunk>> {
        contain(|| self.read_chunk()).map_err(|damage| damage.of(&self.path))
    }
}

/// The numbers of the dictionaries of a column: its own, and those of columns within, such as the values of runs.
fn dictionary_ids(field: arrow_ipc::Field) -> Vec<i64> {
    let own = field.dictionary().map(|encoding| encoding.id());
    own.into_iter().chain(field.children().into_iter().flatten().flat_map(dictionary_ids)).collect()
}

/// The index at the end of a file.
fn index(file: &mut dyn ReadSeek) -> Result<Vec<u8>, Damage> {
    let cut = "the file does not end as an Arrow file does; was it cut short?";
    let tail_at = file.seek(SeekFrom::End(0))?.checked_sub(TAIL as u64).ok_or(cut)?;
    file.seek(SeekFrom::Start(tail_at))?;
    let tail: [u8; TAIL] = take(file, TAIL)?.try_into().map_err(|_| cut)?;
    let length = read_footer_length(tail).map_err(|_| cut)?;
    if length > MAX_METADATA {
        return Err("the index is too long".into());
    }
    file.seek(SeekFrom::Start(tail_at.checked_sub(length as u64).ok_or(cut)?))?;
    Ok(take(file, length)?)
}
