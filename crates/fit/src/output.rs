//! Whether the model file can be written, found out before training and not after it.

use crate::error::{OutputError, Result};
use crate::plan::Plan;
use deepgp_io::remove_leftovers;
use std::io::Read;
use std::path::Path;

/// First bytes of a model file.
const MAGIC: &[u8] = b"\x89DGP";

/// Checks where a plan's model file goes, and removes what crashed writers left there.
///
/// # Errors
/// [`OutputError`], and what the system says of leftovers.
pub(crate) fn check(plan: &Plan) -> Result<()> {
    if !plan.has_files() {
        return Ok(());
    }
    let out = plan.out();
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(OutputError::NoFolder { out: out.to_owned(), folder: folder.to_owned() }.into());
    }
    if out.is_dir() {
        return Err(OutputError::Folder(out.to_owned()).into());
    }
    if out.file_name().is_none() {
        return Err(OutputError::NoName(out.to_owned()).into());
    }
    if out.is_file() {
        check_old(out)?;
    }
    remove_leftovers(out)?;
    if let Some(path) = plan.checkpoint_path() {
        remove_leftovers(&path)?;
    }
    Ok(())
}

/// Checks that a file is a model, or empty, and may be replaced.
fn check_old(out: &Path) -> Result<(), OutputError> {
    let mut head = Vec::new();
    let read = std::fs::File::open(out).and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut head));
    read.map_err(|source| OutputError::Unreadable { path: out.to_owned(), source })?;
    if !head.is_empty() && head != MAGIC {
        return Err(OutputError::NotAModel(out.to_owned()));
    }
    match std::fs::metadata(out).is_ok_and(|m| m.permissions().readonly()) {
        true => Err(OutputError::ReadOnly(out.to_owned())),
        false => Ok(()),
    }
}
