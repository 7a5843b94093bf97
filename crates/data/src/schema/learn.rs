//! Learns from training data which columns are numbers and which are categories, in one pass.

use super::{Input, Kind, MAX_FEATURES, Schema};
use crate::cell::{Cell, mistaken_number};
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result, excerpt};
use crate::notice::Notice;
use crate::read::{ReadOptions, Reader};
use crate::source::Source;
use crate::suggest;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// Texts longer than this are prose, not levels of a category.
const LEVEL_BYTES: usize = 200;
/// A column that begins with this many numbers is one of numbers.
const PROBATION: u64 = 4096;
/// From so many rows on, a text that is different in each is an identifier.
const IDENTIFIER_ROWS: u64 = 10;

/// Which columns serve for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// Columns to predict.
    pub targets: Vec<String>,
    /// Columns to predict from; `None` for all others.
    pub inputs: Option<Vec<String>>,
    /// Columns to leave alone.
    pub exclude: Vec<String>,
    /// Columns whose numbers are names, such as postal codes: categories in any case.
    pub categories: Vec<String>,
    /// Most levels that a category may have.
    pub max_levels: usize,
}

impl Roles {
    /// Predicts `targets` from all other columns; categories have at most 50 levels.
    pub fn predict<S: Into<String>>(targets: impl IntoIterator<Item = S>) -> Self {
        let targets = targets.into_iter().map(Into::into).collect();
        Self { targets, inputs: None, exclude: Vec::new(), categories: Vec::new(), max_levels: 50 }
    }
}

/// What training data taught.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt {
    /// How to read such data.
    pub schema: Schema,
    /// Rows with all targets: the rows to train on.
    pub n_rows: u64,
    /// What was decided on the way.
    pub notices: Vec<Notice>,
}

impl Schema {
    /// Learns the schema of `source`, chunk by chunk. Rows without a target do not count.
    ///
    /// A column is one of **numbers** if all its cells are, **true or false** if these are its words, and otherwise a
    /// **category**. A column whose cells are mostly numbers, or slips in writing numbers, is an error at the first
    /// one that is none. Columns with a single value or none are left out, and so are texts with more than
    /// `roles.max_levels` levels or a different one in every row (if not asked for by name, which is an error). The
    /// notices say so.
    ///
    /// # Errors
    /// [`Error::NoColumn`], [`Error::NotANumber`], [`Error::TextTarget`], [`Error::TooManyLevels`],
    /// [`Error::NoInput`], [`Error::Empty`], [`Error::TwoRoles`], and those of [`Reader`].
    pub fn learn(source: &Source, options: &ReadOptions, roles: &Roles) -> Result<Learnt> {
        let mut reader = Reader::open(source, options)?;
        let columns = Columns::choose(&reader, roles)?;
        reader.select(&[columns.inputs.as_slice(), &columns.targets].concat());
        let mut targets: Vec<TargetTally> = columns.targets.iter().map(|_| TargetTally::default()).collect();
        let mut inputs: Vec<Tally> =
            columns.inputs.iter().map(|c| Tally::new(columns.categories.contains(c), roles.max_levels)).collect();
        let (mut n_rows, mut n_without_target) = (0, 0);
        while let Some(chunk) = reader.next_chunk()? {
            for row in 0..chunk.rows() {
                let mut is_complete = true;
                for (tally, &col) in targets.iter_mut().zip(&columns.targets) {
                    let name = &reader.names()[col];
                    is_complete &= tally
                        .count(&chunk, row, col)
                        .map_err(|kind| kind.error(&chunk, row, col, name, reader.label()))?;
                }
                if is_complete {
                    n_rows += 1;
                    inputs.iter_mut().zip(&columns.inputs).for_each(|(tally, &col)| tally.count(&chunk, row, col));
                } else {
                    n_without_target += 1;
                }
            }
        }
        let path = source.label();
        if n_rows == 0 {
            let what = if n_without_target > 0 { "rows with a target" } else { "rows below the header" };
            return Err(Error::Empty { path: path.to_owned(), what });
        }

        let mut notices = reader.notices().to_vec();
        if n_without_target > 0 {
            notices.push(Notice::RowsWithoutTarget { count: n_without_target });
        }
        for (tally, &col) in targets.iter().zip(&columns.targets) {
            if tally.low == tally.high {
                notices.push(Notice::ConstantTarget { column: reader.names()[col].clone(), value: tally.low });
            }
        }
        let mut kept = Vec::new();
        let mut dropped = Vec::new();
        for (tally, &col) in inputs.into_iter().zip(&columns.inputs) {
            let (name, count) = (reader.names()[col].clone(), tally.n_missing);
            match tally.verdict(&name, path, roles, reader.has_header())? {
                Verdict::Keep(kind) => {
                    if count > 0 {
                        notices.push(Notice::MissingInTraining { column: name.clone(), count });
                    }
                    kept.push(Input { name, kind, has_missing: count > 0 });
                }
                Verdict::Drop(notice) => {
                    dropped.push(notice.to_string());
                    notices.push(notice);
                }
            }
        }
        if kept.is_empty() {
            return Err(Error::NoInput { path: path.to_owned(), dropped });
        }
        if kept.iter().map(Input::n_features).sum::<usize>() > MAX_FEATURES {
            return Err(Error::TooWide { path: path.to_owned(), limit: MAX_FEATURES });
        }
        let targets = columns.targets.iter().map(|&col| reader.names()[col].clone()).collect();
        let headerless_columns = (!reader.has_header()).then(|| reader.names().len());
        let schema = Schema { inputs: kept, targets, headerless_columns }.checked()?;
        Ok(Learnt { schema, n_rows, notices })
    }
}

