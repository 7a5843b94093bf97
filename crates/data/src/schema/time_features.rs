//! Features of dates and times: what people would make of them by hand.

use crate::calendar::{DAY, Date, weekday};
use crate::cell::Cell;
use crate::chunk::Chunk;
use crate::moment::{ColumnOrder, DateOrder, Moment, OrderTally};
use crate::temporal::Temporal;
use serde::{Deserialize, Serialize};

/// A number that a date or time becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimePart {
    /// The year.
    Year,
    /// The month, from 1.
    Month,
    /// The day of the month, from 1.
    Day,
    /// The day of the week, from 1 for Monday.
    Weekday,
    /// The hour of the day, with minutes and seconds as its fraction.
    Hour,
    /// Days since the earliest day of the training data, with the time of day as their fraction.
    Days,
}

/// One feature of a column of dates or times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeFeature {
    /// Which number it is.
    pub part: TimePart,
    /// Its mean in training, which stands for missing ones.
    pub mean: f64,
}

impl TimePart {
    const ALL: [Self; 6] = [Self::Year, Self::Month, Self::Day, Self::Weekday, Self::Hour, Self::Days];

    /// As it stands behind the column in the name of the feature: "year".
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
            Self::Days => "days",
        }
    }

    /// All parts of a moment, in their order, for days that are counted from `origin` on.
    fn all(seconds: f64, origin: f64) -> [f64; 6] {
        let days = (seconds / DAY).floor();
        let Date { year, month, day } = Date::from_days(days as i64);
        let hour = (seconds - days * DAY) / 3600.0;
        [year as f64, month.into(), day.into(), weekday(days as i64).into(), hour, seconds / DAY - origin]
    }
}

/// What a cell says of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellTime {
    /// Seconds since 1970-01-01 00:00, or since midnight.
    seconds: f64,
    is_time_of_day: bool,
}

impl CellTime {
    /// The date or time that a cell holds, if it holds one.
    pub fn of(chunk: &Chunk, row: usize, col: usize, order: Option<DateOrder>) -> Option<Self> {
        match (chunk.cell(row, col), chunk.temporal(col)) {
            (Cell::Text(text), _) => {
                let moment = Moment::parse(text)?;
                Some(Self { seconds: moment.seconds(order)?, is_time_of_day: moment.is_time_of_day })
            }
            (Cell::Number(value), Some(kind)) if value.is_finite() => {
                let seconds = seconds(kind, value)?;
                Some(Self { seconds, is_time_of_day: kind == Temporal::TimeOfDay })
            }
            _ => None,
        }
    }

    /// Appends the features of this moment; false if they need a date where this is only a time of day.
    pub fn push(self, features: &[TimeFeature], origin: f64, out: &mut Vec<f64>) -> bool {
        let parts = TimePart::all(self.seconds, origin);
        out.extend(features.iter().map(|feature| parts[feature.part as usize]));
        !self.is_time_of_day || features.iter().all(|feature| feature.part == TimePart::Hour)
    }
}

/// Seconds since 1970-01-01 00:00, or since midnight, of a typed value; None for a duration.
fn seconds(kind: Temporal, value: f64) -> Option<f64> {
    match kind {
        Temporal::Date => Some(value * DAY),
        Temporal::LocalTimestamp | Temporal::Timestamp | Temporal::TimeOfDay => Some(value),
        Temporal::Duration => None,
    }
}

/// What is known of the dates and times of a column.
#[derive(Debug)]
pub(super) struct MomentTally {
    n_dates: u64,
    n_times_of_day: u64,
    order: OrderTally,
    /// Of the readings with the day first.
    day_first: Ranges,
    /// Of those with the month first, once they differ.
    month_first: Option<Ranges>,
    /// A date with two readings.
    example: String,
}

/// What a column of nothing but dates and times becomes.
#[derive(Debug)]
pub(super) struct Moments {
    pub order: Option<DateOrder>,
    pub origin: f64,
    pub features: Vec<TimeFeature>,
}

impl MomentTally {
    pub fn new() -> Self {
        let (order, day_first) = (OrderTally::new(), Ranges::new());
        Self { n_dates: 0, n_times_of_day: 0, order, day_first, month_first: None, example: String::new() }
    }

