//! What ends a fit early: the caller's flag, or a limit of time.

use crate::clock::Clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a fit ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The caller asked for it.
    Flag,
    /// The limit of time was reached.
    Time,
}

/// Asked between pieces of work, from any thread. The first answer that it is time to stop stands, so that all who ask
/// agree on the reason.
#[derive(Debug)]
pub struct Stop<'a> {
    flag: &'a AtomicBool,
    clock: Option<Clock>,
    reason: OnceLock<Reason>,
}

impl<'a> Stop<'a> {
    /// Whenever the flag is set.
    pub fn by(flag: &'a AtomicBool) -> Self {
        Self { flag, clock: None, reason: OnceLock::new() }
    }

    /// When the flag is set, or the clock's limit has passed.
    pub(crate) fn by_flag_or_clock(flag: &'a AtomicBool, clock: Clock) -> Self {
        Self { clock: Some(clock), ..Self::by(flag) }
    }

    /// Why it is time to stop, if it is.
    pub fn now(&self) -> Option<Reason> {
        self.reason.get().copied().or_else(|| {
            let is_late = || self.clock.is_some_and(|clock| clock.is_over());
            let reason = match self.flag.load(Ordering::Relaxed) {
                true => Reason::Flag,
                false if is_late() => Reason::Time,
                false => return None,
            };
            Some(*self.reason.get_or_init(|| reason))
        })
    }

    /// The reason to stop that was given, if any was.
    pub fn reason(&self) -> Option<Reason> {
        self.reason.get().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stands() {
        let flag = AtomicBool::new(false);
        let (plain, late) = (Stop::by(&flag), Stop::by_flag_or_clock(&flag, Clock::start(2.0, Some(1.0))));
        assert_eq!((plain.now(), late.reason(), late.now()), (None, None, Some(Reason::Time)));
        flag.store(true, Ordering::Relaxed);
        assert_eq!((late.now(), plain.reason(), plain.now()), (Some(Reason::Time), None, Some(Reason::Flag)));
    }
}
