//! Decodes the pages of a Parquet column.

use super::super::codec::{Codec, decompress};
use super::super::damage::Damage;
use super::metadata::Stored;
use super::thrift::{Value, varint};
use crate::chunk::Column;
use std::borrow::Cow;

/// Most values that a page may have; writers stop at some ten thousand, or at a row group of a million.
const MAX_VALUES: usize = 1 << 24;

/// A page as it lies in the file.
pub(super) struct Page<'a> {
    pub header: &'a Value<'a>,
    pub body: &'a [u8],
    pub codec: Codec,
}

/// What a page holds.
pub(super) enum Decoded {
    Dictionary(Column),
    Data(Column, usize),
    /// An index page, of no use here.
    Nothing,
}

/// Decodes a page of a column; `dictionary` is that of the column, if it came before.
pub(super) fn decode(
    page: &Page,
    stored: Stored,
    is_optional: bool,
    dictionary: Option<&Column>,
) -> Result<Decoded, Damage> {
    let size = page.header.size(2).ok_or("a page without size")?;
    match page.header.int(1) {
        Some(0) => {
            let head = page.header.field(5).ok_or("a data page without header")?;
            let n_values = count(head)?;
            let bytes = decompress(page.codec, page.body, size)?;
            let (levels, values) = if is_optional { split_levels(&bytes)? } else { (&[][..], &bytes[..]) };
            data(head.int(2), levels, values, n_values, stored, is_optional, dictionary)
        }
        Some(2) => {
            let head = page.header.field(7).ok_or("a dictionary page without header")?;
            let bytes = decompress(page.codec, page.body, size)?;
            let values = plain(&bytes, stored, count(head)?).ok_or("a dictionary ends too early")?;
            Ok(Decoded::Dictionary(values))
        }
        Some(3) => {
            let head = page.header.field(8).ok_or("a data page without header")?;
            let n_values = count(head)?;
            // Levels stand before the values and are never compressed.
            let n_levels = head.size(5).unwrap_or(0).saturating_add(head.size(6).unwrap_or(0));
            let (levels, packed) = page.body.split_at_checked(n_levels).ok_or("a page ends within its levels")?;
            let rest = size.checked_sub(n_levels).ok_or("a page smaller than its levels")?;
            let values = match head.flag(7) {
                Some(false) => Cow::Borrowed(packed),
                _ if rest == 0 => Cow::Borrowed(&[][..]),
                _ => decompress(page.codec, packed, rest)?,
            };
            data(head.int(4), levels, &values, n_values, stored, is_optional, dictionary)
        }
        _ => Ok(Decoded::Nothing),
    }
}

fn count(head: &Value) -> Result<usize, Damage> {
    head.size(1).filter(|&n| n <= MAX_VALUES).ok_or_else(|| "a page without a sensible number of values".into())
}

/// Levels of a page of the first version, which their length precedes, and what follows them.
fn split_levels(bytes: &[u8]) -> Result<(&[u8], &[u8]), Damage> {
    let (length, rest) = bytes.split_first_chunk::<4>().ok_or("a page without levels")?;
    Ok(rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or("a page ends within its levels")?)
}

fn data(
    encoding: Option<i64>,
    levels: &[u8],
    bytes: &[u8],
    n_values: usize,
    stored: Stored,
    is_optional: bool,
    dictionary: Option<&Column>,
) -> Result<Decoded, Damage> {
    let is_present = match is_optional {
        true => Some(hybrid(levels, 1, n_values).ok_or("levels end too early")?),
        false => None,
    };
    let n_present = is_present.as_ref().map_or(n_values, |levels| levels.iter().filter(|&&l| l == 1).count());
    let early = "values end too early";
    let (values, indices) = match (encoding, dictionary) {
        (Some(0), _) => (Cow::Owned(plain(bytes, stored, n_present).ok_or(early)?), None),
        (Some(2 | 8), _) if n_present == 0 => (Cow::Owned(plain(&[], stored, 0).ok_or(early)?), None),
        (Some(2 | 8), Some(dictionary)) => {
            let (&width, bytes) = bytes.split_first().ok_or(early)?;
            (Cow::Borrowed(dictionary), Some(hybrid(bytes, u32::from(width), n_present).ok_or(early)?))
        }
        (Some(2 | 8), None) => return Err("a page refers to a dictionary that is not there".into()),
        (Some(3), _) if stored == Stored::Boolean => {
            let (_length, bytes) = bytes.split_first_chunk::<4>().ok_or(early)?;
            (Cow::Owned(booleans(&hybrid(bytes, 1, n_present).ok_or(early)?)), None)
        }
        (other, _) => {
            let name = match other {
                Some(5) => "DELTA_BINARY_PACKED",
                Some(6) => "DELTA_LENGTH_BYTE_ARRAY",
                Some(7) => "DELTA_BYTE_ARRAY",
                Some(9) => "BYTE_STREAM_SPLIT",
                _ => "unknown",
            };
            return Err(
                format!("the encoding {name} is not read; write the file with plain or dictionary encoding").into()
            );
        }
    };
    let (mut column, mut next) = (values.empty(), 0);
    for i in 0..n_values {
        if is_present.as_ref().is_none_or(|levels| levels[i] == 1) {
            let index = indices.as_ref().map_or(next, |indices| indices[next] as usize);
            column.push_from(&values, index).ok_or("an entry that the dictionary does not have, or too much text")?;
            next += 1;
        } else {
            column.push_missing();
        }
    }
    Ok(Decoded::Data(column, n_values))
}

