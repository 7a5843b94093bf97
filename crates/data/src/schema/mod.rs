//! How the columns of a table become the numbers of a model: learnt from training data, kept with the model.

mod encode;
mod labels;
mod learn;
mod role_columns;
mod roles;
mod row_columns;
mod row_reader;
mod tally;
mod target;
mod time_column;
mod time_features;

pub use encode::{Batch, Encoder, Targets};
pub use learn::Learnt;
pub use role_columns::RoleColumns;
pub use roles::Roles;
pub use row_columns::{Censored, RowColumns};
pub use target::{TargetLevel, TargetSummary};
pub use time_features::{TimeFeature, TimePart};

use crate::error::{Error, Result};
use crate::moment::DateOrder;
use crate::notice::Notice;
use labels::Labels;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Most numbers that a row of inputs may become.
pub const MAX_FEATURES: usize = 100_000;

/// Which columns a model reads, and how each becomes numbers.
///
/// An input column becomes one or more *features*, the columns of the matrix that the model sees:
///
/// | column | features | missing |
/// |---|---|---|
/// | number | `age`, the number | the training mean, and `age=NA` is 1 where training had missing values |
/// | true or false | `smoker`, 1 or 0 | as for numbers |
/// | category | `colour=blue`, `colour=red`, …: 1 for the level, 0 for the others | all 0, and `colour=NA` is 1 where training had missing values |
/// | date or time | `date.year`, `date.month`, `date.day`, `date.weekday`, `date.hour`, `date.days` (since the first), those that vary | as for numbers |
///
/// A level that training did not have is 0 in all features of its column. Columns are found by name, in any order;
/// others are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Schema {
    inputs: Vec<Input>,
    targets: Vec<String>,
    /// Number of columns of the training table, if it had no header: then columns are found by position.
    headerless_columns: Option<usize>,
    /// Targets that are labels; all others are plain numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<Labels>,
    /// Columns that belong to rows.
    #[serde(skip_serializing_if = "RoleColumns::is_empty")]
    roles: RoleColumns,
}

/// A column that the model predicts from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether it had missing values in training, and so has an indicator feature.
    pub has_missing: bool,
}

/// What an input column holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Kind {
    /// Numbers.
    Number {
        /// Their mean in training, which stands for missing ones.
        mean: f64,
    },
    /// True or false, in any case.
    Boolean {
        /// The share of true in training, which stands for missing ones.
        mean: f64,
    },
    /// One of some texts.
    Category {
        /// The texts, sorted.
        levels: Vec<String>,
    },
    /// Dates, times, or times of day.
    Time {
        /// Which number of a date such as 05/01/2024 is the day, if training had such dates.
        order: Option<DateOrder>,
        /// The earliest day of the training data, in days since 1970-01-01.
        origin: f64,
        /// What they become; only what varied in training, and nothing if only missing values told rows apart.
        features: Vec<TimeFeature>,
    },
}

impl Input {
    /// Number of features that the column becomes.
    pub fn n_features(&self) -> usize {
        let n_values = match &self.kind {
            Kind::Number { .. } | Kind::Boolean { .. } => 1,
            Kind::Category { levels } => levels.len(),
            Kind::Time { features, .. } => features.len(),
        };
        n_values + usize::from(self.has_missing)
    }

    /// What to say of a column of dates or times.
    fn time_notice(&self) -> Option<Notice> {
        matches!(self.kind, Kind::Time { .. })
            .then(|| Notice::TimeFeatures { column: self.name.clone(), features: self.feature_names() })
    }

    fn feature_names(&self) -> Vec<String> {
        let mut names = match &self.kind {
            Kind::Number { .. } | Kind::Boolean { .. } => vec![self.name.clone()],
            Kind::Category { levels } => levels.iter().map(|level| format!("{}={level}", self.name)).collect(),
            Kind::Time { features, .. } => {
                features.iter().map(|feature| format!("{}.{}", self.name, feature.part.name())).collect()
            }
        };
        if self.has_missing {
            names.push(format!("{}=NA", self.name));
        }
        names
    }
}

impl Schema {
    /// The columns that the model predicts from, in the order of its features.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Names of the columns to predict.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Names of the columns that belong to rows beside inputs and targets: weight, exposure, and so on.
    pub fn role_columns(&self) -> &RoleColumns {
        &self.roles
    }

    /// The levels of target `i`, if its values are labels: the encoder gives the number of the level, from 0. None for
    /// plain numbers.
    ///
    /// # Panics
    /// If there is no such target.
    pub fn target_levels(&self, i: usize) -> Option<&[String]> {
        let target = &self.targets[i];
        self.labels.iter().find(|labels| labels.target == *target).map(|labels| labels.levels.as_slice())
    }

