//! Learns from training data which columns are numbers and which are categories, in one pass.

use super::row_reader::{Finder, RowReader};
use super::tally::{Standing, Tally, Verdict};
use super::target::{TargetSummary, TargetTally};
use super::time_column::TimeTally;
use super::{Input, Kind, MAX_FEATURES, RoleColumns, Roles, RowColumns, Schema};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::read::{ReadOptions, Reader};
use crate::source::Source;
use crate::suggest;
use std::collections::{HashMap, HashSet};

/// What training data taught.
#[derive(Debug, Clone, PartialEq)]
pub struct Learnt {
    /// How to read such data.
    pub schema: Schema,
    /// Rows with all targets: the rows to train on.
    pub n_rows: u64,
    /// What each target holds, in the order of [`Schema::targets`].
    pub targets: Vec<TargetSummary>,
    /// What was decided on the way.
    pub notices: Vec<Notice>,
}

impl Schema {
    /// Learns the schema of `source`, chunk by chunk. Rows without a target do not count.
    ///
    /// A column is one of **numbers** if all its cells are, **true or false** if these are its words, of **dates or
    /// times** if its file says so or all its texts are such, and otherwise a **category**. A column whose cells are
    /// mostly numbers, slips in writing numbers, or nearly all dates is an error at the first one that is none. The
    /// notices say which columns are left out:
    ///
    /// - those with a single value or none;
    /// - texts with more than `roles.max_levels` levels or a different one in every row, and it is an error if such a
    ///   column is asked for by name;
    /// - row numbers, unless asked for by name or nothing else is left: 20 or more whole numbers that count the rows of
    ///   the table from 0 or 1, or 10 or more different whole numbers in a first column without a name, or one that is
    ///   called "Unnamed: 0".
    ///
    /// Targets are plain numbers in the schema. What they hold is in [`Learnt::targets`]; where that is text, or is to
    /// be predicted as a class, [`Schema::with_labels`] comes next. A target that is mostly numbers is an error at the
    /// first cell that is none, unless `roles.labels` names it.
    ///
    /// # Errors
    /// [`Error::NoColumn`], [`Error::NotANumber`], [`Error::NotATime`], [`Error::TextTarget`],
    /// [`Error::TooManyLevels`], [`Error::NoInput`], [`Error::Empty`], [`Error::TwoRoles`], [`Error::SeveralTargets`],
    /// [`Error::RoleCell`], [`Error::BoundsOrder`], [`Error::AmbiguousDates`], and those of [`Reader`].
    pub fn learn(source: &Source, options: &ReadOptions, roles: &Roles) -> Result<Learnt> {
        let mut reader = Reader::open(source, options)?;
        let mut lesson = Lesson::new(Columns::choose(&reader, roles)?, &reader, roles)?;
        reader.select(&lesson.positions());
        while let Some(chunk) = reader.next_chunk()? {
            lesson.count(&chunk)?;
        }
        lesson.conclude(&reader, roles)
    }
}

/// What was seen of the training data.
struct Lesson {
    columns: Columns,
    targets: Vec<TargetTally>,
    inputs: Vec<Tally>,
    /// What belongs to rows, if anything does.
    rows: Option<RowReader>,
    time: Option<TimeTally>,
    /// Rows of the table.
    next_row: u64,
    /// Those to train on.
    n_rows: u64,
    n_without_target: u64,
    /// What belongs to the last row; only its checks count.
    scratch: RowColumns,
}

impl Lesson {
    fn new(columns: Columns, reader: &Reader, roles: &Roles) -> Result<Self> {
        let targets = columns.targets.iter().map(|_| TargetTally::new()).collect();
        let tally = |&col: &usize| {
            let (is_declared, is_unnamed) = (columns.categories.contains(&col), is_unnamed(col, reader));
            Tally::new(Standing { is_declared, is_unnamed, temporal: reader.temporal(col) }, roles.max_levels)
        };
        let inputs = columns.inputs.iter().map(tally).collect();
        let (may, must) = (|name: &String| position(name, reader), |name: &String| must_be(name, reader));
        let finder = Finder { may: &may, must: &must, reads_targets: true };
        let rows = (!columns.roles.is_empty())
            .then(|| RowReader::new(&columns.roles, reader.label(), false, &finder).map(RowReader::for_learning))
            .transpose()?;
        let time = columns.roles.time.as_ref().and_then(may).map(TimeTally::new);
        let scratch = RowColumns::default();
        Ok(Self { columns, targets, inputs, rows, time, next_row: 0, n_rows: 0, n_without_target: 0, scratch })
    }

