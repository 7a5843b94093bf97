//! The writing half of the format: any serde value as JSON text, with arrays of float64 set aside.

use crate::error::FormatError;
use serde::ser::{self, Serialize};

/// The name that stands in JSON for an array of float64.
pub(crate) const FLOATS: &str = "$f64";

type Result<T> = std::result::Result<T, FormatError>;

/// JSON text and the floats it refers to.
#[derive(Debug)]
pub(crate) struct Writer {
    pub json: Vec<u8>,
    /// Eight bytes each.
    pub floats: Vec<u8>,
    /// Whether NaN and infinities are refused.
    finite_only: bool,
}

impl ser::Error for FormatError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        FormatError::Unwritable { what: message.to_string() }
    }
}

impl Writer {
    pub fn new(finite_only: bool) -> Self {
        Self { json: Vec::new(), floats: Vec::new(), finite_only }
    }

    fn check(&self, value: f64) -> Result<f64> {
        if self.finite_only && !value.is_finite() {
            return Err(FormatError::Unwritable { what: format!("a number is {value}; it must be finite") });
        }
        Ok(value)
    }

    fn float(&mut self, value: f64) -> Result<()> {
        self.floats.extend_from_slice(&self.check(value)?.to_le_bytes());
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        serde_json::to_writer(&mut self.json, text).map_err(ser::Error::custom)
    }

    fn raw(&mut self, text: &str) {
        self.json.extend_from_slice(text.as_bytes());
    }

    fn display(&mut self, value: impl std::fmt::Display) {
        self.raw(&value.to_string());
    }

    /// `{"variant":`
    fn open_variant(&mut self, variant: &str) -> Result<()> {
        self.raw("{");
        self.text(variant)?;
        self.raw(":");
        Ok(())
    }
}

/// Takes a float64 and refuses all else: what finds out if a sequence is one of float64.
struct OneFloat;

/// A sequence in the course of being written.
pub(crate) struct Sequence<'a> {
    writer: &'a mut Writer,
    /// Where its floats begin, if its first element was one.
    floats: Option<usize>,
    count: usize,
    close: &'static str,
}

/// A map or struct in the course of being written.
pub(crate) struct Object<'a> {
    writer: &'a mut Writer,
    count: usize,
    close: &'static str,
}

impl<'a> Sequence<'a> {
    fn new(writer: &'a mut Writer, close: &'static str) -> Self {
        Self { writer, floats: None, count: 0, close }
    }

    /// One element that stays in the JSON, whatever it is.
    fn inline<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.writer.raw(if self.count == 0 { "[" } else { "," });
        self.count += 1;
        value.serialize(&mut *self.writer)
    }

    fn end_inline(self) -> Result<()> {
        self.writer.raw(if self.count == 0 { "[]" } else { "]" });
        self.writer.raw(self.close);
        Ok(())
    }
}

impl ser::SerializeSeq for Sequence<'_> {
    type Ok = ();
    type Error = FormatError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        if self.count == 0
            && let Ok(first) = value.serialize(OneFloat)
        {
            self.floats = Some(self.writer.floats.len() / 8);
            self.count = 1;
            return self.writer.float(first);
        }
        if self.floats.is_none() {
            return self.inline(value);
        }
        self.count += 1;
        let next = value.serialize(OneFloat)?;
        self.writer.float(next)
    }

    fn end(self) -> Result<()> {
        match self.floats {
            None => self.end_inline(),
            Some(start) => {
                self.writer.raw(&format!("{{\"{FLOATS}\":[{start},{}]}}{}", self.count, self.close));
                Ok(())
            }
        }
    }
}

impl Object<'_> {
    fn key(&mut self, key: &str) -> Result<()> {
        // The one name that means something else.
        if key == FLOATS {
            return Err(FormatError::Unwritable { what: format!("the name {FLOATS} is taken") });
        }
        self.writer.raw(if self.count == 0 { "{" } else { "," });
        self.count += 1;
        self.writer.text(key)?;
        self.writer.raw(":");
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.writer.raw(if self.count == 0 { "{}" } else { "}" });
        self.writer.raw(self.close);
        Ok(())
    }
}

impl ser::SerializeMap for Object<'_> {
    type Ok = ();
    type Error = FormatError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        match serde_json::to_value(key) {
            Ok(serde_json::Value::String(key)) => self.key(&key),
            _ => Err(FormatError::Unwritable { what: "the keys of a map must be strings".into() }),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<()> {
        self.finish()
    }
}

macro_rules! object {
    ($($of:ident)*) => {$(
        impl ser::$of for Object<'_> {
            type Ok = ();
            type Error = FormatError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<()> {
                self.key(key)?;
                value.serialize(&mut *self.writer)
            }

            fn end(self) -> Result<()> {
                self.finish()
            }
        }
    )*};
}

