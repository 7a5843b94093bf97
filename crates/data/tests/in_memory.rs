//! Columns in memory are learnt and read as the same table in a text file.
#![cfg(feature = "columnar")]

use arrow_array::{ArrayRef, BooleanArray, Date32Array, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use deepgp_data::{Error, MemoryTable, Numbers, ReadOptions, Reader, Result, Roles, Schema, Source, Targets};
use std::sync::Arc;

struct Kept(Vec<f64>);

impl Numbers for Kept {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, len: usize) -> Vec<f64> {
        self.0[start..start + len].to_vec()
    }
}

const ROWS: usize = 20_000;

/// An irregular number.
fn number(i: usize) -> f64 {
    ((i * 7919) % 10_007) as f64 / 16.0
}

fn colour(i: usize) -> Option<&'static str> {
    [Some("red"), Some("blue"), None, Some("green")][(i / 3) % 4]
}

fn text() -> String {
    let row = |i: usize| {
        let area = if i.is_multiple_of(11) { String::new() } else { number(i).to_string() };
        let day = 1 + i % 28;
        format!("{area},{},{},2024-03-{day:02},{}\n", colour(i).unwrap_or(""), i % 7 > 3, number(3 * i + 1))
    };
    "area,colour,new,sold,price\n".to_owned() + &(0..ROWS).map(row).collect::<String>()
}

/// The same table, each column of arrays cut in its own places.
fn columns() -> Result<MemoryTable> {
    fn cut(width: usize, of: impl Fn(std::ops::Range<usize>) -> ArrayRef) -> Vec<ArrayRef> {
        (0..ROWS).step_by(width).map(|start| of(start..ROWS.min(start + width))).collect()
    }
    let field = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
    // 2024-03-01 is day 19,783.
    let day = |i: usize| 19_783 + (i % 28) as i32;
    let mut table = MemoryTable::new();
    let area = (0..ROWS).map(|i| if i.is_multiple_of(11) { f64::NAN } else { number(i) }).collect();
    table.push_numbers("area", Kept(area))?;
    let colours = cut(999, |rows| Arc::new(rows.map(colour).collect::<StringArray>()));
    table.push_arrays(field("colour", DataType::Utf8), colours)?;
    let new = cut(3000, |rows| Arc::new(rows.map(|i| Some(i % 7 > 3)).collect::<BooleanArray>()));
    table.push_arrays(field("new", DataType::Boolean), new)?;
    let sold = cut(7777, |rows| Arc::new(rows.map(|i| Some(day(i))).collect::<Date32Array>()));
    table.push_arrays(field("sold", DataType::Date32), sold)?;
    table.push_arrays(
        field("price", DataType::Float64),
        cut(ROWS, |rows| Arc::new(rows.map(|i| Some(number(3 * i + 1))).collect::<Float64Array>())),
    )?;
    Ok(table)
}

#[test]
fn columns_in_memory_are_the_same_table_as_text() -> Result<()> {
    let options = ReadOptions::default();
    let of_text = Source::from_bytes("homes.csv", text().into_bytes());
    let in_memory = Source::from_columns("a table", columns()?);
    let roles = Roles::predict(["price"]);
    let (by_text, by_columns) =
        (Schema::learn(&of_text, &options, &roles)?, Schema::learn(&in_memory, &options, &roles)?);
    assert_eq!(by_text.schema, by_columns.schema);
    for source in [in_memory.clone(), in_memory.spool()?] {
        let (expected, _) = by_text.schema.read(&of_text, &options, Targets::Required)?;
        let (found, _) = by_columns.schema.read(&source, &options, Targets::Required)?;
        assert_eq!(expected.inputs.rows(), ROWS);
        assert!(found == expected);
    }
    Ok(())
}

#[test]
fn only_what_is_wanted_is_read() -> Result<()> {
    let mut table = columns()?;
    table.push_arrays(
        Arc::new(Field::new("blob", DataType::Binary, true)),
        vec![arrow_array::new_null_array(&DataType::Binary, ROWS)],
    )?;
    let source = Source::from_columns("a table", table);
    let mut reader = Reader::open(&source, &ReadOptions::default())?;
    assert!(matches!(reader.next_chunk(), Err(Error::ColumnType { column, .. }) if column == "blob"));
    let mut reader = Reader::open(&source, &ReadOptions::default())?;
    reader.select(&[1]);
    let mut rows = 0;
    while let Some(chunk) = reader.next_chunk()? {
        assert_eq!(chunk.text(0, 1), colour(rows).unwrap_or(""));
        rows += chunk.rows();
    }
    assert_eq!(rows, ROWS);
    Ok(())
}

#[test]
fn columns_of_other_lengths_and_bytes_of_columns_are_refused() -> Result<()> {
    let mut table = columns()?;
    let short = table.push_numbers("short", Kept(vec![1.0]));
    assert!(matches!(short, Err(Error::ColumnLength { expected: ROWS, found: 1, .. })));
    assert!(matches!(Source::from_columns("a table", table).text(), Err(Error::Read { .. })));
    let none = Source::from_columns("a table", MemoryTable::new());
    assert!(matches!(Reader::open(&none, &ReadOptions::default()), Err(Error::Empty { .. })));
    Ok(())
}

/// A stream of Arrow and its batches in memory are one table.
#[test]
fn batches_are_the_same_table_as_their_stream() -> Result<()> {
    let fields = vec![Field::new("x", DataType::Float64, true), Field::new("y", DataType::Float64, true)];
    let schema = Arc::new(ArrowSchema::new(fields));
    let column =
        |shift: usize| -> ArrayRef { Arc::new(Float64Array::from_iter((0..500).map(|i| Some(number(i + shift))))) };
    let batch = RecordBatch::try_new(schema.clone(), vec![column(0), column(9)]).expect("a batch");
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &schema).expect("a writer");
    writer.write(&batch).and_then(|()| writer.write(&batch)).and_then(|()| writer.finish()).expect("a stream");
    drop(writer);
    let mut table = MemoryTable::new();
    for (i, field) in schema.fields().iter().enumerate() {
        table.push_arrays(field.clone(), vec![batch.column(i).clone(); 2])?;
    }
    let read = |source: Source| {
        let learnt = Schema::learn(&source, &ReadOptions::default(), &Roles::predict(["y"]))?;
        learnt.schema.read(&source, &ReadOptions::default(), Targets::Required)
    };
    let (streamed, in_memory) = (read(Source::from_bytes("t.arrow", bytes))?, read(Source::from_columns("t", table))?);
    assert_eq!(streamed.0, in_memory.0);
    assert_eq!(streamed.0.rows.len(), 1000);
    Ok(())
}
