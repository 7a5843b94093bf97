//! Which columns serve for what.

/// Which columns serve for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// Columns to predict.
    pub targets: Vec<String>,
    /// Targets whose values are labels, even if most of them are numbers.
    pub labels: Vec<String>,
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
        Self { targets, labels: Vec::new(), inputs: None, exclude: Vec::new(), categories: Vec::new(), max_levels: 50 }
    }
}
