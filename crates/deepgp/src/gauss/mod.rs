//! The two kinds of Gaussians: over a layer's inducing outputs, and of the points that flow between layers.

mod diag;
mod natural;

pub use diag::DiagGaussian;
pub use natural::{Factor, FullGaussian, FullGaussianBar, PivotScratch};
