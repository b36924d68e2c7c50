//! The parts of the GPU engine in one number type.

use std::time::Duration;

use kernel_host::{Gpu, Pool};

use crate::engine::encoding::Compact;
use crate::engine::gpu::capacity::Capacity;
use crate::engine::gpu::kernels::KernelSet;
use crate::engine::gpu::shape::Shape;
use crate::engine::gpu::workspace::{ConstantBuffers, Workspace};
use crate::engine::plan::Search;
use crate::engine::real::Real;
use crate::thesis::Accumulate;

/// The GPU engine in one number type.
pub(crate) struct TypedEngine<R: Real> {
    pub(super) gpu: Gpu,
    pub(super) search: Search,
    pub(super) accumulate: Accumulate,
    /// How spacepoints travel where it can.
    pub(super) compact: Option<Compact>,
    pub(super) shape: Shape,
    pub(super) capacity: Capacity,
    pub(super) kernels: KernelSet,
    pub(super) constants: ConstantBuffers<R>,
    /// Bytes of an upload that shaders read where it lies.
    pub(super) direct_bytes: u64,
    /// How long to ask the device again and again before waiting for it.
    pub(super) spin: Duration,
    pub(super) workspaces: Pool<Workspace<R>>,
}
