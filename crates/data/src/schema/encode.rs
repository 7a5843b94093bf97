//! Turns the rows of a table into the matrices that a schema says.

use super::labels::LevelFinder;
use super::learn::no_column;
use super::row_reader::{Bounds, Finder, RowReader};
use super::time_features::CellTime;
use super::{Kind, RowColumns, Schema};
use crate::cell::{Cell, mistaken_number};
use crate::chunk::Chunk;
use crate::error::{Error, Result, excerpt};
use crate::notice::Notice;
use crate::read::{ReadOptions, Reader, positional};
use crate::source::Source;
use deepgp_numerics::linalg::Mat;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

/// Whether the targets are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Targets {
    /// Targets are read, and rows without one are left out: training and scoring.
    Required,
    /// Targets are read, but every row is kept, with NaN for a missing target: prediction beside observations.
    Optional,
    /// Targets are not read and need not be there, and every row is kept: prediction.
    Ignored,
}

/// Rows as numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Features, a row per row kept.
    pub inputs: Mat,
    /// Targets, a row per row kept; without columns if ignored.
    pub targets: Mat,
    /// Which rows of the table were kept, from 0.
    pub rows: Vec<u64>,
    /// What else belongs to the rows kept: weights, exposures, and so on.
    pub columns: RowColumns,
}

impl Batch {
    /// Some of the rows that were kept.
    ///
    /// # Panics
    /// If one of them is not there.
    pub fn part(&self, kept: Range<usize>) -> Self {
        let rows_of = |from: &Mat| {
            let mut part = Mat::zeros(kept.len(), from.cols());
            part.copy_rows(0, from, kept.clone());
            part
        };
        Self {
            inputs: rows_of(&self.inputs),
            targets: rows_of(&self.targets),
            rows: self.rows[kept.clone()].to_vec(),
            columns: self.columns.part(kept),
        }
    }
}

/// A schema matched with the columns of a table.
pub struct Encoder<'s> {
    schema: &'s Schema,
    path: PathBuf,
    /// Position in the table of each input and each target.
    inputs: Vec<usize>,
    /// None for a target that bounds tell alone.
    targets: Vec<Option<usize>>,
    /// What belongs to rows, if anything does.
    row_reader: Option<RowReader>,
    /// For each target that is read, how its cells name a level, if they are labels.
    labels: Vec<Option<LevelFinder>>,
    /// Whether rows without a target are kept.
    keeps_all: bool,
    next_row: u64,
    n_without_target: u64,
    /// For each input.
    unseen_values: Vec<UnseenValues>,
    /// For each target.
    unseen_labels: Vec<UnseenValues>,
}

/// What a column held that training did not.
#[derive(Debug, Clone, Default)]
struct UnseenValues {
    n_missing: u64,
    n_unknown: u64,
    first_unknown: String,
}

impl Schema {
    /// Reads a whole table.
    ///
    /// # Errors
    /// The errors of [`Reader`], [`Encoder::new`] and [`Encoder::encode`]; [`Error::Empty`] if no row is kept.
    pub fn read(&self, source: &Source, options: &ReadOptions, targets: Targets) -> Result<(Batch, Vec<Notice>)> {
        let mut reader = Reader::open(source, options)?;
        let mut encoder = Encoder::new(self, &mut reader, targets)?;
        let mut parts = Parts::default();
        while let Some(chunk) = reader.next_chunk()? {
            encoder.encode_into(&chunk, &mut parts)?;
        }
        if parts.rows.is_empty() {
            let what = if encoder.next_row > 0 { "rows with a target" } else { "rows below the header" };
            return Err(Error::Empty { path: source.label().to_owned(), what });
        }
        let notices = [reader.notices(), &encoder.notices()].concat();
        Ok((encoder.batch(parts)?, notices))
    }

    /// Whether the table that `reader` has opened has all targets, so that predictions can be scored.
    pub fn has_targets(&self, reader: &Reader) -> bool {
        let bounds = [&self.roles.lower, &self.roles.upper].into_iter().flatten();
        names_by_position(self, reader).is_ok_and(|names| {
            let is_there = |name: &String| names.contains(name);
            bounds.chain(&self.roles.censored).all(is_there)
                && (self.roles.has_bounds() || self.targets.iter().all(is_there))
        })
    }
}

