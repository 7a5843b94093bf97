//! The environment of a measurement: program, commit, machine.

use deepgp_numerics::simd::Isa;
use serde::{Deserialize, Serialize};

/// What a measurement was made with. Results do not depend on it, except that another instruction set rounds
/// differently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of the program.
    pub version: String,
    /// The commit that the program was built from, if it is known.
    pub commit: Option<String>,
    /// Processor and number of threads that the system offers.
    pub machine: String,
    /// Vector instructions in use.
    pub instruction_set: String,
}

impl Environment {
    /// The environment of this process.
    pub fn here() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: option_env!("DEEPGP_COMMIT").map(str::to_owned),
            machine: machine(),
            instruction_set: format!("{:?}", Isa::detect()),
        }
    }
}

fn machine() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        info.lines().find_map(|l| l.strip_prefix("model name")?.split_once(':')).map_or("unknown", |(_, m)| m.trim());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {threads} threads")
}
