//! How the kernels' WGSL is put together: small files, swapped by the choices of a [`Step`].

use kernel_host::Source;

use crate::step::{Memory, Precision, Step, Threads, staircase};

macro_rules! shader {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../shaders/", $name)))
    };
}

fn source(kernel: &str, pieces: &[(&str, &str)]) -> Source {
    pieces.iter().fold(Source::new(kernel), |source, (name, text)| source.piece(name, text))
}

fn real(precision: Precision) -> (&'static str, &'static str) {
    match precision {
        Precision::F32 => shader!("real/f32.wgsl"),
        Precision::F64 => shader!("real/f64.wgsl"),
    }
}

/// Returns the source of `find_z`.
pub(crate) fn find_z(step: &Step) -> Source {
    let mut pieces = vec![real(step.precision), shader!("thesis/steps/types.wgsl")];
    pieces.push(match (step.memory, step.threads) {
        (Memory::Workgroup, _) => shader!("thesis/steps/row_workgroup.wgsl"),
        (Memory::Storage, Threads::Slice) => shader!("thesis/steps/row_own.wgsl"),
        (Memory::Storage, _) => shader!("thesis/steps/row_storage.wgsl"),
    });
    if step.has_list() {
        pieces.push(shader!("thesis/steps/flat_list.wgsl"));
    }
    pieces.push(match step.threads {
        Threads::Slice | Threads::InnerSpacepoints => shader!("thesis/steps/pairs_by_inner.wgsl"),
        Threads::LayerPairs => shader!("thesis/steps/pairs_by_layer.wgsl"),
        Threads::NumberedPairs => shader!("thesis/steps/pairs_numbered.wgsl"),
    });
    pieces.push(shader!("thesis/steps/find_z.wgsl"));
    source("find_z", &pieces)
}

/// Returns the source of `sum_histos`.
pub(crate) fn sum_histos(step: &Step) -> Source {
    let pieces = [real(step.precision), shader!("thesis/steps/types.wgsl"), shader!("thesis/steps/sum_histos.wgsl")];
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
