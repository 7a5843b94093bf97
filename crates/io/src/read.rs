//! The reading half of the format: from the tree and the floats to any serde value.

use crate::error::FormatError;
use crate::tree::Tree;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess};
use serde::de::{VariantAccess, Visitor};
use std::cell::Cell;

type Result<T> = std::result::Result<T, FormatError>;

impl de::Error for FormatError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        invalid(message.to_string())
    }
}

fn invalid(what: impl Into<String>) -> FormatError {
    FormatError::Invalid { what: what.into() }
}

/// The floats of a file, eight bytes each, and how many may still be taken.
#[derive(Debug)]
pub(crate) struct Floats<'a> {
    bytes: &'a [u8],
    /// A file could refer to the same floats again and again: no more are handed out than there are.
    left: Cell<u64>,
    /// Whether NaN and infinities are refused.
    finite_only: bool,
}

impl<'a> Floats<'a> {
    pub fn new(bytes: &'a [u8], finite_only: bool) -> Self {
        Self { bytes, left: Cell::new(bytes.len() as u64 / 8), finite_only }
    }

    fn take(&self, start: u64, count: u64) -> Result<FloatSequence<'a>> {
        let end = start.checked_add(count).and_then(|end| end.checked_mul(8));
        let (Some(end), Some(begin)) = (end, start.checked_mul(8)) else {
            return Err(invalid(format!("{count} floats from {start} on are more than any file holds")));
        };
        let held = self.bytes.len() / 8;
        let piece = usize::try_from(begin).ok().zip(usize::try_from(end).ok());
        let Some(piece) = piece.and_then(|(begin, end)| self.bytes.get(begin..end)) else {
            return Err(invalid(format!("{count} floats from {start} on are asked for, and the file holds {held}")));
        };
        let Some(left) = self.left.get().checked_sub(count) else {
            return Err(invalid(format!("more floats are referred to than the {held} that the file holds")));
        };
        self.left.set(left);
        Ok(FloatSequence { bytes: piece, finite_only: self.finite_only })
    }
}

/// The float64s of one array.
struct FloatSequence<'a> {
    bytes: &'a [u8],
    finite_only: bool,
}

impl<'de> SeqAccess<'de> for FloatSequence<'_> {
    type Error = FormatError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some((first, rest)) = self.bytes.split_first_chunk::<8>() else { return Ok(None) };
        self.bytes = rest;
        let value = f64::from_le_bytes(*first);
        if self.finite_only && !value.is_finite() {
            return Err(invalid(format!("a number is {value}; it must be finite")));
        }
        seed.deserialize(value.into_deserializer()).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.bytes.len() / 8)
    }
}

/// A value of the tree with the floats that it may refer to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node<'a> {
    pub tree: &'a Tree,
    pub floats: &'a Floats<'a>,
}

impl<'a> Node<'a> {
    fn at(self, tree: &'a Tree) -> Self {
        Self { tree, ..self }
    }
}

macro_rules! as_any {
    ($($method:ident($($argument:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $argument,)* visitor: V) -> Result<V::Value> {
            self.deserialize_any(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = FormatError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.tree {
            Tree::Null => visitor.visit_unit(),
            Tree::Bool(value) => visitor.visit_bool(*value),
            Tree::Unsigned(value) => visitor.visit_u64(*value),
            Tree::Signed(value) => visitor.visit_i64(*value),
            Tree::Float(value) => visitor.visit_f64(*value),
            Tree::Text(value) => visitor.visit_borrowed_str(value),
            Tree::List(list) => whole_list(List { node: self, rest: list }, |list| visitor.visit_seq(list)),
            Tree::Floats(start, count) => {
                let mut floats = self.floats.take(*start, *count)?;
                let value = visitor.visit_seq(&mut floats)?;
                if floats.bytes.is_empty() { Ok(value) } else { Err(invalid("an array has too many numbers")) }
            }
            Tree::Map(entries) => visitor.visit_map(Map { node: self, entries, value: None }),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let value = match self.tree {
            Tree::Text(text) => match &**text {
                "NaN" => f64::NAN,
                "inf" => f64::INFINITY,
                "-inf" => f64::NEG_INFINITY,
                _ => return self.deserialize_any(visitor),
            },
            _ => return self.deserialize_any(visitor),
        };
        if self.floats.finite_only {
            return Err(invalid(format!("a number is {value}; it must be finite")));
        }
        visitor.visit_f64(value)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.tree {
            Tree::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.tree {
            Tree::Text(name) => visitor.visit_enum(StrDeserializer::new(name)),
            Tree::Map(entries) => match &entries[..] {
                [(name, tree)] => visitor.visit_enum(Variant { name, node: self.at(tree) }),
                _ => Err(invalid(format!("one choice is expected, and there are {}", entries.len()))),
            },
            _ => Err(invalid("the name of a choice is expected")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    as_any!(deserialize_bool() deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_u8());
    as_any!(deserialize_u16() deserialize_u32() deserialize_u64() deserialize_char() deserialize_str());
    as_any!(deserialize_string() deserialize_bytes() deserialize_byte_buf() deserialize_unit() deserialize_seq());
    as_any!(deserialize_map() deserialize_identifier() deserialize_unit_struct(&'static str) deserialize_tuple(usize));
    as_any!(deserialize_tuple_struct(&'static str, usize) deserialize_struct(&'static str, &'static [&'static str]));
}

/// The elements of a list that are still to come.
struct List<'a> {
    node: Node<'a>,
    rest: &'a [Tree],
}

/// Reads a list and checks that nothing is left of it.
fn whole_list<'a, T>(mut list: List<'a>, read: impl FnOnce(&mut List<'a>) -> Result<T>) -> Result<T> {
    let value = read(&mut list)?;
    match list.rest.len() {
        0 => Ok(value),
        left => Err(invalid(format!("a list has {left} elements too many"))),
    }
}

impl<'de> SeqAccess<'de> for List<'de> {
    type Error = FormatError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        let Some((first, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        seed.deserialize(self.node.at(first)).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The entries of a map that are still to come.
struct Map<'a> {
    node: Node<'a>,
    entries: &'a [(Box<str>, Tree)],
    value: Option<&'a (Box<str>, Tree)>,
}

impl<'de> MapAccess<'de> for Map<'de> {
    type Error = FormatError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        let Some((first, rest)) = self.entries.split_first() else { return Ok(None) };
        (self.entries, self.value) = (rest, Some(first));
        seed.deserialize(StrDeserializer::new(&first.0)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        let Some((key, tree)) = self.value.take() else { return Err(invalid("a value without a name")) };
        // The way to the place at fault: "body: fitted: model: …".
        seed.deserialize(self.node.at(tree)).map_err(|error| match error {
            FormatError::Invalid { what } => invalid(format!("{key}: {what}")),
            other => other,
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.entries.len())
    }
}

/// A choice that carries a value.
struct Variant<'a> {
    name: &'a str,
    node: Node<'a>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = FormatError;
    type Variant = Node<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Node<'de>)> {
        Ok((seed.deserialize(StrDeserializer::<FormatError>::new(self.name))?, self.node))
    }
}

impl<'de> VariantAccess<'de> for Node<'de> {
    type Error = FormatError;

    fn unit_variant(self) -> Result<()> {
        match self.tree {
            Tree::Null => Ok(()),
            _ => Err(invalid("a choice that carries nothing is given a value")),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value> {
        match self.tree {
            Tree::Map(entries) => {
                MapAccessDeserializer::new(Map { node: self, entries, value: None }).deserialize_any(visitor)
            }
            _ => Err(invalid("the fields of a choice are expected")),
        }
    }
}
