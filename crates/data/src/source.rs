//! Opens a text file, compressed or not.

use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Reader of the text of `path`, decompressed if the name ends in `.gz`.
pub(crate) fn open(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path).map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz")) {
        Ok(Box::new(MultiGzDecoder::new(BufReader::new(file))))
    } else {
        Ok(Box::new(file))
    }
}
