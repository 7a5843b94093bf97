//! What deepgp-numerics gains over well-kept crates: see docs/NUMERICS.md.
//!
//! `deepgp-numerics-bench [OUT.jsonl] [GROUP …]` times everything, or the groups that are named, prints Markdown and
//! appends a JSON line for each comparison.

#[cfg(feature = "all")]
mod factors;
#[cfg(feature = "all")]
mod minima;
#[cfg(feature = "all")]
mod products;
mod record;
#[cfg(feature = "all")]
#[rustfmt::skip]
mod reference;
#[cfg(feature = "all")]
mod special;
#[cfg(feature = "all")]
mod threads;
mod turns;
mod vectors;

use record::Record;
use std::io::Write as _;

type Group = fn(&mut Record);

/// Has the allocator keep what is given back: crates that ask for memory in every call would otherwise pay, in some runs
/// and not in others, for pages that the system takes away and clears.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep_memory() {
    unsafe extern "C" {
        safe fn mallopt(parameter: i32, value: i32) -> i32;
    }
    const TRIM_THRESHOLD: i32 = -1;
    const MMAP_THRESHOLD: i32 = -3;
    mallopt(TRIM_THRESHOLD, i32::MAX);
    mallopt(MMAP_THRESHOLD, 32 << 20);
}

fn main() -> std::io::Result<()> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    keep_memory();
    let mut args = std::env::args().skip(1);
    let out = args.next();
    let wanted: Vec<String> = args.collect();
    let mut record = Record::new(if cfg!(feature = "all") { "portable" } else { "native" });
    #[cfg(feature = "all")]
    let groups: [(&str, Group); 6] = [
        ("vectors", vectors::measure),
        ("products", products::measure),
        ("factors", factors::measure),
        ("special", special::measure),
        ("minima", minima::measure),
        ("threads", threads::measure),
    ];
    #[cfg(not(feature = "all"))]
    let groups: [(&str, Group); 1] = [("vectors", vectors::measure)];
    for (name, measure) in groups {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            record.group(name);
            measure(&mut record);
        }
    }
    record.flush();
    if let Some(out) = out {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(out)?;
        for line in &record.lines {
            writeln!(file, "{line}")?;
        }
    }
    Ok(())
}

/// Numbers between −½ and ½ that are the same in every run.
pub fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    std::iter::repeat_with(next).take(n).collect()
}
