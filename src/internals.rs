//! Parts of the engines, for benchmarks and studies. Unstable: any release may change them.

use crate::batch_view::BatchView;
use crate::error::Result;
use crate::finder::ZFinder;

pub use crate::engine::cpu::stages::Stages;
pub use crate::engine::cpu::tracklets::steps::TrackletSteps;
#[cfg(feature = "gpu")]
pub use crate::engine::gpu::all_shaders::shader_sources;
pub use crate::engine::reference::{
    FilledRoi, Histogram, Histograms, Pair, Peak, ReferenceEngine, ReferenceTracklets, TrackletsOfEvent,
};
pub use crate::spacepoint::normalised;
pub use crate::tracklet::TrackletVertex;

#[cfg(feature = "gpu")]
pub use crate::options::DeviceTimes;

/// Measures the time that the GPU alone takes for a batch of resident spacepoints, searched
/// `rounds` times. Upload and packing are excluded. Returns `None` on other engines, and for a
/// batch without work. If a batch exceeds the device's capacity, its first part is measured. With
/// several GPUs, the first GPU is measured.
///
/// # Errors
/// As [`ZFinder::find_batch`].
#[cfg(feature = "gpu")]
pub fn time_on_device<'a>(
    finder: &ZFinder,
    batch: impl Into<BatchView<'a>>,
    rounds: usize,
) -> Result<Option<DeviceTimes>> {
    finder.time_on_device(batch.into(), rounds)
}

/// Measures how long one host thread takes to plan an RoI and to pack its spacepoints, in seconds
/// an RoI. The thread writes to host memory, not over the bus. Returns `None` on other engines, and
/// for an empty batch.
///
/// # Errors
/// As [`ZFinder::find_batch`].
#[cfg(feature = "gpu")]
pub fn time_packing<'a>(finder: &ZFinder, batch: impl Into<BatchView<'a>>) -> Result<Option<f64>> {
    finder.time_packing(batch.into())
}

/// Describes how the GPU would search a batch, part by part: kernels in their order with their
/// grids, shares of pairs, and bytes. The texts are for people. Returns `None` on other engines.
/// With several GPUs, the first GPU's plan of the whole batch is described.
///
/// # Errors
/// As [`ZFinder::find_batch`].
#[cfg(feature = "gpu")]
pub fn plan_parts<'a>(finder: &ZFinder, batch: impl Into<BatchView<'a>>) -> Result<Option<Vec<String>>> {
    finder.plan_parts(batch.into())
}
