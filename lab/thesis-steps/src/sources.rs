//! Assembles the kernels' WGSL from small files, which the choices of a [`Step`] select.

use kernel_host::KernelSource;

use zfinder::Precision;

use crate::step::{Memory, Step, Threads, staircase};

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!($folder, $name)))),*]
    };
}

/// Name and text of the number types, which the steps share with the product.
const REAL: &[(&str, &str)] = files!["../../../shaders/": "shared/real/f32.wgsl", "shared/real/f64.wgsl"];

/// Name and text of the files of the steps.
const STEPS: &[(&str, &str)] = files![
    "../shaders/": "types.wgsl", "row_own.wgsl", "row_storage.wgsl", "row_workgroup.wgsl", "flat_list.wgsl",
    "pairs_by_inner.wgsl", "pairs_by_layer.wgsl", "pairs_numbered.wgsl", "find_z.wgsl", "sum_histos.wgsl",
];

/// Concatenates files. An unknown name leaves the kernel incomplete, and the test of all sources
/// fails.
fn source(kernel: &str, names: &[&str]) -> KernelSource {
    let text = |name: &str| REAL.iter().chain(STEPS).find(|(known, _)| *known == name).map_or("", |(_, text)| *text);
    names.iter().fold(KernelSource::new(kernel), |source, name| source.piece(name, text(name)))
}

fn real(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "shared/real/f32.wgsl",
        Precision::F64 => "shared/real/f64.wgsl",
    }
}

/// Returns the source of `find_z`.
pub(crate) fn find_z(step: &Step) -> KernelSource {
    let mut pieces = vec![real(step.precision), "types.wgsl"];
    pieces.push(match (step.memory, step.threads) {
        (Memory::Workgroup, _) => "row_workgroup.wgsl",
        (Memory::Storage, Threads::Slice) => "row_own.wgsl",
        (Memory::Storage, _) => "row_storage.wgsl",
    });
    if step.has_list() {
        pieces.push("flat_list.wgsl");
    }
    pieces.push(match step.threads {
        Threads::Slice | Threads::InnerSpacepoints => "pairs_by_inner.wgsl",
        Threads::LayerPairs => "pairs_by_layer.wgsl",
        Threads::NumberedPairs => "pairs_numbered.wgsl",
    });
    pieces.push("find_z.wgsl");
    source("find_z", &pieces)
}

/// Returns the source of `sum_histos`.
pub(crate) fn sum_histos(step: &Step) -> KernelSource {
    let pieces = [real(step.precision), "types.wgsl", "sum_histos.wgsl"];
    source("sum_histos", &pieces)
}

/// Returns every different kernel of the staircase, for tests without an adapter.
#[must_use]
pub fn sources() -> Vec<KernelSource> {
    let mut all: Vec<KernelSource> = Vec::new();
    for source in staircase().iter().flat_map(|step| [find_z(step), sum_histos(step)]) {
        if !all.contains(&source) {
            all.push(source);
        }
    }
    all
}
