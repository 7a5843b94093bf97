//! The `deepgp` command: parses arguments, runs one command, maps errors to exit codes.

mod args;
mod bench;
mod config_file;
mod data;
mod demo;
mod fault;
mod fit;
mod make;
mod out;
mod pages;
mod predict;
mod report;
mod rows;
mod score;
mod show;
mod signals;
mod words;

use args::{Bench, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match args::Args::parse().command {
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args).map(|()| fault::SUCCESS),
        Command::Score(args) => score::run(&args).map(|()| fault::SUCCESS),
        Command::Show(args) => show::run(&args).map(|()| fault::SUCCESS),
        Command::Report(args) => report::run(&args).map(|()| fault::SUCCESS),
        Command::Demo(args) => demo::run(&args).map(|()| fault::SUCCESS),
        Command::Data(args) => data::run(&args).map(|()| fault::SUCCESS),
        Command::Completions(args) => pages::completions(&args).map(|()| fault::SUCCESS),
        Command::Man(args) => pages::man(&args).map(|()| fault::SUCCESS),
        Command::Bench(Bench::Splits(args)) => bench::splits(&args).map(|()| fault::SUCCESS),
        Command::Bench(Bench::Speed(args)) => bench::speed(&args).map(|()| fault::SUCCESS),
        Command::Bench(Bench::Table(args)) => bench::table(&args),
        Command::Bench(Bench::Frontier(args)) => bench::frontier(&args),
        Command::Bench(Bench::Auto(args)) => bench::auto(&args),
        Command::Bench(Bench::Check(args)) => bench::check(&args).map(|()| fault::SUCCESS),
        Command::Bench(Bench::Report(args)) => bench::report(&args).map(|()| fault::SUCCESS),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => fault::exit(&error),
    }
}
