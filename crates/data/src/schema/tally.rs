//! What an input column of training data holds, counted row by row until its kind is decided.

use super::time_features::{MomentTally, Moments};
use super::{Kind, Roles};
use crate::cell::{Cell, mistaken_number};
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result, excerpt};
use crate::notice::Notice;
use crate::temporal::Temporal;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// Texts longer than this are prose, not levels of a category.
const LEVEL_BYTES: usize = 200;
/// A column that begins with this many numbers is one of numbers.
const PROBATION: u64 = 4096;
/// From so many rows on, a text that is different in each is an identifier.
const IDENTIFIER_ROWS: u64 = 10;

/// From so many rows on, whole numbers that count the rows are row numbers.
const NUMBERED_ROWS: u64 = 20;

/// How an input stands in its table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Whether it is a category by declaration.
    pub is_declared: bool,
    /// Whether it has no name, as an index that was written along.
    pub is_unnamed: bool,
    /// The kind of time that it holds, if its file says so.
    pub temporal: Option<Temporal>,
}

/// What is known of an input.
pub(super) struct Tally {
    /// Whether it is a category by declaration.
    is_declared: bool,
    /// The kind of time that it holds, if its file says so and it is neither declared nor a duration.
    temporal: Option<Temporal>,
    /// Its dates and times.
    moments: MomentTally,
    /// The first text that is none.
    first_no_moment: Option<(Place, String)>,
    pub n_missing: u64,
    n_numbers: u64,
    n_texts: u64,
    /// Texts that were meant as numbers.
    n_mistaken: u64,
    /// Texts that say true.
    n_true: u64,
    mean: f64,
    low: f64,
    high: f64,
    /// The first cell that is no finite number, and whether it is the first of the column.
    first_text: Option<(Place, String, bool)>,
    /// Different cells, numbers as they are written.
    levels: BTreeSet<String>,
    max_levels: usize,
    has_too_many: bool,
    /// Cells that were not entered as levels, because the column seemed one of numbers.
    n_unentered: u64,
    /// Whether the numbers so far may be those of the rows.
    may_number_rows: bool,
    /// By how much all cells are above their row's number in the table, from 0; NaN if not all by the same.
    above_row: Option<f64>,
    /// The numbers of a column without a name, as long as they are whole and different.
    different: Option<HashSet<i64>>,
}

/// What to do about a slip.
const SLIP: &str = "correct it, leave the cell empty if the value is missing, or declare the column a category";

/// What becomes of an input.
pub(super) enum Verdict {
    Keep(Kind),
    Drop(Notice),
    /// Left out as the row's number, unless there is nothing else to predict from.
    RowNumber(Kind),
}

impl Tally {
    pub fn new(standing: Standing, max_levels: usize) -> Self {
        let Standing { is_declared, is_unnamed, temporal } = standing;
        Self {
            is_declared,
            temporal: temporal.filter(|kind| *kind != Temporal::Duration && !is_declared),
            moments: MomentTally::new(),
            first_no_moment: None,
            n_missing: 0,
            n_numbers: 0,
            n_texts: 0,
            n_mistaken: 0,
            n_true: 0,
            mean: 0.0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            first_text: None,
            levels: BTreeSet::new(),
            max_levels,
            has_too_many: false,
            n_unentered: 0,
            may_number_rows: true,
            above_row: None,
            different: is_unnamed.then(HashSet::new),
        }
    }

    /// Counts the cell of a row, which is row `number` of the table, from 0.
    pub fn count(&mut self, chunk: &Chunk, row: usize, col: usize, number: u64) {
        match chunk.cell(row, col) {
            Cell::Missing => return self.n_missing += 1,
            Cell::Number(value) if value.is_finite() => {
                self.n_numbers += 1;
                if self.may_number_rows {
                    self.compare(value, number);
                }
                if let Some(kind) = self.temporal {
                    return self.moments.count_typed(kind, value);
                }
                let n = self.n_numbers as f64;
                // The difference of two large numbers may overflow, that of their shares not.
                self.mean += value / n - self.mean / n;
                self.low = self.low.min(value);
                self.high = self.high.max(value);
                if self.n_numbers > PROBATION && self.n_texts == 0 && !self.is_declared {
                    return self.n_unentered += 1;
                }
            }
            cell => {
                if self.first_text.is_none() {
                    let is_first = self.n_numbers + self.n_missing == 0;
                    self.first_text = Some((chunk.place(row), excerpt(&chunk.text(row, col)), is_first));
                }
                self.n_texts += 1;
                let is_mistaken = !matches!(cell, Cell::Text(text) if mistaken_number(text).is_empty());
                self.n_mistaken += u64::from(is_mistaken);
                let is_moment = matches!(cell, Cell::Text(text) if self.moments.count_text(text));
                if !is_moment && self.first_no_moment.is_none() {
                    self.first_no_moment = Some((chunk.place(row), excerpt(&chunk.text(row, col))));
                }
                self.n_true += u64::from(matches!(cell, Cell::Text(text) if text.eq_ignore_ascii_case("true")));
            }
        }
        if !self.has_too_many {
            self.enter(&chunk.text(row, col));
        }
    }

