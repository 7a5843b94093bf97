//! What a deep Gaussian process has learnt.
pub mod plot;
