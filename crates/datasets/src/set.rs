//! What there is to know of a data set: shape, source, splits, and the checksums it is recognised by.

/// A data set that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// Its name: that of its folder, and what is typed.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// What is to be learnt.
    pub task: Task,
    /// Rows.
    pub rows: usize,
    /// Names of the features, between commas.
    pub features: &'static str,
    /// Names of the targets, between commas.
    pub targets: &'static str,
    /// How its splits came to be.
    pub split_rule: SplitRule,
    /// How many splits it has.
    pub n_splits: usize,
    /// Where it comes from.
    pub source: &'static str,
    /// The licence, as far as it is known.
    pub licence: &'static str,
    /// Where it can be downloaded.
    pub home: Home,
    /// [`crate::values_sha256`] of its values.
    pub values_sha256: &'static str,
    /// [`crate::splits_sha256`] of its splits.
    pub splits_sha256: &'static str,
}

/// What is to be learnt from a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Numbers.
    Regression,
    /// This many classes, numbered from 0.
    Classes(usize),
}

/// How the splits of a set came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitRule {
    /// By the rule of [`crate::standard_splits`], so they need not be stored.
    Standard,
    /// Published with the data: every row is in the test part of exactly one split.
    Folds,
    /// Published with the data: one division into training and test part.
    Given,
}

/// The public home of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// A folder of the data of Hernández-Lobato & Adams (2015): `data.txt` (numbers between blanks) and the positions
    /// of features and target in `index_features.txt` and `index_target.txt`. Columns in neither are further targets.
    Pbp {
        /// Path of the folder.
        folder: &'static str,
    },
    /// A folder with `data.csv.gz` (no header, the target last) and `test_mask.csv.gz` (a row per row, a column per
    /// split, 1 for test).
    Folds {
        /// Path of the folder.
        folder: &'static str,
    },
    /// One table.
    Table {
        /// Path of the file.
        path: &'static str,
        /// What its columns are to become.
        columns: Columns,
    },
    /// There is no plain file to download.
    Elsewhere {
        /// Where the data are and what they are wrapped in.
        hint: &'static str,
    },
}

/// How the columns of a downloaded table become features and targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// Columns are features and targets, in this order.
    AsTheyAre,
    /// Columns are features and, last, the label: a text that stands for 1, everything else for 0.
    Label {
        /// The text.
        one: &'static str,
    },
    /// The columns with these names, between commas, in this order.
    Named {
        /// The names.
        names: &'static str,
        /// Which of them is a date. The rows go through all days in order, so a day's number is how often the date has
        /// changed before it, however it is written.
        date: &'static str,
    },
}

impl Set {
    /// Names of the features.
    pub fn feature_names(&self) -> Vec<String> {
        self.features.split(',').map(str::to_owned).collect()
    }

    /// Names of the targets.
    pub fn target_names(&self) -> Vec<String> {
        self.targets.split(',').map(str::to_owned).collect()
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.features.split(',').count()
    }

    /// Number of targets.
    pub fn n_targets(&self) -> usize {
        self.targets.split(',').count()
    }

    /// Whether it can be downloaded.
    pub fn can_fetch(&self) -> bool {
        !matches!(self.home, Home::Elsewhere { .. })
    }
}
