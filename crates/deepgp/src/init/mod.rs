//! Starting values: inducing inputs, lengthscales and linear maps read off the data.

mod distinct;
mod kmeans;
mod lengthscale;
mod pca;
mod sample;

pub use distinct::distinct_rows;
pub use kmeans::kmeans;
pub use lengthscale::median_distance;
pub use pca::principal_directions;
pub use sample::sample_rows;

mod network;

pub use network::{Architecture, KernelChoice, MeanChoice, network, starting_stream};
