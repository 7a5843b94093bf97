//! The `deepgp` command; all that it does is in its library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(deepgp_cli::run(std::env::args_os()))
}
