//! From a target column to its predictive law and scores, in the data's own units: standardise, initialise, train,
//! predict.
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
//! A [`Task`] says what kind of thing targets are. A model predicts a [`PredictiveLaw`] of each target of a row:
//! moments, quantiles, probabilities, densities and draws of that law itself, whatever it is. [`StandardisedData`] is
//! the same in steps, for runs that are watched, stored in a [`Checkpoint`] and resumed; a [`SavedModel`] is what a
//! model file holds.

/// The examples of the README are compiled and run with those of this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod baselines;
mod calibrate;
mod checkpoint;
mod coding;
mod config;
mod expected_scores;
mod generalised_linear;
mod history;
mod indicators;
mod input_ranges;
mod law;
mod likelihood_choice;
mod linear_model;
mod measures;
mod member;
mod model;
mod model_file;
mod predictive;
mod row_info;
mod scores;
mod size_limits;
mod stacking;
mod standardise;
mod standardised_data;
mod task;
mod warp;

pub use baselines::{Baselines, Linear};
pub use calibrate::MomentCheck;
pub use checkpoint::{Best, Checkpoint};
pub use config::Config;
pub use expected_scores::ExpectedDensity;
pub use generalised_linear::GeneralisedLinear;
pub use history::{CrossValidation, Curve, CurvePoint, Record, Tried};
pub use indicators::Indicators;
pub use input_ranges::Range;
pub use law::{Interval, Level, Normal, PredictiveLaw, mix_log_densities};
pub use likelihood_choice::{ConstantLaw, LikelihoodChoice};
pub use linear_model::LinearModel;
pub use measures::{Better, Measure, Unit};
pub use member::Member;
pub use model::Model;
pub use model_file::{Preprocessing, SavedModel};
pub use predictive::Predictive;
pub use row_info::{RowInfo, Rows};
pub use scores::{
    CountScores, LabelScores, NumberScores, ReliabilityBin, ScoreTally, Scores, label_moments, most_probable,
};
pub use stacking::{finite_mean, stacking_weights};
pub use standardise::Standardiser;
pub use standardised_data::StandardisedData;
pub use task::{MOST_CLASSES, Task};
pub use warp::{Warp, WarpKind, warp_targets, with_log_slopes};

/// What can go wrong with a model file or a checkpoint.
pub use deepgp_io::{FileError, FormatError};
