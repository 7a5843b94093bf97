//! First-order optimisation of a flat vector; it has never heard of a Gaussian process.

mod adam;
mod schedule;

pub use adam::Adam;
pub use schedule::Schedule;
