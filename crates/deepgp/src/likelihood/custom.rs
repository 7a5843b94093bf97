//! A law from outside the crate, as a value like any other but for files.

use super::Observation;
use serde::{Serializer, ser};
use std::any::Any;
use std::fmt::Debug;
use std::ops::{Deref, DerefMut};

/// What a law from outside must be able to do beside [`Observation`]. It is implemented for every type that can.
pub trait CustomLaw: Observation + Any + Debug + Send + Sync {
    /// A copy in a box of its own.
    fn boxed(&self) -> Box<dyn CustomLaw>;

    /// Whether the other is a law of the same type with equal values.
    fn equals(&self, other: &dyn CustomLaw) -> bool;
}

impl<L: Observation + Any + Debug + Clone + PartialEq + Send + Sync> CustomLaw for L {
    fn boxed(&self) -> Box<dyn CustomLaw> {
        Box::new(self.clone())
    }

    fn equals(&self, other: &dyn CustomLaw) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<L>() == Some(self)
    }
}

/// A law from outside the crate in its box.
#[derive(Debug)]
pub struct Custom(Box<dyn CustomLaw>);

impl Custom {
    /// Boxes a law.
    pub fn new(law: impl CustomLaw) -> Self {
        Self(Box::new(law))
    }
}

impl Clone for Custom {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Deref for Custom {
    type Target = dyn CustomLaw;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl DerefMut for Custom {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.0
    }
}

/// A file would need the code of the law to be read again.
pub(super) fn refuse<S: Serializer>(_law: &Custom, _serializer: S) -> Result<S::Ok, S::Error> {
    Err(ser::Error::custom("a likelihood from outside the crate cannot be written to a file"))
}
