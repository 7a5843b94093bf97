//! Opens a file that stores columns, by its format.

use super::arrow::ArrowReader;
use super::columnar::ColumnReader;
use super::format::ColumnFormat;
use super::parquet::ParquetReader;
use crate::error::Result;
use crate::source::{Content, Source};

/// Opens a file.
pub(super) fn open_columns(format: ColumnFormat, content: Content, source: &Source) -> Result<Box<dyn ColumnReader>> {
    let path = source.label();
    Ok(match format {
        ColumnFormat::Parquet => Box::new(ParquetReader::open(source.seekable(content)?, path)?),
        ColumnFormat::ArrowFile => Box::new(ArrowReader::open_file(source.seekable(content)?, path)?),
        ColumnFormat::ArrowStream => Box::new(ArrowReader::open_stream(Box::new(content.into_reader()), path)?),
    })
}
