//! Writes the Rust code of the protocol, or checks that it is up to date.
//!
//! `cargo run` in this folder writes; `cargo run -- --check` fails if the file in the repository
//! differs.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let written = package.join("src/generated/inference.rs");
    let folder = std::env::temp_dir().join(format!("zfinder-regenerate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let proto = package.join("proto");
    let messages = protox::compile([proto.join("inference.proto")], [proto])?;
    // `Bytes` keeps tensors in the received message, without a copy.
    tonic_prost_build::configure().bytes(".").build_transport(false).out_dir(&folder).compile_fds(messages)?;
    let code = std::fs::read_to_string(folder.join("inference.rs"))?;
    std::fs::remove_dir_all(&folder)?;
    if std::env::args().nth(1).as_deref() == Some("--check") {
        if std::fs::read_to_string(&written)? != code {
            return Err(format!("{} is not what proto/inference.proto makes; run this program", written.display()).into());
        }
        return Ok(());
    }
    std::fs::write(written, code)?;
    Ok(())
}
