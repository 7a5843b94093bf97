//! A small plotting core: a description of a figure, its layout as a list of shapes, and that list as SVG or PNG.
//!
//! ```
//! use deepgp_report::plot::{Axis, Figure, Mark, Panel};
//!
//! let seconds = vec![0.1, 1.0, 10.0];
//! let error = vec![0.9, 0.4, 0.25];
//! let panel = Panel::new("Boston housing", Axis::log("seconds"), Axis::linear("test error"))
//!     .with(Mark::whiskers(seconds.clone(), vec![0.8, 0.35, 0.2], vec![1.0, 0.45, 0.3]))
//!     .with(Mark::line(seconds.clone(), error.clone()).label("deep GP"))
//!     .with(Mark::points(seconds, error));
//! let figure = Figure::new("frontier", "Error against time").with(panel);
//! assert!(figure.svg().starts_with("<svg"));
//! assert_eq!(&figure.png()[1..4], b"PNG");
//! ```

mod colour;
mod figure;
mod font;
mod hexbin;
mod layout;
mod legend;
mod marks;
mod panel;
mod png;
mod render;
mod scale;
mod scene;
mod svg;
mod ticks;

pub use colour::{Ink, N_SERIES};
pub use figure::{Axis, Figure, Mark, Panel, Shape};
pub use marks::MAX_POINTS;
pub use scale::Scale;
pub use scene::{Anchor, Item, Paint, Point, Rect, Scene, Stroke, Text};
pub use ticks::{Ticks, minus, number, superscript};

pub(crate) use colour::css_variables;
pub(crate) use svg::escape;
