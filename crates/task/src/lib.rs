//! Regression in the data's own units: standardise, initialise, train, predict.
//!
//! ```
//! use deepgp_task::{Config, Model};
//!
//! let (x, y) = deepgp_datasets::builtin::step(60, 0.1, 1);
//! let mut config = Config::default();
//! config.architecture.n_inducing = 10;
//! config.train.iterations = 200;
//! let (model, outcome) = Model::fit(&x, &y, &config, &mut ())?;
//! let prediction = model.predict(&x)?;
//! assert_eq!(prediction.y.mean.rows(), 60);
//! assert!(prediction.y.var.as_slice().iter().all(|&v| v > 0.0));
//! # Ok::<(), deepgp::Error>(())
//! ```
//! [`Prepared`] is the same in steps, for runs that are watched, stored in a [`Checkpoint`] and resumed; a [`SavedModel`] is
//! what a model file holds.

/// The examples of the README are compiled and run with those of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod calibrate;
mod checkpoint;
mod config;
mod indicators;
mod judged;
mod limits;
mod linear;
mod mixture;
mod model;
mod predictive;
mod prepared;
mod record;
mod saved;
mod scores;
mod standardise;
mod summary;
mod warp;

pub use calibrate::MomentCheck;
pub use checkpoint::{Best, Checkpoint};
pub use config::{Config, Noise};
pub use indicators::Indicators;
pub use judged::Judged;
pub use linear::{LinearModel, baselines};
pub use mixture::{finite_mean, mix_log_densities, stacking_weights};
pub use model::{Member, Model};
pub use predictive::Predictive;
pub use prepared::Prepared;
pub use record::{Curve, CurvePoint, Record, Tried};
pub use saved::{Preprocessing, SavedModel};
pub use scores::{ScoreTally, Scores};
pub use standardise::Standardiser;
pub use summary::Range;
pub use warp::{Warp, WarpKind, unwarp_moments, warp_targets, with_log_slopes};

/// What can go wrong with a model file or a checkpoint.
pub use deepgp_io::{FileError, FormatError};
