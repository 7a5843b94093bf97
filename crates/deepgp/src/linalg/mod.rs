//! Dense linear algebra: the only module that knows which library does the arithmetic.

mod chol;
mod dense;
pub(crate) mod hermite;
mod mat;
mod rows;
pub mod tile;
pub mod transpose;
pub mod tri;

pub use crate::simd::{axpy, dot, sum};
pub(crate) use chol::sum_of_logs;
pub use chol::{Cholesky, Jitter};
pub use dense::{Op, mul, symmetric_eigen};
pub use hermite::GaussHermite;
pub use mat::Mat;
pub use rows::{mul_lower_transposed, mul_vec, row_dots};
