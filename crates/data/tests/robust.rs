//! Whatever the bytes, reading ends in a table or an error.

use deepgp_data::{Decimal, Header, Learnt, ReadOptions, Reader, Roles, Schema, Source, Table, Targets};
use proptest::prelude::*;

/// Reads bytes in every way there is.
fn read_all_ways(bytes: &[u8], options: ReadOptions) {
    let source = Source::from_bytes("any", bytes);
    let _ = Table::read_source(&source);
    let Ok(mut reader) = Reader::open(&source, &options) else { return };
    let names = reader.names().to_vec();
    while let Ok(Some(chunk)) = reader.next_chunk() {
        assert!(chunk.rows() > 0 && chunk.cols() == names.len());
        for (row, col) in (0..chunk.rows()).flat_map(|row| (0..chunk.cols()).map(move |col| (row, col))) {
            let _ = (chunk.cell(row, col), chunk.text(row, col).len(), chunk.place(row));
        }
    }
    for target in names {
        if let Ok(learnt) = Schema::learn(&source, &options, &Roles::predict([target])) {
            let Some(schema) = told(&learnt, options) else { continue };
            let read = schema.read(&source, &options, Targets::Required);
            let (batch, _) = read.expect("what was learnt from a table reads it");
            assert_eq!(batch.rows.len() as u64, learnt.n_rows);
            assert!(batch.inputs.as_slice().iter().chain(batch.targets.as_slice()).all(|v| v.is_finite()));
        }
    }
}

/// Reads bytes with columns in every role that one can have.
fn read_with_roles(bytes: &[u8], options: ReadOptions) {
    let source = Source::from_bytes("any", bytes);
    let Ok(reader) = Reader::open(&source, &options) else { return };
    let [target, first, second, .., last] = reader.names() else { return };
    let (target, first, second, last) = (target.clone(), first.clone(), second.clone(), last.clone());
    let plain = Roles { keep: vec![last.clone()], ..Roles::predict([target]) };
    let grouped = Roles { group: Some(last.clone()), ..plain.clone() };
    let timed = Roles { time: Some(last), ..plain.clone() };
    for roles in [
        Roles { lower: Some(first.clone()), upper: Some(second.clone()), ..grouped.clone() },
        Roles { weight: Some(first.clone()), exposure: Some(second.clone()), ..grouped.clone() },
        Roles { noise_std: Some(first.clone()), censored: Some(second.clone()), ..grouped },
        Roles { weight: Some(first), ..timed.clone() },
        timed,
    ] {
        let Ok(learnt) = Schema::learn(&source, &options, &roles) else { continue };
        let Some(schema) = told(&learnt, options) else { continue };
        let (batch, _) = schema.read(&source, &options, Targets::Required).expect("what was learnt reads the table");
        let n = batch.rows.len();
        assert_eq!(n as u64, learnt.n_rows);
        let columns = &batch.columns;
        assert!(batch.inputs.as_slice().iter().all(|v| v.is_finite()) && columns.keep.iter().all(|c| c.len() == n));
        for numbers in [&columns.weight, &columns.exposure, &columns.noise_std, &columns.time] {
            assert!((numbers.is_empty() || numbers.len() == n) && numbers.iter().all(|v| v.is_finite()));
        }
        for (row, y) in batch.targets.as_slice().iter().enumerate() {
            let bound = |bounds: &Vec<f64>| bounds.get(row).is_some_and(|bound| bound.is_finite());
            assert!(y.is_finite() || bound(&columns.lower) || bound(&columns.upper));
        }
    }
}

/// The schema of a target that is numbers or labels, unless it has too many of these.
fn told(learnt: &Learnt, options: ReadOptions) -> Option<Schema> {
    let target = &learnt.targets[0];
    assert_eq!(target.require_numbers().is_ok(), target.is_numeric());
    if target.is_numeric() {
        return Some(learnt.schema.clone());
    }
    let levels = target.levels.iter().map(|level| level.text.clone()).collect();
    let schema = learnt.schema.clone().with_labels(&target.name, levels);
    // Beside a decimal comma 1.5 and 1.50 are two texts, but one level.
    assert!(schema.is_ok() || target.levels.is_empty() || options.decimal == Decimal::Comma, "{schema:?}");
    schema.ok().filter(|_| !target.has_more_levels)
}

