//! Writes a set as the store keeps it: one header, one way to write a number, and files that are whole or not there.

use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::set::{Set, SplitRule};
use deepgp_io::{remove_leftovers, write_atomic};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Tables with more text than this, about, are compressed.
const LARGE_BYTES: usize = 1 << 20;

/// Writes the files of a set into its folder. Splits come first, so that a set that is there at all is there with them;
/// the table that is there last decides which of the two names is read.
pub(crate) fn set(set: &Set, data: &Dataset, folder: &Path) -> Result<()> {
    make_folder(folder)?;
    files(set, data, folder).inspect_err(|_| {
        // Goes only if it is empty, so only if there was nothing before.
        let _ = std::fs::remove_dir(folder);
    })
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    let io = |source| Error::Io { action: "make the folder", path: folder.to_owned(), source };
    std::fs::create_dir_all(folder).map_err(io)
}

fn files(set: &Set, data: &Dataset, folder: &Path) -> Result<()> {
    if set.split_rule != SplitRule::Standard {
        let path = folder.join("splits.csv");
        remove_leftovers(&path)?;
        write_atomic(&path, |out| splits(&data.splits, out))?;
    }
    // Numbers take about eight characters.
    let is_large = 8 * data.x.rows() * (data.x.cols() + data.targets.cols()) > LARGE_BYTES;
    let (name, other) = if is_large { ("data.csv.gz", "data.csv") } else { ("data.csv", "data.csv.gz") };
    let path = folder.join(name);
    remove_leftovers(&path)?;
    write_atomic(&path, |out| {
        if is_large {
            let mut packed = GzEncoder::new(out, Compression::fast());
            table(data, &mut packed)?;
            packed.finish().map(drop)
        } else {
            table(data, out)
        }
    })?;
    // A table under the other name, which an older import may have left, would be read first.
    match std::fs::remove_file(folder.join(other)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Io { action: "remove", path: folder.join(other), source })
        }
        _ => Ok(()),
    }
}

/// A header, then a line per row.
fn table(data: &Dataset, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", [&data.feature_names[..], &data.target_names[..]].concat().join(","))?;
    let mut line = String::new();
    for row in 0..data.x.rows() {
        line.clear();
        for value in data.x.row(row).iter().chain(data.targets.row(row)) {
            // The shortest digits that are read back as the same number; without exponent where it stays short.
            let size = value.abs();
            let is_plain = size == 0.0 || (1e-5..1e16).contains(&size);
            let _ = if is_plain { write!(line, "{value},") } else { write!(line, "{value:e},") };
        }
        line.pop();
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// A line per split, the numbers of its test rows between commas.
fn splits(splits: &[Vec<usize>], out: &mut dyn Write) -> io::Result<()> {
    for split in splits {
        let numbers: Vec<String> = split.iter().map(usize::to_string).collect();
        writeln!(out, "{}", numbers.join(","))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepgp_data::{Source, Table};
    use deepgp_numerics::linalg::Mat;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_survives(values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL, 6)) {
            let x = Mat::from_vec(3, 1, values[..3].to_vec())?;
            let targets = Mat::from_vec(3, 1, values[3..].to_vec())?;
            let names = |name: &str| vec![name.to_owned()];
            let (feature_names, target_names) = (names("x"), names("y"));
            let data = Dataset { name: "kin8nm", x, targets, feature_names, target_names, splits: Vec::new() };
            let mut text = Vec::new();
            table(&data, &mut text)?;
            let back = Table::read_source(&Source::from_bytes("t.csv", text))?;
            prop_assert_eq!(&back.names, &["x", "y"]);
            let bits = |mat: &Mat| mat.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            let (x, targets) = back.split_targets(1)?;
            prop_assert_eq!((bits(&x), bits(&targets)), (bits(&data.x), bits(&data.targets)));
        }
    }

    #[test]
    fn splits_are_lines() -> io::Result<()> {
        let mut text = Vec::new();
        splits(&[vec![0, 12], vec![3]], &mut text)?;
        assert_eq!(text, b"0,12\n3\n");
        Ok(())
    }
}
