//! Where results go: standard output, or a file that is whole or not there.

use anyhow::{Context, Result};
use deepgp_data::Notice;
use deepgp_io::write_atomic;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Lets `write` fill a file, all of it or nothing, or standard output.
///
/// # Errors
/// What `write` says, and what the system says of the file.
pub fn write_to<T>(path: Option<&Path>, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let Some(path) = path else {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let done = write(&mut out)?;
        out.flush().context("cannot write to standard output")?;
        return Ok(done);
    };
    let mut done = None;
    let written = write_atomic(path, |out| match write(out) {
        Ok(value) => {
            done = Some(Ok(value));
            Ok(())
        }
        Err(error) => {
            // An error of the disk is reported with the name of the file, all others as they are.
            let cause = error.root_cause().downcast_ref::<io::Error>().map(|e| io::Error::from(e.kind()));
            done = Some(Err(error));
            Err(cause.unwrap_or_else(|| io::Error::other("nothing to write")))
        }
    });
    match (written, done) {
        (Ok(()), Some(done)) => done,
        (Err(_), Some(Err(error))) if error.root_cause().is::<io::Error>() => {
            Err(error.context(format!("cannot write {}", path.display())))
        }
        (Err(_), Some(Err(error))) => Err(error),
        (Err(error), _) => Err(error.into()),
        (Ok(()), None) => Err(anyhow::anyhow!("nothing was written to {}", path.display())),
    }
}

/// One line, or several, on standard output.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write to standard output")
}

/// One JSON object on standard output.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string(value)?))
}

/// A path as JSON can hold it.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// A remark on standard error.
pub fn note(quiet: bool, text: &str) {
    if !quiet {
        // There is nobody to tell if that fails.
        let _ = writeln!(io::stderr(), "note: {text}");
    }
}

/// What was decided about the data, on standard error.
pub fn notices(quiet: bool, notices: &[Notice]) {
    const SHOWN: usize = 10;
    notices.iter().take(SHOWN).for_each(|notice| note(quiet, &notice.to_string()));
    if notices.len() > SHOWN {
        note(quiet, &format!("and {} more notices like these", notices.len() - SHOWN));
    }
}
