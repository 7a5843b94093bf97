//! The arithmetic under deepgp: vectors, dense algebra, special functions, optimisers and a pool of threads.
//!
//! Nothing here knows of Gaussian processes, reads, prints or keeps state between calls. Results depend on arguments
//! alone: not on the number of threads, nor on how a table is cut into rows.
//!
//! - [`simd`]: code written once and compiled for AVX-512, AVX2 and a portable form; [`simd::Isa`] tells which one
//!   runs.
//! - [`linalg`]: the matrix type [`Mat`], products on register tiles, Cholesky factors with recorded jitter.
//! - [`special`]: the normal distribution and its logarithms, in the tails too.
//! - [`optim`]: Adam, L-BFGS, searches on an interval, roots.
//! - [`pool`]: threads that share short jobs.
//!
//! What each part gains over well-kept crates, and where it loses, was measured: docs/NUMERICS.md.
//!
//! ```
//! use deepgp_numerics::linalg::{Cholesky, Jitter, Mat};
//!
//! let k = Mat::from_fn(3, 3, |i, j| (-0.5 * (i as f64 - j as f64).powi(2)).exp());
//! let chol = Cholesky::with_jitter(&k, Jitter::default(), "K")?;
//! assert!(chol.log_det() < 0.0);
//! # Ok::<(), deepgp_numerics::Error>(())
//! ```

pub mod error;
pub mod linalg;
pub mod optim;
pub mod pool;
pub mod simd;
pub mod special;

pub use error::{Error, Result};
pub use linalg::Mat;
