//! Lists the adapters, and opens the one that the argument means: an index, a PCI id, a part of a
//! name, or nothing.
#![allow(clippy::print_stdout)] // a command line program

use kernel_host::{Gpu, GpuOptions, adapters};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for adapter in adapters()? {
        println!("{adapter}");
    }
    let choice = std::env::args().nth(1).unwrap_or_default().parse()?;
    match Gpu::new(&GpuOptions { adapter: choice, ..GpuOptions::default() }) {
        Ok(gpu) => println!("opened {}", gpu.name()),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
