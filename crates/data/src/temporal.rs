//! Kinds of time that a typed column may hold, and the number that stands for each.

use std::fmt::{self, Display, Formatter};

/// What a column of times holds. Text files have no such columns; there a date is text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Temporal {
    /// Days of the calendar, read as days since 1970-01-01.
    Date,
    /// Points in time without a time zone, read as seconds since 1970-01-01 00:00 on their own clock.
    LocalTimestamp,
    /// Points in time, read as seconds since 1970-01-01 00:00 UTC, whatever the time zone they are shown in.
    Timestamp,
    /// Times of day, read as seconds since midnight.
    TimeOfDay,
    /// Lengths of time, read as seconds.
    Duration,
}

impl Display for Temporal {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::Date => "dates, read as days since 1970-01-01",
            Self::LocalTimestamp => "times without a time zone, read as seconds since 1970-01-01 00:00",
            Self::Timestamp => "times, read as seconds since 1970-01-01 00:00 UTC",
            Self::TimeOfDay => "times of day, read as seconds since midnight",
            Self::Duration => "durations, read as seconds",
        })
    }
}
