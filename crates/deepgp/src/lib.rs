//! Deep Gaussian processes trained by stochastic expectation propagation and probabilistic backpropagation.
//!
//! The maths of the project and nothing else: no files, clock, printing, or global state but constant tables. The
//! method is that of Bui, Hernández-Lobato, Li, Hernández-Lobato and Turner (2015). `docs/paper-map.md` in the
//! repository leads from each of its equations to the function that computes it (a test keeps the map true),
//! `docs/GLOSSARY.md` from each letter to its identifier, and `docs/DESIGN.md` gives reasons. For data in their own
//! units there is the crate `deepgp-task`.
//!
//! # Example
//!
//! A network is given its starting values by [`init::network`], trained by a [`Trainer`] and used through an immutable
//! [`Predictor`]. Inputs and targets are matrices with a row per observation; they are expected to be standardised.
//!
//! ```
//! use deepgp::likelihood::Gaussian;
//! use deepgp::{Architecture, Data, Likelihood, Mat, Trainer, init, train};
//! use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
//!
//! let x = Mat::from_fn(40, 1, |n, _| n as f64 / 10.0 - 2.0);
//! let y = Mat::from_fn(40, 1, |n, _| if n < 20 { -1.0 } else { 1.0 });
//!
//! let shape = Architecture { hidden: vec![1], n_inducing: 8, ..Architecture::default() };
//! let likelihood = Likelihood::Gaussian(Gaussian::isotropic(1, 0.01));
//! let (network, _events) = init::network(&x, likelihood, &shape, &mut ChaCha8Rng::seed_from_u64(1))?;
//!
//! let settings = train::TrainSettings { iterations: 300, batch_size: 20, ..train::TrainSettings::default() };
//! let mut trainer = Trainer::new(network, Data::new(&x, &y), settings)?;
//! let outcome = trainer.run(&mut ());
//! assert!(outcome.energy.is_finite());
//!
//! let prediction = trainer.predictor()?.predict(&x)?;
//! assert!(prediction.y.mean[(0, 0)] < prediction.y.mean[(39, 0)]);
//! # Ok::<(), deepgp::Error>(())
//! ```
//!
//! # Where things are
//!
//! A run reads from left to right: rows of a [`Mat`] ([`data`]), [`batches`], [`layer`] after layer over [`kernel`] expectations,
//! [`likelihood`] (log Z), and back through the same stations ([`mod@pass`]); an engine ([`infer`]) moves the factors
//! ([`gauss`]) and Adam ([`numerics::optim`]) the parameters ([`param`]), driven by [`train`]. [`predict`] is for
//! afterwards. Matrices and vectors come from [`numerics`].

pub mod batches;
pub mod closed;
pub mod data;
pub mod error;
mod fitted;
pub mod gauss;
pub mod infer;
pub mod init;
pub mod kernel;
pub mod layer;
pub mod likelihood;
pub mod network;
pub mod param;
pub mod pass;
pub mod predict;
pub mod train;

pub use data::Data;
pub use deepgp_numerics::{self as numerics, Mat};
pub use error::{Error, Result};
pub use fitted::Fitted;
pub use infer::{Engine, Event};
pub use init::Architecture;
pub use kernel::Kernel;
pub use layer::{Layer, Mean};
pub use likelihood::Likelihood;
pub use network::DeepGp;
pub use predict::{Points, Prediction, Predictor};
pub use train::{Observer, Outcome, Snapshot, Trainer};
