//! Cuts text into records and fields.

use csv_core::ReadRecordResult;

/// What cuts the fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// One ASCII character; fields may be quoted by `"`.
    Byte(u8),
    /// Any number of spaces and tabs; nothing is quoted.
    Blanks,
}

/// How far the splitter came with its input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All input is used and the record goes on.
    NeedsInput,
    /// A record is complete.
    Record,
    /// The input has ended, and there was no further record.
    End,
}

/// A machine that is fed with text and fills in fields.
pub(super) enum Splitter {
    Quoting(Box<csv_core::Reader>),
    Blanks,
}

impl Splitter {
    pub fn new(delimiter: Delimiter) -> Self {
        match delimiter {
            Delimiter::Byte(byte) => Self::Quoting(Box::new(csv_core::ReaderBuilder::new().delimiter(byte).build())),
            Delimiter::Blanks => Self::Blanks,
        }
    }

    /// Whether a byte before the first field of a record is passed over.
    pub fn passes_over(&self, byte: u8) -> bool {
        match byte {
            b'\r' | b'\n' => true,
            b' ' | b'\t' => matches!(self, Self::Blanks),
            _ => false,
        }
    }

    /// Goes on until `input` is used or a record complete; an empty `input` means the end. Returns the number of bytes
    /// used, too.
    pub fn feed(&mut self, input: &[u8], fields: &mut Fields) -> (Progress, usize) {
        match self {
            Self::Quoting(reader) => feed_quoting(reader, input, fields),
            Self::Blanks => feed_blanks(input, fields),
        }
    }
}

fn feed_quoting(reader: &mut csv_core::Reader, input: &[u8], fields: &mut Fields) -> (Progress, usize) {
    let mut used = 0;
    loop {
        let (bytes, ends) = (&mut fields.bytes[fields.n_bytes..], &mut fields.ends[fields.n_ends..]);
        let (result, n_in, n_out, n_ends) = reader.read_record(&input[used..], bytes, ends);
        used += n_in;
        fields.n_bytes += n_out;
        fields.n_ends += n_ends;
        match result {
            ReadRecordResult::InputEmpty => return (Progress::NeedsInput, used),
            ReadRecordResult::OutputFull => fields.bytes.resize(2 * fields.bytes.len() + 1024, 0),
            ReadRecordResult::OutputEndsFull => fields.ends.resize(2 * fields.ends.len() + 64, 0),
            ReadRecordResult::Record => {
                // The parser counts from the beginning of the record.
                let start = fields.record_start();
                fields.ends[fields.closed_ends..fields.n_ends].iter_mut().for_each(|end| *end += start);
                return (Progress::Record, used);
            }
            ReadRecordResult::End => return (Progress::End, used),
        }
    }
}

fn feed_blanks(input: &[u8], fields: &mut Fields) -> (Progress, usize) {
    // A field is open when bytes stand behind the last end.
    let in_field = |fields: &Fields| fields.n_bytes > fields.last_end();
    let close = |fields: &mut Fields| {
        if in_field(fields) {
            fields.push_end();
        }
        fields.n_ends > fields.closed_ends
    };
    for (i, &byte) in input.iter().enumerate() {
        match byte {
            b'\n' | b'\r' if close(fields) => return (Progress::Record, i + 1),
            b'\n' | b'\r' => {}
            b' ' | b'\t' => _ = close(fields),
            _ => fields.push_byte(byte),
        }
    }
    match input.is_empty() {
        true if close(fields) => (Progress::Record, 0),
        true => (Progress::End, 0),
        false => (Progress::NeedsInput, input.len()),
    }
}

/// Fields of records, one after the other: field i is `bytes[ends[i − 1]..ends[i]]`. Both lists are longer than what
/// is filled in.
#[derive(Default)]
pub(super) struct Fields {
    bytes: Vec<u8>,
    n_bytes: usize,
    ends: Vec<usize>,
    n_ends: usize,
    /// Ends of the records before the current one.
    closed_ends: usize,
}

impl Fields {
    /// Bytes of all fields.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Number of fields of the current record.
    pub fn record_len(&self) -> usize {
        self.n_ends - self.closed_ends
    }

    /// Bytes of the current record so far.
    pub fn record_bytes(&self) -> usize {
        self.n_bytes - self.record_start()
    }

    /// Field `i` of the current record.
    pub fn field(&self, i: usize) -> &[u8] {
        let i = self.closed_ends + i;
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[i]]
    }

    /// Whether the current record is a line of blanks.
    pub fn is_blank(&self) -> bool {
        self.record_len() == 1 && self.field(0).trim_ascii().is_empty()
    }

    /// Keeps the current record; the next one follows it.
    pub fn close(&mut self) {
        self.closed_ends = self.n_ends;
    }

    /// Forgets the current record.
    pub fn drop_record(&mut self) {
        self.n_bytes = self.record_start();
        self.n_ends = self.closed_ends;
    }

    /// All bytes and ends.
    pub fn into_parts(mut self) -> (Vec<u8>, Vec<usize>) {
        self.bytes.truncate(self.n_bytes);
        self.ends.truncate(self.n_ends);
        (self.bytes, self.ends)
    }

    fn record_start(&self) -> usize {
        self.closed_ends.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    fn last_end(&self) -> usize {
        self.n_ends.checked_sub(1).map_or(0, |last| self.ends[last])
    }

    fn push_byte(&mut self, byte: u8) {
        match self.bytes.get_mut(self.n_bytes) {
            Some(place) => *place = byte,
            None => self.bytes.push(byte),
        }
        self.n_bytes += 1;
    }

    fn push_end(&mut self) {
        let end = self.n_bytes;
        match self.ends.get_mut(self.n_ends) {
            Some(place) => *place = end,
            None => self.ends.push(end),
        }
        self.n_ends += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All records of `text`, fed in pieces of `step` bytes.
    fn records(text: &str, delimiter: Delimiter, step: usize) -> Vec<Vec<String>> {
        let (mut splitter, mut fields, mut rest) = (Splitter::new(delimiter), Fields::default(), text.as_bytes());
        let mut records = Vec::new();
        loop {
            let (progress, used) = splitter.feed(&rest[..step.min(rest.len())], &mut fields);
            rest = &rest[used..];
            match progress {
                Progress::NeedsInput => {}
                Progress::End => return records,
                Progress::Record => {
                    let field = |i| String::from_utf8_lossy(fields.field(i)).into_owned();
                    records.push((0..fields.record_len()).map(field).collect());
                    fields.close();
                }
            }
        }
    }

    #[test]
    fn quotes_guard_delimiters_and_line_ends() {
        for step in [1, 3, 1000] {
            let found = records("a,\"b,\"\"c\"\"\nd\",\r\n\n1,,2", Delimiter::Byte(b','), step);
            assert_eq!(found, [vec!["a", "b,\"c\"\nd", ""], vec!["1", "", "2"]], "step {step}");
        }
    }

    #[test]
    fn blanks_are_taken_together() {
        for step in [1, 3, 1000] {
            let found = records("  a   b\t c \r\n\n 1 2 3\n4 5 6", Delimiter::Blanks, step);
            assert_eq!(found, [["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]], "step {step}");
        }
        assert!(records(" \n\t\n", Delimiter::Blanks, 2).is_empty());
    }
}
