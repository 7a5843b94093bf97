//! Data for deep Gaussian processes: tables, splits, standardisation, and built-in sets.

pub mod builtin;
mod error;
mod source;
mod splits;
mod standardise;
mod table;

pub use error::{Error, Result};
pub use splits::{read_splits, train_test};
pub use standardise::Standardiser;
pub use table::Table;
