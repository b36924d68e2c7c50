//! Parts of the engines, for benchmarks and studies. Unstable: any release may change them.

pub use crate::engine::cpu::stages::Stages;
#[cfg(feature = "gpu")]
pub use crate::engine::gpu::all_shaders::shader_sources;
pub use crate::engine::reference::{FilledRoi, Histogram, Histograms, Pair, Peak, ReferenceEngine};
pub use crate::spacepoint::normalised;
