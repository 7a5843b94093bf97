//! Writes that leave either the old file or the new one, whatever happens in between.

use crate::error::FileError;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What the names of temporary files end in.
const ENDING: &str = ".tmp";

/// Writes a file so that a crash, a kill or a full disk leaves what was there before.
///
/// `write` fills a temporary file in the same folder, which is flushed to disk, renamed to `path`, and the folder
/// flushed. A link is followed, and the file it leads to is replaced. The permissions of an old file are kept. What is
/// not a regular file (a pipe, /dev/stdout) is written to as it is.
///
/// # Errors
/// [`FileError::Io`] with path and cause. The old file is then as it was, and the temporary one is gone.
pub fn write_atomic(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), FileError> {
    write_or_clean(path, write).map_err(|source| FileError::Io { action: "write", path: path.into(), source })
}

fn write_or_clean(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let target = follow(path)?;
    let old = match fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(metadata) if !metadata.is_file() => {
            let mut out = BufWriter::new(OpenOptions::new().write(true).open(&target)?);
            write(&mut out)?;
            return out.flush();
        }
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if let Some(old) = &old
        && old.permissions().readonly()
    {
        // A rename would replace it all the same.
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    let (mut temporary, file) = Temporary::create(&target)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    fs::rename(&temporary.path, &target)?;
    temporary.renamed = true;
    sync_folder(folder(&target))
}

/// Where a link leads, one after another; the path itself if it is none. A link to nothing leads to a new file.
fn follow(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = folder(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a rename last.
fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened.
    if cfg!(unix) {
        match File::open(folder)?.sync_all() {
            // Some file systems do not know how; the file itself is safe.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
            result => result,
        }
    } else {
        Ok(())
    }
}

/// A temporary file that is removed unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    /// Creates one beside `target`, locked for as long as it is open.
    fn create(target: &Path) -> io::Result<(Self, File)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(beginning) = beginning(target) else { return Err(io::Error::from(io::ErrorKind::InvalidFilename)) };
        loop {
            let mut name = beginning.clone();
            name.push(format!("{}-{}{ENDING}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
            let path = folder(target).join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => {
                    // Only tells others that somebody is at work; not every file system has locks.
                    let _ = file.try_lock();
                    return Ok((Self { path, renamed: false }, file));
                }
                // Left behind by a process of the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // There is nobody left to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What the names of the temporary files of a target begin with: ".name.".
fn beginning(target: &Path) -> Option<OsString> {
    let mut name = OsString::from(".");
    name.push(target.file_name()?);
    name.push(".");
    Some(name)
}

/// Removes temporary files that killed processes left beside `path`; those of living ones are locked and stay. To be
/// called once at the start of a run. Returns how many there were.
///
/// # Errors
/// [`FileError::Io`] if the folder cannot be read.
pub fn remove_leftovers(path: &Path) -> Result<usize, FileError> {
    let remove = || {
        let target = follow(path)?;
        let Some(beginning) = beginning(&target) else { return Ok(0) };
        let mut removed = 0;
        for entry in fs::read_dir(folder(&target))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if !(name.starts_with(beginning.as_encoded_bytes()) && name.ends_with(ENDING.as_bytes())) {
                continue;
            }
            let abandoned = File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok());
            removed += usize::from(abandoned && fs::remove_file(entry.path()).is_ok());
        }
        Ok(removed)
    };
    remove().map_err(|source| FileError::Io { action: "clean up beside", path: path.into(), source })
}
