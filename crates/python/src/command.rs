//! The command, as it is on its own.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs `deepgp` with these arguments, of which the first is the program's name, and returns its exit code.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| deepgp_cli::run(arguments))
}
