//! What a target column holds, counted row by row, for the caller to tell what it is to be predicted as.

use super::labels::{bits, truth};
use crate::cell::{Cell, mistaken_number};
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result, excerpt};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Most different values of a target that are told apart.
const MAX_LEVELS: usize = 1000;
/// Texts longer than this are prose, not labels.
const LABEL_BYTES: usize = 200;

/// What a target column of the training data holds.
///
/// Whether that is a number to be predicted, a count, a class or a level is for the caller to say: by
/// [`TargetSummary::require_numbers`], or by [`Schema::with_labels`](super::Schema::with_labels).
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSummary {
    /// The column.
    pub name: String,
    /// Cells that are not missing.
    pub n_cells: u64,
    /// Missing cells.
    pub n_missing: u64,
    /// Cells that are finite numbers.
    pub n_numbers: u64,
    /// Whether all finite numbers are whole.
    pub is_whole: bool,
    /// The first finite number that is no count, having a fraction or being negative, as it is written, and where.
    pub first_no_count: Option<(Place, String)>,
    /// The least finite number; infinity if there is none.
    pub low: f64,
    /// The greatest finite number; −infinity if there is none.
    pub high: f64,
    /// The different values: numbers in ascending order if all are, and sorted by their text otherwise. If there are
    /// more than 1000 different ones, or a text of more than 200 bytes, these are the ones until there.
    pub levels: Vec<TargetLevel>,
    /// Whether there are more values than `levels` has.
    pub has_more_levels: bool,
    /// The first cell that is no finite number, shortened if long, and where it stands.
    pub first_text: Option<(Place, String)>,
    /// How to say that a number was needed.
    fault: Option<Fault>,
}

/// A value of a target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetLevel {
    /// As it is written where it stands first, without surrounding blanks.
    pub text: String,
    /// Its value, if it is a number. Numbers that are written differently are one level if all cells are numbers.
    pub value: Option<f64>,
    /// Number of cells.
    pub count: u64,
}

#[derive(Debug, Clone, PartialEq)]
struct Fault {
    path: PathBuf,
    /// Whether it is the first cell of the column.
    is_first: bool,
}

impl TargetSummary {
    /// Whether all cells are finite numbers.
    pub fn is_numeric(&self) -> bool {
        self.n_numbers == self.n_cells
    }

    /// Whether all cells are numbers above 0.
    pub fn is_positive(&self) -> bool {
        self.is_numeric() && self.low > 0.0
    }

    /// Whether all cells are numbers from 0 to 1.
    pub fn is_in_unit_interval(&self) -> bool {
        self.is_numeric() && self.low >= 0.0 && self.high <= 1.0
    }

    /// The words for no and yes, as each is written most often, if all cells are such words of one kind: false and
    /// true, no and yes, n and y, f and t in any case, or 0 and 1. None if only one of the two is there.
    pub fn boolean_levels(&self) -> Option<[&str; 2]> {
        let mut words: [Option<&TargetLevel>; 2] = [None; 2];
        let (first, _) = truth(&self.levels.first()?.text)?;
        for level in &self.levels {
            let (family, is_yes) = truth(&level.text)?;
            if family != first {
                return None;
            }
            let word = &mut words[usize::from(is_yes)];
            *word = word.filter(|other| other.count >= level.count).or(Some(level));
        }
        let [no, yes] = words;
        (!self.has_more_levels).then_some([no?.text.as_str(), yes?.text.as_str()])
    }

    /// Makes sure that the target is one of plain numbers.
    ///
    /// # Errors
    /// [`Error::TextTarget`] if the column begins with text, and [`Error::NotANumber`] if a cell further down, or one
    /// that was meant as a number, is none.
    pub fn require_numbers(&self) -> Result<()> {
        let (Some((place, text)), Some(Fault { path, is_first })) = (&self.first_text, &self.fault) else {
            return Ok(());
        };
        let (path, place, column, text) = (path.clone(), *place, self.name.clone(), text.clone());
        Err(match mistaken_number(&text) {
            "" if *is_first => Error::TextTarget { path, place, column, text },
            hint => Error::NotANumber { path, place, column, text, hint },
        })
    }
}

