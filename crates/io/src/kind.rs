//! What a file can hold.

use std::fmt;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// All that prediction needs; every number in it is finite.
    Model,
    /// A run that can be resumed.
    Checkpoint,
    /// A search for a model that can be taken up again.
    Search,
}

impl Kind {
    /// The four bytes that stand for it in a file.
    pub(crate) fn code(self) -> [u8; 4] {
        match self {
            Kind::Model => *b"MODL",
            Kind::Checkpoint => *b"CKPT",
            Kind::Search => *b"SRCH",
        }
    }

    /// Whether every number in the file must be finite.
    pub(crate) fn finite_only(self) -> bool {
        self == Kind::Model
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Model => "model file",
            Kind::Checkpoint => "checkpoint of an unfinished run",
            Kind::Search => "checkpoint of an unfinished search",
        })
    }
}
