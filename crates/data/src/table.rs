//! A table of numbers with named columns, read from CSV.

use crate::error::{Error, Result};
use crate::source::open;
use csv::{ReaderBuilder, Trim};
use deepgp::linalg::Mat;
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Named columns of finite numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// One name per column, all different.
    pub names: Vec<String>,
    /// The numbers, a row per line of the file.
    pub values: Mat,
}

impl Table {
    /// Reads a `.csv` or `.csv.gz` file: a header line, then only finite numbers.
    ///
    /// # Errors
    /// What is wrong, with file, line and column: see [`Error`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::parse(open(path)?, path)
    }

    /// Parses the text of `reader`; `path` is named in errors.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn parse(reader: impl Read, path: &Path) -> Result<Self> {
        let read_error = |cause| Error::Read { path: path.to_owned(), cause };
        // Lines are counted here: the parser's own count slips at "\r\n" and at blank lines.
        let mut lines = (1..).zip(BufReader::new(reader).lines());
        let header = lines.next().map_or(Ok(String::new()), |(_, text)| text).map_err(read_error)?;
        let names = parse_header(&header, path)?;
        let mut data = Vec::new();
        for (line, text) in lines {
            let text = text.map_err(read_error)?;
            if !text.trim().is_empty() {
                push_row(&mut data, &text, line, &names, path)?;
            }
        }
        if data.is_empty() {
            return Err(Error::Empty { path: path.to_owned(), what: "rows below the header" });
        }
        let values = Mat::from_vec(data.len() / names.len(), names.len(), data)?;
        Ok(Self { names, values })
    }

    /// Inputs and targets, when the last `n_targets` columns are the targets.
    ///
    /// # Errors
    /// [`Error::TooManyTargets`] if no input would be left.
    pub fn split_targets(&self, n_targets: usize) -> Result<(Mat, Mat)> {
        let n_columns = self.values.cols();
        if n_targets >= n_columns {
            return Err(Error::TooManyTargets { n_targets, n_columns });
        }
        let (rows, n_inputs) = (self.values.rows(), n_columns - n_targets);
        let x = Mat::from_fn(rows, n_inputs, |i, j| self.values[(i, j)]);
        let y = Mat::from_fn(rows, n_targets, |i, j| self.values[(i, n_inputs + j)]);
        Ok((x, y))
    }
}

/// Names of the columns, which may be quoted; all different.
fn parse_header(text: &str, path: &Path) -> Result<Vec<String>> {
    let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|cause| Error::Csv { path: path.to_owned(), cause })?;
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    if names.is_empty() {
        return Err(Error::Empty { path: path.to_owned(), what: "header" });
    }
    let mut seen = HashSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::RepeatedName { path: path.to_owned(), name: name.clone() }),
        None => Ok(names),
    }
}

/// Appends the numbers of one line.
fn push_row(data: &mut Vec<f64>, text: &str, line: u64, names: &[String], path: &Path) -> Result<()> {
    let found = text.split(',').count();
    if found != names.len() {
        return Err(Error::Ragged { path: path.to_owned(), line, expected: names.len(), found });
    }
    for (field, name) in text.split(',').map(str::trim).zip(names) {
        let value = field.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or_else(|| Error::NotANumber {
            path: path.to_owned(),
            line,
            column: name.clone(),
            text: field.to_owned(),
        })?;
        data.push(value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn parse(text: &str) -> Result<Table> {
        Table::parse(text.as_bytes(), Path::new("t.csv"))
    }

    fn fault(text: &str) -> String {
        parse(text).map_or_else(|e| e.to_string(), |t| format!("no fault: {t:?}"))
    }

    #[test]
    fn reads_numbers_under_names() -> Result<()> {
        let table = parse("\u{feff}a,\"b,c\", y\r\n1,-2.5e-3,3\r\n 4 ,+5,.6\r\n")?;
        assert_eq!(table.names, ["a", "b,c", "y"]);
        assert_eq!(table.values, Mat::from_rows(&[[1.0, -2.5e-3, 3.0], [4.0, 5.0, 0.6]])?);
        let (x, y) = table.split_targets(1)?;
        assert_eq!((x, y.column(0)), (Mat::from_rows(&[[1.0, -2.5e-3], [4.0, 5.0]])?, vec![3.0, 0.6]));
        assert!(matches!(table.split_targets(3), Err(Error::TooManyTargets { n_targets: 3, n_columns: 3 })));
        Ok(())
    }

    #[test]
    fn faults_say_where_they_are() {
        assert_eq!(fault("a,b\n1,2\n3,x\n"), r#"t.csv, line 3, column "b": "x" is not a finite number"#);
        assert_eq!(fault("a,b\n1,\n"), r#"t.csv, line 2, column "b": "" is not a finite number"#);
        assert_eq!(fault("a,b\nnan,1\n"), r#"t.csv, line 2, column "a": "nan" is not a finite number"#);
        assert_eq!(fault("a,b\n1e999,1\n"), r#"t.csv, line 2, column "a": "1e999" is not a finite number"#);
        assert_eq!(fault("a,b\n1,2\n\n3\n"), "t.csv, line 4: 1 fields where the header has 2");
        assert_eq!(fault("a,b\r\n1,2\r\n3,x\r\n"), r#"t.csv, line 3, column "b": "x" is not a finite number"#);
        assert_eq!(fault("a,b\n1,2,3\n"), "t.csv, line 2: 3 fields where the header has 2");
        assert_eq!(fault(""), "t.csv: no header found");
        assert_eq!(fault("a,b\n"), "t.csv: no rows below the header found");
        assert_eq!(fault("a,b,a\n1,2,3\n"), r#"t.csv: two columns are called "a""#);
        assert!(matches!(Table::parse(&b"a\n\xff\n"[..], Path::new("t.csv")), Err(Error::Read { .. })));
        assert!(matches!(Table::read("/no/such/file.csv"), Err(Error::Read { .. })));
    }

    #[test]
    fn reads_plain_and_compressed_files() -> std::result::Result<(), Box<dyn std::error::Error>> {
        let text = "x,y\n0.1,2\n0.3,4\n";
        let stem = std::env::temp_dir().join(format!("deepgp-data-table-{}", std::process::id()));
        let (plain, packed) = (stem.with_extension("csv"), stem.with_extension("csv.gz"));
        std::fs::write(&plain, text)?;
        let mut encoder = GzEncoder::new(std::fs::File::create(&packed)?, Compression::default());
        encoder.write_all(text.as_bytes())?;
        encoder.finish()?;
        let read = (Table::read(&plain), Table::read(&packed));
        std::fs::remove_file(&plain)?;
        std::fs::remove_file(&packed)?;
        let expected = parse(text)?;
        assert_eq!((read.0?, read.1?), (expected.clone(), expected));
        Ok(())
    }
}
