//! The set of values that a target can take.

/// The set of values that a target can take.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Support {
    /// Every real number.
    Real,
    /// Every positive number.
    Positive,
    /// Every number strictly between two.
    Interval {
        /// The lower end.
        low: f64,
        /// The upper end.
        high: f64,
    },
    /// The whole numbers 0, 1, 2, ….
    Whole,
    /// The labels −1 and +1.
    Signs,
    /// The labels 0, 1, …, one less than this.
    Labels(usize),
}

impl Support {
    /// Whether a target can take the value.
    pub fn contains(self, y: f64) -> bool {
        y.is_finite()
            && match self {
                Support::Real => true,
                Support::Positive => y > 0.0,
                Support::Interval { low, high } => low < y && y < high,
                Support::Whole => y >= 0.0 && y.fract() == 0.0,
                Support::Signs => y.abs() == 1.0,
                Support::Labels(n) => y >= 0.0 && y < n as f64 && y.fract() == 0.0,
            }
    }

    /// Whether single values have probabilities, so that a density is one.
    pub fn is_discrete(self) -> bool {
        match self {
            Support::Real | Support::Positive | Support::Interval { .. } => false,
            Support::Whole | Support::Signs | Support::Labels(_) => true,
        }
    }

    /// All values of a finite set, in order; empty for an infinite one.
    pub fn values(self) -> Vec<f64> {
        match self {
            Support::Signs => vec![-1.0, 1.0],
            Support::Labels(n) => (0..n).map(|label| label as f64).collect(),
            Support::Real | Support::Positive | Support::Interval { .. } | Support::Whole => Vec::new(),
        }
    }

    /// What would be allowed, as a clause for messages.
    pub fn requirement(self) -> &'static str {
        match self {
            Support::Real => "it must be a number",
            Support::Positive => "it must be positive",
            Support::Interval { .. } => "it must lie strictly inside the interval of the likelihood",
            Support::Whole => "it must be one of 0, 1, 2, …",
            Support::Signs => "a label must be −1 or +1",
            Support::Labels(_) => "a label must be one of 0, 1, 2, …, below the number of classes",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_support_knows_what_it_contains() {
        let cases = [
            (Support::Real, [true, true, true, true, true]),
            (Support::Positive, [false, false, true, true, true]),
            (Support::Interval { low: -1.0, high: 1.0 }, [false, true, true, false, false]),
            (Support::Whole, [false, true, false, true, true]),
            (Support::Signs, [true, false, false, true, false]),
            (Support::Labels(2), [false, true, false, true, false]),
        ];
        for (support, expected) in cases {
            assert_eq!([-1.0, 0.0, 0.5, 1.0, 2.0].map(|y| support.contains(y)), expected, "{support:?}");
            assert!(support.values().iter().all(|y| support.contains(*y)), "{support:?}");
            assert!([f64::NAN, f64::INFINITY].iter().all(|y| !support.contains(*y)), "{support:?}");
        }
    }
}
