//! Reads any bytes as a table in every way there is: nothing may panic.
//!
//! The first byte chooses the options, the rest is the file. `cargo fuzz run -s none table` runs it on stable Rust.

#![no_main]

use deepgp_data::{Decimal, Encoder, Header, ReadOptions, Reader, Roles, Schema, Source, Table, Targets};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let options = ReadOptions {
        header: [Header::Auto, Header::Yes, Header::No][usize::from(choice % 3)],
        delimiter: [None, Some(','), Some(' '), Some('é')][usize::from(choice / 3 % 4)],
        decimal: if choice & 0x80 == 0 { Decimal::Point } else { Decimal::Comma },
    };
    let source = Source::from_bytes("fuzz", bytes);
    let _ = Table::read_source(&source);
    let Ok(mut reader) = Reader::open(&source, &options) else { return };
    let names = reader.names().to_vec();
    while let Ok(Some(chunk)) = reader.next_chunk() {
        assert!(chunk.rows() > 0 && chunk.cols() == names.len());
        for row in 0..chunk.rows() {
            for col in 0..chunk.cols() {
                let _ = (chunk.cell(row, col), chunk.text(row, col).len(), chunk.place(row));
            }
        }
    }
    if let [target, first, second, .., last] = names.as_slice() {
        let keep = vec![last.clone()];
        let roles = Roles { keep, group: Some(last.clone()), time: Some(last.clone()), ..Roles::predict([target]) };
        let (first, second) = (Some(first.clone()), Some(second.clone()));
        for roles in [
            Roles { lower: first.clone(), upper: second.clone(), ..roles.clone() },
            Roles { weight: first.clone(), exposure: second.clone(), ..roles.clone() },
            Roles { noise_std: first, censored: second, time: None, ..roles },
        ] {
            let Ok(learnt) = Schema::learn(&source, &options, &roles) else { continue };
            if learnt.targets[0].is_numeric() {
                let read = learnt.schema.read(&source, &options, Targets::Required);
                assert_eq!(read.expect("the schema of this table").0.rows.len() as u64, learnt.n_rows);
            }
        }
    }
    for target in [names.first(), names.last()].into_iter().flatten() {
        let Ok(learnt) = Schema::learn(&source, &options, &Roles::predict([target])) else { continue };
        let target = &learnt.targets[0];
        let schema = if target.is_numeric() {
            learnt.schema
        } else {
            let levels = target.levels.iter().map(|level| level.text.clone()).collect();
            let Ok(schema) = learnt.schema.with_labels(&target.name, levels) else { continue };
            if target.has_more_levels {
                continue;
            }
            schema
        };
        // What was learnt from a table reads it.
        let (batch, _) = schema.read(&source, &options, Targets::Required).expect("the schema of this table");
        assert_eq!(batch.inputs.rows() as u64, learnt.n_rows);
        assert!(batch.inputs.as_slice().iter().chain(batch.targets.as_slice()).all(|v| v.is_finite()));
        let Ok(mut reader) = Reader::open(&source, &options) else { continue };
        let mut encoder = Encoder::new(&schema, &mut reader, Targets::Ignored).expect("the columns of this table");
        while let Ok(Some(chunk)) = reader.next_chunk() {
            // Rows without a target may hold what the others do not.
            let _ = encoder.encode(&chunk);
        }
    }
});
