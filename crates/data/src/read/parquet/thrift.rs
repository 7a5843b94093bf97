//! Parses the compact protocol of Thrift, in which Parquet writes its metadata.

/// Deeper nesting does not occur in Parquet.
const MAX_DEPTH: usize = 16;

/// A value whose meaning depends on the field it stands in.
#[derive(Debug)]
pub(super) enum Value<'a> {
    Bool(bool),
    Int(i64),
    Bytes(&'a [u8]),
    List(Vec<Value<'a>>),
    /// Fields by number, ascending in sound files.
    Struct(Vec<(i64, Value<'a>)>),
    /// Floating-point numbers and maps, which nobody asks for.
    Other,
}

impl<'a> Value<'a> {
    /// The struct at the beginning of `bytes`, and the number of bytes it takes. `None` if the bytes end within it, or
    /// are none.
    pub fn parse(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let mut parser = Parser { bytes, at: 0 };
        let value = parser.structure(0)?;
        Some((value, parser.at))
    }

    pub fn field(&self, id: i64) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(i, _)| *i == id).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn int(&self, id: i64) -> Option<i64> {
        match self.field(id)? {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// A size or position.
    pub fn size(&self, id: i64) -> Option<usize> {
        usize::try_from(self.int(id)?).ok()
    }

    pub fn flag(&self, id: i64) -> Option<bool> {
        match self.field(id)? {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn text(&self, id: i64) -> Option<&'a str> {
        match self.field(id)? {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub fn list(&self, id: i64) -> Option<&[Self]> {
        match self.field(id)? {
            Self::List(values) => Some(values),
            _ => None,
        }
    }
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Parser<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(n)?)?;
        self.at += n;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let (value, n_bytes) = varint(&self.bytes[self.at..])?;
        self.at += n_bytes;
        Some(value)
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn structure(&mut self, depth: usize) -> Option<Value<'a>> {
        let (mut fields, mut id) = (Vec::new(), 0_i64);
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Some(Value::Struct(fields));
            }
            id = match head >> 4 {
                0 => self.zigzag()?,
                step => id.checked_add(i64::from(step))?,
            };
            let value = match kind {
                1 => Value::Bool(true),
                2 => Value::Bool(false),
                kind => self.value(kind, depth)?,
            };
            fields.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<Value<'a>> {
        if depth >= MAX_DEPTH {
            return None;
        }
        Some(match kind {
            1 | 2 => Value::Bool(self.byte()? == 1),
            3 => Value::Int(i64::from(self.byte()? as i8)),
            4..=6 => Value::Int(self.zigzag()?),
            7 => {
                self.take(8)?;
                Value::Other
            }
            8 => {
                let n = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(n)?)
            }
            9 | 10 => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { usize::try_from(self.varint()?).ok()? } else { usize::from(head >> 4) };
                // Every element takes a byte at least, so the list ends with the bytes whatever it claims.
                Value::List((0..n).map(|_| self.value(head & 0x0f, depth + 1)).collect::<Option<_>>()?)
            }
            11 => {
                let n = self.varint()?;
                let kinds = if n > 0 { self.byte()? } else { 0 };
                for _ in 0..n {
                    self.value(kinds >> 4, depth + 1)?;
                    self.value(kinds & 0x0f, depth + 1)?;
                }
                Value::Other
            }
            12 => self.structure(depth + 1)?,
            _ => return None,
        })
    }
}

/// An unsigned number in groups of seven bits, and the number of bytes it takes.
pub(super) fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() -> Result<(), String> {
        // {1: 150, 3: "ab", 4: true, 5: [1, -1], 6: {1: -3}}
        let bytes = [
            0x15, 0xac, 0x02, 0x28, 0x02, b'a', b'b', 0x11, 0x19, 0x25, 0x02, 0x01, 0x1c, 0x15, 0x05, 0x00, 0x00, 0xff,
        ];
        let (value, used) = Value::parse(&bytes).ok_or("no value")?;
        assert_eq!(used, bytes.len() - 1);
        assert_eq!((value.int(1), value.text(3), value.flag(4)), (Some(150), Some("ab"), Some(true)));
        assert!(matches!(value.list(5), Some([Value::Int(1), Value::Int(-1)])));
        assert_eq!(value.field(6).and_then(|inner| inner.int(1)), Some(-3));
        assert!(value.field(2).is_none());
        for cut in 0..used {
            assert!(Value::parse(&bytes[..cut]).is_none(), "{cut}");
        }
        // Structs within structs without end, and a list that claims more than there is.
        assert!(Value::parse(&[0x1c; 1000]).is_none());
        assert!(Value::parse(&[0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x02]).is_none());
        Ok(())
    }
}
