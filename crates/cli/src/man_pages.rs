//! `deepgp completions` and `deepgp man`: what shells and `man` want to know, from the one definition of the arguments.

use crate::args::{Args, Completions, Man};
use crate::exit_codes::usage;
use crate::out::print;
use anyhow::Result;
use clap::CommandFactory;

/// Prints completions for a shell.
pub fn completions(args: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "deepgp", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page, of the whole or of one command.
pub fn man(args: &Man) -> Result<()> {
    let mut whole = Args::command().disable_help_subcommand(true);
    whole.build();
    let command = match &args.command {
        None => whole,
        Some(name) => match whole.find_subcommand(name) {
            Some(command) => command.clone(),
            None => return Err(usage!("there is no command {name:?}; see deepgp --help")),
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(&String::from_utf8_lossy(&page))
}
