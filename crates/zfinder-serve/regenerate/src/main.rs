//! Writes the Rust code of the protocol and its descriptors, or checks that they are up to date.
//!
//! `cargo run` in this folder writes; `cargo run -- --check` fails if a file in the repository
//! differs.

use std::error::Error;
use std::path::Path;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = std::env::temp_dir().join(format!("zfinder-regenerate-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let proto = package.join("proto");
    let messages = protox::compile([proto.join("inference.proto")], [proto])?;
    let descriptors = messages.encode_to_vec();
    // `Bytes` keeps tensors in the received message, without a copy.
    tonic_prost_build::configure()
        .bytes(".")
        .build_transport(false)
        .codec_path("crate::codec::BoundedCodec")
        .out_dir(&folder)
        .compile_fds(messages)?;
    let code = std::fs::read(folder.join("inference.rs"))?;
    std::fs::remove_dir_all(&folder)?;
    for (name, made) in [("inference.rs", code), ("inference.binpb", descriptors)] {
        let path = package.join("src/generated").join(name);
        if std::env::args().nth(1).as_deref() != Some("--check") {
            std::fs::write(path, made)?;
        } else if std::fs::read(&path)? != made {
            return Err(format!("{} is not what proto/inference.proto makes; run this program", path.display()).into());
        }
    }
    Ok(())
}
