//! Assembles the kernels' WGSL from small files, which the choices of a [`Step`] select.

use kernel_host::KernelSource;

use zfinder::Precision;

use crate::step::{Index, Init, Memory, Search, Step, Sums, Threads, staircase, variations};

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!($folder, $name)))),*]
    };
}

/// Name and text of the number types, which the steps share with the product.
const REAL: &[(&str, &str)] = files!["../../../shaders/": "shared/real/f32.wgsl", "shared/real/f64.wgsl"];

/// Name and text of the files of the steps.
const STEPS: &[(&str, &str)] = files![
    "../shaders/": "types.wgsl", "find_z.wgsl", "sum_histos.wgsl", "flat_list.wgsl",
    "row_own.wgsl", "row_storage.wgsl", "row_workgroup.wgsl",
    "init_one_thread.wgsl", "init_runs.wgsl", "init_strides.wgsl",
    "pairs_one_thread.wgsl", "pairs_by_partner.wgsl", "pairs_layer_division.wgsl",
    "pairs_layer_subtraction.wgsl", "pairs_numbered.wgsl",
    "confirm_pairs.wgsl", "confirm_triplets.wgsl",
    "sums_registers.wgsl", "sums_words.wgsl", "sums_global.wgsl", "sums_workgroup.wgsl",
    "index_modulus.wgsl", "index_subtraction.wgsl",
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
    pieces.push(match step.init {
        Init::OneThread => "init_one_thread.wgsl",
        Init::Runs => "init_runs.wgsl",
        Init::Strides => "init_strides.wgsl",
    });
    pieces.push(match (step.memory, step.threads) {
        (Memory::Workgroup, _) => "row_workgroup.wgsl",
        (Memory::Storage, Threads::One) => "row_own.wgsl",
        (Memory::Storage, _) => "row_storage.wgsl",
    });
    if step.has_list() {
        pieces.push("flat_list.wgsl");
    }
    pieces.push(match step.threads {
        Threads::One => "pairs_one_thread.wgsl",
        Threads::Partners => "pairs_by_partner.wgsl",
        Threads::LayerDivision => "pairs_layer_division.wgsl",
        Threads::LayerSubtraction => "pairs_layer_subtraction.wgsl",
        Threads::NumberedPairs => "pairs_numbered.wgsl",
    });
    pieces.push(match step.search {
        Search::Pairs => "confirm_pairs.wgsl",
        Search::Triplets => "confirm_triplets.wgsl",
    });
    pieces.push("find_z.wgsl");
    source("find_z", &pieces)
}

/// Returns the source of `sum_histos`, unless the CPU sums.
pub(crate) fn sum_histos(step: &Step) -> Option<KernelSource> {
    let index = match step.index {
        Index::Modulus => "index_modulus.wgsl",
        Index::Subtraction => "index_subtraction.wgsl",
    };
    let mut pieces = vec![real(step.precision), "types.wgsl"];
    match step.sums {
        Sums::Cpu => return None,
        Sums::Global => pieces.extend([index, "sums_global.wgsl", "sums_words.wgsl"]),
        Sums::Workgroup => pieces.extend([index, "sums_workgroup.wgsl", "sums_words.wgsl"]),
        Sums::Registers => pieces.push("sums_registers.wgsl"),
    }
    pieces.push("sum_histos.wgsl");
    Some(source("sum_histos", &pieces))
}

/// Returns every different kernel of the staircase and its variations, for tests without an
/// adapter.
#[must_use]
pub fn sources() -> Vec<KernelSource> {
    let mut all: Vec<KernelSource> = Vec::new();
    for step in staircase().iter().chain(&variations()) {
        for source in std::iter::once(find_z(step)).chain(sum_histos(step)) {
            if !all.contains(&source) {
                all.push(source);
            }
        }
    }
    all
}
