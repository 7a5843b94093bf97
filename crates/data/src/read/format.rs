//! Tells the format of a file from its first bytes.

use crate::error::{Error, Result};
use crate::source::Source;

/// What a file is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// CSV and its kin, or anything unknown.
    Text,
    /// A format that stores columns.
    Columns(ColumnFormat),
}

/// A format that stores columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnFormat {
    /// Parquet.
    Parquet,
    /// An Arrow file, the same as Feather version 2.
    ArrowFile,
    /// An Arrow stream.
    ArrowStream,
}

/// What to do about a Parquet or Arrow file where its readers were left out of the build.
#[cfg(not(feature = "columnar"))]
const BUILD: &str = "this build reads text only: build it with `--features columnar`, or export the table as CSV";

const DECOMPRESS: &str = "decompress it first (gzip is read as it is)";
const EXPORT: &str = "export the table as CSV";
const ENCODING: &str = "save it with the encoding UTF-8";

/// First bytes of the formats that are read.
const KNOWN: [(&[u8], ColumnFormat); 4] = [
    (b"PAR1", ColumnFormat::Parquet),
    (b"PARE", ColumnFormat::Parquet),
    (b"ARROW1\0\0", ColumnFormat::ArrowFile),
    (b"\xff\xff\xff\xff", ColumnFormat::ArrowStream),
];

/// First bytes of files that are often taken for tables.
const FOREIGN: [(&[u8], &str, &str); 14] = [
    (b"\x89DGP", "a deepgp model or checkpoint", "give the table in its place"),
    (b"PK\x03\x04", "a zip archive or an Excel workbook", EXPORT),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", EXPORT),
    (b"\x28\xb5\x2f\xfd", "a file compressed by zstd", DECOMPRESS),
    (b"BZh", "a file compressed by bzip2", DECOMPRESS),
    (b"\xfd7zXZ", "a file compressed by xz", DECOMPRESS),
    (b"\xff\xfe", "UTF-16 text", ENCODING),
    (b"\xfe\xff", "UTF-16 text", ENCODING),
    (
        b"FEA1",
        "a Feather file of version 1",
        "read it with pandas or pyarrow and write it again, which gives version 2",
    ),
    (b"\x89HDF", "an HDF5 file", EXPORT),
    (b"\x93NUMPY", "a NumPy array", EXPORT),
    (b"<!DOCTYPE", "a web page", "download the table itself"),
    (b"<html", "a web page", "download the table itself"),
    (b"{\"", "JSON", EXPORT),
];

impl Format {
    /// The format of a file that begins with `head`.
    ///
    /// # Errors
    /// [`Error::Format`] for a format that is known but not read.
    pub fn of(head: &[u8], source: &Source) -> Result<Self> {
        if let Some((_, format)) = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Ok(Self::Columns(*format));
        }
        if is_unmarked_stream(head) {
            return Ok(Self::Columns(ColumnFormat::ArrowStream));
        }
        match FOREIGN.iter().find(|(magic, ..)| head.starts_with(magic)) {
            Some(&(_, what, hint)) => {
                Err(Error::Format { path: source.label().to_owned(), what: what.to_owned(), hint })
            }
            None => Ok(Self::Text),
        }
    }
}

#[cfg(not(feature = "columnar"))]
impl ColumnFormat {
    /// The error for a format that this build does not read.
    pub fn not_built(self, source: &Source) -> Error {
        let what = match self {
            Self::Parquet => "a Parquet file",
            Self::ArrowFile => "an Arrow or Feather file",
            Self::ArrowStream => "an Arrow stream",
        };
        Error::Format { path: source.label().to_owned(), what: what.to_owned(), hint: BUILD }
    }
}

/// Whether the file is an Arrow stream as it was until 2019: it begins with the length of a message, which begins with
/// the position of its first table. Both are small, and text has no zeros.
fn is_unmarked_stream(head: &[u8]) -> bool {
    const SMALL: u32 = 1 << 24;
    let word = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    match (word(0), word(4)) {
        (Some(length), Some(table)) => {
            (8..SMALL).contains(&length)
                && length % 4 == 0
                && (4..length.min(1 << 8)).contains(&table)
                && table % 4 == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_named() {
        let error = |head: &[u8]| Format::of(head, &Source::new("t.xlsx")).map_err(|e| e.to_string());
        assert_eq!(
            error(b"PK\x03\x04rest"),
            Err("t.xlsx: this is a zip archive or an Excel workbook; export the table as CSV".into())
        );
        assert!(error(b"\xff\xfea\0,\0").is_err_and(|e| e.contains("UTF-16")));
        assert_eq!(error(b"PAR1\x15"), Ok(Format::Columns(ColumnFormat::Parquet)));
        assert_eq!(error(b"ARROW1\0\0\xff"), Ok(Format::Columns(ColumnFormat::ArrowFile)));
        assert_eq!(error(b"\x98\0\0\0\x10\0\0\0\0\0\x0a\0"), Ok(Format::Columns(ColumnFormat::ArrowStream)));
        assert_eq!(error(b"a\0,\0b\0\n\0"), Ok(Format::Text));
        assert_eq!(error(b"a,b\n1,2\n"), Ok(Format::Text));
        assert_eq!(error(b""), Ok(Format::Text));
    }
}
