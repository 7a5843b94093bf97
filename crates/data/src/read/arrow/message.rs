//! The messages of an Arrow stream, and whether what they claim is possible.
//!
//! Batches are decoded by the crate of the format's makers, which asks for as much memory as a batch says that it
//! unfolds to; a request that fails ends the process. So a batch is compared with the bytes that are there, before.

use super::super::damage::Damage;
use arrow_buffer::Buffer;
use arrow_ipc::{CompressionType, RecordBatch, root_as_message};
use std::io::Read;

/// Longest metadata of a message.
pub(super) const MAX_METADATA: usize = 1 << 26;
/// Most rows of a batch.
const MAX_ROWS: i64 = 1 << 31;
/// Most bytes that a batch may unfold to.
const MAX_BATCH: u64 = 1 << 31;
/// No frame of LZ4 unfolds to more than so many times its length, for a byte says no more than 255 repetitions.
const MAX_LZ4: u64 = 1 << 8;
/// No frame of Zstandard unfolds to more than so many times its length: its smallest block has four bytes and stands
/// for 128 KiB.
const MAX_ZSTD: u64 = 1 << 15;

/// A message: its description and its body.
pub(super) struct Message {
    metadata: Vec<u8>,
    body: Buffer,
}

impl Message {
    /// The next message; `None` at the end of the stream or of the bytes.
    pub fn read(input: &mut (impl Read + ?Sized)) -> Result<Option<Self>, Damage> {
        let Some(size) = metadata_length(input)? else { return Ok(None) };
        if size > MAX_METADATA {
            return Err("the metadata of a message is too long".into());
        }
        let mut message = Self { metadata: take(input, size)?, body: Buffer::default() };
        let length = message.header()?.bodyLength();
        let length = usize::try_from(length).map_err(|_| "a message of negative length")?;
        let body = take(input, length)?;
        if body.len() < length {
            return Err("the file ends within a message; was it cut short?".into());
        }
        message.body = Buffer::from_vec(body);
        Ok(Some(message))
    }

    /// The description.
    pub fn header(&self) -> Result<arrow_ipc::Message<'_>, Damage> {
        root_as_message(&self.metadata).map_err(|error| format!("a message cannot be parsed: {error}").into())
    }

    pub fn body(&self) -> &Buffer {
        &self.body
    }
}

/// Length of the metadata of the next message. Until 2019 it stood alone, now behind a mark.
fn metadata_length(input: &mut (impl Read + ?Sized)) -> Result<Option<usize>, Damage> {
    const MARK: u32 = u32::MAX;
    let mut word = || -> Result<Option<u32>, Damage> { Ok(take(input, 4)?.try_into().ok().map(u32::from_le_bytes)) };
    let length = match word()? {
        Some(MARK) => word()?,
        other => other,
    };
    Ok(length.filter(|&length| length > 0).map(|length| length as usize))
}

/// The next `n` bytes, fewer at the end: what a message claims is not allocated before it is there.
pub(super) fn take(input: &mut (impl Read + ?Sized), n: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(n as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a batch has the rows and buffers in `body` that it claims to have.
pub(super) fn check_batch(batch: &RecordBatch, body: &[u8]) -> Result<(), Damage> {
    let is_count = |n: i64, most: i64| (0..=most).contains(&n);
    let mut nodes = batch.nodes().into_iter().flatten();
    let is_possible = nodes.all(|node| is_count(node.length(), MAX_ROWS) && is_count(node.null_count(), node.length()));
    if !is_count(batch.length(), MAX_ROWS) || !is_possible {
        return Err("a batch without a sensible number of rows".into());
    }
    let most_times = match batch.compression().map(|compression| compression.codec()) {
        None => None,
        Some(CompressionType::LZ4_FRAME) => Some(MAX_LZ4),
        Some(CompressionType::ZSTD) => Some(MAX_ZSTD),
        Some(CompressionType(other)) => return Err(format!("compressed by the unknown codec {other}").into()),
    };
    let mut unfolded = 0;
    for place in batch.buffers().into_iter().flatten() {
        let outside = "a buffer reaches beyond its batch";
        let start = usize::try_from(place.offset()).map_err(|_| outside)?;
        let length = usize::try_from(place.length()).map_err(|_| outside)?;
        let buffer = start.checked_add(length).and_then(|end| body.get(start..end)).ok_or(outside)?;
        if let Some(most_times) = most_times
            && let Some((size, packed)) = buffer.split_first_chunk::<8>()
            // −1 stands before a buffer that was left as it is.
            && let Ok(size) = u64::try_from(i64::from_le_bytes(*size))
        {
            unfolded += size.min(MAX_BATCH + 1);
            if size > most_times * packed.len() as u64 {
                return Err("a compressed buffer of fewer bytes than stated".into());
            }
            if unfolded > MAX_BATCH {
                return Err("a batch is too large; write the file in smaller batches".into());
            }
        }
    }
    Ok(())
}
