//! A build without the feature `columnar` reads text, and says how to read more.
#![cfg(not(feature = "columnar"))]

use deepgp_data::{Error, ReadOptions, Reader, Source};
use std::path::PathBuf;

#[test]
fn parquet_and_arrow_are_named_with_what_to_type() {
    for (file, what) in [
        ("polars_zstd.parquet", "a Parquet file"),
        ("polars.arrow", "an Arrow or Feather file"),
        ("pyarrow_zstd.arrows", "an Arrow stream"),
    ] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/tables").join(file);
        match Reader::open(&Source::new(path), &ReadOptions::default()) {
            Err(fault @ Error::Format { .. }) => {
                let message = fault.to_string();
                assert!(message.contains(what) && message.contains("--features columnar"), "{message}");
            }
            other => panic!("{file}: {:?}", other.map(|reader| reader.names().to_vec())),
        }
    }
}
