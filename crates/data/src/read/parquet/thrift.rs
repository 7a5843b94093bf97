//! The little of Thrift's compact protocol that tells whether the claims of a Parquet file are possible.
//!
//! ```text
//! structure   fields, then 0
//! field       (step of its number) · 16 + kind, then its value; with step 0 the number follows the kind, zigzag
//! list        (length) · 16 + kind, then its values; with length 15 the true one follows the kind
//! integer     zigzag: 0, −1, 1, −2, … as 0, 1, 2, 3, …; seven bits a byte, the lowest first
//! ```
//!
//! The crate that parses the metadata in earnest makes room for as many columns as a group says to have, and follows
//! groups within groups as deep as they go. Either can end the process, so both are bounded here, before.

/// Kinds of values.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const I8: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Deeper values are not followed.
const MAX_DEPTH: usize = 32;
/// Groups within groups of columns; tables of nested data have some ten.
const MAX_NESTING: usize = 64;

/// Numbers of the fields that are looked at.
const SCHEMA: i64 = 2;
const N_CHILDREN: i64 = 5;

/// Takes a number of seven bits a byte, the lowest first.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take_byte(bytes)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn zigzag(bytes: &mut &[u8]) -> Option<i64> {
    let coded = varint(bytes)?;
    Some((coded >> 1) as i64 ^ -((coded & 1) as i64))
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(byte)
}

fn take(bytes: &mut &[u8], n: u64) -> Option<()> {
    *bytes = bytes.get(usize::try_from(n).ok()?..)?;
    Some(())
}

/// Whether the metadata of a file have all that their lists claim, and columns nested to a bounded depth.
pub(super) fn is_possible(mut metadata: &[u8]) -> bool {
    let mut groups = Groups::default();
    let walked = fields(&mut metadata, &mut |number, kind, bytes| match (number, kind) {
        (SCHEMA, LIST) => {
            let (n, element) = list(bytes)?;
            (element == STRUCT).then_some(())?;
            for _ in 0..n {
                let mut n_children = 0;
                fields(bytes, &mut |number, kind, bytes| match (number, kind) {
                    (N_CHILDREN, I32) => {
                        n_children = zigzag(bytes)?;
                        Some(())
                    }
                    _ => skip(kind, bytes, 0),
                })?;
                groups.push(n_children)?;
            }
            groups.are_complete().then_some(())
        }
        _ => skip(kind, bytes, 0),
    });
    walked.is_some()
}

/// The groups that a list of columns is in the midst of: for each, how many columns it still lacks.
#[derive(Default)]
struct Groups {
    open: Vec<i64>,
    n_columns: usize,
}