    /// Positions of the columns that are looked at.
    fn positions(&self) -> Vec<usize> {
        let rows = self.rows.as_ref().map(RowReader::positions).unwrap_or_default();
        let time = self.time.as_ref().map(TimeTally::position);
        let targets = self.columns.targets.iter().flatten();
        self.columns.inputs.iter().chain(targets).copied().chain(rows).chain(time).collect()
    }

    fn count(&mut self, chunk: &Chunk) -> Result<()> {
        for row in 0..chunk.rows() {
            let number = self.next_row;
            self.next_row += 1;
            let bounds = self.rows.as_ref().map(|rows| rows.bounds(chunk, row)).transpose()?;
            let is_bounded = bounds.is_some_and(|bounds| bounds.target().is_some());
            let mut is_complete = true;
            for (tally, col) in self.targets.iter_mut().zip(&self.columns.targets) {
                is_complete &= col.is_some_and(|col| tally.count(chunk, row, col)) || is_bounded;
            }
            if !is_complete {
                self.n_without_target += 1;
                continue;
            }
            if let (Some(rows), Some(bounds)) = (&mut self.rows, bounds) {
                self.scratch.clear();
                if !rows.push(chunk, row, bounds, &mut self.scratch)? {
                    continue;
                }
            }
            if let Some(time) = &mut self.time {
                time.count(chunk, row);
            }
            self.n_rows += 1;
            for (tally, &col) in self.inputs.iter_mut().zip(&self.columns.inputs) {
                tally.count(chunk, row, col, number);
            }
        }
        Ok(())
    }

