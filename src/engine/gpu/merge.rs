//! Binds `shaders/merge.wgsl`, and says what it can take.

use kernel_host::{BindGroupSlot, Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["merge"];

/// What there is room for in a workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    bins: u32,
    /// For few RoIs, whose rows threads share, and for many.
    threads: [u32; 2],
}

impl Room {
    /// Measured on an H200: docs/performance.md.
    const THREADS: [u32; 2] = [1024, 128];

    /// None where the device's workgroups have too little memory.
    pub(crate) fn new(gpu: &Gpu, bins: u32) -> Option<Self> {
        let limits = gpu.limits();
        let bins = bins.next_multiple_of(64);
        // As the shaders' headers count it, and a little for alignment.
        let left = limits.max_compute_workgroup_storage_size.checked_sub(8u32.checked_mul(bins)? + 64)? / 12;
        let threads = Self::THREADS.map(|wanted| {
            let most = wanted.min(limits.max_compute_invocations_per_workgroup).min(left);
            if most == 0 { 0 } else { 1 << most.ilog2() }
        });
        (threads[1] == Self::THREADS[1]).then_some(Self { bins, threads })
    }

    /// Whether rows of so many bins fit.
    pub(crate) fn holds(&self, bins: u32) -> bool {
        bins <= self.bins
    }

    /// Overrides of `shaders/merge.wgsl`, for few RoIs and for many.
    pub(crate) fn constants(&self) -> [Vec<(&'static str, f64)>; 2] {
        self.threads
            .map(|threads| vec![("WORKGROUP_SIZE", f64::from(threads)), ("MOST_BLOCKS", f64::from(self.bins / 4))])
    }
}

pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    slot: &mut BindGroupSlot,
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let group = kernel.bind_group_in(
        gpu,
        slot,
        &[
            ("params", workspace.params(0)?),
            ("rois", workspace.rois()?),
            ("rows", workspace.histograms.binding()?),
            ("totals", workspace.totals.binding()?),
            ("status", workspace.status.binding()?),
            ("peaks", workspace.answers()?),
        ],
    )?;
    kernel.dispatch(pass, "merge", group, [layout.rois.len() as u32, 1, 1])?;
    Ok(())
}
