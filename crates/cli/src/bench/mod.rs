//! Measurements: accuracy on standard splits, the paper's experiments, and speed against the machine's own ceilings.

mod auto;
mod check;
mod cost;
mod frontier;
mod laws;
mod machine;
pub mod options;
mod peers;
mod report;
pub mod report_options;
mod sizes;
mod speed;
mod splits;
mod study;
mod table;

pub use auto::auto;
pub use check::check;
pub use frontier::frontier;
pub use laws::laws;
pub use report::report;
pub use speed::speed;
pub use splits::splits;
pub use table::table;
