//! A table of nothing but numbers, with named columns.

use crate::cell::{Cell, mistaken_number};
use crate::error::{Error, Result, excerpt};
use crate::read::{ReadOptions, Reader};
use crate::source::Source;
use deepgp_numerics::linalg::Mat;
use std::path::PathBuf;

/// Named columns of finite numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// One name per column, all different.
    pub names: Vec<String>,
    /// The numbers, a row per row of the file.
    pub values: Mat,
}

impl Table {
    /// Reads a table of finite numbers from any file that [`Reader`] reads; `-` is standard input.
    ///
    /// # Errors
    /// What is wrong, with file, line and column: see [`Error`].
    pub fn read(path: impl Into<PathBuf>) -> Result<Self> {
        Self::read_source(&Source::new(path))
    }

    /// As [`Table::read`], from any source.
    ///
    /// # Errors
    /// As [`Table::read`].
    pub fn read_source(source: &Source) -> Result<Self> {
        let mut reader = Reader::open(source, &ReadOptions::default())?;
        let (mut data, mut rows) = (Vec::new(), 0);
        while let Some(chunk) = reader.next_chunk()? {
            rows += chunk.rows();
            for row in 0..chunk.rows() {
                for (col, name) in reader.names().iter().enumerate() {
                    match chunk.cell(row, col) {
                        Cell::Number(value) if value.is_finite() => data.push(value),
                        _ => {
                            let (path, place) = (reader.label().to_owned(), chunk.place(row));
                            let text = chunk.text(row, col);
                            let (hint, text) = (mistaken_number(&text), excerpt(&text));
                            return Err(Error::NotANumber { path, place, column: name.clone(), text, hint });
                        }
                    }
                }
            }
        }
        if rows == 0 {
            return Err(Error::Empty { path: reader.label().to_owned(), what: "rows below the header" });
        }
        let names = reader.names().to_vec();
        Ok(Self { values: Mat::from_vec(rows, names.len(), data)?, names })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Table> {
        Table::read_source(&Source::from_bytes("t.csv", text.as_bytes()))
    }

    fn error(text: &str) -> String {
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
        assert_eq!(error("a,b\n1,2\n3,x\n"), r#"t.csv, line 3, column "b": "x" is not a finite number"#);
        assert_eq!(error("a,b\n1,\n"), r#"t.csv, line 2, column "b": "" is not a finite number"#);
        assert_eq!(error("a,b\nnan,1\n"), r#"t.csv, line 2, column "a": "nan" is not a finite number"#);
        assert!(
            error("a,b\n1e999,1\n").starts_with(r#"t.csv, line 2, column "a": "1e999" is not a finite number; inf"#)
        );
        assert_eq!(error("a,b\r\n1,2\r\n\r\n3,x\r\n"), r#"t.csv, line 4, column "b": "x" is not a finite number"#);
        assert_eq!(error("a,b\n"), "t.csv: no rows below the header found");
        assert!(matches!(Table::read("/no/such/file.csv"), Err(Error::Read { .. })));
    }
}