impl<'s> Encoder<'s> {
    /// Finds the columns of `schema` in the table that `reader` has opened, and has it read no others.
    ///
    /// # Errors
    /// [`Error::NoColumn`] with the name that may be meant; [`Error::ColumnCount`] for a table without header.
    ///
    /// A table may lack columns of weights, groups and times. Bounds and marks of censoring are needed wherever targets
    /// are read. A missing exposure is taken as 1, and a missing standard deviation of the noise as 0.
    pub fn new(schema: &'s Schema, reader: &mut Reader, targets: Targets) -> Result<Self> {
        let names = names_by_position(schema, reader)?;
        let by_name: HashMap<&String, usize> = names.iter().zip(0..).collect();
        // A column that has a role of its own is not the misspelt one.
        let inputs = schema.inputs.iter().map(|input| &input.name);
        let taken: HashSet<&String> = schema.targets.iter().chain(inputs).chain(schema.roles.names()).collect();
        let is_free = |name: &String| !taken.contains(name);
        let find = |name: &String| by_name.get(name).copied().ok_or_else(|| no_column(name, reader, is_free));
        let reads_targets = targets != Targets::Ignored;
        let keeps_all = targets == Targets::Optional;
        let finder = Finder { may: &|name| by_name.get(name).copied(), must: &find, reads_targets };
        let row_reader = (!schema.roles.is_empty())
            .then(|| RowReader::new(&schema.roles, reader.label(), keeps_all, &finder))
            .transpose()?;
        let target = |name: &String| match by_name.get(name) {
            None if schema.roles.has_bounds() => Ok(None),
            _ => find(name).map(Some),
        };
        let encoder = Self {
            schema,
            path: reader.label().to_owned(),
            inputs: schema.inputs.iter().map(|input| find(&input.name)).collect::<Result<_>>()?,
            targets: match reads_targets {
                true => schema.targets.iter().map(target).collect::<Result<_>>()?,
                false => Vec::new(),
            },
            row_reader,
            labels: (0..schema.targets.len()).map(|i| schema.target_levels(i).map(LevelFinder::new)).collect(),
            keeps_all,
            next_row: 0,
            n_without_target: 0,
            unseen_values: vec![UnseenValues::default(); schema.inputs.len()],
            unseen_labels: vec![UnseenValues::default(); schema.targets.len()],
        };
        let rows = encoder.row_reader.as_ref().map(RowReader::positions).unwrap_or_default();
        let columns: Vec<usize> =
            encoder.inputs.iter().chain(encoder.targets.iter().flatten()).chain(&rows).copied().collect();
        reader.select(&columns);
        let inputs = encoder.inputs.iter().zip(&schema.inputs);
        let times = inputs.filter(|(_, input)| matches!(input.kind, Kind::Time { .. })).map(|(col, _)| *col);
        let is_number = |col: &usize| encoder.inputs.contains(col) || encoder.targets.contains(&Some(*col));
        let others = rows.iter().copied().filter(|col| !is_number(col));
        reader.withhold_times(&times.chain(others).collect::<Vec<_>>());
        Ok(encoder)
    }

    /// The next rows of the table as numbers.
    ///
    /// # Errors
    /// [`Error::NotANumber`], [`Error::NotABoolean`], [`Error::NotATime`], [`Error::RoleCell`] or
    /// [`Error::BoundsOrder`], with line and column.
    ///
    /// # Panics
    /// If the chunk is of a table with fewer columns.
    pub fn encode(&mut self, chunk: &Chunk) -> Result<Batch> {
        let mut parts = Parts::default();
        self.encode_into(chunk, &mut parts)?;
        self.batch(parts)
    }

