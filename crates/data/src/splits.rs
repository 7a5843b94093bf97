//! Which rows are for testing: splits files, and the division of the rows they stand for.

use crate::error::{Error, Result};
use crate::source::Source;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Reads a splits file, plain or `.gz`: a line per split, the zero-based numbers of its test rows between commas.
///
/// # Errors
/// [`Error::NotARow`] with file, line and field; [`Error::Read`]; [`Error::Empty`] if there is no line.
pub fn read_splits(path: impl AsRef<Path>) -> Result<Vec<Vec<usize>>> {
    let path = path.as_ref();
    parse_splits(Source::new(path).open()?.into_reader(), path)
}

fn parse_splits(reader: impl Read, path: &Path) -> Result<Vec<Vec<usize>>> {
    let mut splits = Vec::new();
    for (line, text) in (1..).zip(BufReader::new(reader).lines()) {
        let text = text.map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
        let number = |(field, text): (usize, &str)| {
            let text = text.trim();
            text.parse().map_err(|_| Error::NotARow { path: path.to_owned(), line, field, text: text.to_owned() })
        };
        splits.push((1..).zip(text.split(',')).map(number).collect::<Result<Vec<usize>>>()?);
    }
    if splits.is_empty() { Err(Error::Empty { path: path.to_owned(), what: "split" }) } else { Ok(splits) }
}

/// Training rows (every row not named, ascending) and test rows (as named) of `n_rows` rows.
///
/// # Errors
/// [`Error::RowOutOfRange`] or [`Error::RepeatedRow`], naming the row.
pub fn train_test(n_rows: usize, test_rows: &[usize]) -> Result<(Vec<usize>, Vec<usize>)> {
    let mut is_test = vec![false; n_rows];
    for &row in test_rows {
        let mark = is_test.get_mut(row).ok_or(Error::RowOutOfRange { row, n_rows })?;
        if std::mem::replace(mark, true) {
            return Err(Error::RepeatedRow { row });
        }
    }
    let train = (0..n_rows).filter(|&row| !is_test[row]).collect();
    Ok((train, test_rows.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Vec<Vec<usize>>> {
        parse_splits(text.as_bytes(), Path::new("s.csv"))
    }

    fn error(text: &str) -> String {
        parse(text).map_or_else(|e| e.to_string(), |s| format!("no fault: {s:?}"))
    }

    #[test]
    fn reads_a_line_per_split() -> Result<()> {
        assert_eq!(parse("0,2\r\n1, 5 ,3\n4")?, [vec![0, 2], vec![1, 5, 3], vec![4]]);
        Ok(())
    }

    #[test]
    fn faults_say_where_they_are() {
        assert_eq!(error("0,1\n2,-3\n"), r#"s.csv, line 2, field 2: "-3" is not a row number"#);
        assert_eq!(error("0,1.5\n"), r#"s.csv, line 1, field 2: "1.5" is not a row number"#);
        assert_eq!(error("0\n\n1\n"), r#"s.csv, line 2, field 1: "" is not a row number"#);
        assert_eq!(error("0,\n"), r#"s.csv, line 1, field 2: "" is not a row number"#);
        assert_eq!(error(""), "s.csv: no split found");
        assert!(matches!(read_splits("/no/such/file"), Err(Error::Read { .. })));
        assert!(matches!(train_test(3, &[1, 3]), Err(Error::RowOutOfRange { row: 3, n_rows: 3 })));
        assert!(matches!(train_test(3, &[1, 0, 1]), Err(Error::RepeatedRow { row: 1 })));
    }

    #[test]
    fn keeps_the_order_of_the_test_rows() -> Result<()> {
        assert_eq!(train_test(5, &[3, 0])?, (vec![1, 2, 4], vec![3, 0]));
        assert_eq!(train_test(2, &[])?, (vec![0, 1], vec![]));
        Ok(())
    }

    proptest! {
        #[test]
        fn every_row_is_in_exactly_one_part(chosen in prop::collection::btree_set(0_usize..50, 0..50)) {
            let test: Vec<usize> = chosen.into_iter().collect();
            let (train, test) = train_test(50, &test)?;
            let mut all = [train, test].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..50).collect::<Vec<_>>());
        }
    }
}
