//! How the files of a public home become a set.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::set::{Columns, Home, Set};
use crate::splits::standard_splits;
use crate::store::{checked, checked_splits};
use deepgp_data::{Cell, ReadOptions, Reader, Source, Table};
use deepgp_numerics::linalg::Mat;
use flate2::read::MultiGzDecoder;
use std::io::Read;
use std::path::PathBuf;

/// A file of a public home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Its path at the home.
    pub path: String,
    /// More bytes than it can have.
    pub limit: u64,
}

impl Wanted {
    /// Its name, without folders.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// A file that was downloaded.
#[derive(Debug, Clone)]
pub(crate) struct Downloaded {
    /// Where it came from.
    pub url: String,
    pub bytes: Vec<u8>,
    /// More bytes than it can have, packed or not.
    pub limit: u64,
}

impl Downloaded {
    /// What to read, unpacked here so that a small file cannot become a huge one.
    fn source(&self, set: &Set) -> Result<Source> {
        if !self.bytes.starts_with(&[0x1f, 0x8b]) {
            return Ok(Source::from_bytes(&self.url, &self.bytes[..]));
        }
        let (path, mut plain) = (PathBuf::from(&self.url), Vec::new());
        match MultiGzDecoder::new(&self.bytes[..]).take(self.limit + 1).read_to_end(&mut plain) {
            Err(cause) => Err(deepgp_data::Error::Read { path, cause }.into()),
            Ok(n) if n as u64 > self.limit => {
                let what = format!("unpacked, it has more than the {} bytes that the file can have", self.limit);
                Err(Error::Layout { name: set.name, path, what })
            }
            Ok(_) => Ok(Source::from_bytes(path, plain)),
        }
    }
}

/// The files that a set is made of.
///
/// # Errors
/// [`Error::NoHome`] if it has no public home.
pub(crate) fn wanted(set: &'static Set) -> Result<Vec<Wanted>> {
    // Nobody writes a number with more than 30 characters, or a table with more columns than this beside the wanted
    // ones.
    const CELL: usize = 32;
    const MORE_COLUMNS: usize = 8;
    let table = (set.rows + 1) * (set.n_features() + set.n_targets() + MORE_COLUMNS) * CELL;
    let file = |path: String, limit: usize| Wanted { path, limit: limit as u64 };
    match set.home {
        Home::Pbp { folder } => Ok(vec![
            file(format!("{folder}/data.txt"), table),
            file(format!("{folder}/index_features.txt"), 1 << 16),
            file(format!("{folder}/index_target.txt"), 1 << 16),
        ]),
        Home::Folds { folder } => Ok(vec![
            file(format!("{folder}/data.csv.gz"), table),
            file(format!("{folder}/test_mask.csv.gz"), (set.rows + 1) * set.n_splits * CELL),
        ]),
        Home::Table { path, .. } => Ok(vec![file(path.to_owned(), table)]),
        Home::Elsewhere { hint } => Err(Error::NoHome { set, hint }),
    }
}

/// Makes a set of its files, as [`wanted`] names them, and checks it.
///
/// # Errors
/// What is wrong with the files, which go by their addresses.
pub(crate) fn assemble(set: &'static Set, files: &[Downloaded]) -> Result<Dataset> {
    let standard = || standard_splits(set.rows, set.n_splits);
    let url = |i: usize| PathBuf::from(&files[i].url);
    let (x, targets, splits) = match set.home {
        Home::Pbp { .. } => {
            let values = Table::read_source(&files[0].source(set)?)?.values;
            let (x, targets) = by_position(set, &values, &files[1], &files[2])?;
            (x, targets, standard())
        }
        Home::Folds { .. } => {
            let (x, targets) = Table::read_source(&files[0].source(set)?)?.split_targets(set.n_targets())?;
            let mask = Table::read_source(&files[1].source(set)?)?.values;
            (x, targets, checked_splits(set, test_rows(&mask), url(1))?)
        }
        Home::Table { columns, .. } => {
            let (x, targets) = read_columns(set, &files[0], columns)?.split_targets(set.n_targets())?;
            (x, targets, standard())
        }
        Home::Elsewhere { hint } => return Err(Error::NoHome { set, hint }),
    };
    checked(set, x, targets, splits, url(0))
}

/// Features and targets of a table, by lists of positions; columns in no list are further targets.
fn by_position(set: &Set, values: &Mat, features: &Downloaded, target: &Downloaded) -> Result<(Mat, Mat)> {
    let features = positions(set, features, values.cols())?;
    let mut targets = positions(set, target, values.cols())?;
    let others: Vec<usize> = (0..values.cols()).filter(|j| !features.contains(j) && !targets.contains(j)).collect();
    targets.extend(others);
    let pick = |columns: &[usize]| Mat::from_fn(values.rows(), columns.len(), |i, j| values[(i, columns[j])]);
    Ok((pick(&features), pick(&targets)))
}

/// Whole numbers below `end`, between blanks; they may be written as 1 or as 1.0e+00.
fn positions(set: &Set, file: &Downloaded, end: usize) -> Result<Vec<usize>> {
    let error = |what| Error::Layout { name: set.name, path: PathBuf::from(&file.url), what };
    let text = str::from_utf8(&file.bytes).map_err(|_| error("this is no text".to_owned()))?;
    text.split_whitespace()
        .map(|word| {
            let number = word.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && (0.0..end as f64).contains(n));
            number.map(|n| n as usize).ok_or_else(|| error(format!("{word:?} is not one of {end} columns")))
        })
        .collect()
}

