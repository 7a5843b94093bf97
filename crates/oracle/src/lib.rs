//! Test instruments on plain closures: central differences, quadrature, Monte Carlo, and one table of tolerances.
//!
//! Nothing here knows a type of the library under test, so nothing can agree with it by construction.

mod difference;
mod integrate;
mod tolerance;

pub use difference::{assert_gradient, gradient};
pub use integrate::{MonteCarlo, normal_expectation};
pub use tolerance::{Tolerance, assert_all_close, assert_close};
