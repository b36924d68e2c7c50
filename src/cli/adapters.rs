//! `zfinder adapters`: which GPUs there are.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::failure::Failure;

/// Lists the GPUs and software adapters that `find` and `bench` can run on
#[derive(clap::Args)]
#[command(after_help = "Exit code 3 if there is none.")]
pub(super) struct Adapters {}

const HOW: &str = "Choose one with `zfinder find --adapter`: its index, a part of its name or driver, or its PCI id \
                   (vendor:device, or vendor: for any of that vendor); `all` takes every hardware GPU.
Without it, find takes the first hardware GPU, and the CPU engine if there is none; software adapters only when named.
WGPU_BACKEND (vulkan, metal, dx12) limits this list; WGPU_ADAPTER_NAME stands for a name that is not given.";

impl Adapters {
    pub(super) fn run(self) -> Result<(), Failure> {
        let adapters = zfinder::adapters().map_err(zfinder::Error::from)?;
        if adapters.is_empty() {
            return Err(Failure::Zfinder { error: zfinder::Error::Gpu(none()), excerpt: None });
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header([
            "index",
            "name",
            "kind",
            "backend",
            "pci",
            "driver",
            "f64",
            "timestamps",
            "workgroup memory",
        ]);
        let word = |there: bool| if there { "yes" } else { "no" }.to_owned();
        for adapter in &adapters {
            table.add_row([
                adapter.index.to_string(),
                adapter.name.clone(),
                adapter.kind.to_string(),
                adapter.backend.clone(),
                format!("{:04x}:{:04x}", adapter.vendor, adapter.device),
                adapter.driver.clone(),
                word(adapter.shader_f64),
                word(adapter.timestamps),
                format!("{} KiB", adapter.workgroup_memory / 1024),
            ]);
        }
        for right in [0, 8] {
            if let Some(column) = table.column_mut(right) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{}", table.trim_fmt()).and_then(|()| writeln!(out, "\n{HOW}"));
        written.map_err(|source| Failure::output("standard output", source))
    }
}

fn none() -> kernel_host::Error {
    kernel_host::Error::NoAdapter { wanted: "present".into(), candidates: Vec::new() }
}
