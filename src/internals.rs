//! Parts of the engines, for benchmarks and studies. Unstable: any release may change them.

pub use crate::engine::cpu::stages::Stages;
#[cfg(feature = "gpu")]
pub use crate::engine::gpu::all_shaders::shader_sources;
pub use crate::engine::reference::{FilledRoi, Histogram, Histograms, Pair, Peak, ReferenceEngine};
pub use crate::spacepoint::normalised;

#[cfg(feature = "gpu")]
macro_rules! shaders {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../shaders/", $name)))),*]
    };
}

/// Name and text of the WGSL files of which the crate `zfinder-thesis` makes its kernels.
#[cfg(feature = "gpu")]
pub const THESIS_STEPS: &[(&str, &str)] = shaders![
    "real/f32.wgsl",
    "real/f64.wgsl",
    "thesis/steps/types.wgsl",
    "thesis/steps/row_own.wgsl",
    "thesis/steps/row_storage.wgsl",
    "thesis/steps/row_workgroup.wgsl",
    "thesis/steps/flat_list.wgsl",
    "thesis/steps/pairs_by_inner.wgsl",
    "thesis/steps/pairs_by_layer.wgsl",
    "thesis/steps/pairs_numbered.wgsl",
    "thesis/steps/find_z.wgsl",
    "thesis/steps/sum_histos.wgsl",
];
