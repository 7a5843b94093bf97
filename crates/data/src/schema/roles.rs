//! Which columns serve for what.

/// Which columns serve for what. A column with a role of its own is no input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roles {
    /// Columns to predict.
    pub targets: Vec<String>,
    /// Targets whose values are labels, even if most of them are numbers.
    pub labels: Vec<String>,
    /// Columns to predict from; `None` for all others.
    pub inputs: Option<Vec<String>>,
    /// Columns that are no inputs.
    pub exclude: Vec<String>,
    /// Columns whose numbers are names, such as postal codes: categories in any case.
    pub categories: Vec<String>,
    /// Most levels that a category may have.
    pub max_levels: usize,
    /// How many rows a row counts as: at least 0, and a row of weight 0 is left out.
    pub weight: Option<String>,
    /// Rows with one value in this column stay together where rows are divided.
    pub group: Option<String>,
    /// When a row was observed: numbers, dates or times. It is an input, too, unless `exclude` names it.
    pub time: Option<String>,
    /// What a count is in proportion to, such as a length of time or a number of people; positive.
    pub exposure: Option<String>,
    /// The known standard deviation of the target's noise, in its units; at least 0.
    pub noise_std: Option<String>,
    /// Whether the target is only a bound: empty, 0, false, no and none where it was seen exactly; 1, true, yes, right
    /// and > where it is above the value (a time not yet ended); left and < where it is below (a detection limit).
    pub censored: Option<String>,
    /// What the target is at least; an empty cell is an open end. A row needs the target or a bound. If the table has
    /// no column of the target's name, bounds alone tell it.
    pub lower: Option<String>,
    /// What the target is at most, as for `lower`.
    pub upper: Option<String>,
    /// Columns that are carried through to the predictions.
    pub keep: Vec<String>,
}

impl Roles {
    /// Predicts `targets` from all other columns; categories have at most 50 levels.
    pub fn predict<S: Into<String>>(targets: impl IntoIterator<Item = S>) -> Self {
        let targets = targets.into_iter().map(Into::into).collect();
        Self {
            targets,
            labels: Vec::new(),
            inputs: None,
            exclude: Vec::new(),
            categories: Vec::new(),
            max_levels: 50,
            weight: None,
            group: None,
            time: None,
            exposure: None,
            noise_std: None,
            censored: None,
            lower: None,
            upper: None,
            keep: Vec::new(),
        }
    }
}
