//! The rows of a record batch, cut out of its buffers.

use super::super::codec::{Codec, decompress};
use super::super::damage::Damage;
use super::field::{Field, Number, Stored};
use super::flat::{Table, bytes_at};
use crate::chunk::Column;
use std::collections::HashMap;

/// Most rows of a batch.
const MAX_ROWS: usize = 1 << 31;
/// Most bytes that a batch may unfold to.
const MAX_BATCH: usize = 1 << 31;

/// Rows of some columns, as they are stored.
pub(super) struct Batch {
    pub n_rows: usize,
    columns: Vec<Option<Buffers>>,
}

/// The buffers of a column, decompressed: validity, then what its type needs.
struct Buffers {
    field: Field,
    buffers: Vec<Vec<u8>>,
}

impl Batch {
    /// The batch that `header` describes, with the columns of `fields` that are `wanted`.
    pub fn new(header: &Table, body: &[u8], fields: &[Field], wanted: &[bool]) -> Result<Self, Damage> {
        let n_rows = usize::try_from(header.i64(0)).ok().filter(|&n| n <= MAX_ROWS);
        let n_rows = n_rows.ok_or("a batch without a sensible number of rows")?;
        let codec = match header.table(3) {
            None => None,
            Some(compression) => match compression.u8(0) {
                0 => Some(Codec::Lz4Frame),
                1 => Some(Codec::Zstd),
                other => return Err(format!("compressed by the unknown codec {other}").into()),
            },
        };
        let places = header.structs::<2>(2).ok_or("the buffers of a batch cannot be parsed")?;
        let more = header.structs::<1>(4).ok_or("the buffers of a batch cannot be parsed")?;
        let (mut places, mut more) = (places.into_iter(), more.into_iter());
        let (mut columns, mut n_bytes) = (Vec::with_capacity(fields.len()), 0);
        for (field, &is_wanted) in fields.iter().zip(wanted) {
            let n_own = own_buffers(field, &mut more)?;
            let own: Vec<[i64; 2]> = places.by_ref().take(n_own).collect();
            skip_children(field, &mut places, &mut more)?;
            columns.push(match is_wanted {
                true if own.len() < n_own => return Err("a batch without all its buffers".into()),
                true => {
                    let buffers = own.iter().map(|place| buffer(body, *place, codec)).collect::<Result<Vec<_>, _>>()?;
                    n_bytes += buffers.iter().map(Vec::len).sum::<usize>();
                    if n_bytes > MAX_BATCH {
                        return Err("a batch is too large; write the file in smaller batches".into());
                    }
                    Some(Buffers { field: field.clone(), buffers })
                }
                false => None,
            });
        }
        Ok(Self { n_rows, columns })
    }

    /// Rows `from..to` of every column; unwanted ones are missing.
    pub fn slice(&self, from: usize, to: usize, dictionaries: &HashMap<i64, Column>) -> Result<Vec<Column>, Damage> {
        let column = |buffers: &Option<Buffers>| match buffers {
            Some(buffers) => buffers.slice(from, to, dictionaries),
            None => Ok(Column::Missing),
        };
        self.columns.iter().map(column).collect()
    }
}

/// Number of buffers of the column itself.
fn own_buffers(field: &Field, more: &mut impl Iterator<Item = [i64; 1]>) -> Result<usize, Damage> {
    // Far more than any file has; a sum of them cannot overflow.
    const MOST: i64 = 1 << 20;
    let n_more = match field.has_more_buffers() {
        true => more.next().map(|[n]| n).filter(|n| (0..MOST).contains(n)).ok_or("a view without its buffers")?,
        false => 0,
    };
    Ok(field.n_buffers() + n_more as usize)
}

fn skip_children(
    field: &Field,
    places: &mut impl Iterator<Item = [i64; 2]>,
    more: &mut impl Iterator<Item = [i64; 1]>,
) -> Result<(), Damage> {
    // By hand, since closures that call themselves do not exist and the iterators cannot be passed on by value.
    let mut open: Vec<&Field> = field.children().iter().rev().collect();
    while let Some(child) = open.pop() {
        for _ in 0..own_buffers(child, more)? {
            places.next().ok_or("a batch without all its buffers")?;
        }
        open.extend(child.children().iter().rev());
    }
    Ok(())
}

fn buffer(body: &[u8], [offset, length]: [i64; 2], codec: Option<Codec>) -> Result<Vec<u8>, Damage> {
    let outside = "a buffer reaches beyond its batch";
    let (offset, length) =
        (usize::try_from(offset).map_err(|_| outside)?, usize::try_from(length).map_err(|_| outside)?);
    let bytes = offset.checked_add(length).and_then(|end| body.get(offset..end)).ok_or(outside)?;
    match (codec, bytes.split_first_chunk::<8>()) {
        (None, _) | (_, None) => Ok(bytes.to_vec()),
        (Some(codec), Some((size, packed))) => match i64::from_le_bytes(*size) {
            -1 => Ok(packed.to_vec()),
            size => {
                let size = usize::try_from(size).map_err(|_| "a buffer of negative size")?;
                Ok(decompress(codec, packed, size)?.into_owned())
            }
        },
    }
}

