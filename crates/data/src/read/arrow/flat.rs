//! Looks into FlatBuffers, in which Arrow writes its metadata.
//!
//! A table is a signed offset to its list of field positions, then its fields; positions count from the table. Every
//! look is checked: `None` means that the bytes are not what they should be, or that a field is absent.

/// A table within `bytes`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The `N` bytes at `at`.
pub(super) fn bytes_at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

impl<'a> Table<'a> {
    /// The table that the first bytes point at.
    pub fn root(bytes: &'a [u8]) -> Option<Self> {
        Some(Self { bytes, at: u32::from_le_bytes(bytes_at(bytes, 0)?) as usize })
    }

    /// Where field `i` is stored; `None` if it has its default value.
    fn field(&self, i: usize) -> Option<usize> {
        let back = i64::from(i32::from_le_bytes(bytes_at(self.bytes, self.at)?));
        let positions = usize::try_from(i64::try_from(self.at).ok()? - back).ok()?;
        let n_bytes = usize::from(u16::from_le_bytes(bytes_at(self.bytes, positions)?));
        let entry = 4 + 2 * i;
        if entry + 2 > n_bytes {
            return None;
        }
        let offset = u16::from_le_bytes(bytes_at(self.bytes, positions.checked_add(entry)?)?);
        (offset > 0).then(|| self.at.checked_add(usize::from(offset)))?
    }

    fn scalar<const N: usize>(&self, i: usize) -> Option<[u8; N]> {
        bytes_at(self.bytes, self.field(i)?)
    }

    pub fn u8(&self, i: usize) -> u8 {
        self.scalar(i).map_or(0, u8::from_le_bytes)
    }

    pub fn i16(&self, i: usize) -> i16 {
        self.scalar(i).map_or(0, i16::from_le_bytes)
    }

    pub fn i32(&self, i: usize) -> i32 {
        self.scalar(i).map_or(0, i32::from_le_bytes)
    }

    pub fn i64(&self, i: usize) -> i64 {
        self.scalar(i).map_or(0, i64::from_le_bytes)
    }

    /// What the offset in field `i` points at.
    fn target(&self, i: usize) -> Option<usize> {
        let field = self.field(i)?;
        field.checked_add(u32::from_le_bytes(bytes_at(self.bytes, field)?) as usize)
    }

    pub fn table(&self, i: usize) -> Option<Self> {
        Some(Self { bytes: self.bytes, at: self.target(i)? })
    }

    pub fn text(&self, i: usize) -> Option<&'a str> {
        let (start, n) = self.vector(i)?;
        std::str::from_utf8(self.bytes.get(start..start.checked_add(n)?)?).ok()
    }

    /// Position and number of the elements of a vector.
    fn vector(&self, i: usize) -> Option<(usize, usize)> {
        let at = self.target(i)?;
        Some((at.checked_add(4)?, u32::from_le_bytes(bytes_at(self.bytes, at)?) as usize))
    }

    /// The tables of a vector of tables; none if it is absent.
    pub fn tables(&self, i: usize) -> Option<Vec<Self>> {
        let Some((start, n)) = self.vector(i) else { return Some(Vec::new()) };
        let offsets = self.bytes.get(start..start.checked_add(n.checked_mul(4)?)?)?;
        let table = |(k, offset): (usize, &[u8; 4])| {
            Some(Self { bytes: self.bytes, at: (start + 4 * k).checked_add(u32::from_le_bytes(*offset) as usize)? })
        };
        offsets.as_chunks::<4>().0.iter().enumerate().map(table).collect()
    }

    /// The numbers of a vector of structs of `W` 64-bit integers; none if it is absent.
    pub fn structs<const W: usize>(&self, i: usize) -> Option<Vec<[i64; W]>> {
        let Some((start, n)) = self.vector(i) else { return Some(Vec::new()) };
        let bytes = self.bytes.get(start..start.checked_add(n.checked_mul(8 * W)?)?)?;
        let number = |k: usize| bytes_at(bytes, 8 * k).map(i64::from_le_bytes);
        (0..n).map(|k| Some(std::array::from_fn(|j| number(W * k + j).unwrap_or(0)))).collect()
    }
}
