//! Tables in, chunks of typed columns out: formats, schemas, notices and splits.
//!
//! A [`Source`] (file, standard input, bytes or columns in memory) is read by a [`Reader`] in [`Chunk`]s of rows,
//! whatever its format. A [`Schema`] is learnt from the training data in one pass; an [`Encoder`] applies it, then and
//! at prediction time, to any table that has the columns, in any order.
//!
//! ```
//! use deepgp_data::{ReadOptions, Roles, Schema, Source, Targets};
//!
//! let training = "area,colour,price\n10,red,1.5\n20,blue,2.5\n,red,2.0\n30,blue,\n";
//! let source = Source::from_bytes("homes.csv", training.as_bytes());
//! let learnt = Schema::learn(&source, &ReadOptions::default(), &Roles::predict(["price"]))?;
//! assert_eq!(learnt.schema.feature_names(), ["area", "area=NA", "colour=blue", "colour=red"]);
//!
//! let (batch, _) = learnt.schema.read(&source, &ReadOptions::default(), Targets::Required)?;
//! assert_eq!(batch.inputs.row(2), [15.0, 1.0, 0.0, 1.0]);
//! assert_eq!(batch.targets.column(0), [1.5, 2.5, 2.0]);
//!
//! let new = Source::from_bytes("new.csv", "colour,area\ngreen,12\n".as_bytes());
//! let (batch, notices) = learnt.schema.read(&new, &ReadOptions::default(), Targets::Ignored)?;
//! assert_eq!(batch.inputs.row(0), [12.0, 0.0, 0.0, 0.0]);
//! assert!(notices[0].to_string().contains("\"green\""));
//! # Ok::<(), deepgp_data::Error>(())
//! ```

mod calendar;
mod cell;
mod chunk;
#[cfg(feature = "columnar")]
mod column;
mod error;
#[cfg(feature = "columnar")]
mod memory;
mod moment;
mod notice;
mod read;
mod schema;
mod source;
mod splits;
mod suggest;
mod table;
mod temporal;

pub use cell::{Cell, Decimal, MISSING};
pub use chunk::Chunk;
pub use error::{Error, Place, Result};
#[cfg(feature = "columnar")]
pub use memory::{MemoryTable, Numbers};
pub use moment::DateOrder;
pub use notice::Notice;
pub use read::{Header, MAX_COLUMNS, MAX_ROW_BYTES, ReadOptions, Reader};
pub use schema::{
    Batch, Censored, Encoder, Input, Kind, Learnt, MAX_FEATURES, RoleColumns, Roles, RowColumns, Schema, TargetLevel,
    TargetSummary, Targets, TimeFeature, TimePart,
};
pub use source::Source;
pub use splits::{read_splits, train_test};
pub use table::Table;
pub use temporal::Temporal;
