//! Guesses how a text file is delimited.

use super::split::{Delimiter, Fields, Progress, Splitter};
use crate::cell::{Cell, Decimal, mistaken_number};

/// Records that are looked at.
const RECORDS: usize = 100;

/// The delimiter of the text that begins with `sample`; `is_whole` says that nothing follows.
///
/// A delimiter fits if it cuts all records into the same number of fields, two at least. Of those that fit, the one
/// whose fields below the header are most often numbers wins, then the one with most fields: in `1,5;2,5` the comma is
/// no delimiter.
/// Blanks are tried last, and only for numbers, since texts hold blanks too.
pub(super) fn delimiter(sample: &[u8], is_whole: bool) -> Delimiter {
    let candidates = [b',', b'\t', b';', b'|'].map(Delimiter::Byte);
    let cuts = candidates.map(|delimiter| (Cut::new(sample, is_whole, delimiter), delimiter));
    // `max_by_key` takes the last of equals, hence the reversal.
    let fitting =
        cuts.iter().rev().filter(|(cut, _)| cut.fits()).max_by_key(|(cut, _)| (cut.permille_numbers(), cut.first));
    if let Some((_, delimiter)) = fitting {
        return *delimiter;
    }
    let blanks = Cut::new(sample, is_whole, Delimiter::Blanks);
    if blanks.fits() && blanks.permille_numbers() > 500 {
        return Delimiter::Blanks;
    }
    // Some row is at fault: the header tells what was meant, and reading will tell which row it is.
    let header = cuts.iter().rev().max_by_key(|(cut, _)| cut.first);
    header.filter(|(cut, _)| cut.first > 1).map_or(Delimiter::Byte(b','), |(_, delimiter)| *delimiter)
}

/// What a delimiter makes of the first records.
#[derive(Default)]
struct Cut {
    /// Fields of the first record.
    first: usize,
    is_even: bool,
    n_cells: usize,
    n_numbers: usize,
}

impl Cut {
    fn new(sample: &[u8], is_whole: bool, delimiter: Delimiter) -> Self {
        let mut cut = Self { is_even: true, ..Self::default() };
        let (mut splitter, mut fields, mut rest, mut n_records) =
            (Splitter::new(delimiter), Fields::default(), sample, 0);
        while n_records < RECORDS {
            let (progress, used) = splitter.feed(rest, &mut fields);
            rest = &rest[used..];
            // The last record of a sample may be cut short.
            let is_cut = rest.is_empty() && !is_whole && n_records > 0;
            match progress {
                Progress::End => break,
                _ if is_cut => break,
                Progress::NeedsInput => {}
                Progress::Record if fields.is_blank() => fields.drop_record(),
                Progress::Record => {
                    if n_records == 1 {
                        // There is more than the first record, which may be a header.
                        (cut.n_cells, cut.n_numbers) = (0, 0);
                    }
                    cut.count(&fields, n_records == 0);
                    fields.drop_record();
                    n_records += 1;
                }
            }
        }
        cut
    }

    fn count(&mut self, fields: &Fields, is_first: bool) {
        let n_fields = fields.record_len();
        if is_first {
            self.first = n_fields;
        }
        self.is_even &= n_fields == self.first;
        self.n_cells += n_fields;
        let is_number = |i: &usize| {
            std::str::from_utf8(fields.field(*i)).is_ok_and(|text| match Cell::parse(text, Decimal::Point) {
                Cell::Missing | Cell::Number(_) => true,
                Cell::Text(text) => !mistaken_number(text).is_empty(),
            })
        };
        self.n_numbers += (0..n_fields).filter(is_number).count();
    }

    fn fits(&self) -> bool {
        self.is_even && self.first > 1
    }

    fn permille_numbers(&self) -> usize {
        (1000 * self.n_numbers).checked_div(self.n_cells).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_recognised() {
        for (text, expected) in [
            ("a,b\n1,2\n", Delimiter::Byte(b',')),
            ("a\tb\n1\t2\n", Delimiter::Byte(b'\t')),
            ("a;b\n1,5;2,5\n", Delimiter::Byte(b';')),
            ("1,5;2,5\n3,5;4,5\n", Delimiter::Byte(b';')),
            ("a|b\n1|2\n", Delimiter::Byte(b'|')),
            ("\"a;b\",c\n\"x;y\",2\n", Delimiter::Byte(b',')),
            ("name,note\nann,\"a|b\nc|d\"\nbob,\"e|f\"\n", Delimiter::Byte(b',')),
            ("  1.0   2.0\n 10.0   3.5\n", Delimiter::Blanks),
            (" x  colour y\n 1  red   2\n", Delimiter::Blanks),
            ("red wine\nwhite wine\n", Delimiter::Byte(b',')),
            ("x\n1\n2\n", Delimiter::Byte(b',')),
            // A row is at fault, and the header says what was meant.
            ("a;b;c\n1;2;3\n4;5\n", Delimiter::Byte(b';')),
            ("", Delimiter::Byte(b',')),
        ] {
            assert_eq!(delimiter(text.as_bytes(), true), expected, "{text:?}");
        }
    }

    #[test]
    fn a_record_that_is_cut_short_does_not_count() {
        assert_eq!(delimiter(b"a;b;c\n1;2;3\n4;5", false), Delimiter::Byte(b';'));
        assert_eq!(delimiter(b"1 2 3\n4 5 6\n7 8", false), Delimiter::Blanks);
        assert_eq!(delimiter(b"a;b;c", false), Delimiter::Byte(b';'));
    }
}
