//! The clock of a fit, across its interruptions.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Seconds of all sessions, by a clock that is never set back, and what they may come to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Seconds of earlier sessions.
    before: f64,
    began: Instant,
    limit: Option<f64>,
}

impl Clock {
    /// Starts after so many seconds of earlier sessions.
    pub fn start(before: f64, limit: Option<f64>) -> Self {
        Self { before, began: Instant::now(), limit }
    }

    /// Seconds so far, earlier sessions included.
    pub fn seconds(&self) -> f64 {
        self.before + self.began.elapsed().as_secs_f64()
    }

    /// Share of the limit that has passed; nothing without one.
    pub fn share(&self) -> Option<f64> {
        self.limit.map(|limit| self.seconds() / limit)
    }

    /// Whether the limit has passed.
    pub fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.seconds() >= limit)
    }
}

/// Now, in universal time: 2026-11-15T10:20:30Z.
pub(crate) fn date() -> Option<String> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // Days to a date: years begin in March, so that the leap day comes last. After H. Hinnant, chrono-compatible
    // low-level date algorithms.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    Some(format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", time / 3600, time % 3600 / 60, time % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_sessions_count() {
        let clock = Clock::start(30.0, Some(60.0));
        assert!(clock.seconds() >= 30.0 && clock.share().is_some_and(|share| (0.5..0.9).contains(&share)));
        assert!(!clock.is_over() && Clock::start(60.0, Some(60.0)).is_over() && !Clock::start(1e9, None).is_over());
    }

    #[test]
    fn dates_have_the_usual_form() {
        assert!(date().is_some_and(|t| t.len() == 20 && t.starts_with("20") && t.ends_with('Z')));
    }
}
