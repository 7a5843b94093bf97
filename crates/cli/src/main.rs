//! The `deepgp` command: parses arguments, runs one command, maps errors to exit codes.

mod args;
mod bench;
mod demo;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let done = match args.command {
        args::Command::Demo(args) => demo::run(&args),
        args::Command::Bench(args::Bench::Splits(args)) => bench::splits(&args),
        args::Command::Bench(args::Bench::Speed(args)) => bench::speed(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output has seen enough.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("deepgp: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the error is that nobody reads standard output any more, as after `| head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
