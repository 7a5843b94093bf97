//! Downloads a set from its public home into the store.

use crate::dataset::Dataset;
use crate::download::{Download, Patience, agent};
use crate::error::{Error, Result};
use crate::recipe::{Downloaded, Wanted, assemble, wanted};
use crate::set::Set;
use crate::store::Store;
use crate::write::make_folder;
use std::path::Path;

/// Where the public homes of all sets are.
pub const PUBLIC_BASE: &str = "https://raw.githubusercontent.com";
/// The variable that names a mirror: it has the same files under the same paths.
pub const MIRROR_VARIABLE: &str = "DEEPGP_MIRROR";

/// How to download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchOptions {
    /// What stands before the path of a file, without a slash at the end.
    pub base: String,
    /// How patient to be.
    pub patience: Patience,
}

impl Default for FetchOptions {
    fn default() -> Self {
        Self { base: PUBLIC_BASE.to_owned(), patience: Patience::default() }
    }
}

impl FetchOptions {
    /// From the public homes, or from the mirror that `DEEPGP_MIRROR` names.
    ///
    /// # Errors
    /// [`Error::Mirror`] if that is not an address.
    pub fn from_env() -> Result<Self> {
        Self::with_mirror(std::env::var_os(MIRROR_VARIABLE).map(|value| value.to_string_lossy().into_owned()))
    }

    fn with_mirror(address: Option<String>) -> Result<Self> {
        match address.filter(|address| !address.is_empty()) {
            None => Ok(Self::default()),
            Some(address) if address.starts_with("http://") || address.starts_with("https://") => {
                Ok(Self { base: address.trim_end_matches('/').to_owned(), ..Self::default() })
            }
            Some(address) => Err(Error::Mirror { address }),
        }
    }
}

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The set.
    pub name: &'static str,
    /// The file of it.
    pub file: &'a str,
    /// Bytes that are here.
    pub received: u64,
    /// Bytes that there will be, if the server says so.
    pub total: Option<u64>,
}

impl Store {
    /// Downloads a set, checks it and keeps it. What was downloaded before a fault stays in `.partial` in the store's
    /// folder, and the next call goes on from there. The copy that the store has stays as it was until the new one is
    /// checked.
    ///
    /// # Errors
    /// [`Error::NoHome`], [`Error::Unreachable`], [`Error::Refused`], what is wrong with the files, or what the store's
    /// file system says.
    pub fn fetch(
        &self,
        set: &'static Set,
        options: &FetchOptions,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Dataset> {
        let wanted = wanted(set)?;
        let (partials, is_new) = (self.folder().join(".partial"), !self.folder().exists());
        make_folder(&partials)?;
        let files = download(set, &wanted, &partials, options, progress);
        // These go only if they are empty.
        if std::fs::remove_dir(&partials).is_ok() && is_new {
            let _ = std::fs::remove_dir(self.folder());
        }
        let data = assemble(set, &files?)?;
        self.save(&data)?;
        Ok(data)
    }
}

/// Downloads the files of a set. Those that are not whole stay in `partials` if another try may complete them.
fn download(
    set: &'static Set,
    wanted: &[Wanted],
    partials: &Path,
    options: &FetchOptions,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Vec<Downloaded>> {
    let agent = agent(&options.base, &options.patience);
    let targets: Vec<_> = wanted
        .iter()
        .map(|file| (format!("{}/{}", options.base, file.path), partials.join(format!("{}-{}", set.name, file.name()))))
        .collect();
    let (mut downloads, mut files) = (Vec::new(), Vec::new());
    let mut failure = None;
    for ((url, partial), file) in targets.iter().zip(wanted) {
        let download = Download { name: set.name, url, partial, limit: file.limit, patience: &options.patience };
        let mut tell = |received, total| progress(&Progress { name: set.name, file: file.name(), received, total });
        match download.run(&agent, &mut tell) {
            Ok(bytes) => files.push(Downloaded { url: url.clone(), bytes, limit: file.limit }),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
        downloads.push(download);
    }
    // Whole files are of no more use, be they right or wrong, unless others are still missing.
    match failure {
        Some(error @ (Error::Unreachable { .. } | Error::Busy { .. })) => Err(error),
        failure => {
            downloads.iter().for_each(Download::forget);
            failure.map_or(Ok(files), Err)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_takes_the_place_of_the_public_homes() {
        let base = |address: Option<&str>| FetchOptions::with_mirror(address.map(str::to_owned)).map(|o| o.base);
        assert_eq!(base(None).ok().as_deref(), Some(PUBLIC_BASE));
        assert_eq!(base(Some("")).ok().as_deref(), Some(PUBLIC_BASE));
        assert_eq!(base(Some("http://mirror:8080/sets//")).ok().as_deref(), Some("http://mirror:8080/sets"));
        for address in ["mirror", "ftp://mirror", "/a/folder"] {
            assert!(matches!(base(Some(address)), Err(Error::Mirror { .. })), "{address}");
        }
    }
}
