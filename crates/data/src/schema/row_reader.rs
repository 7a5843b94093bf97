//! Reads what belongs to a row beside its inputs and targets, and checks it.

use super::role_columns::RoleColumns;
use super::row_columns::{Censored, RowColumns};
use super::time_column::{self, time};
use crate::cell::{Cell, mistaken_number};
use crate::chunk::Chunk;
use crate::error::{Error, Result, excerpt};
use crate::moment::DateOrder;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A column in a role.
#[derive(Debug)]
struct Found {
    name: String,
    col: usize,
}

/// Bounds of a target; NaN for an open end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    /// What is known of the target by its bounds, if it is missing itself: the value where they are equal, and
    /// otherwise NaN; None if both ends are open.
    pub fn target(self) -> Option<f64> {
        let is_open = self.lower.is_nan() && self.upper.is_nan();
        (!is_open).then_some(if self.lower == self.upper { self.lower } else { f64::NAN })
    }
}

/// Where to find the columns of the roles in a table.
pub(super) struct Finder<'a> {
    /// The position of a column that may be missing.
    pub may: &'a dyn Fn(&String) -> Option<usize>,
    /// The position of a column that must be there.
    pub must: &'a dyn Fn(&String) -> Result<usize>,
    /// Whether targets are read, and so what only training and scoring need.
    pub reads_targets: bool,
}

/// The columns of the roles, matched with those of a table.
#[derive(Debug)]
pub(super) struct RowReader {
    path: PathBuf,
    /// Whether rows of weight 0 are kept.
    keeps_all: bool,
    weight: Option<Found>,
    exposure: Option<Found>,
    noise_std: Option<Found>,
    censored: Option<Found>,
    lower: Option<Found>,
    upper: Option<Found>,
    group: Option<Found>,
    time: Option<Found>,
    time_order: Option<DateOrder>,
    keep: Vec<Found>,
    /// Whether the roles name an exposure, or a noise, that the table does not have.
    lacks_exposure: bool,
    lacks_noise_std: bool,
    groups: HashMap<String, u64>,
    n_groups: u64,
    /// Rows left out for their weight.
    pub n_without_weight: u64,
}

impl RowReader {
    /// Finds the columns of `columns`.
    ///
    /// # Errors
    /// Those of `finder.must`, for bounds and marks of censoring where targets are read, and for columns that are kept.
    pub fn new(columns: &RoleColumns, path: &Path, keeps_all: bool, finder: &Finder) -> Result<Self> {
        let found = |name: &Option<String>, col: Option<usize>| Some(Found { name: name.clone()?, col: col? });
        let may = |name: &Option<String>| found(name, name.as_ref().and_then(|name| (finder.may)(name)));
        let training = |name| if finder.reads_targets { may(name) } else { None };
        let must = |name: &Option<String>| -> Result<Option<Found>> {
            match name {
                Some(there) if finder.reads_targets => Ok(found(name, Some((finder.must)(there)?))),
                _ => Ok(None),
            }
        };
        let keep = |name: &String| Ok(Found { name: name.clone(), col: (finder.must)(name)? });
        let (exposure, noise_std) = (may(&columns.exposure), may(&columns.noise_std));
        Ok(Self {
            path: path.to_owned(),
            keeps_all,
            weight: training(&columns.weight),
            lacks_exposure: columns.exposure.is_some() && exposure.is_none(),
            exposure,
            lacks_noise_std: columns.noise_std.is_some() && noise_std.is_none(),
            noise_std,
            censored: must(&columns.censored)?,
            lower: must(&columns.lower)?,
            upper: must(&columns.upper)?,
            group: training(&columns.group),
            time: training(&columns.time),
            time_order: columns.time_order,
            keep: columns.keep.iter().map(keep).collect::<Result<_>>()?,
            groups: HashMap::new(),
            n_groups: 0,
            n_without_weight: 0,
        })
    }

    /// The same reader for rows that are only looked at: their groups and times and what is carried through are not
    /// read.
    pub fn for_learning(self) -> Self {
        Self { group: None, time: None, keep: Vec::new(), ..self }
    }

    /// Positions of the columns that are read.
    pub fn positions(&self) -> Vec<usize> {
        let one = [
            &self.weight,
            &self.exposure,
            &self.noise_std,
            &self.censored,
            &self.lower,
            &self.upper,
            &self.group,
            &self.time,
        ];
        one.into_iter().flatten().chain(&self.keep).map(|found| found.col).collect()
    }

    /// The bounds of a row's target.
    ///
    /// # Errors
    /// [`Error::RoleCell`] or [`Error::BoundsOrder`].
    pub fn bounds(&self, chunk: &Chunk, row: usize) -> Result<Bounds> {
        const HINT: &str = "a bound is a number, or empty for an open end";
        let bound = |found: &Option<Found>, open: f64| match found {
            None => Ok(f64::NAN),
            Some(found) => match chunk.cell(row, found.col) {
                Cell::Missing => Ok(f64::NAN),
                Cell::Number(value) if value.is_finite() => Ok(value),
                Cell::Number(value) if value == open => Ok(f64::NAN),
                _ => Err(self.fault(chunk, row, found, "a bound", HINT)),
            },
        };
        let (lower, upper) = (bound(&self.lower, f64::NEG_INFINITY)?, bound(&self.upper, f64::INFINITY)?);
        match (&self.lower, &self.upper) {
            (Some(low), Some(up)) if lower > upper => {
                let (path, place) = (self.path.clone(), chunk.place(row));
                let (lower_column, upper_column) = (low.name.clone(), up.name.clone());
                Err(Error::BoundsOrder { path, place, lower_column, lower, upper_column, upper })
            }
            _ => Ok(Bounds { lower, upper }),
        }
    }