macro_rules! tuple {
    ($($of:ident $method:ident)*) => {$(
        impl ser::$of for Sequence<'_> {
            type Ok = ();
            type Error = FormatError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.inline(value)
            }

            fn end(self) -> Result<()> {
                self.end_inline()
            }
        }
    )*};
}

object!(SerializeStruct SerializeStructVariant);
tuple!(SerializeTuple serialize_element SerializeTupleStruct serialize_field SerializeTupleVariant serialize_field);

macro_rules! displayed {
    ($($method:ident $of:ty)*) => {$(
        fn $method(self, value: $of) -> Result<()> {
            self.display(value);
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Writer {
    type Ok = ();
    type Error = FormatError;
    type SerializeSeq = Sequence<'a>;
    type SerializeTuple = Sequence<'a>;
    type SerializeTupleStruct = Sequence<'a>;
    type SerializeTupleVariant = Sequence<'a>;
    type SerializeMap = Object<'a>;
    type SerializeStruct = Object<'a>;
    type SerializeStructVariant = Object<'a>;

    displayed!(serialize_bool bool serialize_i8 i8 serialize_i16 i16 serialize_i32 i32 serialize_i64 i64);
    displayed!(serialize_u8 u8 serialize_u16 u16 serialize_u32 u32 serialize_u64 u64);

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        if !self.check(value)?.is_finite() {
            // "NaN", "inf", "-inf"
            return self.text(&value.to_string());
        }
        serde_json::to_writer(&mut self.json, &value).map_err(ser::Error::custom)
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.text(value)
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.raw("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.text(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        self.open_variant(variant)?;
        value.serialize(&mut *self)?;
        self.raw("}");
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Sequence<'a>> {
        Ok(Sequence::new(self, ""))
    }

    fn serialize_tuple(self, _: usize) -> Result<Sequence<'a>> {
        Ok(Sequence::new(self, ""))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Sequence<'a>> {
        Ok(Sequence::new(self, ""))
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Sequence<'a>> {
        self.open_variant(variant)?;
        Ok(Sequence::new(self, "}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'a>> {
        Ok(Object { writer: self, count: 0, close: "" })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'a>> {
        Ok(Object { writer: self, count: 0, close: "" })
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Object<'a>> {
        self.open_variant(variant)?;
        Ok(Object { writer: self, count: 0, close: "}" })
    }
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*) -> $of:ty)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<$of> {
            Err(not_a_float())
        }
    )*};
}

fn not_a_float() -> FormatError {
    FormatError::Unwritable { what: "an array begins with a float64 and goes on with something else".into() }
}

impl ser::Serializer for OneFloat {
    type Ok = f64;
    type Error = FormatError;
    type SerializeSeq = ser::Impossible<f64, FormatError>;
    type SerializeTuple = ser::Impossible<f64, FormatError>;
    type SerializeTupleStruct = ser::Impossible<f64, FormatError>;
    type SerializeTupleVariant = ser::Impossible<f64, FormatError>;
    type SerializeMap = ser::Impossible<f64, FormatError>;
    type SerializeStruct = ser::Impossible<f64, FormatError>;
    type SerializeStructVariant = ser::Impossible<f64, FormatError>;

    fn serialize_f64(self, value: f64) -> Result<f64> {
        Ok(value)
    }

    refused!(serialize_bool(bool) -> f64 serialize_char(char) -> f64 serialize_f32(f32) -> f64);
    refused!(serialize_i8(i8) -> f64 serialize_i16(i16) -> f64 serialize_i32(i32) -> f64 serialize_i64(i64) -> f64);
    refused!(serialize_u8(u8) -> f64 serialize_u16(u16) -> f64 serialize_u32(u32) -> f64 serialize_u64(u64) -> f64);
    refused!(serialize_str(&str) -> f64 serialize_bytes(&[u8]) -> f64 serialize_none() -> f64 serialize_unit() -> f64);
    refused!(serialize_unit_struct(&'static str) -> f64);
    refused!(serialize_unit_variant(&'static str, u32, &'static str) -> f64);
    refused!(serialize_seq(Option<usize>) -> Self::SerializeSeq serialize_tuple(usize) -> Self::SerializeTuple);
    refused!(serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct);
    refused!(serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant);
    refused!(serialize_map(Option<usize>) -> Self::SerializeMap);
    refused!(serialize_struct(&'static str, usize) -> Self::SerializeStruct);
    refused!(serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant);

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<f64> {
        Err(not_a_float())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, _: &T) -> Result<f64> {
        Err(not_a_float())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<f64> {
        Err(not_a_float())
    }
}
