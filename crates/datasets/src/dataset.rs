//! A data set in memory.

use deepgp_numerics::linalg::Mat;

/// A data set, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Its name.
    pub name: &'static str,
    /// The features, a row per observation.
    pub x: Mat,
    /// The targets; classes are numbered from 0.
    pub targets: Mat,
    /// Names of the features.
    pub feature_names: Vec<String>,
    /// Names of the targets.
    pub target_names: Vec<String>,
    /// Test rows of each split, ascending; all other rows are for training.
    pub splits: Vec<Vec<usize>>,
}
