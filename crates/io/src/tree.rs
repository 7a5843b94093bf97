//! The JSON of a file as a small tree: values in order, with references to floats recognised.

use crate::write::FLOATS;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// One value, in 24 bytes and what it owns: a hostile file has many small ones.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(Box<str>),
    List(Box<[Tree]>),
    Map(Box<[(Box<str>, Tree)]>),
    /// A piece of the file's floats: start and count.
    Floats(u64, u64),
}

struct TreeVisitor;

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = seq.next_element()? {
            list.push(value);
        }
        Ok(Tree::List(list.into_boxed_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries: Vec<(Box<str>, Tree)> = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        match &entries[..] {
            [(key, Tree::List(range))] if &**key == FLOATS => match range[..] {
                [Tree::Unsigned(start), Tree::Unsigned(count)] => Ok(Tree::Floats(start, count)),
                _ => Err(de::Error::custom(format!("{FLOATS} takes a start and a count"))),
            },
            _ => Ok(Tree::Map(entries.into_boxed_slice())),
        }
    }
}
