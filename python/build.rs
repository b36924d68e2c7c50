//! Options of the linker for an extension module of Python.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
