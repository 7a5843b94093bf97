//! What readers of files that store columns share: they decode arrays of Arrow, which become columns of a chunk here.

use super::damage::Damage;
use crate::chunk::Chunk;
use crate::column::{Column, Texts};
use crate::error::Result as ReadResult;
use crate::temporal::Temporal;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, BinaryArray, LargeBinaryArray, RunArray};
use arrow_schema::{DataType, Fields, TimeUnit};
use std::fmt::Display;

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// A file that stores columns, being read.
pub(super) trait ColumnReader: Send {
    /// The columns, with the types that they are decoded as.
    fn fields(&self) -> &Fields;

    /// Reads only some of the columns, if nothing was read yet.
    fn select(&mut self, wanted: &[bool]);

    /// The next rows, at least one; `None` at the end. All wanted columns are of types that are not [`refused`].
    fn next_chunk(&mut self) -> ReadResult<Option<Chunk>>;
}

/// The kind of time that a column of this type holds, if any.
pub(super) fn temporal(data_type: &DataType) -> Option<Temporal> {
    Some(match data_type {
        DataType::Date32 | DataType::Date64 => Temporal::Date,
        DataType::Timestamp(_, None) => Temporal::LocalTimestamp,
        DataType::Timestamp(_, Some(_)) => Temporal::Timestamp,
        DataType::Time32(_) | DataType::Time64(_) => Temporal::TimeOfDay,
        DataType::Duration(_) => Temporal::Duration,
        DataType::Dictionary(_, values) => temporal(values)?,
        DataType::RunEndEncoded(_, values) => temporal(values.data_type())?,
        _ => return None,
    })
}

/// What to call the type if columns of it are not read.
pub(super) fn refused(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "binary",
        DataType::FixedSizeBinary(_) => "fixed-size binary",
        DataType::Interval(_) => "interval",
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => "list",
        DataType::Struct(_) => "struct",
        DataType::Map(..) => "map",
        DataType::Union(..) => "union",
        DataType::Dictionary(_, values) => return refused(values),
        DataType::RunEndEncoded(_, values) => return refused(values.data_type()),
        _ => return None,
    })
}

/// `len` entries of an array from `start` on.
pub(super) fn column(array: &dyn Array, start: usize, len: usize) -> Result<Column, Damage> {
    let rows: Vec<Option<usize>> = (0..len).map(Some).collect();
    gather(array.slice(start, len).as_ref(), &rows)
}

/// The entries of an array at `rows`; `None` is a missing one.
fn gather(array: &dyn Array, rows: &[Option<usize>]) -> Result<Column, Damage> {
    use DataType as Type;
    Ok(match array.data_type() {
        Type::Null => Column::Missing,
        Type::Boolean => {
            let values = array.as_boolean();
            texts(array, rows, |i| if values.value(i) { "true" } else { "false" }.as_bytes())?
        }
        Type::Int8 => numbers::<Int8Type>(array, rows, f64::from),
        Type::Int16 => numbers::<Int16Type>(array, rows, f64::from),
        Type::Int32 => numbers::<Int32Type>(array, rows, f64::from),
        Type::Int64 => numbers::<Int64Type>(array, rows, |value| value as f64),
        Type::UInt8 => numbers::<UInt8Type>(array, rows, f64::from),
        Type::UInt16 => numbers::<UInt16Type>(array, rows, f64::from),
        Type::UInt32 => numbers::<UInt32Type>(array, rows, f64::from),
        Type::UInt64 => numbers::<UInt64Type>(array, rows, |value| value as f64),
        Type::Float16 => numbers::<Float16Type>(array, rows, f64::from),
        Type::Float32 => numbers::<Float32Type>(array, rows, f64::from),
        Type::Float64 => numbers::<Float64Type>(array, rows, |value| value),
        Type::Decimal32(_, scale) => numbers::<Decimal32Type>(array, rows, |value| decimal(value, *scale)),
        Type::Decimal64(_, scale) => numbers::<Decimal64Type>(array, rows, |value| decimal(value, *scale)),
        Type::Decimal128(_, scale) => numbers::<Decimal128Type>(array, rows, |value| decimal(value, *scale)),
        Type::Decimal256(_, scale) => numbers::<Decimal256Type>(array, rows, |value| decimal(value, *scale)),
        Type::Utf8 => {
            let bytes = BinaryArray::from(array.as_string::<i32>().clone());
            texts(array, rows, |i| bytes.value(i))?
        }
        Type::LargeUtf8 => {
            let bytes = LargeBinaryArray::from(array.as_string::<i64>().clone());
            texts(array, rows, |i| bytes.value(i))?
        }
        Type::Utf8View => {
            let bytes = array.as_string_view().clone().to_binary_view();
            texts(array, rows, |i| bytes.value(i))?
        }
        Type::Date32 => times::<Date32Type>(array, rows, f64::from),
        Type::Date64 => times::<Date64Type>(array, rows, |value| ratio(value, 1000 * SECONDS_PER_DAY)),
        Type::Timestamp(TimeUnit::Second, _) => times::<TimestampSecondType>(array, rows, |value| value as f64),
        Type::Timestamp(TimeUnit::Millisecond, _) => times::<TimestampMillisecondType>(array, rows, milli),
        Type::Timestamp(TimeUnit::Microsecond, _) => times::<TimestampMicrosecondType>(array, rows, micro),
        Type::Timestamp(TimeUnit::Nanosecond, _) => times::<TimestampNanosecondType>(array, rows, nano),
        Type::Time32(TimeUnit::Second) => times::<Time32SecondType>(array, rows, f64::from),
        Type::Time32(_) => times::<Time32MillisecondType>(array, rows, |value| milli(value.into())),
        Type::Time64(TimeUnit::Microsecond) => times::<Time64MicrosecondType>(array, rows, micro),
        Type::Time64(_) => times::<Time64NanosecondType>(array, rows, nano),
        Type::Duration(TimeUnit::Second) => times::<DurationSecondType>(array, rows, |value| value as f64),
        Type::Duration(TimeUnit::Millisecond) => times::<DurationMillisecondType>(array, rows, milli),
        Type::Duration(TimeUnit::Microsecond) => times::<DurationMicrosecondType>(array, rows, micro),
        Type::Duration(TimeUnit::Nanosecond) => times::<DurationNanosecondType>(array, rows, nano),
        Type::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            // Without values, which happens where all is missing, there are no keys that mean one.
            let keys = if dictionary.values().is_empty() { Vec::new() } else { dictionary.normalized_keys() };
            let rows: Vec<_> = valid(array, rows).map(|row| row.and_then(|i| keys.get(i).copied())).collect();
            gather(dictionary.values().as_ref(), &rows)?
        }
        Type::RunEndEncoded(ends, _) => match ends.data_type() {
            Type::Int16 => runs::<Int16Type>(array, rows)?,
            Type::Int32 => runs::<Int32Type>(array, rows)?,
            _ => runs::<Int64Type>(array, rows)?,
        },
        other => return Err(format!("values of type {other} were not expected").into()),
    })
}

