//! Describes a table and times its reading: `describe data.csv target`.

use deepgp_data::{ReadOptions, Result, Roles, Schema, Source, Targets};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((path, targets)) = arguments.split_first() else {
        eprintln!("describe TABLE TARGET...");
        return ExitCode::FAILURE;
    };
    match describe(path, targets) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn describe(path: &str, targets: &[String]) -> Result<()> {
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
