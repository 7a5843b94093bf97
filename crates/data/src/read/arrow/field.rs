//! The columns of an Arrow file: what each stores, and in how many buffers.

use super::super::damage::Damage;
use super::flat::Table;

/// Deeper nesting is not followed.
const MAX_DEPTH: usize = 32;

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub name: String,
    pub stored: Stored,
    /// Number of the dictionary that its values are indices of, and how these are stored.
    pub dictionary: Option<(i64, Number)>,
    children: Vec<Field>,
}

/// What a column stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stored {
    Null,
    Boolean,
    Number(Number),
    /// Offsets of 32 bits.
    Text,
    /// Offsets of 64 bits.
    LargeText,
    /// Short texts in place, long ones in any of some buffers.
    TextView,
    /// A type that is not read, in a number of buffers.
    Other {
        type_name: &'static str,
        n_buffers: usize,
        is_view: bool,
    },
}

/// How a number is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

/// The columns of a schema.
pub(super) fn fields(schema: &Table) -> Result<Vec<Field>, Damage> {
    if schema.i16(0) != 0 {
        return Err("big-endian Arrow files are not read".into());
    }
    let fields = schema.tables(1).ok_or("the schema cannot be parsed")?;
    fields.iter().map(|field| parse(field, 0)).collect::<Option<_>>().ok_or_else(|| "a column cannot be parsed".into())
}

fn parse(field: &Table, depth: usize) -> Option<Field> {
    if depth > MAX_DEPTH {
        return None;
    }
    let children = field.tables(5)?.iter().map(|child| parse(child, depth + 1)).collect::<Option<Vec<_>>>()?;
    let detail = field.table(3);
    let dictionary = match field.table(4) {
        Some(encoding) => {
            Some((encoding.i64(0), encoding.table(1).map_or(Some(Number::I32), |index| integer(&index))?))
        }
        None => None,
    };
    let other = |type_name, n_buffers| Stored::Other { type_name, n_buffers, is_view: false };
    let stored = match field.u8(2) {
        1 => Stored::Null,
        2 => Stored::Number(integer(&detail?)?),
        3 => match detail.map_or(0, |detail| detail.i16(0)) {
            0 => other("half-precision float", 2),
            1 => Stored::Number(Number::F32),
            2 => Stored::Number(Number::F64),
            _ => return None,
        },
        4 => other("binary", 3),
        5 => Stored::Text,
        6 => Stored::Boolean,
        7 => other("decimal", 2),
        8 => other("date", 2),
        9 => other("time", 2),
        10 => other("timestamp", 2),
        11 => other("interval", 2),
        12 => other("list", 2),
        13 => other("struct", 1),
        // Types, and offsets if dense.
        14 => other("union", 1 + usize::from(detail.is_some_and(|detail| detail.i16(0) == 1))),
        15 => other("fixed-size binary", 2),
        16 => other("fixed-size list", 1),
        17 => other("map", 2),
        18 => other("duration", 2),
        19 => other("binary", 3),
        20 => Stored::LargeText,
        21 => other("list", 2),
        22 => other("run-end encoded", 0),
        23 => Stored::Other { type_name: "binary", n_buffers: 2, is_view: true },
        24 => Stored::TextView,
        25 | 26 => other("list", 3),
        _ => return None,
    };
    Some(Field { name: field.text(0).unwrap_or_default().to_owned(), stored, dictionary, children })
}

fn integer(detail: &Table) -> Option<Number> {
    match (detail.i32(0), detail.u8(1) != 0) {
        (8, true) => Some(Number::I8),
        (16, true) => Some(Number::I16),
        (32, true) => Some(Number::I32),
        (64, true) => Some(Number::I64),
        (8, false) => Some(Number::U8),
        (16, false) => Some(Number::U16),
        (32, false) => Some(Number::U32),
        (64, false) => Some(Number::U64),
        _ => None,
    }
}

impl Field {
    /// The type, if columns of it are not read.
    pub fn refused(&self) -> Option<&'static str> {
        match (&self.stored, &self.dictionary) {
            (Stored::Other { type_name, .. }, _) => Some(type_name),
            (Stored::Null | Stored::Boolean | Stored::Number(_), Some(_)) => Some("dictionary of other than text"),
            _ => None,
        }
    }

    /// Buffers of the column itself, not counting those that only the batch knows.
    pub fn n_buffers(&self) -> usize {
        match (&self.stored, &self.dictionary) {
            (_, Some(_)) => 2,
            (Stored::Null, None) => 0,
            (Stored::Boolean | Stored::Number(_) | Stored::TextView, None) => 2,
            (Stored::Text | Stored::LargeText, None) => 3,
            (Stored::Other { n_buffers, .. }, None) => *n_buffers,
        }
    }

    /// Whether the batch tells how many buffers of text there are besides.
    pub fn has_more_buffers(&self) -> bool {
        let is_view = matches!(self.stored, Stored::TextView | Stored::Other { is_view: true, .. });
        is_view && self.dictionary.is_none()
    }

    /// Columns within the column; those of a dictionary stand elsewhere.
    pub fn children(&self) -> &[Self] {
        if self.dictionary.is_some() { &[] } else { &self.children }
    }

    /// The column that the dictionary itself is.
    pub fn without_dictionary(&self) -> Self {
        Self { dictionary: None, ..self.clone() }
    }
}
