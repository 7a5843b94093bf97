//! The format: every bit survives, and nothing that is not a whole file is taken for one.

use deepgp_io::{FormatError, Kind, decode, encode, seal, unseal};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One of everything that serde knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Everything {
    yes: bool,
    large: u64,
    negative: i64,
    single: f64,
    floats: Vec<f64>,
    none: Option<f64>,
    some: Option<Vec<f64>>,
    nested: Vec<Vec<f64>>,
    words: Vec<String>,
    counts: Vec<usize>,
    mixed: Vec<(usize, f64)>,
    fixed: [f64; 2],
    choices: Vec<Choice>,
    tagged: Vec<Tagged>,
    map: BTreeMap<String, Vec<f64>>,
    letter: char,
    unit: (),
    empty: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Choice {
    Nothing,
    One(f64),
    Array(Vec<f64>),
    Two(u8, Vec<f64>),
    Named { x: f64, list: Vec<f64> },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is")]
enum Tagged {
    Nothing,
    Named { x: f64, list: Vec<f64> },
}

fn everything() -> Everything {
    Everything {
        yes: true,
        large: u64::MAX,
        negative: i64::MIN,
        single: -0.0,
        floats: vec![0.1, -0.0, 5e-324, f64::MAX, f64::MIN_POSITIVE / 3.0],
        none: None,
        some: Some(vec![1.0]),
        nested: vec![vec![1.0], vec![], vec![2.0, 3.0]],
        words: vec!["naïve \"quoted\"\n\u{0}".into(), String::new()],
        counts: vec![1, 2, 3],
        mixed: vec![(1, 0.1), (2, -0.0)],
        fixed: [1e-300, 1e300],
        choices: vec![
            Choice::Nothing,
            Choice::One(0.3),
            Choice::Array(vec![0.1, 0.2]),
            Choice::Two(7, vec![8.0]),
            Choice::Named { x: -1.5, list: vec![4.0] },
        ],
        tagged: vec![Tagged::Nothing, Tagged::Named { x: 1.0, list: vec![2.0, 3.0] }],
        map: [("a".to_owned(), vec![1.0]), ("b".to_owned(), vec![])].into(),
        letter: 'λ',
        unit: (),
        empty: vec![],
    }
}

/// Bits as text: 0 and −0 differ.
fn show(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

#[test]
fn everything_comes_back_to_the_last_bit() {
    let value = everything();
    let bytes = encode(Kind::Model, &value).expect("a file");
    let back: Everything = decode(Kind::Model, &bytes).expect("a value");
    assert_eq!(show(&back), show(&value));
    assert_eq!(encode(Kind::Model, &back), Ok(bytes), "one value, one file");
}

#[test]
fn arrays_of_numbers_stand_outside_the_text() {
    let bytes = encode(Kind::Model, &vec![1.5, 2.5, -3.5]).expect("a file");
    let (json, floats) = unseal(&bytes).expect("a file");
    let text = std::str::from_utf8(json).expect("text");
    assert_eq!(text.trim_end(), format!(r#"{{"deepgp":"{}","body":{{"$f64":[0,3]}}}}"#, env!("CARGO_PKG_VERSION")));
    assert_eq!(floats, [1.5_f64, 2.5, -3.5].map(f64::to_le_bytes).as_flattened());
    assert_eq!(bytes.len(), 32 + json.len() + 24 + 4);
}

#[test]
fn numbers_that_are_not_finite_are_for_checkpoints() {
    let value = (f64::INFINITY, vec![f64::NAN, 1.0], Some(f64::NEG_INFINITY));
    let bytes = encode(Kind::Checkpoint, &value).expect("a file");
    let back: (f64, Vec<f64>, Option<f64>) = decode(Kind::Checkpoint, &bytes).expect("a value");
    assert_eq!(show(&back), show(&value));
    assert!(matches!(encode(Kind::Model, &value.0), Err(FormatError::Unwritable { .. })));
    assert!(matches!(encode(Kind::Model, &value.1), Err(FormatError::Unwritable { .. })));
    let (json, floats) = unseal(&bytes).expect("a file");
    let forged = decode::<(f64, Vec<f64>, Option<f64>)>(Kind::Model, &seal(Kind::Model, json, floats));
    assert!(matches!(forged, Err(FormatError::Invalid { .. })));
}

#[test]
fn every_prefix_is_refused() {
    let bytes = encode(Kind::Model, &everything()).expect("a file");
    for length in 0..bytes.len() {
        let refused = decode::<Everything>(Kind::Model, &bytes[..length]);
        match length {
            0 => assert_eq!(refused, Err(FormatError::NotADeepgpFile { looks_like: Some("an empty file") })),
            _ => {
                let expected = if length < 32 { 36 } else { bytes.len() as u64 };
                assert_eq!(refused, Err(FormatError::Truncated { expected, found: length as u64 }), "{length}");
            }
        }
    }
    let longer = [&bytes[..], b"\0"].concat();
    assert!(matches!(decode::<Everything>(Kind::Model, &longer), Err(FormatError::Invalid { .. })));
}

#[test]
fn every_changed_byte_is_seen() {
    let bytes = encode(Kind::Model, &everything()).expect("a file");
    for at in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff, 0x20] {
            let mut changed = bytes.clone();
            changed[at] ^= mask;
            let error = decode::<Everything>(Kind::Model, &changed).expect_err("a change");
            // Magic, version and lengths are looked at before the checksum.
            assert!(
                at < 8 || (12..32).contains(&at) || matches!(error, FormatError::Corrupted { .. }),
                "{at}: {error}"
            );
        }
    }
}

#[test]
fn kinds_and_versions_are_told_apart() {
    let bytes = encode(Kind::Checkpoint, &1_u8).expect("a file");
    let wrong = decode::<u8>(Kind::Model, &bytes).expect_err("a checkpoint");
    assert_eq!(wrong, FormatError::WrongKind { expected: Kind::Model, found: Kind::Checkpoint });
    assert_eq!(wrong.to_string(), "this is a checkpoint of an unfinished run, not a model file");
    let mut newer = bytes.clone();
    newer[12] = 2;
    assert_eq!(decode::<u8>(Kind::Model, &newer), Err(FormatError::NewerVersion { found: 2, supported: 1 }));
    newer[12] = 0;
    assert!(matches!(decode::<u8>(Kind::Model, &newer), Err(FormatError::Invalid { .. })));
}

#[test]
fn foreign_files_are_named() {
    for (bytes, expected) in [
        (&b"x,y\n1,2\n"[..], Some("a CSV table")),
        (b"x\ty\n", Some("a CSV table")),
        (b"hello world\n", Some("a text file")),
        (b"{\"a\": 1}", Some("JSON")),
        (b"\x1f\x8b\x08\0\0\0\0\0", Some("a gzip file")),
        (b"PAR1\x15\x04\x15\x10", Some("a Parquet file")),
        (b"PK\x03\x04\x14\0\0\0", Some("a zip archive")),
        (b"\x93NUMPY\x01\0v\0", Some("a NumPy array")),
        (b"\x89DGP\n\x1a\n\0", Some("a deepgp file that a transfer in text mode has changed")),
        (b"\0\x01\x02\x03\x04\x05\x06\x07", None),
        (b"\x89PNG\r\n\x1a\n", None),
    ] {
        let found = decode::<u8>(Kind::Model, bytes);
        assert_eq!(found, Err(FormatError::NotADeepgpFile { looks_like: expected }), "{}", bytes.escape_ascii());
    }
}

/// A model file whose body is this JSON, with 10 floats.
fn with_body(body: &str) -> Vec<u8> {
    let json = format!(r#"{{"deepgp":"0","body":{body}}}"#);
    seal(Kind::Model, json.as_bytes(), [0.5_f64; 10].map(f64::to_le_bytes).as_flattened())
}

#[track_caller]
fn refused<T: DeserializeOwned + std::fmt::Debug>(body: &str, part: &str) {
    let error = decode::<T>(Kind::Model, &with_body(body)).expect_err(body);
    assert!(matches!(error, FormatError::Invalid { .. }) && error.to_string().contains(part), "{body}: {error}");
}

#[test]
fn hostile_headers_get_an_answer() {
    // Lengths that no file has, with no such file behind them.
    let mut bytes = with_body("1");
    for claim in [u64::MAX, u64::MAX / 8, 1 << 60, 1 << 40] {
        bytes[24..32].copy_from_slice(&claim.to_le_bytes());
        let error = decode::<u8>(Kind::Model, &bytes).expect_err("a claim");
        assert!(matches!(error, FormatError::Truncated { .. } | FormatError::Invalid { .. }), "{error}");
    }
    let mut bytes = with_body("1");
    for claim in [u64::MAX, 1 << 40, 1 << 25] {
        bytes[16..24].copy_from_slice(&claim.to_le_bytes());
        assert!(matches!(decode::<u8>(Kind::Model, &bytes), Err(FormatError::Invalid { .. })));
    }
    // References to floats that are not there, or too often to those that are.
    refused::<Vec<f64>>(r#"{"$f64":[0,11]}"#, "body: 11 floats from 0 on");
    refused::<Vec<f64>>(r#"{"$f64":[10,1]}"#, "the file holds 10");
    refused::<Vec<f64>>(r#"{"$f64":[18446744073709551615,1]}"#, "more than any file holds");
    refused::<Vec<f64>>(r#"{"$f64":[2305843009213693952,1]}"#, "more than any file holds");
    refused::<Vec<f64>>(r#"{"$f64":[0,1,2]}"#, "a start and a count");
    refused::<Vec<f64>>(r#"{"$f64":[0,-1]}"#, "a start and a count");
    refused::<Vec<Vec<f64>>>(r#"[{"$f64":[0,6]},{"$f64":[0,6]}]"#, "more floats are referred to");
    refused::<(f64, f64)>(r#"{"$f64":[0,3]}"#, "too many numbers");
    // JSON that is none, too deep, or of another shape.
    refused::<u8>("", "expected value");
    refused::<u8>("1}, {", "");
    refused::<u8>("256", "body: invalid value");
    refused::<u8>("1e400", "out of range");
    refused::<Vec<u8>>(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), "recursion limit");
    refused::<u8>(&format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000)), "recursion limit");
    refused::<(u8, u8)>("[1,2,3]", "too many");
    refused::<Choice>(r#"{"One":1.0,"Nothing":null}"#, "one choice");
    refused::<Choice>(r#"{"Nothing":1}"#, "carries nothing");
    refused::<Choice>(r#""Three""#, "unknown variant");
    refused::<Choice>(r#"{"Named":[1.0,[2.0]]}"#, "fields of a choice");
    refused::<Tagged>(r#"{"is":"Named","is":"Nothing"}"#, "");
    refused::<f64>(r#""NaN""#, "must be finite");
    refused::<f64>(r#""1.0""#, "invalid type");
    // Fields of a later version are passed over, with the floats they refer to.
    #[derive(Debug, PartialEq, Deserialize)]
    struct Small {
        a: Vec<f64>,
    }
    let later = with_body(r#"{"new":{"$f64":[0,10]},"a":{"$f64":[2,3]},"newer":[{}]}"#);
    assert_eq!(decode(Kind::Model, &later), Ok(Small { a: vec![0.5; 3] }));
}

proptest! {
    #[test]
    fn any_floats_survive(values in prop::collection::vec(any::<u64>(), 0..50), single in any::<f64>()) {
        let values: Vec<f64> = values.into_iter().map(f64::from_bits).collect();
        let bytes = encode(Kind::Checkpoint, &(&values, single))?;
        let (back, back_single): (Vec<f64>, f64) = decode(Kind::Checkpoint, &bytes)?;
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&back), bits(&values));
        prop_assert!(back_single.to_bits() == single.to_bits() || single.is_nan() && back_single.is_nan());
    }

    #[test]
    fn any_bytes_get_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200), json in ".{0,80}") {
        prop_assert!(decode::<Everything>(Kind::Model, &bytes).is_err());
        prop_assert!(decode::<Everything>(Kind::Model, &seal(Kind::Model, &bytes, &bytes)).is_err());
        prop_assert!(decode::<Everything>(Kind::Model, &seal(Kind::Model, json.as_bytes(), &bytes)).is_err());
    }
}
