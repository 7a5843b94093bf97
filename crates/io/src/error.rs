//! What can be wrong with a file, with what a user needs to act on it.

use crate::kind::Kind;
use std::path::PathBuf;

/// What is wrong with the bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file is of another kind.
    #[error("this is not a deepgp file{}", hint(*looks_like))]
    NotADeepgpFile {
        /// What it seems to be.
        looks_like: Option<&'static str>,
    },
    /// The file ends too early.
    #[error("the file is truncated: it should have {expected} bytes and has {found}")]
    Truncated {
        /// Bytes that it should have.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// The contents are not what was written: the checksum differs.
    #[error("the file is damaged: its checksum is {computed:08x} instead of {stored:08x}")]
    Corrupted {
        /// The checksum in the file.
        stored: u32,
        /// The checksum of the file.
        computed: u32,
    },
    /// A later program wrote it.
    #[error("the file has format {found}, written by a later deepgp; this one reads formats up to {supported}")]
    NewerVersion {
        /// Its format.
        found: u32,
        /// The latest format that can be read.
        supported: u32,
    },
    /// A checkpoint where a model is expected, or the other way round.
    #[error("this is a {found}, not a {expected}")]
    WrongKind {
        /// What was asked for.
        expected: Kind,
        /// What the file says it is.
        found: Kind,
    },
    /// The file is complete, but its contents are not valid.
    #[error("the file makes no sense: {what}")]
    Invalid {
        /// What is wrong.
        what: String,
    },
    /// The value cannot be written in this format.
    #[error("this cannot be written to a file: {what}")]
    Unwritable {
        /// Why.
        what: String,
    },
}

/// ", but looks like …", or nothing.
fn hint(looks_like: Option<&str>) -> String {
    looks_like.map_or_else(String::new, |what| format!(", it looks like {what}"))
}

/// What went wrong with a file, and with which.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refused.
    #[error("cannot {action} {}", path.display())]
    Io {
        /// What was tried: "read", "write", ….
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The contents of the file are wrong.
    #[error("{}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
}
