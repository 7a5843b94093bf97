//! Files of pyarrow, polars and DuckDB hold what their writers had in memory, cell by cell.
//!
//! `testdata/tables/write.py` has written them and, apart from them, what must be read.
#![cfg(feature = "columnar")]

use deepgp_data::{Cell, Error, Notice, ReadOptions, Reader, Source, Temporal};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
struct Expected {
    columns: BTreeMap<String, Column>,
    files: BTreeMap<String, File>,
}

/// A kind ("number", "text", one of time, or the name of a type that is refused) and the cells.
#[derive(Deserialize)]
struct Column {
    kind: String,
    cells: Option<Vec<Option<Value>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    /// A text, or an infinity.
    Text(String),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    /// The name of each column and its key.
    Read { rows: usize, columns: Vec<(String, String)> },
    /// A word of the error.
    Refused { error: String },
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables/conformance")
}

fn temporal(kind: &str) -> Option<Temporal> {
    Some(match kind {
        "date" => Temporal::Date,
        "timestamp" => Temporal::Timestamp,
        "local_timestamp" => Temporal::LocalTimestamp,
        "time_of_day" => Temporal::TimeOfDay,
        "duration" => Temporal::Duration,
        _ => return None,
    })
}

/// Whether a cell is what it must be; seconds with a fraction may be off by their last bit.
fn agrees(found: Cell, expected: Option<&Value>, is_time: bool) -> bool {
    match (found, expected) {
        (Cell::Missing, None) => true,
        (Cell::Number(found), Some(Value::Number(expected))) if is_time => {
            (found - expected).abs() <= f64::EPSILON * expected.abs()
        }
        (Cell::Number(found), Some(Value::Number(expected))) => found == *expected,
        (Cell::Number(found), Some(Value::Text(expected))) => expected.parse() == Ok(found),
        (Cell::Text(found), Some(Value::Text(expected))) => found == expected.trim(),
        // A text of blanks is a missing one, in any format.
        (Cell::Missing, Some(Value::Text(expected))) => expected.trim().is_empty(),
        _ => false,
    }
}

/// What is wrong with a file, if anything.
fn fault(name: &str, file: &File, columns: &BTreeMap<String, Column>) -> Option<String> {
    let source = Source::new(folder().join(name));
    let opened = Reader::open(&source, &ReadOptions::default());
    let (rows, listed) = match (file, &opened) {
        (File::Refused { error }, Err(fault)) if said(fault, &source).contains(error) => return None,
        (File::Refused { error }, _) => return Some(format!("not refused by {error:?}: {:?}", opened.err())),
        (File::Read { .. }, Err(fault)) => return Some(fault.to_string()),
        (File::Read { rows, columns }, Ok(_)) => (*rows, columns),
    };
    let mut reader = opened.ok()?;
    if !reader.names().iter().eq(listed.iter().map(|(name, _)| name)) {
        return Some(format!("columns {:?}", reader.names()));
    }
    let expected: Vec<&Column> = listed.iter().map(|(_, key)| &columns[key]).collect();
    let refused: Vec<usize> = (0..expected.len()).filter(|&i| expected[i].cells.is_none()).collect();
    if let Some(&first) = refused.first() {
        let (column, kind) = (&listed[first].0, &expected[first].kind);
        let all = Reader::open(&source, &ReadOptions::default()).and_then(|mut reader| reader.next_chunk());
        if !matches!(&all, Err(Error::ColumnType { column: c, type_name, .. }) if c == column && type_name == kind) {
            return Some(format!("column {column} is not refused as {kind}: {:?}", all.err()));
        }
    }
    let wanted: Vec<usize> = (0..expected.len()).filter(|i| !refused.contains(i)).collect();
    reader.select(&wanted);
    let times = |i: &&usize| temporal(&expected[**i].kind).is_some();
    let notices: Vec<Notice> =
        wanted.iter().filter(times).filter_map(|&i| notice(&listed[i].0, &expected[i].kind)).collect();
    if reader.notices() != notices {
        return Some(format!("notices {:?}", reader.notices()));
    }
    let mut row = 0;
    loop {
        let chunk = match reader.next_chunk() {
            Ok(None) => break,
            Ok(Some(chunk)) => chunk,
            Err(fault) => return Some(fault.to_string()),
        };
        for (&col, from) in wanted.iter().flat_map(|col| (0..chunk.rows()).map(move |from| (col, from))) {
            let Column { kind, cells } = expected[col];
            let (found, kind) = (chunk.cell(from, col), temporal(kind));
            let Some(cell) = cells.as_ref().and_then(|cells| cells.get(row + from)) else {
                return Some(format!("more than {rows} rows"));
            };
            if !agrees(found, cell.as_ref(), kind.is_some()) || chunk.temporal(col) != kind {
                return Some(format!(
                    "column {}, row {}: {found:?} of {:?}",
                    listed[col].0,
                    row + from,
                    chunk.temporal(col)
                ));
            }
        }
        row += chunk.rows();
    }
    (row != rows).then(|| format!("{row} rows instead of {rows}"))
}

/// What an error says besides the name of the file.
fn said(fault: &Error, source: &Source) -> String {
    fault.to_string().replace(&source.label().display().to_string(), "")
}

fn notice(column: &str, kind: &str) -> Option<Notice> {
    Some(Notice::Times { column: column.to_owned(), kind: temporal(kind)? })
}

#[test]
fn every_file_is_read_as_its_writer_had_it_in_memory() {
    let text = std::fs::read_to_string(folder().join("expected.json")).expect("the expected cells");
    let expected: Expected = serde_json::from_str(&text).expect("expected cells");
    assert!(expected.files.len() >= 300, "{} files", expected.files.len());
    let listed = std::fs::read_dir(folder()).expect("the folder").count() - 1;
    assert_eq!(listed, expected.files.len(), "every file is expected, and every expected file is there");
    let check =
        |(name, file): (&String, &File)| fault(name, file, &expected.columns).map(|why| format!("{name}: {why}"));
    let faults: Vec<String> = expected.files.iter().filter_map(check).collect();
    assert!(faults.is_empty(), "{} of {} files:\n{}", faults.len(), expected.files.len(), faults.join("\n"));
}
