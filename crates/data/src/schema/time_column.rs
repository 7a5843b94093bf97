//! Times of rows: numbers, dates or times in a column that says when a row was observed.

use crate::calendar::DAY;
use crate::cell::Cell;
use crate::chunk::Chunk;
use crate::error::{Error, Place, Result, excerpt};
use crate::moment::{ColumnOrder, DateOrder, Moment, OrderTally};
use crate::temporal::Temporal;
use std::path::Path;

/// What a time of a row is.
pub(super) const HINT: &str =
    "a time is a number, a date such as 2024-01-15 or a time such as 2024-01-15 10:30, the same in all rows";

/// The time that a cell holds: a number, or seconds since 1970-01-01 00:00.
pub(super) fn time(chunk: &Chunk, row: usize, col: usize, order: Option<DateOrder>) -> Option<f64> {
    match chunk.cell(row, col) {
        Cell::Number(value) if value.is_finite() => match chunk.temporal(col) {
            Some(Temporal::Date) => Some(value * DAY),
            _ => Some(value),
        },
        Cell::Text(text) => Moment::parse(text)?.seconds(order),
        _ => None,
    }
}

/// What is known of a column of times.
#[derive(Debug)]
pub(super) struct TimeTally {
    col: usize,
    /// Whether the first cell is a number.
    is_number: Option<bool>,
    order: OrderTally,
    /// A date with two readings.
    example: String,
    /// The first cell that is no time, or not of the kind of the first.
    mistaken: Option<(Place, String)>,
}

impl TimeTally {
    pub fn new(col: usize) -> Self {
        Self { col, is_number: None, order: OrderTally::new(), example: String::new(), mistaken: None }
    }

    /// Where the column stands.
    pub fn position(&self) -> usize {
        self.col
    }

    pub fn count(&mut self, chunk: &Chunk, row: usize) {
        if self.mistaken.is_some() {
            return;
        }
        let is_number = match chunk.cell(row, self.col) {
            Cell::Number(value) if value.is_finite() => Some(true),
            Cell::Text(text) => Moment::parse(text).map(|moment| {
                if self.example.is_empty() && moment.seconds(None).is_none() {
                    self.example = text.to_owned();
                }
                self.order.count(moment);
                false
            }),
            _ => None,
        };
        if is_number.is_none() || self.is_number.is_some_and(|first| is_number != Some(first)) {
            self.mistaken = Some((chunk.place(row), excerpt(&chunk.text(row, self.col))));
        }
        self.is_number = self.is_number.or(is_number);
    }

    /// The order of day and month in the dates of the column, if they need one.
    pub fn order(self, column: &str, path: &Path) -> Result<Option<DateOrder>> {
        let (path, column) = (path.to_owned(), column.to_owned());
        match (self.mistaken, self.order.order()) {
            (Some((place, text)), _) => {
                Err(Error::RoleCell { path, place, column, text: text.into(), role: "a time", hint: HINT })
            }
            (None, ColumnOrder::Known(order)) => Ok(order),
            (None, _) => Err(Error::AmbiguousDates { path, column, text: self.example }),
        }
    }
}