/// Rows that are not 0, column by column.
fn test_rows(mask: &Mat) -> Vec<Vec<usize>> {
    (0..mask.cols()).map(|split| (0..mask.rows()).filter(|&row| mask[(row, split)] != 0.0).collect()).collect()
}

/// A table of numbers, features first, from a table with columns of other kinds.
fn read_columns(set: &Set, file: &Downloaded, columns: Columns) -> Result<Table> {
    match columns {
        Columns::AsTheyAre => Ok(Table::read_source(&file.source(set)?)?),
        Columns::Label { one } => {
            let label = set.n_features();
            convert(set, file, None, |column, text| (column == label).then(|| f64::from(u8::from(text == one))))
        }
        Columns::Named { names, date } => {
            let names: Vec<&str> = names.split(',').collect();
            let dates = names.iter().position(|name| *name == date);
            let (mut last, mut day) = (String::new(), -1.0);
            convert(set, file, Some(&names), |column, text| {
                if Some(column) != dates {
                    return None;
                }
                if last != text {
                    text.clone_into(&mut last);
                    day += 1.0;
                }
                Some(day)
            })
        }
    }
}

/// Reads the columns of a table, all or those named, row by row. They are numbers, or `special` makes a number of the
/// position among the columns that are read, and the text.
fn convert(
    set: &Set,
    file: &Downloaded,
    names: Option<&[&str]>,
    mut special: impl FnMut(usize, &str) -> Option<f64>,
) -> Result<Table> {
    let error = |what| Error::Layout { name: set.name, path: PathBuf::from(&file.url), what };
    let mut reader = Reader::open(&file.source(set)?, &ReadOptions::default())?;
    let all = reader.names().to_vec();
    let find = |name: &&str| {
        all.iter().position(|one| one == name).ok_or_else(|| error(format!("there is no column {name:?}")))
    };
    let chosen = match names {
        None => (0..all.len()).collect(),
        Some(names) => names.iter().map(find).collect::<Result<Vec<usize>>>()?,
    };
    let (mut data, mut rows) = (Vec::new(), 0);
    while let Some(chunk) = reader.next_chunk()? {
        rows += chunk.rows();
        for row in 0..chunk.rows() {
            for (position, &column) in chosen.iter().enumerate() {
                let value = special(position, &chunk.text(row, column)).or(match chunk.cell(row, column) {
                    Cell::Number(value) if value.is_finite() => Some(value),
                    _ => None,
                });
                let no_number =
                    || format!("{}: {:?} is not a finite number", chunk.place(row), chunk.text(row, column));
                data.push(value.ok_or_else(|| error(no_number()))?);
            }
        }
    }
    let values = Mat::from_vec(rows, chosen.len(), data).map_err(deepgp_data::Error::from)?;
    Ok(Table { values, names: chosen.iter().map(|&column| all[column].clone()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SplitRule, Task, splits_sha256, values_sha256};
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    /// A made-up set of four rows, two features and as many targets as there are columns in `y`.
    fn made_up(home: Home, x: &Mat, y: &Mat, splits: &[Vec<usize>]) -> &'static Set {
        let split_rule = if matches!(home, Home::Folds { .. }) { SplitRule::Folds } else { SplitRule::Standard };
        Box::leak(Box::new(Set {
            name: "made_up",
            about: "a few numbers",
            task: Task::Regression,
            rows: x.rows(),
            features: "a,b",
            targets: if y.cols() == 1 { "y" } else { "y,z" },
            split_rule,
            n_splits: splits.len(),
            source: "here",
            licence: "none",
            home,
            values_sha256: values_sha256(x, y).leak(),
            splits_sha256: splits_sha256(splits).leak(),
        }))
    }

    fn file(name: &str, text: &str) -> Downloaded {
        Downloaded { url: format!("https://home/{name}"), bytes: text.as_bytes().to_vec(), limit: 1000 }
    }

    fn values() -> Result<(Mat, Mat)> {
        let x = Mat::from_rows(&[[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]]);
        let y = Mat::from_rows(&[[0.5], [1.5], [2.5], [3.5]]);
        Ok((x.map_err(deepgp_data::Error::from)?, y.map_err(deepgp_data::Error::from)?))
    }

    #[test]
    fn positions_tell_features_from_targets() -> Result<()> {
        let (x, y) = values()?;
        let pbp = Home::Pbp { folder: "some/where" };
        let set = made_up(pbp, &x, &y, &standard_splits(4, 3));
        let paths: Vec<String> = wanted(set)?.into_iter().map(|file| file.path).collect();
        let names = ["data.txt", "index_features.txt", "index_target.txt"];
        assert_eq!(paths, names.map(|name| format!("some/where/{name}")));
        // The target first, blanks of all kinds, no header.
        let table = file("data.txt", " 0.5  1\t10 \n 1.5 2 20\n2.5 3 3e1\n 3.5 4 40\n");
        let (features, target) = (file("index_features.txt", "1\n2\n\n"), file("index_target.txt", "0.000e+00\n"));
        let data = assemble(set, &[table.clone(), features.clone(), target.clone()])?;
        assert_eq!((&data.x, &data.targets, &data.splits), (&x, &y, &standard_splits(4, 3)));
        assert_eq!((data.feature_names.join(","), data.target_names.join(",")), ("a,b".into(), "y".into()));

        // A column in no list is a further target.
        let both = Mat::from_fn(4, 2, |i, j| if j == 0 { y[(i, 0)] } else { 7.0 });
        let set = made_up(pbp, &x, &both, &standard_splits(4, 3));
        let wide = file("data.txt", "7 0.5 1 10\n7 1.5 2 20\n7 2.5 3 30\n7 3.5 4 40\n");
        let files = [wide, file("index_features.txt", "2 3"), file("index_target.txt", "1")];
        assert_eq!(assemble(set, &files)?.targets, both);

        let error = |index: &str| {
            assemble(set, &[table.clone(), file("index_features.txt", index), target.clone()]).unwrap_err().to_string()
        };
        let place = "made_up: https://home/index_features.txt: ";
        assert_eq!(error("1 3"), format!("{place}\"3\" is not one of 3 columns"));
        assert_eq!(error("1.5"), format!("{place}\"1.5\" is not one of 3 columns"));
        assert_eq!(error("<html>"), format!("{place}\"<html>\" is not one of 3 columns"));
        assert!(error("1").contains("https://home/data.txt has 4 rows and 3 columns"), "{}", error("1"));
        Ok(())
    }

    #[test]
    fn masks_tell_test_rows() -> Result<()> {
        let (x, y) = values()?;
        let splits = [vec![1, 2], vec![0, 3]];
        let set = made_up(Home::Folds { folder: "f" }, &x, &y, &splits);
        let table = file("data.csv.gz", "1,10,0.5\n2,20,1.5\n3,30,2.5\n4,40,3.5\n");
        let data = assemble(set, &[table.clone(), file("test_mask.csv.gz", "0,1\n1,0\n1,0\n0,1\n")])?;
        assert_eq!((data.x, data.targets, data.splits), (x, y, splits.to_vec()));
        let packed = |text: &str| {
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(text.as_bytes()).and_then(|()| packed.finish()).expect("memory")
        };
        let mask = Downloaded { bytes: packed("0,1\n1,0\n1,0\n0,1\n"), ..file("test_mask.csv.gz", "") };
        assert_eq!(assemble(set, &[table.clone(), mask.clone()])?.splits, splits);
        let cut = Downloaded { bytes: mask.bytes[..15].to_vec(), ..mask.clone() };
        assert!(matches!(assemble(set, &[table.clone(), cut]), Err(Error::Data(deepgp_data::Error::Read { .. }))));
        let huge = Downloaded { bytes: packed(&"0,1\n".repeat(1000)), ..mask };
        assert!(huge.bytes.len() < 1000);
        let error = assemble(set, &[table.clone(), huge]).unwrap_err().to_string();
        assert!(error.ends_with("unpacked, it has more than the 1000 bytes that the file can have"), "{error}");

        let other = assemble(set, &[table, file("test_mask.csv.gz", "1,0\n1,0\n1,0\n0,1\n")]);
        assert!(matches!(other, Err(Error::Splits { name: "made_up", .. })), "{other:?}");
        Ok(())
    }

    #[test]
    fn labels_and_dates_become_numbers() -> Result<()> {
        let (x, y) = values()?;
        let label = Mat::from_fn(4, 1, |i, _| if i % 2 == 0 { 1.0 } else { 0.0 });
        let splits = standard_splits(4, 1);
        let home = |columns| Home::Table { path: "t.csv", columns };
        let set = made_up(home(Columns::Label { one: "g" }), &x, &label, &splits);
        assert_eq!(assemble(set, &[file("t.csv", "1,10,g\n2,20,b\n3,30,g\n4,40,b\n")])?.targets, label);

        let days = Mat::from_fn(4, 2, |i, j| if j == 0 { [0.0, 0.0, 1.0, 2.0][i] } else { x[(i, 1)] });
        let set = made_up(home(Columns::Named { names: "date,b,y", date: "date" }), &days, &y, &splits);
        let table = "y,n,date,b\n0.5,1,31-12-2011,10\n1.5,2,31-12-2011,20\n2.5,3,01-01-2012,30\n3.5,4,02-01-2012,40\n";
        assert_eq!(assemble(set, &[file("t.csv", table)])?.x, days);
        let error = |text: &str| assemble(set, &[file("t.csv", text)]).unwrap_err().to_string();
        assert_eq!(error("y,b\n1,2\n"), "made_up: https://home/t.csv: there is no column \"date\"");
        let odd = table.replace("30", "?");
        assert_eq!(error(&odd), "made_up: https://home/t.csv: line 4: \"?\" is not a finite number");
        let other = table.replace("30", "31");
        assert!(error(&other).starts_with("made_up: the values in https://home/t.csv are not those of the set: their"));
        Ok(())
    }

    #[test]
    fn every_home_has_a_recipe() {
        for set in Set::all() {
            match wanted(set) {
                Ok(files) => {
                    assert!(set.can_fetch() && !files.is_empty());
                    for file in files {
                        assert!(file.limit > 1 << 14 && !file.path.starts_with('/'), "{file:?}");
                        // Of a commit, so that it is the same for ever.
                        let commit = file.path.split('/').nth(2).unwrap_or_default();
                        assert!(commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{file:?}");
                    }
                }
                Err(error) => assert!(!set.can_fetch() && error.to_string().contains("import FOLDER"), "{error}"),
            }
        }
    }
}
