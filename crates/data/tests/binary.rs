//! Parquet and Arrow files of several writers: each holds the table of `table.csv`.
#![cfg(feature = "columnar")]

use deepgp_data::{Error, Learnt, Notice, ReadOptions, Reader, Result, Roles, Schema, Source, Targets};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::path::PathBuf;

fn stored(name: &str) -> Source {
    Source::new(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables").join(name))
}

const FILES: [&str; 7] = [
    "pyarrow_snappy.parquet",
    "pyarrow_v2_gzip.parquet",
    "pyarrow_plain_lz4.parquet",
    "polars_zstd.parquet",
    "pyarrow_lz4.feather",
    "polars.arrow",
    "pyarrow_zstd.arrows",
];

#[test]
fn every_format_gives_the_same_numbers() -> Result<()> {
    let (options, roles) = (ReadOptions::default(), Roles::predict(["y"]));
    let expected = Schema::learn(&stored("table.csv"), &options, &roles)?;
    assert_eq!(
        expected.schema.feature_names(),
        [
            "x",
            "x=NA",
            "k",
            "k=NA",
            "u",
            "flag",
            "colour=a long colour name, blå",
            "colour=green",
            "colour=red",
            "colour=NA",
            "size=large",
            "size=small"
        ]
    );
    let (batch, _) = expected.schema.read(&stored("table.csv"), &options, Targets::Required)?;
    assert_eq!(batch.inputs.row(4), [0.5, 0.0, -4.0, 0.0, 204.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    for file in FILES {
        let learnt = Schema::learn(&stored(file), &options, &roles)?;
        assert_eq!((&learnt.schema, learnt.n_rows), (&expected.schema, expected.n_rows), "{file}");
        assert_eq!(learnt.notices, expected.notices, "{file}");
        let target = |learnt: &Learnt| {
            // Text keeps how a number is written.
            let levels = learnt.targets[0].levels.iter().map(|level| (level.value, level.count));
            (learnt.targets[0].low, learnt.targets[0].high, levels.collect::<Vec<_>>())
        };
        assert_eq!(target(&learnt), target(&expected), "{file}");
        assert_eq!(learnt.schema.read(&stored(file), &options, Targets::Required)?.0, batch, "{file}");
        // What was learnt from one format reads the others.
        assert_eq!(expected.schema.read(&stored(file), &options, Targets::Ignored)?.0.inputs, batch.inputs, "{file}");
    }
    Ok(())
}

#[test]
fn lists_are_refused_unless_they_are_left_out_and_times_become_features() -> Result<()> {
    let options = ReadOptions::default();
    for file in ["types.parquet", "types.arrow"] {
        let all = Schema::learn(&stored(file), &options, &Roles::predict(["y"]));
        assert!(
            matches!(&all, Err(Error::ColumnType { column, type_name, .. }) if column == "list" && type_name == "list"),
            "{file}: {all:?}"
        );
        let roles = Roles { exclude: vec!["list".into()], ..Roles::predict(["y"]) };
        let learnt = Schema::learn(&stored(file), &options, &roles)?;
        let is_time = |notice: &Notice| matches!(notice, Notice::Times { .. } | Notice::TimeFeatures { .. });
        let times: Vec<&Notice> = learnt.notices.iter().filter(|notice| is_time(notice)).collect();
        let features = ["when.day", "when.weekday", "when.days"].map(str::to_owned).to_vec();
        assert_eq!(times, [&Notice::TimeFeatures { column: "when".into(), features }], "{file}");
        let (batch, notices) = learnt.schema.read(&stored(file), &options, Targets::Required)?;
        assert!(!notices.iter().any(is_time), "{file}: {notices:?}");
        assert_eq!(batch.targets.column(0), [1.0, 2.0, 4.0, 8.0], "{file}");
        let roles = Roles { exclude: vec!["when".into(), "list".into()], ..Roles::predict(["y"]) };
        let learnt = Schema::learn(&stored(file), &options, &roles)?;
        assert!(!learnt.notices.iter().any(is_time), "{file}: {:?}", learnt.notices);
        let (batch, _) = learnt.schema.read(&stored(file), &options, Targets::Required)?;
        assert_eq!(batch.inputs.column(0), [1.0, 2.0, 3.0, 4.0], "{file}");
    }
    Ok(())
}

#[test]
fn files_inside_gzip_are_read() -> Result<()> {
    let (options, roles) = (ReadOptions::default(), Roles::predict(["y"]));
    for file in FILES {
        let bytes = std::fs::read(stored(file).label()).map_err(|cause| Error::Read { path: file.into(), cause })?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&bytes).and_then(|()| packed.try_finish()).map_err(|_| Error::NoTarget)?;
        let source = Source::from_bytes(file, packed.get_ref().clone());
        assert_eq!(
            Schema::learn(&source, &options, &roles)?,
            Schema::learn(&stored(file), &options, &roles)?,
            "{file}"
        );
    }
    Ok(())
}

#[test]
fn files_cut_short_are_faults() -> std::io::Result<()> {
    for file in FILES {
        let bytes = std::fs::read(stored(file).label())?;
        for keep in [bytes.len() - 1, bytes.len() / 2, 12] {
            // A stream may end after any whole message; the mark of its end is not needed.
            if file.ends_with("arrows") && keep == bytes.len() - 1 {
                continue;
            }
            let source = Source::from_bytes(file, &bytes[..keep]);
            let read = Reader::open(&source, &ReadOptions::default()).and_then(|mut reader| {
                while reader.next_chunk()?.is_some() {}
                Ok(())
            });
            assert!(matches!(read, Err(Error::DamagedFile { .. })), "{file} of {keep} bytes: {read:?}");
        }
    }
    Ok(())
}
