//! A model file and a table, read together chunk by chunk: what `predict`, `score` and `report` share.

use crate::out::notices;
use anyhow::{Context, Result, anyhow};
use deepgp_data::{Batch, Source, Targets};
use deepgp_fit::{TableSettings, for_parts};
use deepgp_task::{Model, SavedModel};
use std::path::Path;

/// A table for a model, and how to go through it.
pub struct Table<'a> {
    /// The file, or what stands for it.
    pub data: &'a Source,
    /// How it is written.
    pub options: &'a TableSettings,
    /// Whether targets are read.
    pub targets: Targets,
    /// Threads that work on it.
    pub threads: usize,
    /// Whether nothing is printed about it.
    pub quiet: bool,
}

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
        Self::of(SavedModel::load(path)?).with_context(|| path.display().to_string())
    }

    /// A model that was read or fitted.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(saved: SavedModel) -> Result<Self> {
        let model = saved.model()?;
        Ok(Self { saved, model })
    }

    /// Has threads `work` on the rows of a table, 512 at a time, calls `visit` with these and what came of them, in the
    /// table's order, and tells what was decided about the table. What `work` gets does not depend on the number of
    /// threads.
    ///
    /// # Errors
    /// What is wrong with the table, and what `work` and `visit` say; there is at least one row.
    pub fn for_rows<R: Send>(
        &self,
        table: &Table<'_>,
        work: impl Fn(&Batch) -> Result<R> + Sync,
        mut visit: impl FnMut(&Batch, R) -> Result<()>,
    ) -> Result<()> {
        let (schema, options) = (&self.saved.preprocessing.schema, table.options.read_options());
        let work = |batch: &Batch| work(batch).map_err(|error| self.placed(error, batch, table.data));
        let found = for_parts(schema, (table.data, &options), table.targets, table.threads, work, &mut visit)?;
        notices(table.quiet, &found);
        Ok(())
    }

    /// An error about a number, with its row and column in the table.
    fn placed(&self, error: anyhow::Error, batch: &Batch, source: &Source) -> anyhow::Error {
        let schema = &self.saved.preprocessing.schema;
        let place = |row: usize, name: Option<&String>| {
            let number = batch.rows.get(row).map_or(0, |row| row + 1);
            let name = name.map_or("", String::as_str);
            format!("{}, data row {number}, column {name:?}", source.label().display())
        };
        match error.downcast_ref::<deepgp::Error>() {
            Some(&deepgp::Error::NotFinite { what, row, column, value }) => {
                let name = match what {
                    "inputs" => schema.feature_names().get(column).cloned(),
                    _ => schema.targets().get(column).cloned(),
                };
                let place = place(row, name.as_ref());
                anyhow!("{place}: the computation overflows: {what} would be {value}")
            }
            Some(&deepgp::Error::Target { row, column, value, requirement }) => {
                anyhow!("{}: the target is {value}; {requirement}", place(row, schema.targets().get(column)))
            }
            _ => error,
        }
    }
}