impl Buffers {
    fn slice(&self, from: usize, to: usize, dictionaries: &HashMap<i64, Column>) -> Result<Column, Damage> {
        if let Some((id, index)) = self.field.dictionary {
            let dictionary = dictionaries.get(&id).ok_or("a dictionary that is not there")?;
            return self.collect(dictionary.empty(), from, to, |column, row| {
                let index = number(self.buffer(1), index, row)?;
                column.push_from(dictionary, index as usize)
            });
        }
        match self.field.stored {
            Stored::Null | Stored::Other { .. } => Ok(Column::Missing),
            Stored::Boolean => self.collect(Column::texts(), from, to, |column, row| {
                column.push_text(if bit(self.buffer(1), row)? { "true" } else { "false" })
            }),
            Stored::Number(kind) => self.collect(Column::Numbers(Vec::new()), from, to, |column, row| {
                column.push_number(number(self.buffer(1), kind, row)?)
            }),
            Stored::Text | Stored::LargeText => self.collect(Column::texts(), from, to, |column, row| {
                let text = self.buffer(2).get(self.offset(row)?..self.offset(row.checked_add(1)?)?)?;
                column.push_text(std::str::from_utf8(text).ok()?)
            }),
            Stored::TextView => self.collect(Column::texts(), from, to, |column, row| {
                column.push_text(std::str::from_utf8(self.view(row)?).ok()?)
            }),
        }
    }

    /// Fills `column` by `push` for every row that is valid.
    fn collect(
        &self,
        mut column: Column,
        from: usize,
        to: usize,
        push: impl Fn(&mut Column, usize) -> Option<()>,
    ) -> Result<Column, Damage> {
        let validity = self.buffer(0);
        for row in from..to {
            // Without a missing value, the buffer may be left out.
            if validity.is_empty() || bit(validity, row).ok_or("a validity buffer ends too early")? {
                push(&mut column, row).ok_or("a buffer ends too early, or holds what is not UTF-8")?;
            } else {
                column.push_missing();
            }
        }
        Ok(column)
    }

    fn buffer(&self, i: usize) -> &[u8] {
        self.buffers.get(i).map_or(&[], Vec::as_slice)
    }

    fn offset(&self, i: usize) -> Option<usize> {
        let offset = match self.field.stored {
            Stored::LargeText => i64::from_le_bytes(bytes_at(self.buffer(1), i.checked_mul(8)?)?),
            _ => i64::from(i32::from_le_bytes(bytes_at(self.buffer(1), i.checked_mul(4)?)?)),
        };
        usize::try_from(offset).ok()
    }

    /// A view is a length and either the text itself, or its first bytes, the number of a buffer and a position.
    fn view(&self, row: usize) -> Option<&[u8]> {
        let view = self.buffer(1).get(row.checked_mul(16)?..)?.first_chunk::<16>()?;
        let part = |at: usize| bytes_at(view, at).map(i32::from_le_bytes).and_then(|n| usize::try_from(n).ok());
        let length = part(0)?;
        if length <= 12 {
            return view.get(4..4 + length);
        }
        let start = part(12)?;
        self.buffers.get(part(8)?.checked_add(2)?)?.get(start..start.checked_add(length)?)
    }
}

fn bit(bytes: &[u8], i: usize) -> Option<bool> {
    Some(bytes.get(i / 8)? >> (i % 8) & 1 == 1)
}

fn number(bytes: &[u8], kind: Number, i: usize) -> Option<f64> {
    let at = |width: usize| i.checked_mul(width);
    Some(match kind {
        Number::I8 => f64::from(i8::from_le_bytes(bytes_at(bytes, i)?)),
        Number::I16 => f64::from(i16::from_le_bytes(bytes_at(bytes, at(2)?)?)),
        Number::I32 => f64::from(i32::from_le_bytes(bytes_at(bytes, at(4)?)?)),
        Number::I64 => i64::from_le_bytes(bytes_at(bytes, at(8)?)?) as f64,
        Number::U8 => f64::from(u8::from_le_bytes(bytes_at(bytes, i)?)),
        Number::U16 => f64::from(u16::from_le_bytes(bytes_at(bytes, at(2)?)?)),
        Number::U32 => f64::from(u32::from_le_bytes(bytes_at(bytes, at(4)?)?)),
        Number::U64 => u64::from_le_bytes(bytes_at(bytes, at(8)?)?) as f64,
        Number::F32 => f64::from(f32::from_le_bytes(bytes_at(bytes, at(4)?)?)),
        Number::F64 => f64::from_le_bytes(bytes_at(bytes, at(8)?)?),
    })
}
