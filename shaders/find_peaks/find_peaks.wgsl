// Takes each RoI's highest windows of three bins, one after the other.
// in:   params, rois, totals (peaks' bins are zero afterwards), status; of several histograms an
//       RoI, windows and sums
// out:  peaks (params.peaks an RoI; after the last one found, NO_PEAK), and with them the status'
//       flags, which are zero afterwards
// grid: x = RoI
// CPU twin: src/engine/twin/find_peaks.rs

#import shared::histograms
#import shared::types
#import find_peaks::peaks

override WORKGROUP_SIZE: u32 = 128;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read_write> totals: array<u32>;
@group(0) @binding(3) var<storage, read_write> peaks: array<Peak>;
@group(0) @binding(4) var<storage, read_write> status: array<RoiStatus>;

// The RoI of this workgroup.
var<private> roi_index: u32;

fn total(part: u32, bin: u32) -> u32 {
    return total_word(rois[roi_index].total_first, part, bin);
}

fn bin_n(bin: u32) -> u32 {
    return totals[total(0u, bin)];
}

fn bin_z(bin: u32) -> u32 {
    return totals[total(1u, bin)];
}

fn bin_pairs(bin: u32) -> u32 {
    return totals[total(pairs_part(), bin)];
}

fn take_bin(bin: u32) {
    totals[total(0u, bin)] = 0u;
    totals[total(1u, bin)] = 0u;
    for (var part = 2u; part < params.total_parts; part++) {
        totals[total(part, bin)] = 0u;
    }
}

fn give_up(flag: u32) {
    atomicOr(&status[roi_index].flags, flag);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_peaks(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    roi_index = group.x;
    take_peaks(group.x, rois[group.x].bins, rois[group.x].half, rois[group.x].background_windows, thread);
    if thread == 0u {
        peaks[group.x * params.peaks].flags = atomicExchange(&status[group.x].flags, 0u);
    }
}
