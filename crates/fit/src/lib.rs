//! The workflow of a fit: holding rows out, searching for a model or training a given network, early stopping,
//! checkpoints, resuming and limits of time. It prints nothing and installs no signal handlers: what happens comes out
//! as [`Event`]s, and a flag stops it.
//!
//! Data flow one way: [`FitSettings`] (what was said) are checked once and become a [`Plan`]; a [`Fit`] reads the table
//! by it, and [`Fit::run`] gives a [`FitResult`].
//!
//! ```
//! use deepgp_data::Source;
//! use deepgp_fit::{Event, Fit, FitSettings, Plan};
//! use std::sync::atomic::AtomicBool;
//!
//! # let folder = std::env::temp_dir().join(format!("deepgp-fit-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let rows: String = (0..80).map(|i| format!("{i},{}\n", (0.1 * i as f64).sin())).collect();
//! let source = Source::from_bytes("wave.csv", format!("x,y\n{rows}").into_bytes());
//! let settings = FitSettings {
//!     data: Some("wave.csv".into()),
//!     out: Some(folder.join("wave.deepgp")),
//!     effort: Some(0.02),
//!     ..FitSettings::default()
//! };
//! let mut on_event = |event: Event<'_>| {
//!     if let Event::Tried(tried) = event {
//!         println!("{}: {:?}", tried.name, tried.mean_log_density);
//!     }
//! };
//! let fit = Fit::new(Plan::new(&settings)?, &source, &mut on_event)?;
//! let result = fit.run(&AtomicBool::new(false), &mut on_event)?;
//! assert!(result.told_scores().is_some_and(|scores| scores.rmse().is_some_and(|rmse| rmse < 0.3)));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! A fit that was stopped leaves a checkpoint beside its model file, from which [`Interrupted::load`] and
//! [`Fit::resume`] go on to the same bits. The search alone, on rows in memory, is [`search::search`].
//!
//! With the feature `clap`, the settings are a command's options as well: name, help, type and default of each stand in
//! one place.

mod checkpoint;
mod clock;
mod error;
mod event;
mod fit;
mod held_out;
pub mod names;
mod output;
mod parts;
mod plan;
mod preview;
mod result;
pub mod search;
mod search_checkpoint;
mod search_run;
mod settings;
mod stop;
mod target;
mod target_error;
mod training_data;
mod training_run;
pub mod values;

pub use checkpoint::Interrupted;
pub use error::{Error, OutputError, Result, SettingsError};
pub use event::{Done, Event, OnEvent, Progress};
pub use fit::Fit;
pub use held_out::{row_info, targets};
pub use parts::{PART_ROWS, for_parts};
pub use plan::{Plan, checkpoint_of, search_settings};
pub use preview::Preview;
pub use result::{Ending, FitResult, Remark};
pub use settings::{FitSettings, ModelSettings, RowSettings, TableSettings, positive, threads};
pub use stop::{Reason, Stop};
pub use target::TargetChoice;
pub use target_error::TargetError;
