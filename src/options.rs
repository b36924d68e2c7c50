//! How an engine works, beside the physics: which one runs, its number type, its sums, its
//! encoding.

use std::num::NonZeroUsize;
use std::time::Duration;

#[cfg(feature = "gpu")]
pub use kernel_host::AdapterChoice;

/// What computes.
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
    /// Several GPUs, those that are named, whatever they are; one named twice is opened twice. A
    /// stream gives each batch to the next that is free, a batch by itself is divided among them,
    /// and a single RoI is for the first. What a GPU has when it is lost is an error, and the
    /// others then do its work.
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

/// What a finder promises of its answers: which runs have the same bits. (NVIDIA's CCCL names
/// levels likewise.)
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
    /// 8 bytes a spacepoint, where the bus is the limit. The slice is exact, so the same pairs are
    /// made. rho and z come in steps of a power of two that the detector's size and the
    /// configuration decide: 0.24 um for pairs in `atlas2010`, 1 um with triplets, where phi comes
    /// in 1/32 of a slice; 4 um at most, else all is sent losslessly, and so it is where pairs
    /// weigh by pT. So is an RoI with a spacepoint further out than a fifth beyond the detector's
    /// size.
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

/// What a GPU takes when spacepoints are there already:
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