    /// Counts a text, and says whether it is a date or time.
    pub fn count_text(&mut self, text: &str) -> bool {
        let Some(moment) = Moment::parse(text) else { return false };
        self.order.count(moment);
        let readings = (moment.seconds(Some(DateOrder::DayFirst)), moment.seconds(Some(DateOrder::MonthFirst)));
        if readings.0 != readings.1 {
            // Until here both readings were the same.
            self.month_first.get_or_insert_with(|| self.day_first.clone());
        }
        if self.example.is_empty() && moment.seconds(None).is_none() {
            self.example = text.to_owned();
        }
        if let (Some(ranges), Some(seconds)) = (&mut self.month_first, readings.1) {
            ranges.count(seconds);
        }
        if let Some(seconds) = readings.0 {
            self.day_first.count(seconds);
        }
        self.n_times_of_day += u64::from(moment.is_time_of_day);
        self.n_dates += u64::from(!moment.is_time_of_day);
        true
    }

    /// Counts a typed value, which is no duration.
    pub fn count_typed(&mut self, kind: Temporal, value: f64) {
        if let Some(seconds) = seconds(kind, value) {
            self.day_first.count(seconds);
            self.n_times_of_day += u64::from(kind == Temporal::TimeOfDay);
            self.n_dates += u64::from(kind != Temporal::TimeOfDay);
        }
    }

    /// Whether `n_cells` are dates but for a few slips.
    pub fn are_mostly_dates(&self, n_cells: u64) -> bool {
        self.n_dates < n_cells && 10 * self.n_dates > 9 * n_cells
    }

    /// A date with two readings, if all `n_cells` are dates and have two.
    pub fn ambiguous(&self, n_cells: u64) -> Option<&str> {
        (self.n_dates == n_cells && self.order.order() == ColumnOrder::Ambiguous).then_some(self.example.as_str())
    }

    /// The features of a column whose `n_cells` are all dates, or all times of day, with one reading.
    pub fn moments(&self, n_cells: u64) -> Option<Moments> {
        let ColumnOrder::Known(order) = self.order.order() else { return None };
        let ranges = match (order, &self.month_first) {
            (Some(DateOrder::MonthFirst), Some(month_first)) => month_first,
            _ => &self.day_first,
        };
        if n_cells == 0 {
            None
        } else if self.n_times_of_day == n_cells {
            Some(Moments { order: None, origin: 0.0, features: ranges.features(0.0, |part| part == TimePart::Hour) })
        } else if self.n_dates == n_cells {
            let origin = (ranges.low[TimePart::Days as usize]).floor();
            let varies = |part: TimePart| ranges.low[part as usize] != ranges.high[part as usize];
            let is_of_use = |part| match part {
                // Where dates differ by whole months, the day of the week says nothing.
                TimePart::Weekday => varies(TimePart::Day),
                // Within a day it is the hour again.
                TimePart::Days => ranges.high[TimePart::Days as usize].floor() > origin,
                _ => true,
            };
            Some(Moments { order, origin, features: ranges.features(origin, is_of_use) })
        } else {
            None
        }
    }
}

/// Ranges and means of all parts.
#[derive(Debug, Clone)]
struct Ranges {
    n: f64,
    low: [f64; 6],
    high: [f64; 6],
    mean: [f64; 6],
}

impl Ranges {
    fn new() -> Self {
        Self { n: 0.0, low: [f64::INFINITY; 6], high: [f64::NEG_INFINITY; 6], mean: [0.0; 6] }
    }

    fn count(&mut self, seconds: f64) {
        self.n += 1.0;
        for (i, value) in TimePart::all(seconds, 0.0).into_iter().enumerate() {
            self.low[i] = self.low[i].min(value);
            self.high[i] = self.high[i].max(value);
            self.mean[i] += (value - self.mean[i]) / self.n;
        }
    }

    /// The parts that vary and are of use.
    fn features(&self, origin: f64, is_of_use: impl Fn(TimePart) -> bool) -> Vec<TimeFeature> {
        let part = |(i, part): (usize, TimePart)| {
            let shift = if part == TimePart::Days { origin } else { 0.0 };
            let is_kept = self.low[i] != self.high[i] && is_of_use(part);
            is_kept.then_some(TimeFeature { part, mean: self.mean[i] - shift })
        };
        TimePart::ALL.into_iter().enumerate().filter_map(part).collect()
    }
}
