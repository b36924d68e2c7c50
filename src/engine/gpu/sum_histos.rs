//! Binds `shaders/sum_histos.wgsl`, once for each of its two stages.

use kernel_host::{Gpu, Kernel, wgpu};

use crate::engine::gpu::batch::Layout;
use crate::engine::gpu::workspace::Workspace;
use crate::engine::real::Real;
use crate::error::Result;

pub(crate) const ENTRY_POINTS: [&str; 1] = ["sum_histos"];

pub(crate) fn encode<R: Real>(
    kernel: &Kernel,
    gpu: &Gpu,
    pass: &mut wgpu::ComputePass<'_>,
    workspace: &Workspace<R>,
    layout: &Layout<R>,
) -> Result<()> {
    let blocks = layout.params.row_bins.div_ceil(kernel.workgroup_size("sum_histos")[0]);
    let stages =
        [(&workspace.histograms, &workspace.partials, layout.most_groups), (&workspace.partials, &workspace.totals, 1)];
    for (stage, (rows, sums, groups)) in stages.into_iter().enumerate() {
        let group = kernel.bind_group(
            gpu,
            &[
                ("params", workspace.params[stage].binding()?),
                ("rois", workspace.rois.binding()?),
                ("rows", rows.binding()?),
                ("sums", sums.binding()?),
                ("status", workspace.status.binding()?),
            ],
        )?;
        kernel.dispatch(pass, "sum_histos", &group, [groups, blocks, layout.rois.len() as u32])?;
    }
    Ok(())
}
