//! Binds `shaders/highest_windows.wgsl`.

use kernel_host::{Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::{Layout, STAGES};
use crate::engine::gpu::workspace::{Groups, Workspace};
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 2] = ["count_sums", "highest_windows"];

/// Histograms of a workgroup: `HISTOGRAMS` in the shader.
const HISTOGRAMS: u32 = 8;

/// The windows' sums must be zero.
pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    groups: &mut Groups,
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let grid = [layout.rois.len() as u32, layout.most_totals.div_ceil(HISTOGRAMS), 1];
    // Every pass knows a digit more.
    let passes = if layout.counts_sums { STAGES } else { 0 };
    for (stage, slot) in groups.highest_windows.iter_mut().enumerate() {
        let last = stage + 1 == STAGES;
        if stage >= passes && !last {
            continue;
        }
        let group = kernel.bind_group_in(
            gpu,
            slot,
            &[
                ("params", workspace.params(stage)?),
                ("rois", workspace.rois()?),
                ("totals", workspace.totals.binding()?),
                ("windows", workspace.windows.binding()?),
                ("sums", workspace.sums.binding()?),
                ("status", workspace.status.binding()?),
            ],
        )?;
        if stage < passes {
            kernel.dispatch(pass, "count_sums", group, grid)?;
        }
        if last {
            kernel.dispatch(pass, "highest_windows", group, grid)?;
        }
    }
    Ok(())
}
