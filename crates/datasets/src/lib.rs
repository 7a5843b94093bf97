//! Benchmark data sets by name: what is known of them, their standard splits, and a folder that keeps them.
//!
//! The values of a set are recognised by a checksum ([`values_sha256`]), so it does not matter which file they came
//! from. The standard splits are made by rule ([`standard_splits`]); published ones are kept with the data.
//!
//! ```
//! use deepgp_datasets::{Set, Store};
//!
//! let boston = Set::find("boston")?;
//! assert_eq!((boston.rows, boston.n_features(), boston.n_splits), (506, 13, 20));
//!
//! let store = Store::open("no/such/folder");
//! let complaint = store.load("boston").unwrap_err().to_string();
//! assert_eq!(
//!     complaint,
//!     "boston is not in no/such/folder: `deepgp data fetch boston` or `deepgp data import FOLDER`"
//! );
//! # Ok::<(), deepgp_datasets::Error>(())
//! ```

pub mod builtin;
mod checksum;
mod dataset;
#[cfg(feature = "fetch")]
mod download;
mod error;
#[cfg(feature = "fetch")]
mod fetch;
mod import;
mod mt19937;
#[cfg(feature = "fetch")]
mod recipe;
mod registry;
mod set;
mod sets;
mod splits;
mod store;
mod write;

pub use checksum::{splits_sha256, values_sha256};
pub use dataset::Dataset;
#[cfg(feature = "fetch")]
pub use download::Patience;
pub use error::{Error, Result};
#[cfg(feature = "fetch")]
pub use fetch::{FetchOptions, MIRROR_VARIABLE, PUBLIC_BASE, Progress};
pub use import::Found;
pub use set::{Columns, Home, Set, SplitRule, Task};
pub use splits::{n_training_rows, standard_splits};
pub use store::Store;
