//! Optimisation of a flat vector; it has never heard of a Gaussian process.

mod adam;
mod lbfgs;
mod schedule;

pub use adam::Adam;
pub use lbfgs::{Minimum, minimise};
pub use schedule::Schedule;
