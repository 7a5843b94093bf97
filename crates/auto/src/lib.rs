//! The automatic mode: which model suits these rows, with nothing to tune.
//!
//! Candidates (exact and sparse GP, small deep GPs, wide ones with a linear mean) are compared by the log density of rows they
//! were not trained on: all of them for a few steps, the better half for many, the best with more inducing inputs and other
//! powers α as long as that pays. What is left is mixed with the weights that suit those rows best, and trained again on all
//! rows. The answer depends on data, settings and seed alone, not on the clock.
//!
//! ```
//! let (x, y) = deepgp_data::builtin::step(60, 0.1, 1);
//! let settings = deepgp_auto::Settings { effort: 0.05, ..deepgp_auto::Settings::default() };
//! let found = deepgp_auto::fit(&x, &y, &settings, &|_| std::ops::ControlFlow::Continue(()))?;
//! assert!(found.trials.len() >= 4 && found.model()?.score(&x, &y)?.rmse < 1.0);
//! # Ok::<(), deepgp::Error>(())
//! ```

mod candidate;
mod folds;
mod search;
mod trial;

pub use candidate::{Candidate, Shape};
pub use search::{Found, Settings, fit};
pub use trial::Trial;
