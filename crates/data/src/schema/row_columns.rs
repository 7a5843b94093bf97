//! What belongs to rows beside their inputs and targets.

use std::ops::Range;

/// Whether a target was seen exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Censored {
    /// The target is what was observed.
    #[default]
    None,
    /// The value is an upper bound of the target, such as a detection limit.
    Left,
    /// The value is a lower bound of the target, such as a time not yet ended.
    Right,
}

/// What belongs to rows beside their inputs and targets: in each vector an entry for each row, or none at all if no
/// column has that role, or it was not read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RowColumns {
    /// How many rows the row counts as; positive, but 0 where [`Targets::Optional`](super::Targets) keeps such a row.
    pub weight: Vec<f64>,
    /// What a count is in proportion to; positive. 1 where the table has no such column.
    pub exposure: Vec<f64>,
    /// Known standard deviation of the target's noise, at least 0. 0 where the table has no such column.
    pub noise_std: Vec<f64>,
    /// Number of the row's group, from 0 in order of first appearance; a row whose group is missing has one of its own.
    pub group: Vec<u64>,
    /// A number, or seconds since 1970-01-01 00:00 if the column holds dates or times.
    pub time: Vec<f64>,
    /// Whether the target is only a bound.
    pub censored: Vec<Censored>,
    /// Lower bounds of the target; NaN for an open end. Where both ends are open the target itself was seen, and where
    /// they are equal it is that value.
    pub lower: Vec<f64>,
    /// Upper bounds of the target; NaN for an open end.
    pub upper: Vec<f64>,
    /// For each column that is carried through, its cells as they are written; dates and times of typed columns as ISO
    /// 8601 writes them.
    pub keep: Vec<Vec<String>>,
}

impl RowColumns {
    /// Some of the rows.
    ///
    /// # Panics
    /// If one of them is not there.
    pub fn part(&self, kept: Range<usize>) -> Self {
        fn of<T: Clone>(all: &[T], kept: &Range<usize>) -> Vec<T> {
            if all.is_empty() { Vec::new() } else { all[kept.clone()].to_vec() }
        }
        Self {
            weight: of(&self.weight, &kept),
            exposure: of(&self.exposure, &kept),
            noise_std: of(&self.noise_std, &kept),
            group: of(&self.group, &kept),
            time: of(&self.time, &kept),
            censored: of(&self.censored, &kept),
            lower: of(&self.lower, &kept),
            upper: of(&self.upper, &kept),
            keep: self.keep.iter().map(|column| of(column, &kept)).collect(),
        }
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.weight.clear();
        self.exposure.clear();
        self.noise_std.clear();
        self.group.clear();
        self.time.clear();
        self.censored.clear();
        self.lower.clear();
        self.upper.clear();
        self.keep.clear();
    }
}
