//! The record file: lines are added as runs end, a killed process loses none but the one it was writing.

use crate::error::{Error, Result};
use crate::record::{Key, Line};
use deepgp_data::Source;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Reads the records of a file, plain or compressed.
///
/// # Errors
/// [`Error::InvalidRecord`] with the line, [`Error::Data`] if it cannot be read.
pub fn read_records(path: &Path) -> Result<Vec<Line>> {
    let text = Source::new(path).text()?;
    (1..).zip(text.lines()).map(|(number, line)| parse(path, number, line)).collect()
}

fn parse(path: &Path, line: usize, text: &str) -> Result<Line> {
    serde_json::from_str(text).map_err(|e| Error::InvalidRecord { path: path.into(), line, cause: e.to_string() })
}

/// A record file that grows. Threads can share it.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    old: HashMap<(u8, Key), Line>,
    file: Mutex<File>,
}

/// Lines of different kinds with the same name are different things.
fn place(line: &Line) -> (u8, Key) {
    match line {
        Line::Run(run) => (0, run.key.clone()),
        Line::Search(search) => (1, search.key.clone()),
        // There is one choice a task, whatever was chosen.
        Line::Choice(choice) => (2, Key { variant: String::new(), ..choice.key.clone() }),
        Line::FarBelow(far) => (3, far.key.clone()),
    }
}

impl Log {
    /// Opens a file or makes it. What is in it counts as done; a last line without an end, which a killed process
    /// leaves, is cut off.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::InvalidRecord`].
    pub fn open(path: &Path) -> Result<Self> {
        let error = |cause| Error::File { action: "open", path: path.into(), cause };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(error)?;
        }
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(error)?;
        let mut old = HashMap::new();
        let (mut reader, mut bytes, mut whole, mut number) = (BufReader::new(&file), Vec::new(), 0, 0);
        loop {
            bytes.clear();
            number += 1;
            let count = reader.read_until(b'\n', &mut bytes).map_err(error)?;
            if bytes.last() != Some(&b'\n') {
                break;
            }
            let line = parse(path, number, &String::from_utf8_lossy(&bytes))?;
            old.insert(place(&line), line);
            whole += count as u64;
        }
        file.set_len(whole).map_err(error)?;
        file.seek(SeekFrom::End(0)).map_err(error)?;
        Ok(Self { path: path.into(), old, file: Mutex::new(file) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The record that the file had when it was opened of what `wanted` is a record of.
    pub fn find(&self, wanted: &Line) -> Option<&Line> {
        self.old.get(&place(wanted))
    }

    /// The run with this key, if the file had it when it was opened.
    pub fn run(&self, key: &Key) -> Option<&crate::record::Run> {
        match self.old.get(&(0, key.clone()))? {
            Line::Run(run) => Some(run),
            _ => None,
        }
    }

    /// The search with this key, if the file had it when it was opened.
    pub fn search(&self, key: &Key) -> Option<&crate::record::Search> {
        match self.old.get(&(1, key.clone()))? {
            Line::Search(search) => Some(search),
            _ => None,
        }
    }

    /// The error that says that the file has this already, with other settings.
    pub fn other_settings(&self, key: &Key) -> Error {
        let what = format!("study {}, task {}, {}", key.study, key.task, key.variant);
        Error::OtherSettings { path: self.path.clone(), what }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn append(&self, line: &Line) -> Result<()> {
        let error = |cause| Error::File { action: "write", path: self.path.clone(), cause };
        let mut text = serde_json::to_string(line).map_err(|e| error(e.into()))?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // One call, so that a kill leaves at most one torn line, at the end.
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Choice, Criterion};

    fn choice(task: &str, variant: &str) -> Line {
        let key = Key { study: "s".into(), task: task.into(), variant: variant.into(), split: 0 };
        Line::Choice(Choice { key, criterion: Criterion::Rmse, candidates: vec![(variant.into(), -0.5)] })
    }

    #[test]
    fn lines_are_kept_and_a_torn_one_is_cut_off() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("deepgp-log-{}", std::process::id()));
        let path = folder.join("records.jsonl");
        let log = Log::open(&path)?;
        log.append(&choice("a", "x"))?;
        log.append(&choice("b", "y"))?;
        drop(log);
        let whole = std::fs::read(&path).expect("it was written");
        std::fs::write(&path, [&whole[..], b"{\"kind\":\"ru"].concat()).expect("a folder of our own");
        let log = Log::open(&path)?;
        assert_eq!(log.find(&choice("b", "other")), Some(&choice("b", "y")));
        assert_eq!(log.find(&choice("c", "x")), None);
        log.append(&choice("c", "z"))?;
        assert_eq!(read_records(&path)?, [choice("a", "x"), choice("b", "y"), choice("c", "z")]);
        // Damage in the middle is no torn end.
        std::fs::write(&path, [b"nonsense\n", &whole[..]].concat()).expect("a folder of our own");
        assert!(matches!(Log::open(&path), Err(Error::InvalidRecord { line: 1, .. })));
        std::fs::remove_dir_all(folder).expect("a folder of our own");
        Ok(())
    }
}
