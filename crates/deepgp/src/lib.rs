//! Deep Gaussian processes trained by stochastic expectation propagation and probabilistic backpropagation.

pub mod error;
pub mod kernel;
pub mod linalg;
pub mod param;

pub use error::{Error, Result};
