//! Writing files: the old one or the new one, never anything else.
#![cfg(unix)]

use deepgp_io::{FileError, Kind, load, remove_leftovers, save, write_atomic};
use std::fs;
use std::io::Error;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// An empty folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("deepgp-io-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a folder");
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("a folder");
        let mut names: Vec<_> =
            entries.map(|e| e.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, text: &str) -> Result<(), FileError> {
    write_atomic(path, |out| out.write_all(text.as_bytes()))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("a file")
}

#[test]
fn a_file_is_written_and_replaced() {
    let folder = Folder::new("replace");
    let path = folder.0.join("model.deepgp");
    write(&path, "one").expect("written");
    assert_eq!(read(&path), "one");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("permissions");
    write(&path, "two").expect("written");
    assert_eq!(read(&path), "two");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o640);
    assert_eq!(folder.names(), ["model.deepgp"]);
}

#[test]
fn a_failed_write_harms_nothing() {
    let folder = Folder::new("fail");
    let path = folder.0.join("model.deepgp");
    write(&path, "old").expect("written");
    let failed = write_atomic(&path, |out| {
        out.write_all(&[0; 1 << 20])?;
        Err(Error::from(std::io::ErrorKind::StorageFull))
    });
    let error = failed.expect_err("a full disk");
    assert!(error.to_string().contains("cannot write") && error.to_string().contains("model.deepgp"), "{error}");
    assert!(matches!(error, FileError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull));
    assert_eq!((read(&path), folder.names()), ("old".to_owned(), vec!["model.deepgp".to_owned()]));
    // A number that cannot be written is found before anything is touched.
    assert!(matches!(save(&path, Kind::Model, &f64::NAN), Err(FileError::Format { .. })));
    assert_eq!(read(&path), "old");
    // A panic while writing.
    let panicked = std::panic::catch_unwind(|| write_atomic(&path, |_| panic!("in the middle")));
    assert!(panicked.is_err());
    assert_eq!((read(&path), folder.names()), ("old".to_owned(), vec!["model.deepgp".to_owned()]));
}

#[test]
fn refusals_name_the_path_and_the_cause() {
    let folder = Folder::new("refuse");
    for (path, kind) in [
        (folder.0.join("missing/model.deepgp"), std::io::ErrorKind::NotFound),
        (folder.0.clone(), std::io::ErrorKind::IsADirectory),
    ] {
        let error = write(&path, "x").expect_err("refused");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        assert!(matches!(error, FileError::Io { source, .. } if source.kind() == kind));
    }
    let path = folder.0.join("readonly");
    write(&path, "old").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("permissions");
    assert!(write(&path, "new").is_err());
    assert_eq!(read(&path), "old");
    let error = load::<u8>(&folder.0, Kind::Model).expect_err("a folder");
    assert!(matches!(error, FileError::Io { action: "read", .. }));
    assert!(matches!(load::<u8>(&folder.0.join("none"), Kind::Model), Err(FileError::Io { .. })));
}

#[test]
fn a_full_disk_is_an_error() {
    // Not everywhere, but where it exists it is full at all times; it is no regular file and is written to as it is.
    let full = Path::new("/dev/full");
    if full.exists() {
        let error = save(full, Kind::Model, &vec![1.0; 100_000]).expect_err("a full disk");
        assert!(matches!(error, FileError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull));
    }
}

#[test]
fn links_are_followed() {
    let folder = Folder::new("links");
    fs::create_dir(folder.0.join("real")).expect("a folder");
    let (target, link) = (folder.0.join("real/model.deepgp"), folder.0.join("link"));
    symlink("real/model.deepgp", &link).expect("a link");
    // Dangling at first.
    for text in ["one", "two"] {
        write(&link, text).expect("written");
        assert_eq!((read(&target), read(&link)), (text.to_owned(), text.to_owned()));
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    }
    let circle = folder.0.join("circle");
    symlink("circle", &circle).expect("a link");
    assert!(write(&circle, "x").is_err());
}

#[test]
fn values_go_through_files() {
    let folder = Folder::new("values");
    let path = folder.0.join("m");
    save(&path, Kind::Model, &(vec![1.0, -0.0], "text")).expect("written");
    let (floats, text): (Vec<f64>, String) = load(&path, Kind::Model).expect("read");
    assert!(floats[1].is_sign_negative() && text == "text");
    let error = load::<u8>(&path, Kind::Checkpoint).expect_err("another kind");
    assert_eq!(error.to_string(), path.display().to_string());
    let bytes = fs::read(&path).expect("bytes");
    fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
    let error = load::<u8>(&path, Kind::Model).expect_err("too short");
    assert!(matches!(error, FileError::Format { source: deepgp_io::FormatError::Truncated { .. }, .. }));
    fs::write(&path, [&bytes[..], b"more"].concat()).expect("written");
    assert!(matches!(load::<u8>(&path, Kind::Model), Err(FileError::Format { .. })));
}

#[test]
fn leftovers_of_the_dead_are_removed() {
    let folder = Folder::new("leftovers");
    let path = folder.0.join("c.ckpt");
    for name in [".c.ckpt.1-0.tmp", ".c.ckpt.2-7.tmp", ".other.1-0.tmp", "c.ckpt.tmp"] {
        fs::write(folder.0.join(name), "left").expect("written");
    }
    write_atomic(&path, |out| {
        // This very write is alive.
        assert_eq!(remove_leftovers(&path).expect("read"), 2);
        out.write_all(b"new")
    })
    .expect("written");
    assert_eq!(folder.names(), [".other.1-0.tmp", "c.ckpt", "c.ckpt.tmp"]);
}
