//! The data sets that are known, by name.

use crate::error::{Error, Result};
use crate::set::Set;
use crate::sets::SETS;

impl Set {
    /// All sets, those of the papers first.
    pub fn all() -> &'static [Set] {
        SETS
    }

    /// The set of a name.
    ///
    /// # Errors
    /// [`Error::Unknown`], with the name that was perhaps meant.
    pub fn find(name: &str) -> Result<&'static Set> {
        SETS.iter().find(|set| set.name == name).ok_or_else(|| {
            let folded = name.to_lowercase().replace('-', "_");
            let near = |set: &&Set| strsim::osa_distance(&folded, set.name);
            // A third of a name may be mistyped.
            let similar = SETS.iter().min_by_key(near).filter(|set| 3 * near(set) <= set.name.len());
            Error::Unknown { name: name.to_owned(), similar: similar.map(|set| set.name) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{Home, SplitRule};
    use crate::{splits_sha256, standard_splits};
    use std::collections::HashSet;

    #[test]
    fn names_are_found_and_guessed() {
        assert_eq!(Set::find("boston").map(|set| set.rows).ok(), Some(506));
        let similar = |name| match Set::find(name) {
            Err(Error::Unknown { similar, .. }) => similar,
            other => panic!("{other:?}"),
        };
        assert_eq!(similar("bostn"), Some("boston"));
        assert_eq!(similar("Wine-Red"), Some("wine_red"));
        assert_eq!(similar("KIN8NM"), Some("kin8nm"));
        assert_eq!(similar("mnist"), None);
        assert_eq!(similar(""), None);
    }

    #[test]
    fn the_table_is_in_order() {
        let names: HashSet<&str> = SETS.iter().map(|set| set.name).collect();
        assert_eq!(names.len(), SETS.len());
        for set in SETS {
            // Names become folders.
            assert!(set.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{set:?}");
            let columns: Vec<String> = [set.feature_names(), set.target_names()].concat();
            assert_eq!(columns.iter().collect::<HashSet<_>>().len(), columns.len(), "{set:?}");
            assert!(columns.iter().all(|name| !name.is_empty() && name.parse::<f64>().is_err()), "{set:?}");
            for sha in [set.values_sha256, set.splits_sha256] {
                assert!(sha.len() == 64 && sha.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')), "{set:?}");
            }
            assert!([set.about, set.source, set.licence].iter().all(|text| !text.is_empty() && !text.contains('\n')));
            assert!(set.n_splits > 0 && set.rows > 1);
            assert_eq!(matches!(set.home, Home::Folds { .. }), set.split_rule == SplitRule::Folds);
        }
    }

    #[test]
    fn the_rule_gives_the_published_splits() {
        // The checksums were taken from the published index files, or for sets without any from files that NumPy wrote.
        for set in SETS.iter().filter(|set| set.split_rule == SplitRule::Standard) {
            assert_eq!(splits_sha256(&standard_splits(set.rows, set.n_splits)), set.splits_sha256, "{}", set.name);
        }
    }
}
