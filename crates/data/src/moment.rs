//! Dates and times as texts write them.

use crate::calendar::{DAY, Date};
use serde::{Deserialize, Serialize};

/// Which number of a date such as 05/01/2024 is the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// The first: the fifth of January.
    DayFirst,
    /// The second: the first of May.
    MonthFirst,
}

/// What a text says of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    /// Whether it is a time of day without a date.
    pub is_time_of_day: bool,
    /// Seconds since 1970-01-01 00:00, or since midnight, if the day stands before the month.
    by_day_first: Option<f64>,
    /// The same if the month stands before the day.
    by_month_first: Option<f64>,
}

impl Moment {
    /// Reads a date (2024-01-15, 2024/01/15, 15.01.2024, and with the day or the month first 15/01/2024 or 15-01-2024),
    /// a date and a time of day behind a blank or a T, or a time of day: 10:30, 10:30:00, 10:30:00.5, 3:30 PM. Behind
    /// a date and time there may be a zone, Z or +02:00; the moment is then one of universal time.
    pub fn parse(text: &str) -> Option<Self> {
        // Most texts are none: decided by the first character.
        if !text.starts_with(|c: char| c.is_ascii_digit()) || text.len() > 40 || !text.is_ascii() {
            return None;
        }
        let end = text.find([' ', 'T', 't', ':']).unwrap_or(text.len());
        if text[end..].starts_with(':') {
            let seconds = time_of_day(text, false)?;
            return Some(Self { is_time_of_day: true, by_day_first: Some(seconds), by_month_first: Some(seconds) });
        }
        let seconds = if end < text.len() { time_of_day(text[end + 1..].trim_start(), true)? } else { 0.0 };
        let [day_first, month_first] = date(&text[..end])?;
        let moment = |date: Date| date.days() as f64 * DAY + seconds;
        let (by_day_first, by_month_first) = (day_first.map(moment), month_first.map(moment));
        (by_day_first.is_some() || by_month_first.is_some()).then_some(Self {
            is_time_of_day: false,
            by_day_first,
            by_month_first,
        })
    }

    /// Seconds since 1970-01-01 00:00, or since midnight; without an order only if there are no two ways to read it.
    pub fn seconds(self, order: Option<DateOrder>) -> Option<f64> {
        match (order, self.by_day_first, self.by_month_first) {
            (Some(DateOrder::DayFirst), seconds, _) | (Some(DateOrder::MonthFirst), _, seconds) => seconds,
            (None, Some(a), Some(b)) => (a == b).then_some(a),
            (None, a, b) => a.or(b),
        }
    }
}

/// The dates that a text may mean, with the day and with the month first; they are the same unless both could be.
fn date(text: &str) -> Option<[Option<Date>; 2]> {
    let mark = text.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let mut parts = text.split(mark);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let year = |text: &str| if text.len() == 4 { number(text).filter(|year| *year >= 1000) } else { None };
    let short = |text: &str| if text.len() <= 2 { number(text) } else { None };
    let made = |year: u32, month: u32, day: u32| Date::new(year.into(), month, day);
    match (year(first), year(third)) {
        (Some(year), None) if mark != '.' => {
            let date = made(year, short(second)?, short(third)?);
            Some([date, date])
        }
        (None, Some(year)) => {
            let (first, second) = (short(first)?, short(second)?);
            let day_first = made(year, second, first);
            Some([day_first, if mark == '.' { day_first } else { made(year, first, second) }])
        }
        _ => None,
    }
}

/// Seconds since midnight of a text such as 10:30, 10:30:00.5 or 3:30 PM, and of what a zone behind it adds.
fn time_of_day(text: &str, may_have_zone: bool) -> Option<f64> {
    let (text, is_afternoon) = match text.len().checked_sub(2).map(|at| text.split_at(at)) {
        Some((time, half)) if half.eq_ignore_ascii_case("am") => (time.trim_end(), Some(false)),
        Some((time, half)) if half.eq_ignore_ascii_case("pm") => (time.trim_end(), Some(true)),
        _ => (text, None),
    };
    let (text, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) if may_have_zone => (text[..at].trim_end(), zone(&text[at..])?),
        _ => (text, 0.0),
    };
    let mut parts = text.split(':');
    let (hour, minute) = (parts.next()?, parts.next()?);
    let second = parts.next().unwrap_or("0");
    if parts.next().is_some() || hour.len() > 2 || minute.len() != 2 {
        return None;
    }
    let (hour, minute) = (number(hour)?, number(minute)?);
    let hour = match is_afternoon {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(is_afternoon) => hour % 12 + if is_afternoon { 12 } else { 0 },
    };
    let (whole, part) = second.split_once(['.', ',']).unwrap_or((second, "0"));
    let second: f64 = format!("{}.{}", number(whole)?, number_text(part)?).parse().ok()?;
    // A minute may have a leap second.
    let is_time = hour < 24 && minute < 60 && whole.len() <= 2 && second < 61.0;
    is_time.then(|| f64::from(hour * 3600 + minute * 60) + second - offset)
}

