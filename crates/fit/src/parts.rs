//! Goes through a table by the schema of a model, some hundred rows at a time, on several threads.

use deepgp_data::{Batch, Encoder, Error, Notice, ReadOptions, Reader, Schema, Source, Targets};
use deepgp_numerics::pool::in_order;

/// Rows that a thread works on at a time: enough that what a prediction needs once is little beside them, few enough
/// that tables of some thousand rows have some for each of several threads.
pub const PART_ROWS: usize = 512;

/// Has threads `work` on the rows of a table, [`PART_ROWS`] at a time, calls `visit` with these and what came of them,
/// in the table's order, and returns what was decided about the table. What `work` gets does not depend on the number
/// of threads.
///
/// # Errors
/// What is wrong with the table, and what `work` and `visit` say; there is at least one row.
pub fn for_parts<R: Send, E: From<Error> + Send>(
    schema: &Schema,
    (source, options): (&Source, &ReadOptions),
    targets: Targets,
    threads: usize,
    work: impl Fn(&Batch) -> Result<R, E> + Sync,
    mut visit: impl FnMut(&Batch, R) -> Result<(), E>,
) -> Result<Vec<Notice>, E> {
    let mut reader = Reader::open(source, options)?;
    let mut encoder = Encoder::new(schema, &mut reader, targets)?;
    let (mut any_row, mut batch, mut begun) = (false, Batch::default(), 0);
    let next_part = || {
        while begun == batch.rows.len() {
            let Some(chunk) = reader.next_chunk()? else { return Ok(None) };
            any_row = true;
            (batch, begun) = (encoder.encode(&chunk)?, 0);
        }
        let part = begun..batch.rows.len().min(begun + PART_ROWS);
        begun = part.end;
        Ok(Some(batch.part(part)))
    };
    let mut any_kept = false;
    let work = |part: Batch| work(&part).map(|result| (part, result));
    in_order(threads, next_part, work, |(part, result)| {
        any_kept = true;
        visit(&part, result)
    })?;
    if !any_kept {
        let what = if any_row { "rows with a target" } else { "rows below the header" };
        return Err(Error::Empty { path: source.label().to_owned(), what }.into());
    }
    Ok([reader.notices(), &encoder.notices()].concat())
}
