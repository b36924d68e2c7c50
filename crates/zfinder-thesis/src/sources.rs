//! Assembles the kernels' WGSL from small files, which the choices of a [`Step`] select.

use kernel_host::Source;
use zfinder::internals::THESIS_STEPS;

use crate::step::{Memory, Precision, Step, Threads, staircase};

/// Concatenates files. An unknown name leaves the kernel incomplete, and the test of all sources
/// fails.
fn source(kernel: &str, names: &[&str]) -> Source {
    let text = |name: &str| THESIS_STEPS.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| *text);
    names.iter().fold(Source::new(kernel), |source, name| source.piece(name, text(name)))
}

fn real(precision: Precision) -> &'static str {
    match precision {
        Precision::F32 => "real/f32.wgsl",
        Precision::F64 => "real/f64.wgsl",
    }
}

/// Returns the source of `find_z`.
pub(crate) fn find_z(step: &Step) -> Source {
    let mut pieces = vec![real(step.precision), "thesis/steps/types.wgsl"];
    pieces.push(match (step.memory, step.threads) {
        (Memory::Workgroup, _) => "thesis/steps/row_workgroup.wgsl",
        (Memory::Storage, Threads::Slice) => "thesis/steps/row_own.wgsl",
        (Memory::Storage, _) => "thesis/steps/row_storage.wgsl",
    });
    if step.has_list() {
        pieces.push("thesis/steps/flat_list.wgsl");
    }
    pieces.push(match step.threads {
        Threads::Slice | Threads::InnerSpacepoints => "thesis/steps/pairs_by_inner.wgsl",
        Threads::LayerPairs => "thesis/steps/pairs_by_layer.wgsl",
        Threads::NumberedPairs => "thesis/steps/pairs_numbered.wgsl",
    });
    pieces.push("thesis/steps/find_z.wgsl");
    source("find_z", &pieces)
}

/// Returns the source of `sum_histos`.
pub(crate) fn sum_histos(step: &Step) -> Source {
    let pieces = [real(step.precision), "thesis/steps/types.wgsl", "thesis/steps/sum_histos.wgsl"];
    source("sum_histos", &pieces)
}

/// Returns every different kernel of the staircase, for tests without an adapter.
#[must_use]
pub fn sources() -> Vec<Source> {
    let mut all: Vec<Source> = Vec::new();
    for source in staircase().iter().flat_map(|step| [find_z(step), sum_histos(step)]) {
        if !all.contains(&source) {
            all.push(source);
        }
    }
    all
}
