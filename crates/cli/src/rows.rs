//! A model file and a table, read together chunk by chunk: what `predict`, `score` and `report` share.

use crate::options::TableOptions;
use crate::out::notices;
use anyhow::{Context, Result, anyhow};
use deepgp_data::{Batch, Encoder, Reader, Source, Targets};
use deepgp_model::{Model, SavedModel};
use std::path::Path;

/// A loaded model.
pub struct Loaded {
    /// What the file holds.
    pub saved: SavedModel,
    /// Ready to predict.
    pub model: Model,
}

impl Loaded {
    /// Reads a model file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(path: &Path) -> Result<Self> {
        let saved = SavedModel::load(path)?;
        let model = saved.model().with_context(|| path.display().to_string())?;
        Ok(Self { saved, model })
    }

    /// Calls `visit` with the rows of a table, some thousand at a time, and tells what was decided about them.
    ///
    /// # Errors
    /// What is wrong with the table, and what `visit` says; there is at least one row.
    pub fn for_rows(
        &self,
        data: &Path,
        table: &TableOptions,
        targets: Targets,
        quiet: bool,
        mut visit: impl FnMut(&Batch) -> Result<()>,
    ) -> Result<()> {
        let source = Source::new(data);
        let mut reader = Reader::open(&source, &table.read_options())?;
        let mut encoder = Encoder::new(&self.saved.preprocessing.schema, &mut reader, targets)?;
        let (mut any_row, mut any_kept) = (false, false);
        while let Some(chunk) = reader.next_chunk()? {
            let batch = encoder.encode(&chunk)?;
            any_row = true;
            if !batch.rows.is_empty() {
                any_kept = true;
                visit(&batch).map_err(|error| self.placed(error, &batch, &source))?;
            }
        }
        if !any_kept {
            let what = if any_row { "rows with a target" } else { "rows below the header" };
            return Err(deepgp_data::Error::Empty { path: source.label().to_owned(), what }.into());
        }
        notices(quiet, &[reader.notices(), &encoder.notices()].concat());
        Ok(())
    }

    /// A fault of a number, with its row and column in the table.
    fn placed(&self, error: anyhow::Error, batch: &Batch, source: &Source) -> anyhow::Error {
        let Some(&deepgp::Error::NotFinite { what, row, column, value }) = error.downcast_ref::<deepgp::Error>() else {
            return error;
        };
        let schema = &self.saved.preprocessing.schema;
        let name = match what {
            "inputs" => schema.feature_names().get(column).cloned(),
            _ => schema.targets().get(column).cloned(),
        };
        let (path, name) = (source.label().display(), name.unwrap_or_default());
        let number = batch.rows.get(row).map_or(0, |row| row + 1);
        anyhow!("{path}, data row {number}, column {name:?}: the numbers become too large ({what} of {value})")
    }
}