/// Positions of the columns in their roles.
struct Columns {
    targets: Vec<usize>,
    inputs: Vec<usize>,
    categories: HashSet<usize>,
}

impl Columns {
    fn choose(reader: &Reader, roles: &Roles) -> Result<Self> {
        let targets = positions(&roles.targets, reader)?;
        let excluded: HashSet<usize> = positions(&roles.exclude, reader)?.into_iter().collect();
        let categories: HashSet<usize> = positions(&roles.categories, reader)?.into_iter().collect();
        let is_target: HashSet<usize> = targets.iter().copied().collect();
        if targets.is_empty() {
            return Err(Error::NoTarget);
        }
        let inputs = match &roles.inputs {
            Some(names) => positions(names, reader)?,
            None => (0..reader.names().len()).filter(|c| !is_target.contains(c) && !excluded.contains(c)).collect(),
        };
        let clash = |col: Option<&usize>, roles| match col {
            Some(&col) => Err(Error::TwoRoles { name: reader.names()[col].clone(), roles }),
            None => Ok(()),
        };
        clash(inputs.iter().find(|&c| is_target.contains(c)), "target and input")?;
        clash(inputs.iter().find(|&c| excluded.contains(c)), "input and excluded")?;
        clash(targets.iter().find(|&c| excluded.contains(c)), "target and excluded")?;
        clash(targets.iter().find(|&c| categories.contains(c)), "target and category")?;
        Ok(Self { targets, inputs, categories })
    }
}

/// Where `names` stand in the table; all different.
fn positions(names: &[String], reader: &Reader) -> Result<Vec<usize>> {
    let by_name: HashMap<&String, usize> = reader.names().iter().zip(0..).collect();
    let mut seen = HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(*name)) {
        return Err(Error::RepeatedName { path: reader.label().to_owned(), name: name.clone() });
    }
    names.iter().map(|name| by_name.get(name).copied().ok_or_else(|| no_column(name, reader, |_| true))).collect()
}