    /// Appends what belongs to a row, unless its weight is 0 and such rows are left out.
    ///
    /// # Errors
    /// [`Error::RoleCell`].
    pub fn push(&mut self, chunk: &Chunk, row: usize, bounds: Bounds, out: &mut RowColumns) -> Result<bool> {
        if let Some(found) = &self.weight {
            const HINT: &str = "a weight is a positive number, or 0 to leave the row out";
            let weight = self.number(chunk, row, found, |v| v >= 0.0, "a weight", HINT)?;
            if weight == 0.0 && !self.keeps_all {
                self.n_without_weight += 1;
                return Ok(false);
            }
            out.weight.push(weight);
        }
        if let Some(found) = &self.exposure {
            let hint = "an exposure is a positive number";
            out.exposure.push(self.number(chunk, row, found, |v| v > 0.0, "an exposure", hint)?);
        } else if self.lacks_exposure {
            out.exposure.push(1.0);
        }
        if let Some(found) = &self.noise_std {
            let hint = "a standard deviation is a number of at least 0";
            out.noise_std.push(self.number(chunk, row, found, |v| v >= 0.0, "a standard deviation", hint)?);
        } else if self.lacks_noise_std {
            out.noise_std.push(0.0);
        }
        if let Some(found) = &self.censored {
            const HINT: &str = "where the target was seen exactly leave the cell empty, or write 0, false, no or none; \
                                where it is above the value 1, true, yes, right or >; where it is below left or <";
            let how = censored(chunk, row, found.col);
            out.censored.push(how.ok_or_else(|| self.fault(chunk, row, found, "a mark of censoring", HINT))?);
        }
        if self.lower.is_some() || self.upper.is_some() {
            out.lower.push(bounds.lower);
            out.upper.push(bounds.upper);
        }
        if let Some(found) = &self.time {
            let seconds = time(chunk, row, found.col, self.time_order);
            out.time.push(seconds.ok_or_else(|| self.fault(chunk, row, found, "a time", time_column::HINT))?);
        }
        if let Some(found) = &self.group {
            out.group.push(self.group_of(chunk, row, found.col));
        }
        out.keep.resize_with(self.keep.len(), Vec::new);
        for (column, found) in out.keep.iter_mut().zip(&self.keep) {
            column.push(match (chunk.temporal(found.col), chunk.cell(row, found.col)) {
                (Some(kind), Cell::Number(value)) => kind.written(value),
                (Some(_), _) => String::new(),
                (None, _) => kept(chunk, row, found.col),
            });
        }
        Ok(true)
    }

    /// Columns that the table lacks, and what was taken for them.
    pub fn taken_as<'a>(&self, columns: &'a RoleColumns) -> impl Iterator<Item = (&'a String, f64)> {
        let exposure = columns.exposure.as_ref().filter(|_| self.lacks_exposure).map(|name| (name, 1.0));
        let noise_std = columns.noise_std.as_ref().filter(|_| self.lacks_noise_std).map(|name| (name, 0.0));
        exposure.into_iter().chain(noise_std)
    }

    fn number(
        &self,
        chunk: &Chunk,
        row: usize,
        found: &Found,
        fits: impl Fn(f64) -> bool,
        role: &'static str,
        hint: &'static str,
    ) -> Result<f64> {
        match chunk.cell(row, found.col) {
            Cell::Number(value) if value.is_finite() && fits(value) => Ok(value),
            _ => Err(self.fault(chunk, row, found, role, hint)),
        }
    }

    fn group_of(&mut self, chunk: &Chunk, row: usize, col: usize) -> u64 {
        let next = self.n_groups;
        let group = match chunk.cell(row, col) {
            Cell::Missing => next,
            _ => {
                let text = chunk.text(row, col);
                match self.groups.get(text.as_ref()) {
                    Some(&group) => group,
                    None => *self.groups.entry(text.into_owned()).or_insert(next),
                }
            }
        };
        self.n_groups += u64::from(group == next);
        group
    }

    fn fault(&self, chunk: &Chunk, row: usize, found: &Found, role: &'static str, hint: &'static str) -> Error {
        let text = chunk.text(row, found.col);
        let hint = match (chunk.cell(row, found.col), mistaken_number(&text)) {
            (Cell::Number(value), _) if value.is_finite() => hint,
            (_, "") => hint,
            (_, mistaken) => mistaken,
        };
        let (path, place, column) = (self.path.clone(), chunk.place(row), found.name.clone());
        Error::RoleCell { path, place, column, text: excerpt(&text).into(), role, hint }
    }
}

/// A cell that is carried through; a missing number is empty.
fn kept(chunk: &Chunk, row: usize, col: usize) -> String {
    let text = chunk.text(row, col);
    if text == "NaN" { String::new() } else { text.into_owned() }
}

/// What a mark of censoring says.
fn censored(chunk: &Chunk, row: usize, col: usize) -> Option<Censored> {
    let is_one_of = |text: &str, words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    match chunk.cell(row, col) {
        Cell::Missing | Cell::Number(0.0) => Some(Censored::None),
        Cell::Number(1.0) => Some(Censored::Right),
        Cell::Text(text) if is_one_of(text, &["false", "no", "none", "f", "n"]) => Some(Censored::None),
        Cell::Text(text) if is_one_of(text, &["true", "yes", "right", ">", "t", "y"]) => Some(Censored::Right),
        Cell::Text(text) if is_one_of(text, &["left", "<"]) => Some(Censored::Left),
        _ => None,
    }
}
