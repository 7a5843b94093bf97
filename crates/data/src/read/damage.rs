//! What is wrong inside a binary file, before it is known which file.

use crate::error::Error;
use std::path::Path;

/// A fault of a Parquet or Arrow file, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage(pub String);

impl From<&str> for Damage {
    fn from(what: &str) -> Self {
        Self(what.to_owned())
    }
}

impl From<String> for Damage {
    fn from(what: String) -> Self {
        Self(what)
    }
}

impl From<std::io::Error> for Damage {
    fn from(cause: std::io::Error) -> Self {
        Self(cause.to_string())
    }
}

impl Damage {
    /// The fault of the file at `path`.
    pub fn of(self, path: &Path) -> Error {
        Error::Binary { path: path.to_owned(), message: self.0 }
    }
}
