//! How much memory hostile files can make a reader take; one test alone, since memory belongs to the process.
#![cfg(target_os = "linux")]

use deepgp_io::{FormatError, Kind, decode, seal};
use serde::de::IgnoredAny;

/// The most memory that this process has had, in MiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).expect("a number").parse::<usize>().expect("a number") / 1024
}

#[test]
fn the_largest_header_takes_less_than_a_gigabyte() {
    let before = peak();
    let most = (16 << 20) - 64;
    for unit in ["0,", "[0],", "{\"\":0},"] {
        let text = format!("{{\"deepgp\":\"\",\"body\":[{}0]}}", unit.repeat((most - 30) / unit.len()));
        let bytes = seal(Kind::Model, text.as_bytes(), &[]);
        let result = decode::<Vec<IgnoredAny>>(Kind::Model, &bytes);
        assert!(result.is_ok(), "{unit}: {result:?}");
        // Measured: 240 MiB for the first, 560 for the second.
        assert!(peak() - before < 1024, "{unit}: {} MiB", peak() - before);
    }
    // One byte too many is refused unread.
    let long = " ".repeat(17 << 20);
    assert!(matches!(
        decode::<u8>(Kind::Model, &seal(Kind::Model, long.as_bytes(), &[])),
        Err(FormatError::Invalid { .. })
    ));
}
