//! `deepgp data make`: tables of known functions with noise.

use crate::args::{DataMake, FunctionName};
use crate::exit_codes::usage;
use crate::out::write_to;
use anyhow::{Context, Result};
use deepgp_datasets::builtin;
use deepgp_numerics::linalg::Mat;
use std::io::Write;
use std::path::Path;

/// Most rows: more are an oversight.
const MOST_ROWS: usize = 100_000_000;

/// Makes n rows with the given noise from a seed.
pub type Generator = fn(usize, f64, u64) -> (Mat, Mat);

/// What a function is made by: names of the columns, and the noise that suits it.
pub fn generator(function: FunctionName) -> (Generator, &'static [&'static str], f64) {
    match function {
        FunctionName::Step => (builtin::step, &["x", "y"], 0.1),
        FunctionName::SineJump => (builtin::sine_jump, &["x", "y"], 0.1),
        FunctionName::Ridge => (builtin::ridge, &["x1", "x2", "y"], 0.03),
        FunctionName::Borehole => {
            (builtin::borehole, &["r_w", "r", "T_u", "H_u", "T_l", "H_l", "L", "K_w", "flow"], 1.0)
        }
    }
}

/// Writes a table.
pub fn make(args: &DataMake) -> Result<()> {
    let (make, columns, plain_noise) = generator(args.function);
    let noise = args.noise.unwrap_or(plain_noise);
    if !(noise >= 0.0 && noise.is_finite()) {
        return Err(usage!("--noise must be a number that is not negative, not {noise}"));
    }
    if !(1..=MOST_ROWS).contains(&args.rows) {
        return Err(usage!("--rows must lie between 1 and {MOST_ROWS}, not {}", args.rows));
    }
    write_table(args.out.as_deref(), columns, &make(args.rows, noise, args.seed))
}

/// Writes inputs and targets as CSV, to a file or to standard output.
pub fn write_table(path: Option<&Path>, columns: &[&str], (x, y): &(Mat, Mat)) -> Result<()> {
    write_to(path, |out| {
        let write = |out: &mut dyn Write| {
            writeln!(out, "{}", columns.join(","))?;
            for n in 0..x.rows() {
                let cells: Vec<String> = x.row(n).iter().chain(y.row(n)).map(|v| format!("{v:?}")).collect();
                writeln!(out, "{}", cells.join(","))?;
            }
            Ok::<(), std::io::Error>(())
        };
        write(out).context("cannot write the table")
    })
}
