//! Labels of a target: the number of the level that a cell names.

use crate::cell::{Cell, Decimal};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Words for no and yes, each pair of one family, in any case.
const TRUTHS: [[&str; 2]; 5] = [["false", "true"], ["no", "yes"], ["n", "y"], ["f", "t"], ["0", "1"]];

/// The family of words that `text` is of, and whether it says yes.
pub(super) fn truth(text: &str) -> Option<(usize, bool)> {
    // Numbers however they are written: 1, 1.0, 01.
    let word = match Cell::parse(text, Decimal::Point) {
        Cell::Number(0.0) => "0",
        Cell::Number(1.0) => "1",
        _ => text,
    };
    TRUTHS.iter().enumerate().find_map(|(family, words)| {
        let said = words.iter().position(|known| known.eq_ignore_ascii_case(word))?;
        Some((family, said == 1))
    })
}

/// A target whose cells name one of some levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Labels {
    /// The target.
    pub target: String,
    /// Its levels; the encoder gives their numbers, from 0.
    pub levels: Vec<String>,
}

impl Labels {
    /// Makes sure that a cell can name each level, and no two of them.
    pub fn check(&self) -> Result<()> {
        let error = |what: String| Err(Error::Schema { what });
        let Self { target, levels } = self;
        if levels.is_empty() {
            return error(format!("the target {target:?} has no levels"));
        }
        if let Some(level) = levels.iter().find(|level| Cell::parse(level, Decimal::Point) == Cell::Missing) {
            return error(format!("the level {level:?} of {target:?} stands for a missing value"));
        }
        if let Some(level) = levels.iter().find(|level| level.trim() != level.as_str()) {
            return error(format!("the level {level:?} of {target:?} has blanks around it"));
        }
        let mut seen = HashSet::new();
        let mut seen_values = HashSet::new();
        let values = values(levels);
        for (i, level) in levels.iter().enumerate() {
            let is_new_value = values.as_ref().is_none_or(|values| seen_values.insert(values[i]));
            if !seen.insert(level) || !is_new_value {
                return error(format!("the level {level:?} of {target:?} stands twice"));
            }
        }
        Ok(())
    }
}

/// Finds the level that a cell names.
#[derive(Debug)]
pub(super) struct LevelFinder {
    by_text: HashMap<String, usize>,
    /// By the bits of their values, if all levels are numbers.
    by_value: HashMap<u64, usize>,
    /// Those that say no and yes, if they are two such words.
    by_truth: Option<[usize; 2]>,
}

impl LevelFinder {
    pub fn new(levels: &[String]) -> Self {
        let by_text = levels.iter().cloned().zip(0..).collect();
        let by_value = values(levels).map_or_else(HashMap::new, |values| values.into_iter().zip(0..).collect());
        let by_truth = match levels {
            [first, second] => match (truth(first), truth(second)) {
                (Some((f, false)), Some((g, true))) if f == g => Some([0, 1]),
                (Some((f, true)), Some((g, false))) if f == g => Some([1, 0]),
                _ => None,
            },
            _ => None,
        };
        Self { by_text, by_value, by_truth }
    }

    /// The level that a cell names, which is not missing: by its value if all levels are numbers, by its text, or by
    /// what it says if the levels are words for yes and no.
    pub fn find(&self, chunk: &Chunk, row: usize, col: usize) -> Option<usize> {
        if let Cell::Number(value) = chunk.cell(row, col)
            && let Some(&level) = self.by_value.get(&bits(value))
        {
            return Some(level);
        }
        let text = chunk.text(row, col);
        let by_text = self.by_text.get(text.as_ref()).copied();
        by_text.or_else(|| Some(self.by_truth?[usize::from(truth(&text)?.1)]))
    }
}

/// The bits of the levels' values, if all are finite numbers.
fn values(levels: &[String]) -> Option<Vec<u64>> {
    let value = |level: &String| match Cell::parse(level, Decimal::Point) {
        Cell::Number(value) if value.is_finite() => Some(bits(value)),
        _ => None,
    };
    levels.iter().map(value).collect()
}

/// The same for 0 and −0.
pub(super) fn bits(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(levels: &[&str], cells: &[&str]) -> Vec<Option<usize>> {
        let levels: Vec<String> = levels.iter().map(ToString::to_string).collect();
        let finder = LevelFinder::new(&levels);
        let ends = cells.iter().scan(0, |end, cell| {
            *end += cell.len();
            Some(*end)
        });
        let (ends, lines) = (ends.collect(), (1..=cells.len() as u64).collect());
        let chunk = Chunk::delimited(cells.concat(), ends, lines, Decimal::Point);
        (0..cells.len()).map(|row| finder.find(&chunk, row, 0)).collect()
    }

    #[test]
    fn cells_name_levels_by_value_by_text_or_by_what_they_say() {
        let numbers = found(&["3", "1", "2.5"], &["1", "1.0", "01", "3e0", "2.50", "4", "x"]);
        assert_eq!(numbers, [Some(1), Some(1), Some(1), Some(0), Some(2), None, None]);
        // One text among them, and "01" is a code of its own.
        assert_eq!(found(&["1", "01", "x"], &["1", "01", "x", "1.0", "X"]), [Some(0), Some(1), Some(2), None, None]);
        let words = found(&["yes", "no"], &["yes", "NO", "True", "0", "f", "maybe", "2"]);
        assert_eq!(words, [Some(0), Some(1), Some(0), Some(1), Some(1), None, None]);
        assert_eq!(found(&["0", "1"], &["true", "no", "1.0", "-0"]), [Some(1), Some(0), Some(1), Some(0)]);
        // Of two families: texts.
        assert_eq!(found(&["no", "true"], &["yes", "no"]), [None, Some(0)]);
    }

    #[test]
    fn levels_that_no_cell_can_tell_apart_are_refused() {
        let check = |levels: &[&str]| {
            Labels { target: "y".into(), levels: levels.iter().map(ToString::to_string).collect() }.check()
        };
        for levels in [&["a", "b"][..], &["1", "01", "x"], &["only"]] {
            assert!(check(levels).is_ok(), "{levels:?}");
        }
        for levels in [&[][..], &["a", "a"], &["1", "1.0"], &["a", "NA"], &[""], &[" a"]] {
            assert!(matches!(check(levels), Err(Error::Schema { .. })), "{levels:?}");
        }
    }
}
