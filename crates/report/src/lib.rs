//! What a deep Gaussian process has learnt, as one HTML page with figures in SVG and PNG.
//!
//! [`from_model`] asks a model for everything that a [`Report`] shows; the report turns it into figures
//! ([`Report::sections`]), a page ([`Report::html`]) and files ([`Report::write_figures`]). The plotting core,
//! [`plot`], knows nothing of models and draws other figures as well.
//!
//! ```
//! use deepgp_task::{Config, Model};
//! use deepgp_report::{Source, Training, from_model};
//!
//! let (x, y) = deepgp_datasets::builtin::step(60, 0.1, 1);
//! let mut config = Config::default();
//! (config.architecture.n_inducing, config.train.iterations) = (10, 50);
//! let (model, _) = Model::fit(&x, &y, &config, &mut ())?;
//! let (features, targets) = (["position".into()], ["height".into()]);
//! let source = Source { x: &x, y: &y, features: &features, targets: &targets, labels: &[], info: None };
//! let report = from_model("A step", &model, source, Training::default())?;
//! assert!(report.html().contains("position"));
//! # Ok::<(), deepgp::Error>(())
//! ```

mod figures;
mod files;
mod from_model;
mod hidden;
mod html;
pub mod page;
pub mod plot;
mod probe;
mod report;
mod slopes;
mod stats;

pub use figures::{Part, Section};
pub use from_model::{Source, Training, from_model};
pub use report::{
    Better, CurvePoint, HiddenCloud, HiddenNet, HiddenPath, LabelResults, LayerView, Report, ScoreTable, Slice,
    Surface, TargetResults, UnitUse,
};
pub use slopes::mean_square_slopes;
