//! How the learning rate changes in the course of training.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Multiplier of the learning rate as a function of the share t ∈ [0, 1] of training that is done.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// 1 throughout (the paper's setting).
    Constant,
    /// ½ (1 + cos πt), down to 1 % at the end.
    #[default]
    Cosine,
    /// From 1 down to this value, geometrically.
    Exponential(f64),
    /// 1 for the first share of training given here, then linearly down to 1 % at the end.
    HoldThenLinear(f64),
}

/// The lowest multiplier of the schedules that fall towards zero.
const LEAST: f64 = 0.01;

impl Schedule {
    /// The multiplier at share `t`, clamped to [0, 1].
    pub fn factor(self, t: f64) -> f64 {
        let t = t.clamp(0.0, 1.0);
        match self {
            Schedule::Constant => 1.0,
            Schedule::Cosine => LEAST + (1.0 - LEAST) * 0.5 * (1.0 + (std::f64::consts::PI * t).cos()),
            Schedule::Exponential(last) => last.powf(t),
            Schedule::HoldThenLinear(hold) => {
                if t <= hold {
                    1.0
                } else {
                    1.0 - (1.0 - LEAST) * (t - hold) / (1.0 - hold)
                }
            }
        }
    }

    /// Checks the schedule's own number.
    ///
    /// # Errors
    /// [`Error::Parameter`] if it is outside (0, 1] (exponential) or [0, 1) (hold).
    pub fn check(self) -> Result<()> {
        let (name, value, ok) = match self {
            Schedule::Constant | Schedule::Cosine => return Ok(()),
            Schedule::Exponential(last) => ("exponential schedule", last, last > 0.0 && last <= 1.0),
            Schedule::HoldThenLinear(hold) => ("hold of the schedule", hold, (0.0..1.0).contains(&hold)),
        };
        let requirement = "it must lie between 0 and 1";
        if ok { Ok(()) } else { Err(Error::Parameter { name, entry: None, value, requirement }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_start_at_one_and_never_rise() {
        for s in [Schedule::Constant, Schedule::Cosine, Schedule::Exponential(0.1), Schedule::HoldThenLinear(0.5)] {
            s.check().expect("valid");
            assert_eq!(s.factor(0.0), 1.0, "{s:?}");
            let mut last = 1.0;
            for i in 1..=100 {
                let f = s.factor(i as f64 / 100.0);
                assert!(f <= last && f > 0.0, "{s:?} at {i}: {f}");
                last = f;
            }
        }
        assert!(Schedule::Exponential(0.0).check().is_err());
        assert!(Schedule::HoldThenLinear(1.0).check().is_err());
    }
}
