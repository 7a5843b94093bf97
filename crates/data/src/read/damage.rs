//! What is wrong inside a binary file, before it is known which file.

use crate::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// An error in a Parquet or Arrow file, in words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Damage(pub String);

impl Damage {
    /// The error of the file at `path`.
    pub fn of(self, path: &Path) -> Error {
        Error::DamagedFile { path: path.to_owned(), message: self.0 }
    }
}

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

impl From<parquet::errors::ParquetError> for Damage {
    fn from(error: parquet::errors::ParquetError) -> Self {
        use parquet::errors::ParquetError as Fault;
        // Theirs begins with the format, which is known, or with the kind of error, which says nothing to a user.
        Self(match error {
            Fault::General(what) | Fault::NYI(what) | Fault::EOF(what) | Fault::ArrowError(what) => unreadable(&what),
            Fault::External(cause) if cause.is::<std::io::Error>() => cause.to_string(),
            other => unreadable(&other.to_string()),
        })
    }
}

impl From<arrow_schema::ArrowError> for Damage {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self(unreadable(&error.to_string()))
    }
}

fn unreadable(what: &str) -> String {
    format!("damaged, or not written as is known here: {what}")
}

/// Does what `task` does; if a library panics in it over damaged bytes, that is an error like any other.
///
/// The panic has been announced on standard error by then, by the hook of the process, which is not ours to change.
/// What a file claims is checked before the libraries see it, so that few files come this far.
pub(super) fn contain<T>(task: impl FnOnce() -> Result<T, Damage>) -> Result<T, Damage> {
    // After a panic nothing that `task` has touched is used again: the caller gives up the file.
    catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Damage(unreadable(what.unwrap_or("its reader stopped"))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_fault() {
        let error = contain(|| -> Result<(), Damage> { panic!("index {} out of range", 7) });
        assert!(error.is_err_and(|damage| damage.0.ends_with("known here: index 7 out of range")));
        assert_eq!(contain(|| Ok(1)), Ok(1));
    }
}
