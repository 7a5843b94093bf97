//! Optimisation of a flat vector; it has never heard of a Gaussian process.

mod adam;
mod golden;
mod lbfgs;
mod schedule;

pub use adam::Adam;
pub use golden::golden_section;
pub use lbfgs::{Minimum, minimise};
pub use schedule::Schedule;
