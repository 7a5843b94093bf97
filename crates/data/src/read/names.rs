//! Checks the names of columns.

use crate::error::{Error, Result, excerpt};
use crate::notice::Notice;
use crate::source::Source;
use std::collections::HashSet;

/// Name of the column at `index` when it has none: c1, c2, …
pub(crate) fn positional(index: usize) -> String {
    format!("c{}", index + 1)
}

/// Gives columns without a name one by their position, and makes sure that no name stands twice.
pub(super) fn check(mut names: Vec<String>, source: &Source) -> Result<(Vec<String>, Vec<Notice>)> {
    let mut notices = Vec::new();
    for (i, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
        *name = positional(i);
        notices.push(Notice::Unnamed { column: name.clone() });
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::RepeatedName { path: source.label().to_owned(), name: excerpt(name) }),
        None => Ok((names, notices)),
    }
}
