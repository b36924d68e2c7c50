//! The GPU engine: the four stages as shaders, a batch at a time. docs/explanation/design.md says
//! in which order to read it.

#[cfg(any(test, feature = "internals"))]
pub(crate) mod all_shaders;
mod capacity;
mod engine;
mod kernels;
mod part;
mod part_plan;
mod rounding;
mod shaders;
mod shape;
#[cfg(test)]
pub(in crate::engine) mod tests;
#[cfg(any(test, feature = "internals"))]
mod timing;
pub(crate) mod tracklets;
mod trust;
mod workspace;

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use kernel_host::{Gpu, JointQueue, Pool, Waiting, block_on, wgpu};

use crate::batch_view::BatchView;
use crate::engine::encoding::Compact;
use crate::engine::gpu::capacity::Capacity;
use crate::engine::gpu::kernels::KernelSet;
use crate::engine::gpu::shape::Shape;
use crate::engine::gpu::tracklets::GpuTracklets;
use crate::engine::gpu::workspace::{SearchBuffers, Workspace};
use crate::engine::plan::Search;
use crate::engine::real::Real;
use crate::engine::threads::Helpers;
use crate::error::Result;
#[cfg(any(test, feature = "internals"))]
use crate::options::DeviceTimes;
use crate::options::{EngineOptions, Precision};
use crate::results::Results;
use crate::thesis::Accumulate;

/// The engine in one of the number types.
pub(crate) enum GpuEngine {
    F32(TypedEngine<f32>),
    F64(TypedEngine<f64>),
}

/// The same expression for the engine in its number type.
macro_rules! typed {
    ($gpu_engine:expr, $engine:ident => $result:expr) => {
        match $gpu_engine {
            GpuEngine::F32($engine) => $result,
            GpuEngine::F64($engine) => $result,
        }
    };
}

impl GpuEngine {
    /// The features that a number type needs.
    pub(crate) fn required_features(precision: Precision) -> wgpu::Features {
        match precision {
            Precision::F32 => wgpu::Features::empty(),
            Precision::F64 => wgpu::Features::SHADER_F64,
        }
    }

    pub(crate) async fn new(gpu: Gpu, search: Search, options: &EngineOptions) -> Result<Self> {
        let missing = Self::required_features(options.precision).difference(gpu.features());
        if !missing.is_empty() {
            return Err(kernel_host::Error::MissingFeature {
                adapter: gpu.name().to_owned(),
                feature: format!("{missing:?}"),
                hint: "f64 arithmetic needs it: use f32, or the CPU engine".into(),
            }
            .into());
        }
        if let Some(bytes) = options.most_gpu_bytes {
            gpu.limit_memory(bytes);
        }
        Ok(match options.precision {
            Precision::F32 => Self::F32(TypedEngine::new(gpu, search, options).await?),
            Precision::F64 => Self::F64(TypedEngine::new(gpu, search, options).await?),
        })
    }

    /// The search for chains of hits, if the configuration asks for tracklets; in f32 only.
    pub(crate) fn tracklets(&self) -> Option<&GpuTracklets> {
        typed!(self, engine => engine.tracklets.as_ref())
    }

    fn gpu(&self) -> &Gpu {
        typed!(self, engine => &engine.gpu)
    }

    pub(crate) fn description(&self) -> String {
        let precision = match self {
            Self::F32(_) => "f32",
            Self::F64(_) => "f64",
        };
        format!("GPU engine, {precision}, on {}", self.device())
    }

    /// The adapter, for people.
    pub(crate) fn device(&self) -> String {
        let adapter = self.gpu().summary();
        format!("{} ({}, {})", adapter.name, adapter.kind, adapter.backend)
    }

    /// Bytes of the buffers on the device.
    pub(crate) fn bytes(&self) -> u64 {
        self.gpu().memory_bytes()
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.gpu().lost().is_some()
    }

    /// Appends the answers to `results`.
    pub(crate) fn find_batch(&self, batch: BatchView<'_>, helpers: Helpers, results: &mut Results) -> Result<()> {
        // The future never yields: it blocks where it waits.
        typed!(self, engine => block_on(engine.find_batch(batch, Waiting::Blocking, helpers, results)))
    }

    pub(crate) async fn find_batch_async(&self, batch: BatchView<'_>, results: &mut Results) -> Result<()> {
        typed!(self, engine => engine.find_batch(batch, Waiting::Async, Helpers::Pool, results).await)
    }

    /// Describes the plan of each part of a batch.
    #[cfg(feature = "internals")]
    pub(crate) fn plan_parts(&self, batch: BatchView<'_>) -> Result<Vec<String>> {
        typed!(self, engine => engine.plan_parts(batch))
    }

    #[cfg(any(test, feature = "internals"))]
    /// Times the device alone, with as much of the batch as one part can be.
    pub(crate) fn time_on_device(&self, batch: BatchView<'_>, rounds: usize) -> Result<Option<DeviceTimes>> {
        typed!(self, engine => engine.time_on_device(batch, rounds))
    }

    #[cfg(feature = "internals")]
    /// Times one thread of the host.
    pub(crate) fn time_packing(&self, batch: BatchView<'_>) -> Result<Option<f64>> {
        typed!(self, engine => engine.time_packing(batch))
    }
}

/// The GPU engine in one number type.
pub(crate) struct TypedEngine<R: Real> {
    gpu: Gpu,
    search: Search,
    accumulate: Accumulate,
    /// How spacepoints travel where it can.
    compact: Option<Compact>,
    shape: Shape,
    capacity: Capacity,
    kernels: KernelSet,
    search_buffers: SearchBuffers<R>,
    tracklets: Option<GpuTracklets>,
    /// Bytes of an upload that shaders read where it lies.
    direct_bytes: u64,
    /// How long to ask the device again and again before waiting for it.
    spin: Duration,
    workspaces: Pool<Workspace<R>>,
    /// Small parts of several callers.
    joint: JointQueue<Self>,
    /// Words that a joint submission is staged in, as far as they were wanted.
    joint_words: AtomicUsize,
    /// Threads that pack a part.
    packing: AtomicUsize,
}
