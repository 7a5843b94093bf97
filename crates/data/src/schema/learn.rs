//! Learns from training data which columns are numbers and which are categories, in one pass.

use super::tally::{Tally, Verdict};
use super::target::{TargetSummary, TargetTally};
use super::{Input, MAX_FEATURES, Roles, Schema};
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
    /// A column is one of **numbers** if all its cells are, **true or false** if these are its words, and otherwise a
    /// **category**. A column whose cells are mostly numbers, or slips in writing numbers, is an error at the first
    /// one that is none. Columns with a single value or none are left out, and so are texts with more than
    /// `roles.max_levels` levels or a different one in every row (if not asked for by name, which is an error). The
    /// notices say so.
    ///
    /// Targets are plain numbers in the schema. What they hold is in [`Learnt::targets`]; where that is text, or is to
    /// be predicted as a class, [`Schema::with_labels`] comes next. A target that is mostly numbers is an error at the
    /// first cell that is none, unless `roles.labels` names it.
    ///
    /// # Errors
    /// [`Error::NoColumn`], [`Error::NotANumber`], [`Error::TextTarget`], [`Error::TooManyLevels`],
    /// [`Error::NoInput`], [`Error::Empty`], [`Error::TwoRoles`], and those of [`Reader`].
    pub fn learn(source: &Source, options: &ReadOptions, roles: &Roles) -> Result<Learnt> {
        let mut reader = Reader::open(source, options)?;
        let mut lesson = Lesson::new(Columns::choose(&reader, roles)?, roles);
        reader.select(&lesson.columns.all());
        while let Some(chunk) = reader.next_chunk()? {
            lesson.count(&chunk);
        }
        lesson.conclude(&reader, roles)
    }
}

/// What was seen of the training data.
struct Lesson {
    columns: Columns,
    targets: Vec<TargetTally>,
    inputs: Vec<Tally>,
    n_rows: u64,
    n_without_target: u64,
}

impl Lesson {
    fn new(columns: Columns, roles: &Roles) -> Self {
        let targets = columns.targets.iter().map(|_| TargetTally::new()).collect();
        let tally = |col| Tally::new(columns.categories.contains(col), roles.max_levels);
        let inputs = columns.inputs.iter().map(tally).collect();
        Self { columns, targets, inputs, n_rows: 0, n_without_target: 0 }
    }

    fn count(&mut self, chunk: &Chunk) {
        for row in 0..chunk.rows() {
            let mut is_complete = true;
            for (tally, &col) in self.targets.iter_mut().zip(&self.columns.targets) {
                is_complete &= tally.count(chunk, row, col);
            }
            if is_complete {
                self.n_rows += 1;
                self.inputs.iter_mut().zip(&self.columns.inputs).for_each(|(tally, &col)| tally.count(chunk, row, col));
            } else {
                self.n_without_target += 1;
            }
        }
    }

    fn conclude(self, reader: &Reader, roles: &Roles) -> Result<Learnt> {
        let (path, name) = (reader.label().to_owned(), |col: usize| reader.names()[col].clone());
        let mut summaries = Vec::new();
        for (tally, &col) in self.targets.into_iter().zip(&self.columns.targets) {
            let has_slips = tally.has_slips() && !self.columns.labels.contains(&col);
            let summary = tally.summary(name(col), &path);
            if has_slips {
                summary.require_numbers()?;
            }
            summaries.push(summary);
        }
        if self.n_rows == 0 {
            let what = if self.n_without_target > 0 { "rows with a target" } else { "rows below the header" };
            return Err(Error::Empty { path, what });
        }
        let mut notices = reader.notices().to_vec();
        if self.n_without_target > 0 {
            notices.push(Notice::RowsWithoutTarget { count: self.n_without_target });
        }
        for target in &summaries {
            if target.is_numeric() && target.low == target.high {
                notices.push(Notice::ConstantTarget { column: target.name.clone(), value: target.low });
            }
        }
        let (mut inputs, mut dropped) = (Vec::new(), Vec::new());
        for (tally, &col) in self.inputs.into_iter().zip(&self.columns.inputs) {
            let (name, count) = (name(col), tally.n_missing);
            match tally.verdict(&name, &path, roles, reader.has_header())? {
                Verdict::Keep(kind) => {
                    if count > 0 {
                        notices.push(Notice::MissingInTraining { column: name.clone(), count });
                    }
                    inputs.push(Input { name, kind, has_missing: count > 0 });
                }
                Verdict::Drop(notice) => {
                    dropped.push(notice.to_string());
                    notices.push(notice);
                }
            }
        }
        if inputs.is_empty() {
            return Err(Error::NoInput { path, dropped });
        }
        if inputs.iter().map(Input::n_features).sum::<usize>() > MAX_FEATURES {
            return Err(Error::TooWide { path, limit: MAX_FEATURES });
        }
        let targets = self.columns.targets.iter().map(|&col| name(col)).collect();
        let headerless_columns = (!reader.has_header()).then(|| reader.names().len());
        let schema = Schema { inputs, targets, headerless_columns, labels: Vec::new() }.checked()?;
        Ok(Learnt { schema, n_rows: self.n_rows, targets: summaries, notices })
    }
}

/// Positions of the columns in their roles.
struct Columns {
    targets: Vec<usize>,
    inputs: Vec<usize>,
    categories: HashSet<usize>,
    labels: HashSet<usize>,
}

impl Columns {
    fn choose(reader: &Reader, roles: &Roles) -> Result<Self> {
        let targets = positions(&roles.targets, reader)?;
        let excluded: HashSet<usize> = positions(&roles.exclude, reader)?.into_iter().collect();
        let categories: HashSet<usize> = positions(&roles.categories, reader)?.into_iter().collect();
        let labels: HashSet<usize> = positions(&roles.labels, reader)?.into_iter().collect();
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
        clash(labels.iter().find(|&c| !is_target.contains(c)), "label and not target")?;
        clash(targets.iter().find(|&c| categories.contains(c)), "target and category")?;
        Ok(Self { targets, inputs, categories, labels })
    }

    fn all(&self) -> Vec<usize> {
        [self.inputs.as_slice(), &self.targets].concat()
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