fn options() -> impl Strategy<Value = ReadOptions> {
    let header = prop_oneof![Just(Header::Auto), Just(Header::Yes), Just(Header::No)];
    let delimiter = prop_oneof![Just(None), Just(Some(',')), Just(Some(' ')), Just(Some(';'))];
    let decimal = prop_oneof![Just(Decimal::Point), Just(Decimal::Comma)];
    (header, delimiter, decimal).prop_map(|(header, delimiter, decimal)| ReadOptions { header, delimiter, decimal })
}

fn stored(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables").join(name);
    std::fs::read(path).expect("the stored table")
}

const BINARY: [&str; 8] = [
    "pyarrow_snappy.parquet",
    "pyarrow_v2_gzip.parquet",
    "pyarrow_plain_lz4.parquet",
    "polars_zstd.parquet",
    "pyarrow_lz4.feather",
    "polars.arrow",
    "pyarrow_zstd.arrows",
    "types.arrow",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), options in options()) {
        read_all_ways(&bytes, options);
        read_with_roles(&bytes, options);
    }

    #[test]
    fn any_text_of_table_characters(text in "[a-c0-9,;\t \"\n\r.\\-eéNA?|%:/T]{0,120}", options in options()) {
        read_all_ways(text.as_bytes(), options);
        read_with_roles(text.as_bytes(), options);
    }

    #[test]
    fn any_numbers_in_any_roles(
        cells in prop::collection::vec(prop::collection::vec("(|0|1|-1|2\\.5|7|>|<|yes|no|x|inf)", 4), 1..8),
        is_mostly_right in any::<bool>(),
    ) {
        let cell = |cell: &str| if is_mostly_right && "-x>i".contains(&cell[..cell.len().min(1)]) { "3" } else { cell }.to_owned();
        let rows = cells.iter().enumerate().map(|(i, row)| {
            let row: Vec<String> = row.iter().map(|text| cell(text)).collect();
            format!("{},{i},g{}\n", row.join(","), i % 3)
        });
        let text: String = std::iter::once("y,a,b,c,d,e\n".to_owned()).chain(rows).collect();
        read_with_roles(text.as_bytes(), ReadOptions::default());
    }

    #[test]
    fn any_dates_and_times(
        cells in prop::collection::vec(
            "(|20(19|24)-[01]?[0-9]-[0-3]?[0-9]|[0-3]?[0-9][/.-][01]?[0-9][/.-]2024)([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\\.[0-9]{1,3})?)?(Z|[+-][01][0-9]:?[03]0)?)?",
            1..12,
        ),
        decimal in prop_oneof![Just(Decimal::Point), Just(Decimal::Comma)],
    ) {
        let rows = cells.iter().enumerate().map(|(i, cell)| format!("{cell};{i}\n"));
        let text: String = std::iter::once("when;y\n".to_owned()).chain(rows).collect();
        read_all_ways(text.as_bytes(), ReadOptions { decimal, ..ReadOptions::default() });
    }

    #[test]
    fn damaged_binary_files(
        file in 0..BINARY.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = stored(BINARY[file]);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        read_all_ways(&bytes, ReadOptions::default());
    }

    #[test]
    fn numbers_survive_the_way_through_text(
        values in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 3..60),
        delimiter in prop_oneof![Just(','), Just(';'), Just('\t'), Just('|'), Just(' ')],
        line_end in prop_oneof![Just("\n"), Just("\r\n"), Just("\r")],
    ) {
        let rows: Vec<&[f64]> = values.chunks_exact(3).collect();
        let mut text = format!("a{delimiter}b{delimiter}y{line_end}");
        for row in &rows {
            text.push_str(&format!("{:e}{delimiter}{:e}{delimiter}{:?}{line_end}", row[0], row[1], row[2]));
        }
        let table = Table::read_source(&Source::from_bytes("t", text.as_bytes()))?;
        prop_assert_eq!(table.values.as_slice(), rows.concat());
    }
}