    /// What the rows so far held that training did not, and how many were left out.
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.n_without_target > 0 {
            notices.push(Notice::RowsWithoutTarget { count: self.n_without_target });
        }
        if let Some(rows) = &self.row_reader {
            if rows.n_without_weight > 0 {
                notices.push(Notice::RowsWithoutWeight { count: rows.n_without_weight });
            }
            let taken = rows.taken_as(&self.schema.roles);
            notices.extend(taken.map(|(column, value)| Notice::TakenAs { column: column.clone(), value }));
        }
        for (column, odd) in self.schema.targets.iter().zip(&self.unseen_labels).filter(|(_, odd)| odd.n_unknown > 0) {
            let (level, count, is_left_out) = (odd.first_unknown.clone(), odd.n_unknown, !self.keeps_all);
            notices.push(Notice::UnknownLabel { column: column.clone(), level, count, is_left_out });
        }
        for (input, odd) in self.schema.inputs.iter().zip(&self.unseen_values) {
            let column = input.name.clone();
            if odd.n_missing > 0 && matches!(input.kind, Kind::Time { .. }) {
                notices.push(Notice::ImputedTime { column: column.clone(), count: odd.n_missing });
            } else if odd.n_missing > 0 {
                let value = match input.kind {
                    Kind::Number { mean } | Kind::Boolean { mean } => Some(mean),
                    Kind::Category { .. } | Kind::Time { .. } => None,
                };
                notices.push(Notice::Imputed { column: column.clone(), count: odd.n_missing, value });
            }
            if odd.n_unknown > 0 {
                let level = odd.first_unknown.clone();
                notices.push(Notice::UnknownLevel { column, level, count: odd.n_unknown });
            }
        }
        notices
    }

    fn encode_into(&mut self, chunk: &Chunk, parts: &mut Parts) -> Result<()> {
        for row in 0..chunk.rows() {
            let number = self.next_row;
            self.next_row += 1;
            let n_targets = parts.targets.len();
            let bounds = self.row_reader.as_ref().map(|rows| rows.bounds(chunk, row)).transpose()?;
            let by_bounds = bounds.and_then(Bounds::target);
            if !self.push_targets(chunk, row, by_bounds, &mut parts.targets)? {
                continue;
            }
            if let (Some(rows), Some(bounds)) = (&mut self.row_reader, bounds)
                && !rows.push(chunk, row, bounds, &mut parts.columns)?
            {
                parts.targets.truncate(n_targets);
                continue;
            }
            parts.rows.push(number);
            for i in 0..self.inputs.len() {
                self.push_input(chunk, row, i, &mut parts.inputs)?;
            }
        }
        Ok(())
    }

    /// Appends the targets of a row unless one is missing, and not known `by_bounds`, or names no known level.
    fn push_targets(&mut self, chunk: &Chunk, row: usize, by_bounds: Option<f64>, out: &mut Vec<f64>) -> Result<bool> {
        let before = out.len();
        for i in 0..self.targets.len() {
            let (cell, col) = match self.targets[i] {
                Some(col) => (chunk.cell(row, col), col),
                None => (Cell::Missing, 0),
            };
            let value = match (&self.labels[i], cell) {
                (_, Cell::Missing) if by_bounds.is_some() => by_bounds,
                (_, Cell::Missing) => {
                    self.n_without_target += u64::from(!self.keeps_all);
                    None
                }
                (None, Cell::Number(value)) if value.is_finite() => Some(value),
                (None, _) => return Err(self.not_a_number(chunk, row, col, &self.schema.targets[i])),
                (Some(labels), _) => {
                    let level = labels.find(chunk, row, col).map(|level| level as f64);
                    if level.is_none() {
                        self.unseen_labels[i].count_unknown(&chunk.text(row, col));
                    }
                    level
                }
            };
            match value {
                Some(value) => out.push(value),
                None if self.keeps_all => out.push(f64::NAN),
                None => {
                    out.truncate(before);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Appends the features of input `i` of a row.
    fn push_input(&mut self, chunk: &Chunk, row: usize, i: usize, out: &mut Vec<f64>) -> Result<()> {
        let (input, col) = (&self.schema.inputs[i], self.inputs[i]);
        let cell = chunk.cell(row, col);
        let is_missing = cell == Cell::Missing;
        match &input.kind {
            Kind::Number { mean } => out.push(match cell {
                Cell::Missing => *mean,
                Cell::Number(value) if value.is_finite() => value,
                _ => return Err(self.not_a_number(chunk, row, col, &input.name)),
            }),
            Kind::Boolean { mean } => out.push(match cell {
                Cell::Missing => *mean,
                Cell::Number(value) if value == 0.0 || value == 1.0 => value,
                Cell::Text(text) if text.eq_ignore_ascii_case("true") => 1.0,
                Cell::Text(text) if text.eq_ignore_ascii_case("false") => 0.0,
                _ => {
                    let (path, place, column) = (self.path.clone(), chunk.place(row), input.name.clone());
                    return Err(Error::NotABoolean { path, place, column, text: excerpt(&chunk.text(row, col)) });
                }
            }),
            Kind::Time { features, .. } if is_missing => out.extend(features.iter().map(|feature| feature.mean)),
            Kind::Time { order, origin, features } => {
                let moment = CellTime::of(chunk, row, col, *order);
                if !moment.is_some_and(|moment| moment.push(features, *origin, out)) {
                    let (path, place, column) = (self.path.clone(), chunk.place(row), input.name.clone());
                    let (text, hint) = (excerpt(&chunk.text(row, col)), "write dates as 2024-01-15, times as 10:30");
                    return Err(Error::NotATime { path, place, column, text, hint });
                }
            }
            Kind::Category { levels } => {
                let start = out.len();
                out.resize(start + levels.len(), 0.0);
                if !is_missing {
                    let text = chunk.text(row, col);
                    match levels.binary_search_by(|level| level.as_str().cmp(&text)) {
                        Ok(level) => out[start + level] = 1.0,
                        Err(_) => self.unseen_values[i].count_unknown(&text),
                    }
                }
            }
        }
        if input.has_missing {
            out.push(f64::from(u8::from(is_missing)));
        } else if is_missing {
            self.unseen_values[i].n_missing += 1;
        }
        Ok(())
    }

    fn not_a_number(&self, chunk: &Chunk, row: usize, col: usize, name: &str) -> Error {
        let text = chunk.text(row, col);
        let hint = match mistaken_number(&text) {
            "" => "the model was trained on numbers in this column",
            hint => hint,
        };
        let (path, place, column) = (self.path.clone(), chunk.place(row), name.to_owned());
        Error::NotANumber { path, place, column, text: excerpt(&text), hint }
    }

    fn batch(&self, parts: Parts) -> Result<Batch> {
        let Parts { inputs, targets, rows, columns } = parts;
        Ok(Batch {
            inputs: Mat::from_vec(rows.len(), self.schema.n_features(), inputs)?,
            targets: Mat::from_vec(rows.len(), self.targets.len(), targets)?,
            rows,
            columns,
        })
    }
}

/// Rows as numbers, row by row, growing.
#[derive(Default)]
struct Parts {
    inputs: Vec<f64>,
    targets: Vec<f64>,
    rows: Vec<u64>,
    columns: RowColumns,
}

impl UnseenValues {
    fn count_unknown(&mut self, level: &str) {
        if self.n_unknown == 0 {
            self.first_unknown = excerpt(level);
        }
        self.n_unknown += 1;
    }
}

/// The names that the columns of the table would have in the training table. They are its own names, unless neither
/// table has a header: then it is the position that counts, and the targets may have been left out.
fn names_by_position(schema: &Schema, reader: &Reader) -> Result<Vec<String>> {
    let (names, found) = (reader.names(), reader.names().len());
    match schema.headerless_columns {
        Some(expected) if !reader.has_header() => {
            // Prediction does without the targets, and without what only training and scoring read.
            let optional: HashSet<&String> = schema.roles.of_training().collect();
            let is_target = |name: &String| schema.targets.contains(name);
            let is_optional = |name: &String| is_target(name) || optional.contains(name);
            let all = || (0..expected).map(positional);
            let without = |is_left_out: &dyn Fn(&String) -> bool| all().filter(|name| !is_left_out(name)).collect();
            let candidates: [Vec<String>; 3] = [all().collect(), without(&is_target), without(&is_optional)];
            let fitting = candidates.into_iter().find(|names| names.len() == found);
            fitting.ok_or_else(|| Error::ColumnCount { path: reader.label().to_owned(), expected, found })
        }
        _ => Ok(names.to_vec()),
    }
}