    /// This schema with a target whose cells are labels: each names one of `levels`, which the encoder turns into 0, 1,
    /// 2, … in the given order.
    ///
    /// If all levels are numbers, a cell names the level of its value, so "1", "1.0" and "01" are one; otherwise it is
    /// the text that counts, without surrounding blanks. If the levels are two words for no and yes (as
    /// [`TargetSummary::boolean_levels`] lists them), any such word names one of them.
    ///
    /// # Errors
    /// [`Error::Schema`] if there is no such target or no level, or a level stands twice or for a missing value.
    pub fn with_labels(mut self, target: &str, levels: Vec<String>) -> Result<Self> {
        self.labels.retain(|labels| labels.target != target);
        self.labels.push(Labels { target: target.to_owned(), levels });
        self.checked()
    }

    /// Numbers that a row of inputs becomes.
    pub fn n_features(&self) -> usize {
        self.inputs.iter().map(Input::n_features).sum()
    }

    /// Names of the features: "age", "colour=red", "age=NA".
    pub fn feature_names(&self) -> Vec<String> {
        self.inputs.iter().flat_map(Input::feature_names).collect()
    }

    /// For each feature, the index in [`Schema::inputs`] of the column that it belongs to.
    pub fn feature_inputs(&self) -> Vec<usize> {
        self.inputs.iter().enumerate().flat_map(|(i, input)| vec![i; input.n_features()]).collect()
    }

    /// A schema of plain numbers, for tables whose columns are known to be such.
    ///
    /// # Errors
    /// [`Error::Schema`] if a name is empty or stands twice, or there is no input or no target.
    pub fn numeric(inputs: &[String], targets: &[String]) -> Result<Self> {
        let number = |name: &String| Input { name: name.clone(), kind: Kind::Number { mean: 0.0 }, has_missing: false };
        Self {
            inputs: inputs.iter().map(number).collect(),
            targets: targets.to_vec(),
            headerless_columns: None,
            labels: Vec::new(),
            roles: RoleColumns::default(),
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        let error = |what: String| Err(Error::Schema { what });
        if self.inputs.is_empty() || self.targets.is_empty() {
            return error("it needs an input and a target".to_owned());
        }
        let mut seen = HashSet::new();
        for name in self.inputs.iter().map(|input| &input.name).chain(&self.targets) {
            if name.is_empty() || !seen.insert(name) {
                return error(format!("the column name {name:?} is empty or stands twice"));
            }
        }
        if self.headerless_columns.is_some_and(|n| n < seen.len()) {
            return error(format!("{} columns in a table of fewer", seen.len()));
        }
        let is_input = |name: &String| self.inputs.iter().any(|input| input.name == *name);
        let is_time = |name: &String| self.roles.time.as_ref() == Some(name);
        if let Some(name) = self.roles.names().find(|name| name.is_empty() || is_input(name) && !is_time(name)) {
            return error(format!("the column name {name:?} is empty, or that of an input with another role"));
        }
        if self.roles.is_bounded() && self.targets.len() > 1 {
            return error("several targets, and a bound or a mark of censoring".to_owned());
        }
        let mut labelled = HashSet::new();
        for labels in &self.labels {
            if !self.targets.contains(&labels.target) || !labelled.insert(&labels.target) {
                return error(format!("the labels of {:?} stand twice, or it is no target", labels.target));
            }
            labels.check()?;
        }
        for Input { name, kind, has_missing } in &self.inputs {
            match kind {
                Kind::Number { mean } if !mean.is_finite() => return error(format!("the mean of {name:?} is {mean}")),
                Kind::Boolean { mean } if !(0.0..=1.0).contains(mean) => {
                    return error(format!("the share of true in {name:?} is {mean}"));
                }
                Kind::Time { origin, features, .. } => {
                    let is_ordered = features.is_sorted_by(|a, b| a.part < b.part);
                    let is_finite = origin.is_finite() && features.iter().all(|feature| feature.mean.is_finite());
                    if !is_ordered || !is_finite || features.is_empty() && !has_missing {
                        return error(format!("the features of {name:?} are none, not in order, or not finite"));
                    }
                }
                // Encoding searches them by halves.
                Kind::Category { levels } if levels.is_empty() || !levels.is_sorted_by(|a, b| a < b) => {
                    return error(format!("the levels of {name:?} are none, or not sorted"));
                }
                _ => {}
            }
        }
        match self.n_features() {
            n if n > MAX_FEATURES => error(format!("{n} features, more than {MAX_FEATURES}")),
            _ => Ok(self),
        }
    }
}

/// What a file says a schema is, before it is believed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    inputs: Vec<Input>,
    targets: Vec<String>,
    headerless_columns: Option<usize>,
    #[serde(default)]
    labels: Vec<Labels>,
    #[serde(default)]
    roles: RoleColumns,
}

impl TryFrom<Stored> for Schema {
    type Error = Error;

    fn try_from(Stored { inputs, targets, headerless_columns, labels, roles }: Stored) -> Result<Self> {
        Self { inputs, targets, headerless_columns, labels, roles }.checked()
    }
}
