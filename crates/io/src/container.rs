//! The container: magic, kind, version, lengths, JSON, floats and a checksum over all of it.

use crate::atomic::write_atomic;
use crate::error::{FileError, FormatError};
use crate::kind::Kind;
use crate::read::{Floats, Node};
use crate::tree::Tree;
use crate::write::Writer;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::Path;

/// The format that is written, and the latest that can be read.
///
/// A later program reads every earlier format: a field that is added to a stored type needs a default. Older programs
/// pass over fields that they do not know. Where that would mislead them, or where a type refuses unknown fields (the
/// training settings do), the format is raised, and they say that the file is newer than they are.
pub const FORMAT_VERSION: u32 = 1;

/// The first byte is not text, and the line ends show a transfer that changed them, as in PNG.
const MAGIC: [u8; 8] = *b"\x89DGP\r\n\x1a\n";
/// Bytes before the JSON.
const PREFIX: u64 = 32;
/// Bytes of the checksum.
const SUFFIX: u64 = 4;
/// Most bytes of JSON. In memory it may take some forty times as much, should its author be hostile.
const MAX_JSON: u64 = 16 << 20;

/// What every file's JSON holds.
#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    /// Version of the program that wrote it.
    deepgp: String,
    body: T,
}

/// The pieces of a file before they are one after another.
struct Pieces {
    prefix: [u8; PREFIX as usize],
    json: Vec<u8>,
    floats: Vec<u8>,
}

impl Pieces {
    fn new(kind: Kind, mut json: Vec<u8>, floats: Vec<u8>) -> Self {
        json.resize(json.len().next_multiple_of(8), b' ');
        let mut prefix = [0; PREFIX as usize];
        prefix[..8].copy_from_slice(&MAGIC);
        prefix[8..12].copy_from_slice(&kind.code());
        prefix[12..16].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        prefix[16..24].copy_from_slice(&(json.len() as u64).to_le_bytes());
        prefix[24..].copy_from_slice(&(floats.len() as u64 / 8).to_le_bytes());
        Self { prefix, json, floats }
    }

    fn of<T: Serialize>(kind: Kind, body: &T) -> Result<Self, FormatError> {
        let mut writer = Writer::new(kind.finite_only());
        Envelope { deepgp: env!("CARGO_PKG_VERSION").to_owned(), body }.serialize(&mut writer)?;
        if writer.json.len() as u64 > MAX_JSON {
            let what = format!("it has {} bytes besides its numbers, more than {MAX_JSON}", writer.json.len());
            return Err(FormatError::Unwritable { what });
        }
        Ok(Self::new(kind, writer.json, writer.floats))
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut checksum = crc32fast::Hasher::new();
        for piece in [&self.prefix[..], &self.json, &self.floats] {
            checksum.update(piece);
            out.write_all(piece)?;
        }
        out.write_all(&checksum.finalize().to_le_bytes())
    }

    fn join(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.json.len() + self.floats.len() + (PREFIX + SUFFIX) as usize);
        // Writing to memory does not fail.
        let _ = self.write(&mut bytes);
        bytes
    }
}

/// What the first bytes of a file say of the rest of it.
struct Prefix {
    /// Bytes of JSON.
    json: u64,
    /// Bytes of the whole file.
    total: u64,
}

impl Prefix {
    /// Reads the first bytes of a file of `length` bytes, where that is known.
    fn read(bytes: &[u8], length: Option<u64>) -> Result<Self, FormatError> {
        let known = bytes.len().min(MAGIC.len());
        if bytes.is_empty() || bytes[..known] != MAGIC[..known] {
            return Err(FormatError::NotADeepgpFile { looks_like: looks_like(bytes) });
        }
        let found = length.unwrap_or(bytes.len() as u64);
        let Some(bytes) = bytes.first_chunk::<{ PREFIX as usize }>() else {
            return Err(FormatError::Truncated { expected: PREFIX + SUFFIX, found });
        };
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let version = word(12);
        if version > FORMAT_VERSION {
            return Err(FormatError::NewerVersion { found: version, supported: FORMAT_VERSION });
        }
        if version == 0 {
            return Err(FormatError::Invalid { what: "there is no format 0".into() });
        }
        let (json, floats) = (long(16), long(24));
        if json > MAX_JSON {
            let what = format!("it claims {json} bytes besides its numbers, more than {MAX_JSON}");
            return Err(FormatError::Invalid { what });
        }
        let total = floats.checked_mul(8).and_then(|floats| floats.checked_add(PREFIX + json + SUFFIX));
        let Some(total) = total else {
            return Err(FormatError::Invalid { what: format!("it claims {floats} numbers, more than any file holds") });
        };
        if length.is_some_and(|length| length < total) {
            return Err(FormatError::Truncated { expected: total, found });
        }
        Ok(Self { json, total })
    }
}

/// What foreign bytes seem to be.
fn looks_like(bytes: &[u8]) -> Option<&'static str> {
    let starts: [(&[u8], &str); 12] = [
        (b"\x89DGP", "a deepgp file that a transfer in text mode has changed"),
        (b"\x1f\x8b", "a gzip file"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PAR1", "a Parquet file"),
        (b"ARROW1", "an Arrow file"),
        (b"\x89HDF", "an HDF5 file"),
        (b"\x93NUMPY", "a NumPy array"),
        (b"SQLite", "an SQLite database"),
        (b"\x7fELF", "a program"),
        (b"\x80", "a Python pickle"),
        (b"{", "JSON"),
        (b"\xef\xbb\xbf", "a text file"),
    ];
    if bytes.is_empty() {
        return Some("an empty file");
    }
    if let Some((_, what)) = starts.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Some(what);
    }
    // Bytes from 0x80 on may be letters of any encoding.
    let is_text = bytes.iter().all(|&b| b >= 0x20 && b != 0x7f || matches!(b, b'\t' | b'\n' | b'\r'));
    if !is_text {
        return None;
    }
    Some(if bytes.iter().any(|b| matches!(b, b',' | b';' | b'\t')) { "a CSV table" } else { "a text file" })
}

