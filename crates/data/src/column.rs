//! A column of a file that stores columns: numbers, times or texts.

use crate::temporal::Temporal;

/// Entries of one column of some consecutive rows.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// NaN is missing.
    Numbers(Vec<f64>),
    /// Days or seconds, as the kind of time says; NaN is missing.
    Times(Temporal, Vec<f64>),
    /// Texts, and truth values as "true" and "false".
    Texts(Texts),
    /// A column that is not wanted or has no values, of any length.
    Missing,
}

/// Texts one after the other in one string; an empty one is missing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    /// Most bytes of text in one column of one chunk: a dictionary lets small files claim a lot.
    const MAX_BYTES: usize = 1 << 29;

    /// Appends a text; `None` if the column grows beyond measure.
    pub fn push(&mut self, text: &str) -> Option<()> {
        if self.text.len() + text.len() > Self::MAX_BYTES {
            return None;
        }
        self.text.push_str(text);
        self.push_missing();
        Some(())
    }

    /// Appends a missing entry.
    pub fn push_missing(&mut self) {
        self.ends.push(self.text.len());
    }

    /// Entry `i`.
    ///
    /// # Panics
    /// If there is none.
    pub fn get(&self, i: usize) -> &str {
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[i]]
    }
}
