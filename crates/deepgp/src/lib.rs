//! Deep Gaussian processes trained by stochastic expectation propagation and probabilistic backpropagation.

pub mod batches;
pub mod error;
pub mod gauss;
pub mod infer;
pub mod init;
pub mod kernel;
pub mod layer;
pub mod likelihood;
pub mod linalg;
pub mod metrics;
pub mod network;
pub mod optim;
pub mod param;
pub mod pass;
pub mod predict;
pub mod special;
pub mod train;

pub use error::{Error, Result};