/// Seconds by which a zone such as Z, +02:00, −0530 or +02 is ahead of universal time.
fn zone(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0.0);
    }
    let (sign, text) = text.split_at(1);
    let (hours, minutes) = match text.len() {
        2 => (text, "00"),
        4 => text.split_at(2),
        5 => text.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let ahead = f64::from(hours * 3600 + minutes * 60);
    (hours < 24 && minutes < 60).then_some(if sign == "-" { -ahead } else { ahead })
}

fn number(text: &str) -> Option<u32> {
    number_text(text)?.parse().ok()
}

/// The text, if it is of digits only.
fn number_text(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then_some(text)
}

/// What the dates of a column tell about the order in which they are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrderTally {
    day_may_be_first: bool,
    month_may_be_first: bool,
    /// Whether some date has two readings.
    has_two_readings: bool,
}

/// The order in which the dates of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnOrder {
    /// There is one reading of all dates; None if no order is needed.
    Known(Option<DateOrder>),
    /// There are two.
    Ambiguous,
    /// There is none.
    Contradictory,
}

impl OrderTally {
    pub fn new() -> Self {
        Self { day_may_be_first: true, month_may_be_first: true, has_two_readings: false }
    }

    pub fn count(&mut self, moment: Moment) {
        self.day_may_be_first &= moment.by_day_first.is_some();
        self.month_may_be_first &= moment.by_month_first.is_some();
        self.has_two_readings |= moment.by_day_first != moment.by_month_first;
    }

    pub fn order(self) -> ColumnOrder {
        match (self.day_may_be_first, self.month_may_be_first) {
            (true, true) if self.has_two_readings => ColumnOrder::Ambiguous,
            (true, true) => ColumnOrder::Known(None),
            (true, false) => ColumnOrder::Known(Some(DateOrder::DayFirst)),
            (false, true) => ColumnOrder::Known(Some(DateOrder::MonthFirst)),
            (false, false) => ColumnOrder::Contradictory,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        Moment::parse(text)?.seconds(None)
    }

    #[test]
    fn dates_and_times_are_read_in_every_form() {
        let day = 19_737.0 * DAY;
        for (text, expected) in [
            ("2024-01-15", day),
            ("2024/01/15", day),
            ("2024-1-15", day),
            ("15.01.2024", day),
            ("15.1.2024", day),
            ("15/01/2024", day),
            ("01/15/2024", day),
            ("15-01-2024", day),
            ("2024-01-15 10:30", day + 37_800.0),
            ("2024-01-15T10:30:00", day + 37_800.0),
            ("2024-01-15 10:30:00.5", day + 37_800.5),
            ("2024-01-15 10:30:07,25", day + 37_807.25),
            ("2024-01-15T10:30:00Z", day + 37_800.0),
            ("2024-01-15 10:30:00+02:00", day + 30_600.0),
            ("2024-01-15 10:30-0530", day + 57_600.0),
            ("2024-01-15 00:30 +01", day - 1800.0),
            ("1/15/2024 3:30 PM", day + 55_800.0),
            ("1/15/2024 12:05 am", day + 300.0),
            ("10:30", 37_800.0),
            ("9:05:01.5", 32_701.5),
            ("3:30 pm", 55_800.0),
            ("00:00", 0.0),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
            assert_eq!(Moment::parse(text).map(|m| m.is_time_of_day), Some((0.0..DAY).contains(&expected)), "{text}");
        }
        for text in [
            "",
            "2024",
            "20240115",
            "2024-01",
            "2024-13-01",
            "2023-02-29",
            "2024-01-15 ",
            "2024-01-15x",
            "24:00",
            "10:60",
            "10:3",
            "1:2:3:4",
            "2024-01-15 25:00",
            "2024-01-15 10:30 Mars",
            "15.01.24",
            "2024.01.15",
            "1.2.3",
            "192.168.1.1",
            "2024-01-15-16",
            "0024-01-15",
            "10:30+02:00",
            "13:00 PM",
            "2024-01-15 10:30+2",
            "2024-01-15T",
            "éa",
            "2024-01-15 10:30:61",
            "123:10",
            "00/00/2024",
            "31/31/2024",
        ] {
            assert_eq!(Moment::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_that_of_the_column() {
        let order = |texts: &[&str]| {
            let mut tally = OrderTally::new();
            texts.iter().for_each(|text| tally.count(Moment::parse(text).expect("a date")));
            tally.order()
        };
        assert_eq!(order(&["05/01/2024", "15/01/2024"]), ColumnOrder::Known(Some(DateOrder::DayFirst)));
        assert_eq!(order(&["05/01/2024", "05/15/2024"]), ColumnOrder::Known(Some(DateOrder::MonthFirst)));
        assert_eq!(order(&["05/01/2024", "06/01/2024"]), ColumnOrder::Ambiguous);
        assert_eq!(order(&["15/01/2024", "01/15/2024"]), ColumnOrder::Contradictory);
        assert_eq!(order(&["05/05/2024", "2024-01-05", "13.01.2024"]), ColumnOrder::Known(None));
        let twofold = Moment::parse("05/01/2024").expect("a date");
        let days = |order| twofold.seconds(order).map(|seconds| Date::from_days((seconds / DAY) as i64));
        assert_eq!(days(None), None);
        assert_eq!(days(Some(DateOrder::DayFirst)), Date::new(2024, 1, 5));
        assert_eq!(days(Some(DateOrder::MonthFirst)), Date::new(2024, 5, 1));
    }
}