/// The error for a column that is not there, with a guess among those that it may be.
pub(super) fn no_column(name: &str, reader: &Reader, may_be: impl Fn(&String) -> bool) -> Error {
    let candidates: Vec<String> = reader.names().iter().filter(|name| may_be(name)).cloned().collect();
    Error::NoColumn {
        path: reader.label().to_owned(),
        name: name.to_owned(),
        similar: suggest::similar(name, &candidates),
        available: reader.names().to_vec(),
        has_header: reader.has_header(),
    }
}

/// Why a cell cannot be a target.
enum TargetFault {
    Text,
    NotANumber,
}

impl TargetFault {
    fn error(self, chunk: &Chunk, row: usize, col: usize, name: &str, path: &Path) -> Error {
        let (path, place, column) = (path.to_owned(), chunk.place(row), name.to_owned());
        let text = chunk.text(row, col);
        let hint = mistaken_number(&text);
        match self {
            Self::Text if hint.is_empty() => Error::TextTarget { path, place, column, text: excerpt(&text) },
            _ => Error::NotANumber { path, place, column, text: excerpt(&text), hint },
        }
    }
}

/// What is known of a target so far.
struct TargetTally {
    low: f64,
    high: f64,
}

impl Default for TargetTally {
    fn default() -> Self {
        Self { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }
}

impl TargetTally {
    /// Whether the row has the target.
    fn count(&mut self, chunk: &Chunk, row: usize, col: usize) -> std::result::Result<bool, TargetFault> {
        match chunk.cell(row, col) {
            Cell::Missing => Ok(false),
            Cell::Number(value) if value.is_finite() => {
                self.low = self.low.min(value);
                self.high = self.high.max(value);
                Ok(true)
            }
            Cell::Text(_) if self.low > self.high => Err(TargetFault::Text),
            _ => Err(TargetFault::NotANumber),
        }
    }
}

/// What is known of an input so far.
#[derive(Default)]
struct Tally {
    /// Whether it is a category by declaration.
    is_declared: bool,
    n_missing: u64,
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
}

enum Verdict {
    Keep(Kind),
    Drop(Notice),
}

impl Tally {
    fn new(is_declared: bool, max_levels: usize) -> Self {
        Self { is_declared, max_levels, low: f64::INFINITY, high: f64::NEG_INFINITY, ..Self::default() }
    }

    fn count(&mut self, chunk: &Chunk, row: usize, col: usize) {
        match chunk.cell(row, col) {
            Cell::Missing => return self.n_missing += 1,
            Cell::Number(value) if value.is_finite() => {
                self.n_numbers += 1;
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
                self.n_true += u64::from(matches!(cell, Cell::Text(text) if text.eq_ignore_ascii_case("true")));
            }
        }
        if !self.has_too_many {
            self.enter(&chunk.text(row, col));
        }
    }

    fn enter(&mut self, level: &str) {
        if !self.levels.contains(level) {
            self.has_too_many = self.levels.len() == self.max_levels || level.len() > LEVEL_BYTES;
            self.levels.insert(excerpt_if(self.has_too_many, level));
        }
    }

    fn verdict(self, name: &str, path: &Path, roles: &Roles, has_header: bool) -> Result<Verdict> {
        let (column, path) = (name.to_owned(), path.to_owned());
        let n_cells = self.n_numbers + self.n_texts;
        if n_cells == 0 {
            return Ok(Verdict::Drop(Notice::AllMissing { column }));
        }
        let means_numbers = 2 * (self.n_numbers + self.n_mistaken) > n_cells || self.n_unentered > 0;
        if means_numbers && !self.is_declared {
            return match self.first_text {
                Some((place, text, is_first)) => {
                    let hint = match mistaken_number(&text) {
                        "" if is_first && !has_header => "if the first row is a header, say so",
                        "" => {
                            "correct it, leave the cell empty if the value is missing, or declare the column a category"
                        }
                        hint => hint,
                    };
                    Err(Error::NotANumber { path, place, column, text, hint })
                }
                None if self.low == self.high && self.n_missing == 0 => {
                    Ok(Verdict::Drop(Notice::Constant { column, value: self.low.to_string() }))
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
