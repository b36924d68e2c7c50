//! Writes the JavaScript bindings of a library that was compiled to WebAssembly:
//! `bindgen FILE.wasm FOLDER`.

use std::path::PathBuf;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(input), Some(output)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: bindgen FILE.wasm FOLDER");
        return ExitCode::from(2);
    };
    let written = Bindgen::new().input_path(&input).web(true).and_then(|bindgen| {
        bindgen.typescript(false).remove_name_section(true).remove_producers_section(true).generate(&output)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}: {error:#}", input.display());
            ExitCode::FAILURE
        }
    }
}
