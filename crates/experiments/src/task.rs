//! Tasks: one target of one data set, with the rows of its test parts.

use crate::error::{Error, Result};
use deepgp_data::{Table, train_test};
use deepgp_datasets::{Store, standard_splits};
use deepgp_numerics::linalg::Mat;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The eleven tasks of Bui et al. (2015), table 1: name, data set, which of its targets.
const PAPER: [(&str, &str, usize); 11] = [
    ("boston", "boston", 0),
    ("concrete", "concrete", 0),
    ("energy1", "energy", 0),
    ("energy2", "energy", 1),
    ("kin8nm", "kin8nm", 0),
    ("naval1", "naval", 0),
    ("naval2", "naval", 1),
    ("power", "power", 0),
    ("wine_red", "wine_red", 0),
    ("wine_white", "wine_white", 0),
    ("creep", "creep", 0),
];

/// Splits of a table of one's own.
const OWN_SPLITS: usize = 20;

/// One target of one data set.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Task {
    /// What records call it.
    pub name: String,
    /// The data set, or the path of a table.
    pub dataset: String,
    /// The target, counted from 0; of a table always the last column.
    pub target: usize,
    /// What it is predicted as, if not as the data set says.
    pub kind: Option<Kind>,
}

/// What a target can be predicted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A number.
    Regression,
    /// A label.
    Classes,
    /// A level: whole numbers from the least to the greatest.
    Ordinal,
    /// A count.
    Counts,
}

impl Kind {
    /// All kinds with their names, which stand behind an @.
    const NAMES: [(&str, Self); 4] = [
        ("regression", Self::Regression),
        ("classes", Self::Classes),
        ("ordinal", Self::Ordinal),
        ("counts", Self::Counts),
    ];

    /// The task of targets of this kind, and the targets as it has them: levels and labels from 0 on.
    fn of_targets(self, mut y: Mat) -> (deepgp_task::Task, Mat) {
        let (low, high) =
            y.as_slice().iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(*y), high.max(*y)));
        let count = (high - low) as usize + 1;
        if matches!(self, Self::Classes | Self::Ordinal) {
            y.as_mut_slice().iter_mut().for_each(|y| *y -= low);
        }
        let task = match self {
            Self::Regression => deepgp_task::Task::Regression,
            Self::Classes => deepgp_task::Task::Classes { count },
            Self::Ordinal => deepgp_task::Task::Ordinal { count },
            Self::Counts => deepgp_task::Task::Counts,
        };
        (task, y)
    }
}

impl Task {
    /// The eleven tasks of the paper, in its order.
    pub fn paper() -> Vec<Self> {
        let task = |(name, dataset, target): (&str, &str, usize)| Self {
            name: name.into(),
            dataset: dataset.into(),
            target,
            kind: None,
        };
        PAPER.map(task).into()
    }

    /// Whether it is a table of the user's own rather than a data set.
    fn is_table(&self) -> bool {
        is_path(&self.dataset)
    }

    /// Its data: from the store, or from the table, which is divided by the standard rule.
    ///
    /// # Errors
    /// What the store or the reader says, and [`Error::NoTarget`] if the set has fewer targets.
    pub fn load(&self, store: &Store) -> Result<TaskData> {
        if self.is_table() {
            let (x, y) = Table::read(&self.dataset)?.split_targets(1)?;
            let splits = standard_splits(x.rows(), OWN_SPLITS);
            let (task, y) = self.kind.unwrap_or(Kind::Regression).of_targets(y);
            return Ok(TaskData { task, x, y, splits });
        }
        let set = store.load(&self.dataset)?;
        if self.target >= set.targets.cols() {
            return Err(Error::NoTarget { task: self.name.clone(), targets: set.targets.cols() });
        }
        let y = Mat::from_vec(set.targets.rows(), 1, set.targets.column(self.target))?;
        let of_set = match deepgp_datasets::Set::find(&self.dataset)?.task {
            deepgp_datasets::Task::Regression => Kind::Regression,
            deepgp_datasets::Task::Classes(_) => Kind::Classes,
        };
        let (task, y) = self.kind.unwrap_or(of_set).of_targets(y);
        Ok(TaskData { task, x: set.x, y, splits: set.splits })
    }
}

/// No data set has such a name.
fn is_path(text: &str) -> bool {
    text.contains(['/', '\\', '.'])
}