    /// Finds out whether a number still numbers the rows, and whether it is a new one.
    fn compare(&mut self, value: f64, number: u64) {
        let above = value - number as f64;
        if *self.above_row.get_or_insert(above) != above {
            self.above_row = Some(f64::NAN);
        }
        let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
        if self.different.as_mut().is_some_and(|seen| !(is_whole && seen.insert(value as i64))) {
            self.different = None;
        }
        self.may_number_rows = self.different.is_some() || matches!(self.above_row, Some(0.0 | 1.0));
    }

    /// Whether the column is the number of the row, or an index that was written along.
    fn is_row_number(&self) -> bool {
        let counts = matches!(self.above_row, Some(0.0 | 1.0)) && self.n_numbers >= NUMBERED_ROWS;
        let is_index = self.different.is_some() && self.n_numbers >= IDENTIFIER_ROWS;
        (counts || is_index) && self.n_missing + self.n_texts == 0 && self.temporal.is_none()
    }

    fn enter(&mut self, level: &str) {
        if !self.levels.contains(level) {
            self.has_too_many = self.levels.len() == self.max_levels || level.len() > LEVEL_BYTES;
            self.levels.insert(excerpt_if(self.has_too_many, level));
        }
    }

    /// What is to be said of the column whatever becomes of it.
    pub fn remark(&self, name: &str) -> Option<Notice> {
        let example = self.moments.ambiguous(self.n_numbers + self.n_texts).filter(|_| !self.is_declared)?;
        Some(Notice::AmbiguousDates { column: name.to_owned(), example: example.to_owned() })
    }

    /// What the column is, once all rows are counted.
    pub fn verdict(self, name: &str, path: &Path, roles: &Roles, has_header: bool) -> Result<Verdict> {
        let is_row_number = self.is_row_number();
        let (column, path) = (name.to_owned(), path.to_owned());
        let n_cells = self.n_numbers + self.n_texts;
        if n_cells == 0 {
            return Ok(Verdict::Drop(Notice::AllMissing { column }));
        }
        if !self.is_declared {
            match (self.moments.moments(n_cells), self.first_no_moment) {
                (Some(Moments { features, .. }), _) if features.is_empty() && self.n_missing == 0 => {
                    let value = self.levels.first().map_or_else(|| "the same time".to_owned(), |level| excerpt(level));
                    return Ok(Verdict::Drop(Notice::Constant { column, value }));
                }
                (Some(Moments { order, origin, features }), _) => {
                    return Ok(Verdict::Keep(Kind::Time { order, origin, features }));
                }
                (None, Some((place, text))) if self.moments.are_mostly_dates(n_cells) => {
                    return Err(Error::NotATime { path, place, column, text, hint: SLIP });
                }
                _ => {}
            }
        }
        let means_numbers = 2 * (self.n_numbers + self.n_mistaken) > n_cells || self.n_unentered > 0;
        if means_numbers && !self.is_declared {
            return match self.first_text {
                Some((place, text, is_first)) => {
                    let hint = match mistaken_number(&text) {
                        "" if is_first && !has_header => "if the first row is a header, say so",
                        "" => SLIP,
                        hint => hint,
                    };
                    Err(Error::NotANumber { path, place, column, text, hint })
                }
                None if self.low == self.high && self.n_missing == 0 => {
                    Ok(Verdict::Drop(Notice::Constant { column, value: self.low.to_string() }))
                }
                None if is_row_number && roles.inputs.is_none() => {
                    Ok(Verdict::RowNumber(Kind::Number { mean: self.mean }))
                }
                None => Ok(Verdict::Keep(Kind::Number { mean: self.mean })),
            };
        }
        let (limit, example) = (self.max_levels, self.levels.first().map(|level| excerpt(level)).unwrap_or_default());
        let is_wanted = self.is_declared || roles.inputs.is_some();
        let is_boolean = |level: &String| level.eq_ignore_ascii_case("true") || level.eq_ignore_ascii_case("false");
        if self.has_too_many {
            return match is_wanted {
                true => Err(Error::TooManyLevels { path, column, limit, example }),
                false => Ok(Verdict::Drop(Notice::TooManyLevels { column, limit, example })),
            };
        }
        Ok(match self.levels.len() as u64 {
            1 if self.n_missing == 0 => Verdict::Drop(Notice::Constant { column, value: example }),
            n if n == n_cells && n >= IDENTIFIER_ROWS && !is_wanted => {
                Verdict::Drop(Notice::Identifier { column, example })
            }
            _ if !self.is_declared && self.levels.iter().all(is_boolean) => {
                Verdict::Keep(Kind::Boolean { mean: self.n_true as f64 / n_cells as f64 })
            }
            _ => Verdict::Keep(Kind::Category { levels: self.levels.into_iter().collect() }),
        })
    }
}

/// The text, or only its beginning if it is but an example.
fn excerpt_if(is_example: bool, text: &str) -> String {
    if is_example { excerpt(text) } else { text.to_owned() }
}
