//! Measurements: accuracy on standard splits, and speed against the machine's own ceilings.

mod cost;
mod peers;
mod speed;
mod splits;

pub use speed::speed;
pub use splits::splits;
