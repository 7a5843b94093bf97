//! Kinds of time that a typed column may hold, and the number that stands for each.

use crate::calendar::{DAY, Date};
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

impl Temporal {
    /// A value of such a column as ISO 8601 writes it; a duration in seconds.
    pub(crate) fn written(self, value: f64) -> String {
        let date = |days: f64| {
            let Date { year, month, day } = Date::from_days(days as i64);
            format!("{year:04}-{month:02}-{day:02}")
        };
        let time = |seconds: f64| {
            // Times are whole microseconds at the finest that float64 holds since 1970.
            let micros = (seconds * 1e6).round() as u64;
            let (whole, part) = (micros / 1_000_000, micros % 1_000_000);
            let (hour, minute, second) = (whole / 3600, whole / 60 % 60, whole % 60);
            let part = if part == 0 { String::new() } else { format!(".{part:06}").trim_end_matches('0').to_owned() };
            format!("{hour:02}:{minute:02}:{second:02}{part}")
        };
        let date_and_time = |seconds: f64| {
            let days = (seconds / DAY).floor();
            format!("{} {}", date(days), time(seconds - days * DAY))
        };
        match self {
            Self::Date => date(value.floor()),
            Self::LocalTimestamp => date_and_time(value),
            Self::Timestamp => date_and_time(value) + "Z",
            Self::TimeOfDay => time(value),
            Self::Duration => value.to_string(),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_dates_and_times() {
        for (kind, value, text) in [
            (Temporal::Date, 19_737.0, "2024-01-15"),
            (Temporal::LocalTimestamp, -1.0, "1969-12-31 23:59:59"),
            (Temporal::Timestamp, 1_705_314_600.25, "2024-01-15 10:30:00.25Z"),
            (Temporal::TimeOfDay, 37_800.0, "10:30:00"),
            (Temporal::Duration, 1.5, "1.5"),
        ] {
            assert_eq!(kind.written(value), text);
        }
    }
}
