//! The `deepgp` command as a library: parses arguments, runs one command, maps errors to exit codes. Other front doors
//! take from here the command itself and what it says of models and fits.

mod args;
mod bench;
mod config_file;
mod data;
mod demo;
mod exit_codes;
mod fit;
mod make;
mod man_pages;
mod out;
mod predict;
mod report;
mod rows;
mod score;
mod show;
mod signals;
mod wording;

use args::{Bench, Command};
use clap::Parser;
use std::ffi::OsString;

pub use fit::{json as fit_json, remarks};
pub use report::page;
pub use show::{described, text as description};

/// Runs the command with the arguments that a system gives to programs, of which the first is the program's name, and
/// returns its exit code. Results go to standard output, everything else to standard error; `fit` listens for signals.
/// Arguments that are not understood, and those that ask for help, end the process.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let done = match args::Args::parse_from(arguments).command {
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args).map(|()| exit_codes::SUCCESS),
        Command::Score(args) => score::run(&args).map(|()| exit_codes::SUCCESS),
        Command::Show(args) => show::run(&args).map(|()| exit_codes::SUCCESS),
        Command::Report(args) => report::run(&args).map(|()| exit_codes::SUCCESS),
        Command::Demo(args) => demo::run(&args).map(|()| exit_codes::SUCCESS),
        Command::Data(args) => data::run(&args).map(|()| exit_codes::SUCCESS),
        Command::Completions(args) => man_pages::completions(&args).map(|()| exit_codes::SUCCESS),
        Command::Man(args) => man_pages::man(&args).map(|()| exit_codes::SUCCESS),
        Command::Bench(Bench::Splits(args)) => bench::splits(&args).map(|()| exit_codes::SUCCESS),
        Command::Bench(Bench::Speed(args)) => bench::speed(&args).map(|()| exit_codes::SUCCESS),
        Command::Bench(Bench::Table(args)) => bench::table(&args),
        Command::Bench(Bench::Frontier(args)) => bench::frontier(&args),
        Command::Bench(Bench::Auto(args)) => bench::auto(&args),
        Command::Bench(Bench::Laws(args)) => bench::laws(&args),
        Command::Bench(Bench::Check(args)) => bench::check(&args).map(|()| exit_codes::SUCCESS),
        Command::Bench(Bench::Report(args)) => bench::report(&args).map(|()| exit_codes::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(error) => exit_codes::exit(&error),
    }
}