impl Groups {
    /// The next column, itself a group if it has children.
    fn push(&mut self, n_children: i64) -> Option<()> {
        self.n_columns += 1;
        match self.open.last_mut() {
            Some(lacking) => *lacking -= 1,
            None if self.n_columns > 1 => return None,
            None => {}
        }
        if n_children > 0 {
            self.open.push(n_children);
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        (n_children >= 0 && self.open.len() <= MAX_NESTING).then_some(())
    }

    fn are_complete(&self) -> bool {
        self.open.is_empty()
    }
}

/// What takes the value of a field from the bytes, given its number and type; nothing if it is damaged.
type Visit<'a> = dyn FnMut(i64, u8, &mut &[u8]) -> Option<()> + 'a;

/// Walks the fields of a structure; `visit` takes the value of each.
fn fields(bytes: &mut &[u8], visit: &mut Visit<'_>) -> Option<()> {
    let mut number = 0_i64;
    loop {
        let head = take_byte(bytes)?;
        if head == 0 {
            return Some(());
        }
        number = match head >> 4 {
            0 => zigzag(bytes)?,
            step => number.checked_add(step.into())?,
        };
        visit(number, head & 0x0f, bytes)?;
    }
}

/// Length and kind of a list. What takes no bytes could be claimed without end.
fn list(bytes: &mut &[u8]) -> Option<(u64, u8)> {
    let head = take_byte(bytes)?;
    let n = if head >> 4 == 0x0f { varint(bytes)? } else { u64::from(head >> 4) };
    (n <= bytes.len() as u64).then_some((n, head & 0x0f))
}

fn skip(kind: u8, bytes: &mut &[u8], depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match kind {
        // A field says its truth value by its kind.
        TRUE | FALSE => Some(()),
        I8 => take(bytes, 1),
        I16 | I32 | I64 => varint(bytes).map(|_| ()),
        DOUBLE => take(bytes, 8),
        BINARY => {
            let length = varint(bytes)?;
            take(bytes, length)
        }
        LIST | SET => {
            let (n, element) = list(bytes)?;
            (0..n).try_for_each(|_| skip_element(element, bytes, depth + 1))
        }
        MAP => match varint(bytes)? {
            0 => Some(()),
            n => {
                let kinds = take_byte(bytes)?;
                (n <= bytes.len() as u64).then_some(())?;
                (0..n).try_for_each(|_| {
                    skip_element(kinds >> 4, bytes, depth + 1)?;
                    skip_element(kinds & 0x0f, bytes, depth + 1)
                })
            }
        },
        STRUCT => fields(bytes, &mut |_, kind, bytes| skip(kind, bytes, depth + 1)),
        _ => None,
    }
}

/// Within a list, a truth value is a byte.
fn skip_element(kind: u8, bytes: &mut &[u8], depth: usize) -> Option<()> {
    match kind {
        TRUE | FALSE => take(bytes, 1),
        _ => skip(kind, bytes, depth),
    }
}

/// The size that a page's header states for the page once decompressed: the second field, behind the kind of the page.
pub(super) fn unfolded_size(mut header: &[u8]) -> Option<u64> {
    const NEXT_I32: u8 = 0x10 + I32;
    (take_byte(&mut header)? == NEXT_I32).then_some(())?;
    zigzag(&mut header)?;
    (take_byte(&mut header)? == NEXT_I32).then_some(())?;
    u64::try_from(zigzag(&mut header)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metadata with a version and a schema whose columns have so many children each.
    fn metadata(n_children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xf0 + STRUCT];
        bytes.extend([n_children.len() as u8 % 128 + 128, (n_children.len() / 128) as u8]);
        for &n in n_children {
            // A name, then zigzag, as the sixth of the fields with a step of five before it.
            bytes.extend_from_slice(&[0x48, 1, b'x']);
            bytes.extend_from_slice(if n > 0 { &[0x15] } else { &[] });
            bytes.extend((n > 0).then_some(2 * n));
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn columns_are_as_many_as_groups_say() {
        assert!(is_possible(&metadata(&[3, 0, 2, 0, 0, 0])));
        assert!(!is_possible(&metadata(&[4, 0, 2, 0, 0, 0])));
        assert!(!is_possible(&metadata(&[2, 0, 2, 0, 0, 0])));
        assert!(!is_possible(&metadata(&[60, 0])));
        let whole = metadata(&[1, 1, 1, 0]);
        assert!((0..whole.len()).all(|n| !is_possible(&whole[..n])));
    }

    #[test]
    fn groups_within_groups_end_somewhere() {
        let nested = |n: usize| metadata(&[vec![1; n], vec![0]].concat());
        assert!(is_possible(&nested(MAX_NESTING)));
        assert!(!is_possible(&nested(MAX_NESTING + 1)));
    }

    #[test]
    fn pages_say_their_size() {
        assert_eq!(unfolded_size(&[0x15, 0, 0x15, 0x80, 0x02, 0x15, 6]), Some(128));
        assert_eq!(unfolded_size(&[0x15, 0, 0x15, 0x01]), None, "a negative size");
        assert_eq!(unfolded_size(&[0x15, 0, 0x15]), None);
        assert_eq!(unfolded_size(&[0x25, 0, 0x15, 2]), None);
    }
}
