//! Days of the civil (proleptic Gregorian) calendar, counted from 1970-01-01.

/// Seconds of a day.
pub(crate) const DAY: f64 = 86_400.0;

/// Days of a span of 400 years, after which the calendar repeats.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01, with which the first era begins, to 1970-01-01.
const EPOCH: i64 = 719_468;

/// A day by its year, month (1 to 12) and day of the month (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub year: i64,
    pub month: u32,
    pub day: u32,
}

impl Date {
    /// The date, if there is such a day.
    pub fn new(year: i64, month: u32, day: u32) -> Option<Self> {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => 0,
        };
        (1..=days).contains(&day).then_some(Self { year, month, day })
    }

    /// Days from 1970-01-01 to this date.
    ///
    /// Years begin with March, so that the leap day is the last one:
    ///
    /// ```text
    /// y = year − [month ≤ 2]     days = 365 y + ⌊y/4⌋ − ⌊y/100⌋ + ⌊y/400⌋ + ⌊(153 m + 2)/5⌋ + day − 1 − 719468
    /// ```
    /// with m = 0 for March to 11 for February.
    pub fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let month = i64::from((self.month + 9) % 12);
        let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        365 * year + leap_days + (153 * month + 2) / 5 + i64::from(self.day) - 1 - EPOCH
    }

    /// The date so many days after 1970-01-01.
    pub fn from_days(days: i64) -> Self {
        let days = days + EPOCH;
        let (era, of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA_DAYS - 1)) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self { year: 400 * era + year + i64::from(month <= 2), month: month as u32, day: day as u32 }
    }
}

/// Day of the week so many days after 1970-01-01: 1 for Monday to 7 for Sunday.
pub(crate) fn weekday(days: i64) -> u32 {
    (days + 3).rem_euclid(7) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(year: i64, month: u32, day: u32) -> Date {
        Date::new(year, month, day).expect("a day")
    }

    #[test]
    fn known_days_are_found() {
        // The days of the first five are those of `date -d … +%s` divided by 86400.
        for (day, days, week) in [
            (date(1970, 1, 1), 0, 4),
            (date(2000, 2, 29), 11_016, 2),
            (date(2000, 3, 1), 11_017, 3),
            (date(2024, 1, 15), 19_737, 1),
            (date(1900, 3, 1), -25_508, 4),
            (date(1900, 2, 28), -25_509, 3),
            (date(1969, 12, 31), -1, 3),
            (date(1582, 10, 15), -141_427, 5),
        ] {
            assert_eq!((day.days(), Date::from_days(days), weekday(days)), (days, day, week), "{day:?}");
        }
    }

    #[test]
    fn every_day_of_five_centuries_follows_the_one_before() {
        let mut before = Date::from_days(date(1600, 1, 1).days());
        for days in date(1600, 1, 2).days()..date(2101, 1, 1).days() {
            let day = Date::from_days(days);
            let follows = match (day.day, day.month) {
                (1, 1) => (before.year, before.month, before.day) == (day.year - 1, 12, 31),
                (1, month) => before.month == month - 1 && Date::new(before.year, month - 1, before.day + 1).is_none(),
                _ => (before.month, before.day) == (day.month, day.day - 1),
            };
            assert!(follows && day.days() == days && Date::new(day.year, day.month, day.day) == Some(day), "{day:?}");
            before = day;
        }
    }

    #[test]
    fn there_are_no_other_days() {
        for (year, month, day) in [(1900, 2, 29), (2023, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 13, 1)] {
            assert_eq!(Date::new(year, month, day), None);
        }
        assert!(Date::new(2024, 0, 1).is_none() && Date::new(2024, 1, 0).is_none() && Date::new(2024, 1, 32).is_none());
        assert!(Date::new(2024, 2, 29).is_some() && Date::new(2000, 2, 29).is_some());
    }
}
