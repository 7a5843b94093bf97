//! Optimisation of a flat vector; it has never heard of a Gaussian process.

mod adam;
mod golden;
mod lbfgs;
mod root;
mod schedule;

pub use adam::Adam;
pub use golden::golden_section;
pub use lbfgs::{Minimum, minimise};
pub use root::root;
pub use schedule::Schedule;
