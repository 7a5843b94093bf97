//! The search: which model suits these rows, with nothing to tune.
//!
//! Candidates (exact and sparse GPs, smooth and rough; narrow deep GPs; wide ones with a linear mean; all of them with
//! indicators of inputs that take few values and with a transformed target, too, if that pays for a plain GP) are
//! compared by the log density of rows they were not trained on: all of them on one fold, the better ones on all folds,
//! the best with more inducing inputs and other powers α as long as that pays. What is left is mixed with the weights
//! that suit those rows best, and trained on all rows. The answer depends on data, settings and seed alone, not on the
//! clock or the number of threads.
//!
//! ```
//! use deepgp_fit::search::{Memory, SearchSettings, search};
//! use deepgp_fit::Stop;
//! use std::sync::atomic::AtomicBool;
//!
//! let (x, y) = deepgp_datasets::builtin::step(60, 0.1, 1);
//! let settings = SearchSettings { effort: 0.05, ..SearchSettings::default() };
//! let data = deepgp_task::StandardisedData::new(x.clone(), y.clone())?;
//! let never = AtomicBool::new(false);
//! let found = search(&data, &settings, &Memory::default(), &Stop::by(&never), &mut |_| ())?;
//! assert!(found.tried.len() >= 4 && found.model(&data)?.score(&x, &y)?.rmse().is_some_and(|rmse| rmse < 0.3));
//! # Ok::<(), deepgp::Error>(())
//! ```

mod candidate;
mod comparison;
mod cross_validation;
mod folds;
mod memory;
mod settings;
mod stack;
mod stages;
mod trial;

pub use candidate::{Candidate, Design, Form, MOST_EXACT_ROWS};
pub use cross_validation::CrossValidated;
pub use memory::Memory;
pub use settings::SearchSettings;
pub use stages::{SearchResult, search, train_design};