impl FromStr for Task {
    type Err = Error;

    /// A task of the paper by its name, a data set by its name (its first target), `SET:K` for target K from 1, or the
    /// path of a table of numbers whose last column is the target; with `@ordinal`, `@counts`, `@classes` or
    /// `@regression` behind it, as what it is predicted.
    fn from_str(text: &str) -> Result<Self> {
        if let Some((rest, kind)) = text.rsplit_once('@') {
            let kind = Kind::NAMES.iter().find(|(name, _)| *name == kind).map(|(_, kind)| *kind);
            let kind = Some(kind.ok_or_else(|| Error::NotATask { text: text.into() })?);
            return Ok(Self { name: text.into(), kind, ..rest.parse()? });
        }
        if let Some(&(name, dataset, target)) = PAPER.iter().find(|(name, ..)| *name == text) {
            return Ok(Self { name: name.into(), dataset: dataset.into(), target, kind: None });
        }
        let (dataset, target) = match text.split_once(':') {
            Some(_) if is_path(text) => (text, 1),
            None => (text, 1),
            Some((dataset, number)) => (dataset, number.parse().unwrap_or(0)),
        };
        if dataset.is_empty() || target == 0 {
            return Err(Error::NotATask { text: text.into() });
        }
        Ok(Self { name: text.into(), dataset: dataset.into(), target: target - 1, kind: None })
    }
}

impl Display for Task {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl From<Task> for String {
    fn from(task: Task) -> Self {
        task.name
    }
}

impl TryFrom<String> for Task {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        name.parse()
    }
}

/// Inputs, one target, and the test rows of each split.
#[derive(Debug, Clone)]
pub struct TaskData {
    /// What the target is.
    pub task: deepgp_task::Task,
    /// N × D.
    pub x: Mat,
    /// N × 1.
    pub y: Mat,
    /// Test rows of each split.
    pub splits: Vec<Vec<usize>>,
}

/// Rows to learn from and rows to validate on.
#[derive(Debug, Clone)]
pub struct Parts {
    /// What the target is.
    pub task: deepgp_task::Task,
    /// Inputs and targets to learn from.
    pub train: (Mat, Mat),
    /// Inputs and targets to validate on.
    pub test: (Mat, Mat),
}

impl Parts {
    /// Divides rows.
    pub fn of(task: deepgp_task::Task, (x, y): (&Mat, &Mat), train: &[usize], test: &[usize]) -> Self {
        let take = |rows: &[usize]| (x.select_rows(rows), y.select_rows(rows));
        Self { task, train: take(train), test: take(test) }
    }
}

impl TaskData {
    /// The training and test part of a split.
    ///
    /// # Errors
    /// [`Error::NoSplit`] if there are not so many, and what is wrong with its rows.
    pub fn parts(&self, split: usize) -> Result<Parts> {
        let test = self.splits.get(split).ok_or(Error::NoSplit { split, splits: self.splits.len() })?;
        let (train, test) = train_test(self.x.rows(), test)?;
        Ok(Parts::of(self.task, (&self.x, &self.y), &train, &test))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() -> Result<()> {
        assert_eq!(Task::paper().len(), 11);
        let energy: Task = "energy2".parse()?;
        assert_eq!((energy.dataset.as_str(), energy.target), ("energy", 1));
        let naval: Task = "naval:2".parse()?;
        assert_eq!((naval.dataset.as_str(), naval.target, naval.name.as_str()), ("naval", 1, "naval:2"));
        let wine: Task = "wine_red@ordinal".parse()?;
        assert_eq!(
            (wine.dataset.as_str(), wine.kind, wine.name.as_str()),
            ("wine_red", Some(Kind::Ordinal), "wine_red@ordinal")
        );
        let (task, y) = Kind::Ordinal.of_targets(Mat::from_rows(&[[3.0], [8.0], [5.0]])?);
        assert_eq!((task, y.as_slice()), (deepgp_task::Task::Ordinal { count: 6 }, &[0.0, 5.0, 2.0][..]));
        let own: Task = "folder/table.csv".parse()?;
        assert!(own.is_table() && !naval.is_table());
        for wrong in ["", ":1", "naval:0", "naval:x", "wine_red@", "wine_red@else"] {
            assert!(wrong.parse::<Task>().is_err(), "{wrong}");
        }
        Ok(())
    }
}
