//! The folder that data sets are kept in: `NAME/data.csv` or `data.csv.gz`, and `NAME/splits.csv` where no rule makes
//! them.

use crate::checksum::{splits_sha256, values_sha256};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::set::{Set, SplitRule};
use crate::splits::standard_splits;
use crate::write;
use deepgp_data::{Table, read_splits};
use deepgp_numerics::linalg::Mat;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The two names that a table may have.
const TABLES: [&str; 2] = ["data.csv", "data.csv.gz"];
/// The names that splits may have.
const SPLITS: [&str; 2] = ["splits.csv", "splits.csv.gz"];

/// A folder of data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in a folder, which need not exist yet.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The store in the folder given, else in that of the variable `DEEPGP_DATA`, else in `deepgp/data` in the user's
    /// folder for data: `$XDG_DATA_HOME`, else `%LOCALAPPDATA%` on Windows and `~/.local/share` elsewhere.
    ///
    /// # Errors
    /// [`Error::NoFolder`] if none of these is known.
    pub fn locate(folder: Option<&Path>) -> Result<Self> {
        let folder = folder.map(Path::to_owned).or_else(|| default_folder(|name| std::env::var_os(name)));
        folder.map(Self::open).ok_or(Error::NoFolder)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a set.
    pub fn folder_of(&self, set: &Set) -> PathBuf {
        self.folder.join(set.name)
    }

    /// Whether there is a table of the set; not whether it is the right one.
    pub fn has(&self, set: &Set) -> bool {
        self.table_of(set).is_some()
    }

    /// The file that holds the table of the set, if there is one.
    pub fn table_of(&self, set: &Set) -> Option<PathBuf> {
        find_file(&self.folder_of(set), &TABLES)
    }

    /// Reads a set and checks that it is what it should be.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Missing`], or what is wrong with its files.
    pub fn load(&self, name: &str) -> Result<Dataset> {
        let set = Set::find(name)?;
        if !self.has(set) {
            return Err(Error::Missing { set, folder: self.folder.clone() });
        }
        read_folder(set, &self.folder_of(set))
    }

    /// Keeps a set. The old copy, if there is one, is replaced by the new one file by file, each whole or not at all.
    ///
    /// # Errors
    /// [`Error::File`] or [`Error::Io`].
    pub fn save(&self, data: &Dataset) -> Result<()> {
        let set = Set::find(data.name)?;
        write::set(set, data, &self.folder_of(set))
    }
}

/// The folder for data where none is given.
fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("DEEPGP_DATA") {
        return Some(folder);
    }
    // A relative path in this variable is to be ignored, says its specification.
    let shared = set("XDG_DATA_HOME").filter(|path| path.is_absolute()).or_else(|| {
        if cfg!(windows) { set("LOCALAPPDATA") } else { set("HOME").map(|home| home.join(".local").join("share")) }
    });
    shared.map(|folder| folder.join("deepgp").join("data"))
}

/// The first of the names that is in the folder.
pub(crate) fn find_file(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Whether a folder holds what could be a set.
pub(crate) fn has_table(folder: &Path) -> bool {
    find_file(folder, &TABLES).is_some()
}

/// Reads the files of a set from any folder and checks them. Splits that the rule makes are compared if there are any.
pub(crate) fn read_folder(set: &'static Set, folder: &Path) -> Result<Dataset> {
    let Some(path) = find_file(folder, &TABLES) else {
        return Err(Error::Missing { set, folder: folder.to_owned() });
    };
    let table = Table::read(&path)?;
    let (x, targets) = divide(set, &path, &table)?;
    let splits = match find_file(folder, &SPLITS) {
        Some(path) => checked_splits(set, read_splits(&path)?, path)?,
        None if set.split_rule == SplitRule::Standard => standard_splits(set.rows, set.n_splits),
        None => return Err(Error::NoSplits { name: set.name, folder: folder.to_owned() }),
    };
    checked(set, x, targets, splits, path)
}

/// The set that a folder's table holds, recognised by its values.
pub(crate) fn recognise(folder: &Path) -> Result<Option<&'static Set>> {
    let Some(path) = find_file(folder, &TABLES) else { return Ok(None) };
    let table = Table::read(&path)?;
    for set in Set::all() {
        // Most sets differ in shape already.
        if let Ok((x, targets)) = divide(set, &path, &table)
            && values_sha256(&x, &targets) == set.values_sha256
        {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

/// Features and targets of a table that has the columns of a set.
fn divide(set: &Set, path: &Path, table: &Table) -> Result<(Mat, Mat)> {
    let expected = (set.rows, set.n_features() + set.n_targets());
    let found = (table.values.rows(), table.values.cols());
    if found != expected {
        return Err(Error::Shape { name: set.name, path: path.to_owned(), expected, found });
    }
    Ok(table.split_targets(set.n_targets())?)
}

/// The splits, if they are those of the set.
pub(crate) fn checked_splits(set: &Set, splits: Vec<Vec<usize>>, path: PathBuf) -> Result<Vec<Vec<usize>>> {
    let found = splits_sha256(&splits);
    if found == set.splits_sha256 {
        Ok(splits)
    } else {
        Err(Error::Splits { name: set.name, path, expected: set.splits_sha256, found })
    }
}

/// The set, if the values are its values. `path` is named in the complaint.
pub(crate) fn checked(
    set: &'static Set,
    x: Mat,
    targets: Mat,
    splits: Vec<Vec<usize>>,
    path: PathBuf,
) -> Result<Dataset> {
    let (expected, found) = ((set.rows, set.n_features() + set.n_targets()), (x.rows(), x.cols() + targets.cols()));
    if found != expected || x.cols() != set.n_features() {
        return Err(Error::Shape { name: set.name, path, expected, found });
    }
    let found = values_sha256(&x, &targets);
    if found != set.values_sha256 {
        return Err(Error::Values { name: set.name, path, expected: set.values_sha256, found });
    }
    let (feature_names, target_names) = (set.feature_names(), set.target_names());
    Ok(Dataset { name: set.name, x, targets, feature_names, target_names, splits })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_where_the_user_says() {
        let folder = |pairs: &[(&str, &str)]| {
            default_folder(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| OsString::from(value)))
        };
        let path = |text: &str| Some(PathBuf::from(text));
        let (home, xdg, own) = (("HOME", "/home/me"), ("XDG_DATA_HOME", "/big"), ("DEEPGP_DATA", "sets"));
        assert_eq!(folder(&[home, xdg, own]), path("sets"));
        assert_eq!(folder(&[home, xdg]), path("/big/deepgp/data"));
        if !cfg!(windows) {
            assert_eq!(folder(&[home]), path("/home/me/.local/share/deepgp/data"));
            assert_eq!(folder(&[home, ("XDG_DATA_HOME", "relative")]), path("/home/me/.local/share/deepgp/data"));
            assert_eq!(folder(&[home, ("DEEPGP_DATA", "")]), path("/home/me/.local/share/deepgp/data"));
            assert_eq!(folder(&[]), None);
        }
        assert_eq!(Store::locate(Some(Path::new("here"))).map(|s| s.folder().to_owned()).ok(), path("here"));
    }
}
