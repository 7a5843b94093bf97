//! Reads Parquet files by the crate of the format's makers, some rows of the wanted columns at a time.

mod pages;
mod thrift;

use super::CHUNK_CELLS;
use super::columnar::{self, ColumnReader};
use super::damage::{Damage, contain};
use crate::chunk::Chunk;
use crate::column::Column;
use crate::error::Result as ReadResult;
use crate::source::ReadSeek;
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use pages::{PagesOfColumns, SharedFile};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema};
use parquet::basic::{Encoding, Type as Physical};
use parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the length of the metadata and of the mark behind it.
const TAIL: usize = 8;

/// Values of fixed width are at most as wide as the widest decimal.
const MAX_WIDTH: i32 = 32;

/// A Parquet file being read.
pub(super) struct ParquetReader {
    path: PathBuf,
    file: SharedFile,
    metadata: Arc<ParquetMetaData>,
    /// The columns at the root, as they are to be decoded.
    fields: Fields,
    wanted: Vec<bool>,
    /// Decodes the wanted columns, from the first chunk on.
    batches: Option<ParquetRecordBatchReader>,
    row: u64,
}

impl ParquetReader {
    /// Reads the metadata.
    pub fn open(file: Box<dyn ReadSeek>, path: &Path) -> ReadResult<Self> {
        contain(|| {
            let file = SharedFile::new(file)?;
            let metadata = metadata(&file)?;
            let fields = fields(&metadata)?;
            let wanted = vec![true; fields.len()];
            Ok(Self { path: path.to_owned(), file, metadata, fields, wanted, batches: None, row: 0 })
        })
        .map_err(|damage| damage.of(path))
    }

    fn read_chunk(&mut self) -> Result<Option<Chunk>, Damage> {
        let batches = match &mut self.batches {
            Some(batches) => batches,
            none => none.insert(decoder(&self.file, &self.metadata, &self.fields, &self.wanted)?),
        };
        let Some(batch) = batches.next().transpose()? else {
            let (found, stated) = (self.row, self.metadata.file_metadata().num_rows());
            return match u64::try_from(stated) == Ok(found) {
                true => Ok(None),
                false => Err(format!("{found} rows where the metadata say {stated}").into()),
            };
        };
        let mut arrays = batch.columns().iter();
        let column = |&wanted: &bool| match wanted {
            true => columnar::column(arrays.next().ok_or("a column is missing")?, 0, batch.num_rows()),
            false => Ok(Column::Missing),
        };
        let columns = self.wanted.iter().map(column).collect::<Result<_, _>>()?;
        let chunk = Chunk::columns(columns, batch.num_rows(), self.row);
        self.row += batch.num_rows() as u64;
        Ok(Some(chunk))
    }
}
impl ColumnReader for ParquetReader {
    fn fields(&self) -> &Fields {
        &self.fields
    }

    fn select(&mut self, wanted: &[bool]) {
        if self.batches.is_none() {
            self.wanted.copy_from_slice(wanted);
        }
    }

    fn next_chunk(&mut self) -> ReadResult<Option<Chunk>> {
        contain(|| self.read_chunk()).map_err(|damage| damage.of(&self.path))
    }
}

/// Reads the metadata, which stand at the end of the file.
fn metadata(file: &SharedFile) -> Result<Arc<ParquetMetaData>, Damage> {
    let cut = "the file does not end as a Parquet file does; was it cut short?";
    let tail_at = file.len().checked_sub(TAIL as u64).ok_or(cut)?;
    let tail = FooterTail::try_from(&file.get_bytes(tail_at, TAIL)?[..]).map_err(|_| cut)?;
    if tail.is_encrypted_footer() {
        return Err("encrypted Parquet files are not read".into());
    }
    let length = tail.metadata_length();
    let at = tail_at.checked_sub(length as u64).ok_or("the metadata are longer than the file")?;
    let bytes = file.get_bytes(at, length)?;
    if !thrift::is_possible(&bytes) {
        return Err("the metadata contradict themselves".into());
    }
    Ok(Arc::new(ParquetMetaDataReader::decode_metadata(&bytes)?))
}

/// The columns at the root with the types to decode them as.
fn fields(metadata: &ParquetMetaData) -> Result<Fields, Damage> {
    let (file, types) = (metadata.file_metadata(), metadata.file_metadata().schema_descr());
    let schema = parquet_to_arrow_schema(types, file.key_value_metadata())?;
    let roots = types.root_schema().get_fields();
    if roots.len() != schema.fields().len() {
        return Err("the stored schema has other columns than the file".into());
    }
    // Leaves stand in the order of their roots; a root that is no group is its own leaf.
    let mut leaf = 0;
    let mut fields = Vec::with_capacity(roots.len());
    for (root, field) in roots.iter().zip(schema.fields()) {
        let first_leaf = leaf;
        while leaf < types.num_columns() && types.get_column_root_idx(leaf) == fields.len() {
            leaf += 1;
        }
        let data_type = match root.is_primitive() && !field.data_type().is_nested() {
            true => flat_type(metadata, first_leaf, field.data_type()),
            false => field.data_type().clone(),
        };
        fields.push(Field::new(root.name(), data_type, field.is_nullable()));
    }
    Ok(fields.into())
}

/// The type to decode a column without parts as, in place of the one that was stored.
fn flat_type(metadata: &ParquetMetaData, leaf: usize, stored: &DataType) -> DataType {
    let types = metadata.file_metadata().schema_descr().column(leaf);
    let has_prefixes = || {
        let chunks = metadata.row_groups().iter().filter_map(|group| group.columns().get(leaf));
        chunks.flat_map(|chunk| chunk.encodings()).any(|encoding| encoding == Encoding::DELTA_BYTE_ARRAY)
    };
    match (types.physical_type(), stored) {
        (Physical::FIXED_LEN_BYTE_ARRAY, _) if types.type_length() > MAX_WIDTH => {
            DataType::FixedSizeBinary(types.type_length())
        }
        // In nanoseconds they would end in 2262.
        (Physical::INT96, DataType::Timestamp(_, zone)) => DataType::Timestamp(TimeUnit::Microsecond, zone.clone()),
        (_, DataType::Dictionary(_, values)) => flat_type(metadata, leaf, values),
        // Texts that share their beginnings are written out on reading, into less than 2 GiB by this type; other texts
        // are only pointed at.
        (_, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            if has_prefixes() {
                DataType::Utf8
            } else {
                DataType::Utf8View
            }
        }
        _ => stored.clone(),
    }
}

fn decoder(
    file: &SharedFile,
    metadata: &Arc<ParquetMetaData>,
    fields: &Fields,
    wanted: &[bool],
) -> Result<ParquetRecordBatchReader, Damage> {
    let positions: Vec<usize> = (0..fields.len()).filter(|&i| wanted[i]).collect();
    let types = metadata.file_metadata().schema_descr();
    let n_rows = (CHUNK_CELLS / positions.len().max(1)).clamp(1, 8192);
    let levels = parquet_to_arrow_field_levels(types, ProjectionMask::roots(types, positions), Some(fields))?;
    let pages = PagesOfColumns::new(file, metadata);
    Ok(ParquetRecordBatchReader::try_new_with_row_groups(&levels, &pages, n_rows, None)?)
}
