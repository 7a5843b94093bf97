//! Lets macOS link the module without Python, which is there when it is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
