//! `zfinder adapters`: lists the adapters.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use zfinder::gpu::{AdapterChoice, AdapterSummary};
use zfinder::thesis::Accumulate;
use zfinder::{Engine, Precision};

use super::bench::SelfCheck;
use command_host::Failure;

/// Lists the GPUs and software adapters that `find` and `bench` can use, and their capabilities
#[derive(clap::Args)]
#[command(after_help = "Exit code 3 if there is none, and 4 if --check finds a wrong answer.")]
pub(super) struct Adapters {
    /// Search a few simulated RoIs in every mode of each adapter, and compare with the reference
    /// engine
    #[arg(long)]
    check: bool,
}

/// A mode of searching: its name in the table, and its options.
const WAYS: [(&str, Accumulate, Precision); 3] = [
    ("f32", Accumulate::Fixed, Precision::F32),
    ("compare-exchange", Accumulate::CompareExchange, Precision::F32),
    ("f64", Accumulate::Fixed, Precision::F64),
];

/// Returns whether an adapter reports support for a precision.
fn can_run(adapter: &AdapterSummary, precision: Precision) -> bool {
    precision == Precision::F32 || adapter.shader_f64
}

const HOW: &str = "Choose one with `zfinder find --adapter`: its index, a part of its name or driver, or its PCI id \
                   (vendor:device, or vendor: for any of that vendor); `all` takes every hardware GPU.
Without it, find takes the first hardware GPU, and the CPU engine if there is none; software adapters only when named.
WGPU_BACKEND (vulkan, metal, dx12) limits this list; WGPU_ADAPTER_NAME stands for a name that is not given.";

impl Adapters {
    pub(super) fn run(self) -> Result<(), Failure> {
        let adapters = zfinder::gpu::adapters().map_err(zfinder::Error::from)?;
        if adapters.is_empty() {
            return Err(zfinder::Error::Gpu(none()).into());
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
            "timestamps",
            "workgroup memory",
            "runs",
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
                word(adapter.timestamps),
                format!("{} KiB", adapter.workgroup_memory / 1024),
                WAYS.iter().filter(|way| can_run(adapter, way.2)).map(|way| way.0).collect::<Vec<_>>().join(", "),
            ]);
        }
        for right in [0, 7] {
            if let Some(column) = table.column_mut(right) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut out = io::stdout().lock();
        let written = writeln!(out, "{}", table.trim_fmt()).and_then(|()| writeln!(out, "\n{HOW}"));
        written?;
        if self.check { check(&adapters, &mut out) } else { Ok(()) }
    }
}

/// Searches in every mode on every adapter. Reports each, and fails if any failed.
fn check(adapters: &[AdapterSummary], out: &mut impl Write) -> Result<(), Failure> {
    let check = SelfCheck::new()?;
    let mut failure = None;
    let mut say = |line: String| writeln!(out, "{line}").map_err(|source| Failure::output("standard output", &source));
    say(String::new())?;
    for adapter in adapters {
        for (name, accumulate, precision) in WAYS {
            if !can_run(adapter, precision) {
                continue;
            }
            let engine = Engine::Gpu(AdapterChoice::Index(adapter.index));
            match check.run(|builder| builder.engine(engine).thesis(accumulate).precision(precision)) {
                Ok(()) => say(format!("{} {}, {name}: answers as the reference engine", adapter.index, adapter.name))?,
                Err(error) => {
                    say(format!("{} {}, {name}: FAILED: {error}", adapter.index, adapter.name))?;
                    failure = failure.or(Some(error));
                }
            }
        }
    }
    failure.map_or(Ok(()), Err)
}

fn none() -> kernel_host::Error {
    kernel_host::Error::NoAdapter { wanted: "present".into(), candidates: Vec::new() }
}
