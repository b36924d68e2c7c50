//! How an engine works, beside the physics: which one runs, its number type, its sums, its
//! encoding.

use std::num::NonZeroUsize;
use std::time::Duration;

#[cfg(feature = "gpu")]
pub use kernel_host::AdapterChoice;

/// Engine that computes.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// A hardware GPU if there is one, else the CPU. Never a software adapter, unless
    /// `WGPU_ADAPTER_NAME` names it. Without the feature `gpu`, the CPU.
    #[default]
    Auto,
    /// A GPU through wgpu; all of them with [`AdapterChoice::All`], as in [`Engine::Gpus`].
    #[cfg(feature = "gpu")]
    Gpu(AdapterChoice),
    /// Several GPUs by choice; a GPU that is named twice is opened twice. A stream gives each batch
    /// to the next free GPU. A single batch is divided among the GPUs; a single RoI goes to the
    /// first. If a GPU is lost, the remaining GPUs repeat its work in flight and continue.
    #[cfg(feature = "gpu")]
    Gpus(Vec<AdapterChoice>),
    /// All cores, in the same stages and fixed-point sums as the GPU.
    Cpu,
    /// Serial and in f64, straight from the specification: the answer that the others are checked
    /// against.
    Reference,
}

/// How zHisto is summed on the GPU and CPU engines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accumulate {
    /// Offsets within the bin as fixed-point integers: the same bits in any order.
    #[default]
    Fixed,
    /// The thesis's way: f32 sums by compare and retry. The last digits depend on the order. On a
    /// GPU it comes with the thesis's numbered pairs, as `slices_per_histogram` does, and takes
    /// longer.
    CompareExchange,
}

/// Reproducibility of a finder's answers: runs with the same bits. (NVIDIA's CCCL has similar
/// levels.)
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reproducibility {
    /// Another run may differ in the last digits of z: sums depend on the order of entries.
    NotGuaranteed,
    /// Every run of this engine, on this machine, has the same bits.
    RunToRun,
    /// So has every GPU, and the CPU engine, in any batch and on any number of threads: of answers
    /// that no engine has refused ([`Status::CapacityExceeded`](crate::Status::CapacityExceeded)).
    CpuToGpu,
}

/// The number type of the arithmetic on the GPU and CPU engines (the thesis's `real` switch).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32 bits.
    #[default]
    F32,
    /// 64 bits; on a GPU only where the adapter has `SHADER_F64`.
    F64,
}

/// How spacepoints travel to a GPU. The CPU engine computes with what the GPU would get, so that
/// the two agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// All that the arithmetic holds: 16 bytes a spacepoint in f32, 32 in f64.
    #[default]
    Lossless,
    /// 8 bytes a spacepoint, for a bandwidth-bound bus. The slice is exact, so the pairs are the
    /// same. rho and z are rounded to a power of two that depends on detector and configuration. In
    /// `atlas2010` it is 0.24 um for pairs and 1 um with triplets, where phi is rounded to 1/32 of
    /// a slice. If it would exceed 4 um, or if pairs weigh by pT, spacepoints are sent losslessly.
    /// An RoI with a spacepoint over a fifth beyond the detector's size is sent losslessly, too.
    Compact,
}

/// How an engine works, beside what it computes.
#[derive(Clone, Debug, Default)]
pub(crate) struct EngineOptions {
    pub(crate) accumulate: Accumulate,
    pub(crate) precision: Precision,
    pub(crate) encoding: Encoding,
    /// Some: the thesis's design.
    pub(crate) slices_per_histogram: Option<u32>,
    pub(crate) checked: bool,
    pub(crate) most_buffer_bytes: Option<u64>,
    pub(crate) most_gpu_bytes: Option<u64>,
    /// Of the CPU engine.
    pub(crate) threads: Option<NonZeroUsize>,
    /// How long to ask the device again and again before waiting for it.
    pub(crate) spin: Duration,
}

/// Times of a GPU for resident spacepoints:
/// [`ZFinder::time_on_device`](crate::ZFinder::time_on_device).
#[cfg(feature = "gpu")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTimes {
    /// RoIs that were searched at once.
    pub rois: usize,
    /// Bytes that their upload takes.
    pub bytes: u64,
    /// Seconds an RoI, from the first submission to the last answer, round by round.
    pub resident: Vec<f64>,
    /// Seconds an RoI of each stage by the device's own clock; none where it has no such clock.
    pub stages: Vec<(String, f64)>,
}
