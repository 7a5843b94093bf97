//! What the footer of a Parquet file says: columns, their types, and where their pages lie.

use super::super::codec::Codec;
use super::super::damage::Damage;
use super::thrift::Value;

/// The footer.
#[derive(Debug)]
pub(super) struct Metadata {
    pub columns: Vec<Field>,
    pub groups: Vec<RowGroup>,
}

/// A column at the top of the schema.
#[derive(Debug)]
pub(super) struct Field {
    pub name: String,
    /// Its number among the leaves, which is that of its pages; of a nested column, the first.
    pub leaf: usize,
    /// What it stores, or the name of a type that is not read.
    pub stored: Result<Stored, String>,
    /// Whether values may be missing, so that levels say where they are.
    pub is_optional: bool,
}

/// What a column stores, and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stored {
    Boolean,
    /// To be divided by 10^scale.
    Int32 {
        is_unsigned: bool,
        scale: i32,
    },
    Int64 {
        is_unsigned: bool,
        scale: i32,
    },
    Float,
    Double,
    Text,
}

/// Consecutive rows.
#[derive(Debug)]
pub(super) struct RowGroup {
    pub n_rows: u64,
    /// One for each leaf of the schema.
    pub chunks: Vec<ColumnChunk>,
}

/// The pages of a column in a row group.
#[derive(Debug)]
pub(super) struct ColumnChunk {
    pub start: u64,
    pub end: u64,
    /// The codec, or the number of one that is not read.
    pub codec: Result<Codec, i64>,
}

impl Metadata {
    pub fn parse(footer: &[u8]) -> Result<Self, Damage> {
        let (file, _) = Value::parse(footer).ok_or("the footer cannot be parsed")?;
        let columns = columns(file.list(2).ok_or("no schema")?).ok_or("the schema cannot be parsed")?;
        let groups = file.list(4).unwrap_or(&[]).iter().map(row_group).collect::<Option<Vec<_>>>();
        Ok(Self { columns, groups: groups.ok_or("a row group cannot be parsed")? })
    }
}

/// The children of the root; the schema is a tree in depth-first order.
fn columns(elements: &[Value]) -> Option<Vec<Field>> {
    let (root, mut rest) = elements.split_first()?;
    let (mut fields, mut leaf) = (Vec::new(), 0);
    for _ in 0..root.size(5)? {
        let (element, n_elements, n_leaves) = (rest.first()?, subtree(rest)?, leaves(rest)?);
        let is_plain = n_elements == 1 && element.int(3) != Some(2);
        fields.push(Field {
            name: element.text(4)?.to_owned(),
            leaf,
            stored: if is_plain { stored(element) } else { Err("nested".to_owned()) },
            is_optional: element.int(3) == Some(1),
        });
        leaf += n_leaves;
        rest = &rest[n_elements..];
    }
    Some(fields)
}

/// Number of elements in the tree that begins `elements`.
fn subtree(elements: &[Value]) -> Option<usize> {
    let (mut open, mut n) = (1_usize, 0);
    while open > 0 {
        open = (open - 1).checked_add(elements.get(n)?.size(5).unwrap_or(0))?;
        n += 1;
    }
    Some(n)
}

fn leaves(elements: &[Value]) -> Option<usize> {
    let tree = elements.get(..subtree(elements)?)?;
    Some(tree.iter().filter(|element| element.size(5).unwrap_or(0) == 0).count())
}

/// What a leaf stores, from its physical type, its logical one and the older converted one.
fn stored(element: &Value) -> Result<Stored, String> {
    let (logical, detail) = match element.field(10) {
        Some(Value::Struct(union)) => union.first().map(|(id, detail)| (*id, detail)).unzip(),
        _ => (None, None),
    };
    let converted = element.int(6);
    let is_text = matches!(logical, None | Some(1 | 4 | 12)) && matches!(converted, None | Some(0 | 4 | 19));
    let is_number = matches!(logical, None | Some(5 | 10 | 11)) && matches!(converted, None | Some(5 | 11..=18));
    let is_unsigned =
        matches!(converted, Some(11..=14)) || logical == Some(10) && detail.and_then(|d| d.flag(2)) == Some(false);
    let scale = element.int(7).and_then(|scale| i32::try_from(scale).ok()).unwrap_or(0);
    match element.int(1) {
        Some(0) => Ok(Stored::Boolean),
        Some(1) if is_number => Ok(Stored::Int32 { is_unsigned, scale }),
        Some(2) if is_number => Ok(Stored::Int64 { is_unsigned, scale }),
        Some(4) => Ok(Stored::Float),
        Some(5) => Ok(Stored::Double),
        Some(6) if is_text => Ok(Stored::Text),
        physical => Err(type_name(physical, logical, converted)),
    }
}

fn type_name(physical: Option<i64>, logical: Option<i64>, converted: Option<i64>) -> String {
    match (logical, converted, physical) {
        (Some(5), ..) | (_, Some(5), _) => "decimal",
        (Some(6), ..) | (_, Some(6), _) => "date",
        (Some(7), ..) | (_, Some(7 | 8), _) => "time",
        (Some(8), ..) | (_, Some(9 | 10), _) | (.., Some(3)) => "timestamp",
        (Some(13), ..) | (_, Some(20), _) => "BSON",
        (Some(14), ..) => "UUID",
        (Some(15), ..) => "half-precision float",
        (_, Some(21), _) => "interval",
        _ => "binary",
    }
    .to_owned()
}

fn row_group(group: &Value) -> Option<RowGroup> {
    let n_rows = u64::try_from(group.int(3)?).ok()?;
    Some(RowGroup { n_rows, chunks: group.list(1)?.iter().map(column_chunk).collect::<Option<_>>()? })
}

fn column_chunk(chunk: &Value) -> Option<ColumnChunk> {
    let meta = chunk.field(3)?;
    let position = |id| meta.int(id).and_then(|at| u64::try_from(at).ok());
    let data = position(9)?;
    // Some writers give 0 for a dictionary that is not there.
    let start = position(11).filter(|&at| at > 0).map_or(data, |dictionary| dictionary.min(data));
    let codec = match meta.int(4)? {
        0 => Ok(Codec::Plain),
        1 => Ok(Codec::Snappy),
        2 => Ok(Codec::Gzip),
        6 => Ok(Codec::Zstd),
        7 => Ok(Codec::Lz4Block),
        other => Err(other),
    };
    Some(ColumnChunk { start, end: start.checked_add(position(7)?)?, codec })
}
