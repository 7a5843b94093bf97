//! Takes sets from a folder that somebody has already.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::set::Set;
use crate::store::{Store, has_table, read_folder, recognise};
use std::path::{Path, PathBuf};

/// What there is to import in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Sets, by name, and the folders of their files.
    pub sets: Vec<(&'static Set, PathBuf)>,
    /// Names of folders that belong to no set that is known.
    pub unknown: Vec<String>,
}

impl Found {
    /// Looks into a folder: either it holds the files of one set, which is recognised by the folder's name or else by
    /// the values, or folders that are called as the sets are.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder cannot be read, [`Error::Unrecognised`] if it holds a table of no known set.
    pub fn look_into(folder: &Path) -> Result<Self> {
        let io = |source| Error::Io { action: "look into", path: folder.to_owned(), source };
        if has_table(folder) {
            let whole = folder.canonicalize().map_err(io)?;
            let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let set = Set::find(name).ok().map_or_else(|| recognise(folder), |set| Ok(Some(set)))?;
            let set = set.ok_or_else(|| Error::Unrecognised { folder: folder.to_owned() })?;
            return Ok(Self { sets: vec![(set, folder.to_owned())], unknown: Vec::new() });
        }
        let mut found = Self::default();
        for entry in std::fs::read_dir(folder).map_err(io)? {
            let path = entry.map_err(io)?.path();
            let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
            if !path.is_dir() || name.starts_with('.') {
                continue;
            }
            match Set::find(&name) {
                Ok(set) if has_table(&path) => found.sets.push((set, path)),
                _ => found.unknown.push(name),
            }
        }
        // In the order of the registry, whatever the file system's.
        found.sets.sort_by_key(|(set, _)| Set::all().iter().position(|one| one.name == set.name));
        found.unknown.sort_unstable();
        Ok(found)
    }
}

impl Store {
    /// Takes a set from the folder that holds its files, `data.csv` and perhaps `splits.csv`, each perhaps with `.gz`.
    /// What is not the set is refused, and the copy that the store has stays as it was.
    ///
    /// # Errors
    /// What is wrong with the files; [`Error::File`] or [`Error::Io`] if the store cannot be written to.
    pub fn import(&self, set: &'static Set, folder: &Path) -> Result<Dataset> {
        let data = read_folder(set, folder)?;
        self.save(&data)?;
        Ok(data)
    }
}
