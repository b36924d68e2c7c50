//! What a part dispatches, in order.

use kernel_host::Gpu;

use crate::engine::gpu::kernels::{KernelName, KernelSet};
use crate::engine::gpu::layout::{Layout, STAGES};
use crate::engine::gpu::shape::Way;
use crate::engine::real::Real;
use crate::options::Encoding;

/// One dispatch of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dispatch {
    pub(crate) kernel: KernelName,
    pub(crate) entry_point: &'static str,
    /// The stage whose params it takes; of find_z's n-th dispatch where it has several, [`STAGES`] + n.
    pub(crate) params: usize,
    pub(crate) grid: [u32; 3],
}

/// Stages of `shaders/sum_histos.wgsl`.
pub(crate) const ROWS_IN_GROUPS: usize = 0;
pub(crate) const GROUPS: usize = 1;
const ROWS_AT_ONCE: usize = 2;

/// Histograms of a workgroup: `HISTOGRAMS` in `shaders/highest_windows.wgsl`.
const HISTOGRAMS: u32 = 8;

/// All dispatches of a part whose spacepoints come in this encoding.
pub(crate) fn dispatches<R: Real>(
    layout: &Layout<R>,
    encoding: Encoding,
    kernels: &KernelSet,
    gpu: &Gpu,
) -> Vec<Dispatch> {
    let rois = layout.rois.len() as u32;
    let each = |kernel: KernelName| Dispatch { kernel, entry_point: kernel.stage(), params: 0, grid: [rois, 1, 1] };
    let Way::Stages(occupancy) = layout.way else { return vec![each(KernelName::Walk(encoding))] };
    let mut all = vec![Dispatch {
        grid: [rois, layout.cell_tiles, 1],
        ..each(KernelName::SliceSpacepoints(encoding, occupancy))
    }];
    all.extend(find_z(layout, each(KernelName::FindZ(occupancy)), gpu));
    if layout.variant.several {
        all.extend(highest_windows(layout, each(KernelName::HighestWindows)));
    } else if !layout.variant.fills_totals() {
        let threads = kernels.get(KernelName::SumHistos).workgroup_size("sum_histos")[0];
        all.extend(sum_histos(layout, each(KernelName::SumHistos), threads));
    }
    all.push(each(KernelName::FindPeaks));
    all
}

/// A workgroup a row and tile of bins.
fn find_z<R: Real>(layout: &Layout<R>, one: Dispatch, gpu: &Gpu) -> impl Iterator<Item = Dispatch> {
    let most = gpu.limits().max_compute_workgroups_per_dimension;
    (0..layout.dispatches).map(move |dispatch| {
        let [first, end] = layout.rows_of(dispatch);
        let width = (end - first).min(most);
        let grid = [width, (end - first).div_ceil(width.max(1)), layout.bin_tiles];
        let params = if layout.dispatches == 1 { 0 } else { STAGES + dispatch as usize };
        Dispatch { params, grid, ..one }
    })
}

/// In its two stages, or in both at once; four bins a thread.
fn sum_histos<R: Real>(layout: &Layout<R>, one: Dispatch, threads: u32) -> Vec<Dispatch> {
    let blocks = (layout.params.row_bins / 4).div_ceil(threads >> layout.params.row_lanes_shift);
    let stage = |params, groups| Dispatch { params, grid: [groups, blocks, one.grid[0]], ..one };
    if layout.sums_in_two_stages() {
        vec![stage(ROWS_IN_GROUPS, layout.most_groups()), stage(GROUPS, 1)]
    } else {
        vec![stage(ROWS_AT_ONCE, 1)]
    }
}

/// Every pass of count_sums knows a digit more of the sums of windows.
fn highest_windows<R: Real>(layout: &Layout<R>, one: Dispatch) -> Vec<Dispatch> {
    let one = Dispatch { grid: [one.grid[0], layout.most_totals().div_ceil(HISTOGRAMS), 1], ..one };
    let passes = if layout.counts_sums { STAGES } else { 0 };
    let count = |params| Dispatch { entry_point: "count_sums", params, ..one };
    (0..passes).map(count).chain([Dispatch { params: STAGES - 1, ..one }]).collect()
}
