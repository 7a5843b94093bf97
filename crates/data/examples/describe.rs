//! Describes a table: `describe data.csv target`.

use deepgp_data::{ReadOptions, Roles, Schema, Source, Targets};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, targets @ ..] = arguments.as_slice() else { return Err("describe TABLE TARGET...".into()) };
    let (source, options) = (Source::new(path).spool()?, ReadOptions::default());

    let started = Instant::now();
    let learnt = Schema::learn(&source, &options, &Roles::predict(targets))?;
    println!("{} rows, learnt in {:.2?}", learnt.n_rows, started.elapsed());
    learnt.schema.inputs().iter().for_each(|input| println!("  {input:?}"));
    learnt.notices.iter().for_each(|notice| println!("{notice}"));

    let started = Instant::now();
    let (batch, _) = learnt.schema.read(&source, &options, Targets::Required)?;
    println!("{} x {} numbers, read in {:.2?}", batch.inputs.rows(), batch.inputs.cols(), started.elapsed());
    Ok(())
}