    fn conclude(mut self, reader: &Reader, roles: &Roles) -> Result<Learnt> {
        let (path, name) = (reader.label().to_owned(), |col: usize| reader.names()[col].clone());
        let mut summaries = Vec::new();
        for (tally, target) in self.targets.into_iter().zip(&roles.targets) {
            let has_slips = tally.has_slips() && !roles.labels.contains(target);
            let summary = tally.summary(target.clone(), &path);
            if has_slips {
                summary.require_numbers()?;
            }
            summaries.push(summary);
        }
        if self.n_rows == 0 {
            let what = match (self.n_without_target, self.rows.as_ref().map_or(0, |rows| rows.n_without_weight)) {
                (0, 0) => "rows below the header",
                (_, 0) => "rows with a target",
                _ => "rows with a target and a positive weight",
            };
            return Err(Error::Empty { path, what });
        }
        if let (Some(time), Some(column)) = (self.time, &self.columns.roles.time) {
            self.columns.roles.time_order = time.order(column, &path)?;
        }
        let mut notices = reader.notices().to_vec();
        if self.n_without_target > 0 {
            notices.push(Notice::RowsWithoutTarget { count: self.n_without_target });
        }
        if let Some(rows) = self.rows.filter(|rows| rows.n_without_weight > 0) {
            notices.push(Notice::RowsWithoutWeight { count: rows.n_without_weight });
        }
        for target in &summaries {
            if target.is_numeric() && target.low == target.high {
                notices.push(Notice::ConstantTarget { column: target.name.clone(), value: target.low });
            }
        }
        let (mut inputs, mut row_numbers, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for (tally, &col) in self.inputs.into_iter().zip(&self.columns.inputs) {
            let (name, count) = (name(col), tally.n_missing);
            notices.extend(tally.remark(&name));
            match tally.verdict(&name, &path, roles, reader.has_header())? {
                Verdict::Keep(kind) => {
                    if count > 0 {
                        notices.push(Notice::MissingInTraining { column: name.clone(), count });
                    }
                    let input = Input { name, kind, has_missing: count > 0 };
                    notices.extend(input.time_notice());
                    inputs.push(input);
                }
                Verdict::RowNumber(kind) => row_numbers.push(Input { name, kind, has_missing: false }),
                Verdict::Drop(notice) => {
                    dropped.push(notice.to_string());
                    notices.push(notice);
                }
            }
        }
        if inputs.is_empty() {
            inputs = row_numbers;
        } else {
            notices.extend(row_numbers.into_iter().map(|input| Notice::RowNumber { column: input.name }));
        }
        if inputs.is_empty() {
            return Err(Error::NoInput { path, dropped });
        }
        if inputs.iter().map(Input::n_features).sum::<usize>() > MAX_FEATURES {
            return Err(Error::TooWide { path, limit: MAX_FEATURES });
        }
        let is_target = |column: &String| roles.targets.contains(column);
        notices.retain(|notice| match notice {
            Notice::Times { column, .. } => is_target(column) || is_read_as_number(column, &inputs),
            _ => true,
        });
        let (targets, labels, roles) = (roles.targets.clone(), Vec::new(), self.columns.roles);
        let headerless_columns = (!reader.has_header()).then(|| reader.names().len());
        let schema = Schema { inputs, targets, headerless_columns, labels, roles }.checked()?;
        Ok(Learnt { schema, n_rows: self.n_rows, targets: summaries, notices })
    }
}

/// Whether a column has no name, or the one that pandas gives to such.
fn is_unnamed(col: usize, reader: &Reader) -> bool {
    let name = &reader.names()[col];
    let is_nameless = |notice: &Notice| matches!(notice, Notice::Unnamed { column } if column == name);
    let is_named_so = name.strip_prefix("Unnamed: ").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    is_named_so || col == 0 && reader.notices().iter().any(is_nameless)
}

/// Whether a typed column of times is one of numbers.
fn is_read_as_number(column: &String, inputs: &[Input]) -> bool {
    inputs.iter().any(|input| input.name == *column && !matches!(input.kind, Kind::Time { .. }))
}

/// The columns in their roles.
struct Columns {
    /// Positions of the targets; None for one that bounds tell alone.
    targets: Vec<Option<usize>>,
    inputs: Vec<usize>,
    categories: HashSet<usize>,
    roles: RoleColumns,
}

impl Columns {
    fn choose(reader: &Reader, roles: &Roles) -> Result<Self> {
        let own = RoleColumns::choose(roles)?;
        let targets = match roles.targets.as_slice() {
            [target] if own.has_bounds() && position(target, reader).is_none() && reader.has_header() => vec![None],
            targets => positions(targets, reader)?.into_iter().map(Some).collect(),
        };
        let excluded: HashSet<usize> = positions(&roles.exclude, reader)?.into_iter().collect();
        let categories: HashSet<usize> = positions(&roles.categories, reader)?.into_iter().collect();
        let is_target: HashSet<usize> = targets.iter().copied().flatten().collect();
        if targets.is_empty() {
            return Err(Error::NoTarget);
        }
        positions(&own.keep, reader)?;
        let owned: HashSet<usize> = own.names().map(|name| must_be(name, reader)).collect::<Result<_>>()?;
        let inputs = match &roles.inputs {
            Some(names) => positions(names, reader)?,
            None => {
                // When a row was observed may matter for its target, too.
                let is_time = |c: &usize| own.time.as_ref().is_some_and(|name| position(name, reader) == Some(*c));
                let is_free =
                    |c: &usize| !is_target.contains(c) && !excluded.contains(c) && (!owned.contains(c) || is_time(c));
                (0..reader.names().len()).filter(is_free).collect()
            }
        };
        let clash = |col: Option<usize>, roles: &str| match col {
            Some(col) => Err(Error::TwoRoles { name: reader.names()[col].clone(), roles: roles.to_owned() }),
            None => Ok(()),
        };
        let time = own.time.as_ref().and_then(|name| position(name, reader));
        clash(inputs.iter().copied().find(|c| is_target.contains(c)), "target and input")?;
        clash(inputs.iter().copied().find(|c| excluded.contains(c)), "input and excluded")?;
        clash(inputs.iter().copied().find(|c| owned.contains(c) && Some(*c) != time), "input and a role of its own")?;
        let targets_there = || targets.iter().copied().flatten();
        clash(targets_there().find(|c| excluded.contains(c)), "target and excluded")?;
        clash(targets_there().find(|c| categories.contains(c)), "target and category")?;
        if let Some(name) = roles.labels.iter().find(|name| !roles.targets.contains(name)) {
            return Err(Error::TwoRoles { name: name.clone(), roles: "labels and not target".to_owned() });
        }
        Ok(Self { targets, inputs, categories, roles: own })
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

/// Where a column stands in the table, if it is there.
fn position(name: &String, reader: &Reader) -> Option<usize> {
    reader.names().iter().position(|other| other == name)
}

/// Where a column stands in the table.
fn must_be(name: &String, reader: &Reader) -> Result<usize> {
    position(name, reader).ok_or_else(|| no_column(name, reader, |_| true))
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
