//! Decompresses the pages of Parquet and the buffers of Arrow files.

use super::damage::Damage;
use std::borrow::Cow;
use std::io::Read;

/// Most bytes that one page or buffer may unfold to: files of kilobytes can claim terabytes.
pub(super) const MAX_BLOCK: usize = 1 << 29;

/// How a block of bytes is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Plain,
    Snappy,
    Gzip,
    Lz4Block,
    Lz4Frame,
    Zstd,
}

/// The `size` bytes that `packed` stands for.
pub(super) fn decompress(codec: Codec, packed: &[u8], size: usize) -> Result<Cow<'_, [u8]>, Damage> {
    if size > MAX_BLOCK {
        return Err(format!("a block of {size} bytes, more than {MAX_BLOCK}").into());
    }
    let bytes = match codec {
        Codec::Plain => Cow::Borrowed(packed),
        Codec::Snappy => {
            // The block says its size itself, and is not to be believed.
            if snap::raw::decompress_len(packed).ok() != Some(size) {
                return Err("a snappy block of another size than stated".into());
            }
            Cow::Owned(snap::raw::Decoder::new().decompress_vec(packed).map_err(|e| e.to_string())?)
        }
        Codec::Gzip => drain(flate2::read::MultiGzDecoder::new(packed), size)?,
        Codec::Lz4Block => Cow::Owned(lz4_flex::block::decompress(packed, size).map_err(|e| e.to_string())?),
        Codec::Lz4Frame => drain(lz4_flex::frame::FrameDecoder::new(packed), size)?,
        Codec::Zstd => drain(ruzstd::decoding::StreamingDecoder::new(packed).map_err(|e| e.to_string())?, size)?,
    };
    if bytes.len() == size { Ok(bytes) } else { Err("a compressed block of another size than stated".into()) }
}

fn drain(reader: impl Read, size: usize) -> Result<Cow<'static, [u8]>, Damage> {
    let mut bytes = Vec::new();
    reader.take(size as u64 + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes.into())
}
