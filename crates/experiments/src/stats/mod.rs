//! Statistics of repeated runs: summaries, paired comparisons, ranks.

mod paired;
mod ranks;
mod student;
mod summary;
mod wilcoxon;

pub use paired::{Paired, SIGNIFICANCE, Verdict};
pub use ranks::mid_ranks;
pub use student::two_sided;
pub use summary::{Summary, median_deviation};
pub use wilcoxon::signed_rank;