/// What is known of a target so far.
#[derive(Default)]
pub(super) struct TargetTally {
    n_missing: u64,
    n_numbers: u64,
    n_texts: u64,
    /// Texts that were meant as numbers.
    n_mistaken: u64,
    has_fraction: bool,
    first_no_count: Option<(Place, String)>,
    low: f64,
    high: f64,
    first_text: Option<(Place, String)>,
    begins_with_text: bool,
    levels: HashMap<String, Count>,
    has_more_levels: bool,
}

struct Count {
    value: Option<f64>,
    count: u64,
    /// Which of the different values it is.
    order: usize,
}

impl TargetTally {
    pub fn new() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY, ..Self::default() }
    }

    /// Counts the cell of a row, and says whether there is one.
    pub fn count(&mut self, chunk: &Chunk, row: usize, col: usize) -> bool {
        let value = match chunk.cell(row, col) {
            Cell::Missing => {
                self.n_missing += 1;
                return false;
            }
            Cell::Number(value) if value.is_finite() => {
                self.n_numbers += 1;
                self.has_fraction |= value.fract() != 0.0;
                if self.first_no_count.is_none() && (value.fract() != 0.0 || value < 0.0) {
                    self.first_no_count = Some((chunk.place(row), excerpt(&chunk.text(row, col))));
                }
                self.low = self.low.min(value);
                self.high = self.high.max(value);
                Some(value)
            }
            cell => {
                self.begins_with_text |= self.n_numbers + self.n_texts == 0;
                self.n_texts += 1;
                let is_mistaken = !matches!(cell, Cell::Text(text) if mistaken_number(text).is_empty());
                self.n_mistaken += u64::from(is_mistaken);
                if self.first_text.is_none() {
                    self.first_text = Some((chunk.place(row), excerpt(&chunk.text(row, col))));
                }
                None
            }
        };
        if !self.has_more_levels {
            self.enter(&chunk.text(row, col), value);
        }
        true
    }

    fn enter(&mut self, text: &str, value: Option<f64>) {
        if let Some(level) = self.levels.get_mut(text) {
            level.count += 1;
        } else if self.levels.len() == MAX_LEVELS || text.len() > LABEL_BYTES {
            self.has_more_levels = true;
        } else {
            let order = self.levels.len();
            self.levels.insert(text.to_owned(), Count { value, count: 1, order });
        }
    }

    /// Whether the column is one of numbers in which some cells are mistaken.
    pub fn has_slips(&self) -> bool {
        self.n_texts > 0 && 2 * (self.n_numbers + self.n_mistaken) > self.n_numbers + self.n_texts
    }

    /// What the column `name` of the table at `path` holds.
    pub fn summary(self, name: String, path: &Path) -> TargetSummary {
        let is_numeric = self.n_texts == 0;
        let mut levels: Vec<(String, Count)> = self.levels.into_iter().collect();
        levels.sort_unstable_by_key(|(_, count)| count.order);
        let levels = levels.into_iter().map(|(text, Count { value, count, .. })| TargetLevel { text, value, count });
        let mut levels = if is_numeric { merged(levels) } else { levels.collect() };
        if is_numeric {
            levels.sort_by(|a, b| a.value.partial_cmp(&b.value).unwrap_or(std::cmp::Ordering::Equal));
        } else {
            levels.sort_by(|a, b| a.text.cmp(&b.text));
        }
        let fault = (!is_numeric).then(|| Fault { path: path.to_owned(), is_first: self.begins_with_text });
        TargetSummary {
            name,
            n_cells: self.n_numbers + self.n_texts,
            n_missing: self.n_missing,
            n_numbers: self.n_numbers,
            is_whole: !self.has_fraction,
            first_no_count: self.first_no_count,
            low: self.low,
            high: self.high,
            levels,
            has_more_levels: self.has_more_levels,
            first_text: self.first_text,
            fault,
        }
    }
}

/// The levels with numbers of one value put together, under the text that comes first.
fn merged(levels: impl Iterator<Item = TargetLevel>) -> Vec<TargetLevel> {
    let (mut merged, mut by_value) = (Vec::<TargetLevel>::new(), HashMap::new());
    for level in levels {
        let next = merged.len();
        match *by_value.entry(level.value.map(bits)).or_insert(next) {
            at if at < next => merged[at].count += level.count,
            _ => merged.push(level),
        }
    }
    merged
}
