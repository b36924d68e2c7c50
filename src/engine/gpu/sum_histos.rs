//! Binds `shaders/sum_histos.wgsl`: once for each of its two stages, or for both at once.

use kernel_host::{BindGroupSlot, Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["sum_histos"];

pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    slots: &mut [BindGroupSlot; 2],
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    // Four bins a thread.
    let blocks_each = kernel.workgroup_size("sum_histos")[0] >> layout.params.row_lanes_shift;
    let blocks = (layout.params.row_bins / 4).div_ceil(blocks_each);
    let (histograms, partials, totals) = (&workspace.histograms, &workspace.partials, &workspace.totals);
    let two = [(0, histograms, partials, layout.most_groups), (1, partials, totals, 1)];
    let one = [(2, histograms, totals, 1)];
    let stages = if layout.two_stages { &two[..] } else { &one[..] };
    for (&(stage, rows, sums, groups), slot) in stages.iter().zip(slots) {
        let group = kernel.bind_group_in(
            gpu,
            slot,
            &[
                ("params", workspace.params(stage)?),
                ("rois", workspace.rois()?),
                ("rows", rows.binding()?),
                ("sums", sums.binding()?),
                ("status", workspace.status.binding()?),
            ],
        )?;
        kernel.dispatch(pass, "sum_histos", group, [groups, blocks, layout.rois.len() as u32])?;
    }
    Ok(())
}
