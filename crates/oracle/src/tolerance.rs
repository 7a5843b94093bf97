//! The one table of tolerances, and assertions that use it.

/// How closely two numbers must agree.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// Same formula, different order of operations: 1e-12 relative.
    Rounding,
    /// Numbers of independent float64 code: 1e-9 relative.
    Value,
    /// Hand-derived derivatives against differences or independent code: 1e-7 of the largest entry.
    Gradient,
    /// Stored numbers of independent code, which are of the size they say: 1e-9 relative.
    Fixture,
    /// Stored derivatives of independent code: 1e-7 of the largest entry.
    FixtureGradient,
    /// Differences of a law whose third derivative jumps, across the jump: 2e-5 of the largest entry.
    AcrossKink,
    /// Closed form against quadrature that has converged: 1e-8 relative.
    Quadrature,
    /// Agreement in the limit of a small quantity, which the test states.
    Limit(f64),
}

impl Tolerance {
    /// Admissible difference, relative to the scale of what is compared.
    pub fn relative(self) -> f64 {
        match self {
            Tolerance::Rounding => 1e-12,
            Tolerance::Value | Tolerance::Fixture => 1e-9,
            Tolerance::Gradient | Tolerance::FixtureGradient => 1e-7,
            Tolerance::AcrossKink => 2e-5,
            Tolerance::Quadrature => 1e-8,
            Tolerance::Limit(bound) => bound,
        }
    }

    /// The least scale: below it differences count as if the numbers were this large.
    pub fn floor(self) -> f64 {
        match self {
            // Numbers that are zero but for rounding, 1e-17, must pass.
            Tolerance::Fixture | Tolerance::FixtureGradient => 1e-6,
            Tolerance::Rounding | Tolerance::Value => 1e-3,
            // Differences have an error of their own, about 1e-11 of the function that is differenced.
            Tolerance::Gradient | Tolerance::AcrossKink | Tolerance::Quadrature | Tolerance::Limit(_) => 1.0,
        }
    }
}

/// Asserts that two numbers agree, relative to the expected one (at least [`Tolerance::floor`]).
///
/// # Panics
/// If they do not, or if either is not finite.
#[track_caller]
pub fn assert_close(what: &str, found: f64, expected: f64, tolerance: Tolerance) {
    assert_all_close(what, &[found], &[expected], tolerance);
}

/// Asserts that two vectors agree entry by entry, relative to the largest expected entry (at least
/// [`Tolerance::floor`]).
///
/// # Panics
/// If they do not, or if an entry is not finite.
#[track_caller]
pub fn assert_all_close(what: &str, found: &[f64], expected: &[f64], tolerance: Tolerance) {
    assert_eq!(found.len(), expected.len(), "{what}: lengths differ");
    let scale = expected.iter().fold(tolerance.floor(), |s, e| s.max(e.abs()));
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        let error = (f - e).abs() / scale;
        assert!(
            error <= tolerance.relative(),
            "{what}[{i}]: found {f:.15e}, expected {e:.15e}, error {error:.1e} of {scale:.3e} exceeds {tolerance:?}"
        );
    }
}