/// A file whose checksum is right, taken apart.
struct Opened<'a> {
    kind: Kind,
    json: &'a [u8],
    floats: &'a [u8],
}

fn open(bytes: &[u8]) -> Result<Opened<'_>, FormatError> {
    let prefix = Prefix::read(bytes, Some(bytes.len() as u64))?;
    // Not larger than the length of `bytes`, so that it fits.
    let (total, json) = (prefix.total as usize, prefix.json as usize);
    if bytes.len() > total {
        return Err(FormatError::Invalid { what: format!("{} bytes follow its end", bytes.len() - total) });
    }
    let (covered, stored) = bytes.split_at(total - SUFFIX as usize);
    let stored = u32::from_le_bytes([stored[0], stored[1], stored[2], stored[3]]);
    let computed = crc32fast::hash(covered);
    if stored != computed {
        return Err(FormatError::Corrupted { stored, computed });
    }
    let kinds = [Kind::Model, Kind::Checkpoint, Kind::Search];
    let Some(kind) = kinds.into_iter().find(|kind| covered[8..12] == kind.code()) else {
        let what = format!("it is of the unknown kind \"{}\"", covered[8..12].escape_ascii());
        return Err(FormatError::Invalid { what });
    };
    let (json, floats) = covered[PREFIX as usize..].split_at(json);
    Ok(Opened { kind, json, floats })
}

/// The bytes of a file.
///
/// # Errors
/// [`FormatError::Unwritable`] for a value that the format has no form for: maps without string keys, a number that is
/// not finite in a model, or more than 16 MiB besides arrays of float64.
pub fn encode<T: Serialize>(kind: Kind, body: &T) -> Result<Vec<u8>, FormatError> {
    Ok(Pieces::of(kind, body)?.join())
}

/// The value that the bytes of a file hold. Any bytes may be given.
///
/// # Errors
/// Every [`FormatError`] but [`FormatError::Unwritable`].
pub fn decode<T: DeserializeOwned>(expected: Kind, bytes: &[u8]) -> Result<T, FormatError> {
    let Opened { kind, json, floats } = open(bytes)?;
    if kind != expected {
        return Err(FormatError::WrongKind { expected, found: kind });
    }
    let tree: Tree = serde_json::from_slice(json).map_err(|e| FormatError::Invalid { what: e.to_string() })?;
    let floats = Floats::new(floats, kind.finite_only());
    Ok(Envelope::<T>::deserialize(Node { tree: &tree, floats: &floats })?.body)
}

/// A file with the given JSON and floats as they are: for tools and tests that change what is inside one, such as
/// fuzzers. Bytes of `floats` beyond a multiple of eight are dropped.
pub fn seal(kind: Kind, json: &[u8], floats: &[u8]) -> Vec<u8> {
    Pieces::new(kind, json.to_vec(), floats[..floats.len() / 8 * 8].to_vec()).join()
}

/// The inverse of [`seal`]: the JSON and the floats of a file.
///
/// # Errors
/// As [`decode`], except for what is wrong with the JSON itself.
pub fn unseal(bytes: &[u8]) -> Result<(&[u8], &[u8]), FormatError> {
    open(bytes).map(|opened| (opened.json, opened.floats))
}

/// Writes a file, by [`write_atomic`].
///
/// # Errors
/// [`FileError::Format`] as [`encode`]; [`FileError::Io`].
pub fn save<T: Serialize>(path: &Path, kind: Kind, body: &T) -> Result<(), FileError> {
    let pieces = Pieces::of(kind, body).map_err(|source| FileError::Format { path: path.into(), source })?;
    write_atomic(path, |out| pieces.write(out))
}

/// Reads a file. Of a foreign or truncated one no more is read than its first bytes.
///
/// # Errors
/// [`FileError::Format`] as [`decode`]; [`FileError::Io`].
pub fn load<T: DeserializeOwned>(path: &Path, kind: Kind) -> Result<T, FileError> {
    let bytes = read(path).map_err(|source| FileError::Io { action: "read", path: path.into(), source })?;
    bytes.and_then(|bytes| decode(kind, &bytes)).map_err(|source| FileError::Format { path: path.into(), source })
}

fn read(path: &Path) -> io::Result<Result<Vec<u8>, FormatError>> {
    let mut file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    // A pipe does not know its length.
    let length = metadata.is_file().then_some(metadata.len());
    let mut bytes = Vec::new();
    (&mut file).take(PREFIX).read_to_end(&mut bytes)?;
    let total = match Prefix::read(&bytes, length) {
        Ok(prefix) => prefix.total,
        Err(error) => return Ok(Err(error)),
    };
    if length.is_some() {
        bytes.reserve_exact((total - PREFIX) as usize);
    }
    // One byte more, so that a file that goes on is seen to do so.
    file.take(total - PREFIX + 1).read_to_end(&mut bytes)?;
    Ok(Ok(bytes))
}