/// `n` values, each written in full.
fn plain(bytes: &[u8], stored: Stored, n: usize) -> Option<Column> {
    fn numbers<const W: usize>(bytes: &[u8], n: usize, value: impl Fn([u8; W]) -> f64) -> Option<Column> {
        let bytes = bytes.get(..n.checked_mul(W)?)?;
        Some(Column::Numbers(bytes.as_chunks::<W>().0.iter().map(|b| value(*b)).collect()))
    }
    match stored {
        Stored::Boolean => {
            let bytes = bytes.get(..n.div_ceil(8))?;
            let bits: Vec<u32> = (0..n).map(|i| u32::from(bytes[i / 8] >> (i % 8) & 1)).collect();
            Some(booleans(&bits))
        }
        Stored::Int32 { is_unsigned, scale } => numbers(bytes, n, |b| {
            let value = if is_unsigned { f64::from(u32::from_le_bytes(b)) } else { f64::from(i32::from_le_bytes(b)) };
            value / 10_f64.powi(scale)
        }),
        Stored::Int64 { is_unsigned, scale } => numbers(bytes, n, |b| {
            let value = if is_unsigned { u64::from_le_bytes(b) as f64 } else { i64::from_le_bytes(b) as f64 };
            value / 10_f64.powi(scale)
        }),
        Stored::Float => numbers(bytes, n, |b| f64::from(f32::from_le_bytes(b))),
        Stored::Double => numbers(bytes, n, f64::from_le_bytes),
        Stored::Text => {
            let (mut column, mut rest) = (Column::texts(), bytes);
            for _ in 0..n {
                let (length, after) = rest.split_first_chunk::<4>()?;
                let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                column.push_text(std::str::from_utf8(text).ok()?)?;
                rest = after;
            }
            Some(column)
        }
    }
}

fn booleans(bits: &[u32]) -> Column {
    let mut column = Column::texts();
    bits.iter().for_each(|&bit| _ = column.push_text(if bit == 1 { "true" } else { "false" }));
    column
}

/// `n` numbers of `width` bits, in runs of equal ones and in groups of eight packed ones.
fn hybrid(bytes: &[u8], width: u32, n: usize) -> Option<Vec<u32>> {
    if width > 32 {
        return None;
    }
    let (mut values, mut rest) = (Vec::new(), bytes);
    while values.len() < n {
        let (head, used) = varint(rest)?;
        rest = &rest[used..];
        let (length, left) = (usize::try_from(head >> 1).ok()?, n - values.len());
        if head & 1 == 0 {
            let (bytes, after) = rest.split_at_checked(width.div_ceil(8) as usize)?;
            let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
            values.resize(values.len() + length.min(left), value);
            rest = after;
        } else {
            let (bytes, after) = rest.split_at_checked(length.checked_mul(width as usize)?)?;
            unpack(bytes, width, length.checked_mul(8)?.min(left), &mut values);
            rest = after;
        }
    }
    Some(values)
}

/// Appends `n` numbers of `width` bits, lowest bits first; `bytes` holds as many.
fn unpack(bytes: &[u8], width: u32, n: usize, values: &mut Vec<u32>) {
    let mask = (1_u64 << width) - 1;
    let (mut buffer, mut n_bits, mut bytes) = (0_u64, 0, bytes.iter());
    for _ in 0..n {
        while n_bits < width {
            buffer |= u64::from(bytes.next().copied().unwrap_or(0)) << n_bits;
            n_bits += 8;
        }
        values.push((buffer & mask) as u32);
        buffer >>= width;
        n_bits -= width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_packed_groups_by_hand() {
        // The numbers 0 to 7 in three bits each, from the specification of the format.
        assert_eq!(hybrid(&[0x03, 0x88, 0xc6, 0xfa], 3, 8), Some((0..8).collect()));
        // Four sevens, then the same.
        assert_eq!(hybrid(&[0x08, 0x07, 0x03, 0x88, 0xc6, 0xfa], 3, 6), Some(vec![7, 7, 7, 7, 0, 1]));
        assert_eq!(hybrid(&[0x0a], 0, 5), Some(vec![0; 5]));
        assert_eq!(hybrid(&[0x08, 0x07], 3, 5), None);
        assert_eq!(hybrid(&[0x03, 0x88], 3, 8), None);
        assert_eq!(hybrid(&[0x02], 33, 1), None);
        assert_eq!(hybrid(&[0x00, 0x01, 0x00, 0x01], 1, 1), None);
    }
}