/// The rows, with those where `array` has a missing value as `None`.
fn valid<'a>(array: &'a dyn Array, rows: &'a [Option<usize>]) -> impl Iterator<Item = Option<usize>> + 'a {
    rows.iter().map(|row| row.filter(|&i| array.is_valid(i)))
}

fn values<T: ArrowPrimitiveType>(
    array: &dyn Array,
    rows: &[Option<usize>],
    number: impl Fn(T::Native) -> f64,
) -> Vec<f64> {
    let values = array.as_primitive::<T>().values();
    valid(array, rows).map(|row| row.map_or(f64::NAN, |i| number(values[i]))).collect()
}

fn numbers<T: ArrowPrimitiveType>(
    array: &dyn Array,
    rows: &[Option<usize>],
    number: impl Fn(T::Native) -> f64,
) -> Column {
    Column::Numbers(values::<T>(array, rows, number))
}

fn times<T: ArrowPrimitiveType>(
    array: &dyn Array,
    rows: &[Option<usize>],
    number: impl Fn(T::Native) -> f64,
) -> Column {
    let values = values::<T>(array, rows, number);
    match temporal(array.data_type()) {
        Some(kind) => Column::Times(kind, values),
        None => Column::Numbers(values),
    }
}

/// Texts from their bytes. That these are UTF-8 is looked at here, for decoders look at many texts together, and cut
/// where a damaged file has them cut.
fn texts<'a>(array: &dyn Array, rows: &[Option<usize>], bytes: impl Fn(usize) -> &'a [u8]) -> Result<Column, Damage> {
    let mut texts = Texts::default();
    for row in valid(array, rows) {
        match row {
            Some(i) => {
                let text = std::str::from_utf8(bytes(i)).map_err(|_| "a text that is not UTF-8")?;
                texts.push(text).ok_or("too much text in a few rows")?;
            }
            None => texts.push_missing(),
        }
    }
    Ok(Column::Texts(texts))
}

fn runs<R: RunEndIndexType>(array: &dyn Array, rows: &[Option<usize>]) -> Result<Column, Damage> {
    let runs: &RunArray<R> = array.as_run_opt::<R>().ok_or("a run-end encoded column without run ends")?;
    let rows: Vec<Option<usize>> = rows.iter().map(|row| row.map(|i| runs.get_physical_index(i))).collect();
    gather(runs.values().as_ref(), &rows)
}

/// The number nearest to value · 10^−scale, the same that its decimal digits in a text file stand for.
fn decimal(value: impl Display + Copy, scale: i8) -> f64 {
    // The digits always parse; a whole number and a power of ten that are both exact would need no detour, but the
    // detour is a small part of reading a file.
    format!("{value}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
}

fn milli(value: i64) -> f64 {
    ratio(value, 1_000)
}

fn micro(value: i64) -> f64 {
    ratio(value, 1_000_000)
}

fn nano(value: i64) -> f64 {
    ratio(value, 1_000_000_000)
}

/// value / per. Nanoseconds since 1970 are no exact float64, their whole seconds are.
fn ratio(value: i64, per: i64) -> f64 {
    value.div_euclid(per) as f64 + value.rem_euclid(per) as f64 / per as f64
}
