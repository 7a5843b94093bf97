//! The extension module of the Python package `deepgp`: tables, fits, models and predictive distributions for the
//! package's own Python code, which holds the conventions, and the command.
//!
//! What is here is called by `python/deepgp` alone; its types stand in `python/deepgp/_deepgp.pyi`.

mod command;
mod distribution;
mod errors;
mod fit;
mod matrices;
mod model;
mod moments;
mod numbers;
mod table;

use pyo3::prelude::*;

/// The module `deepgp._deepgp`.
#[pymodule]
fn _deepgp(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<table::Table>()?;
    module.add_class::<model::Model>()?;
    module.add_class::<distribution::Distribution>()?;
    module.add_function(wrap_pyfunction!(fit::fit, module)?)?;
    module.add_function(wrap_pyfunction!(command::run_command, module)?)
}
