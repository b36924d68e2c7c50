// Searches an RoI of few spacepoints in one workgroup and one dispatch: slice_spacepoints, find_z
// and find_peaks. Only peaks leave workgroup memory. The swapped files of find_z choose pairs and
// define the order of spacepoints.
// in:   params, cuts, neighbours, rois, packed (by RoI)
// out:  peaks (params.peaks an RoI; NO_PEAK after the last one), with flags
// grid: x = RoI
// CPU twins: the twins of the stages

#import shared::real
#import shared::types
#import find_peaks::peaks
#import find_z::accumulate
#import find_z::pairs
#import find_z::pair_weight
#import find_z::tracks
#import slice_spacepoints::counting_sort
#import slice_spacepoints::encoding

override WORKGROUP_SIZE: u32 = 256;
// Spacepoints that there is room for: AT_ONCE a thread at most.
override POINTS: u32 = 512;
// TILE_BINS, where pairs are counted beside weights.
override PAIR_BINS: u32 = 1;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> cuts: Cuts;
@group(0) @binding(2) var<uniform> neighbours: array<vec4<u32>, 1024>;
@group(0) @binding(3) var<storage, read> rois: array<Roi>;
@group(0) @binding(4) var<storage, read> packed: array<Packed>;
@group(0) @binding(5) var<storage, read_write> peaks: array<Peak>;

// Sorted.
var<workgroup> points: array<vec2<real>, POINTS>;
var<workgroup> beside: array<Stored, POINTS>;
var<workgroup> wg_flags: atomic<u32>;
// Pairs by bin, where they are not what is counted.
var<workgroup> wg_pairs: array<atomic<u32>, PAIR_BINS>;

// Where a cell begins: where the one before it ends, once all spacepoints have their places.
fn cell_begin(place: u32) -> u32 {
    if place == 0u {
        return 0u;
    }
    return cell_of_word(atomicLoad(&wg_cells[(place - 1u) >> 1u]), place - 1u, 1u);
}

fn set_rows(rows: u32) {}

fn give_up(flag: u32) {
    atomicOr(&wg_flags, flag);
}

fn bin_n(bin: u32) -> u32 {
    return atomicLoad(&wg_n[bin]);
}

fn bin_z(bin: u32) -> u32 {
    return atomicLoad(&wg_z[bin]);
}

fn bin_pairs(bin: u32) -> u32 {
    if counts_pairs() {
        return atomicLoad(&wg_pairs[bin]);
    }
    return bin_n(bin);
}

fn take_bin(bin: u32) {
    clear_bin(bin);
    if counts_pairs() {
        atomicStore(&wg_pairs[bin], 0u);
    }
}

// Counts a pair whose weight is another.
fn count_pair(bin: u32) {
    atomicAdd(&wg_pairs[bin], 1u);
}

// Tracks are marked by find_z only.
fn mark_track(a: u32, b: u32, steps: u32, flags: u32) {}

// Of one that takes part: in the RoI's cells.
fn cell_of(slice_layer: u32) -> u32 {
    return cell_place(params.layers, roi.slices, slice_layer & 0xffu, slice_layer >> 8u);
}

fn count(spacepoint: Packed, is_there: bool) {
    let slice_layer = packed_slice_layer(spacepoint);
    if is_there && slice_layer != DROPPED {
        add_to(cell_of(slice_layer), 1u);
    }
}

fn place(spacepoint: Packed, is_there: bool) {
    let slice_layer = packed_slice_layer(spacepoint);
    if is_there && slice_layer != DROPPED {
        let at = add_to(cell_of(slice_layer), 1u);
        points[at] = sorted_point(spacepoint);
        beside[at] = stored(packed_phi(spacepoint), slice_layer);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn walk(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    roi_index = group.x;
    roi = rois[group.x];
    let first = roi.spacepoint_first;
    let there = roi.spacepoint_count;
    let loaded = four(first + thread, first + max(there, 1u) - 1u);
    let words = (cell_count(params.layers, roi.slices) + 1u) >> 1u;
    for (var word = thread; word < words; word += WORKGROUP_SIZE) {
        atomicStore(&wg_cells[word], 0u);
    }
    for (var bin = thread; bin < TILE_BINS; bin += WORKGROUP_SIZE) {
        take_bin(bin);
    }
    if thread == 0u {
        atomicStore(&wg_flags, 0u);
    }
    workgroupBarrier();

    count(loaded.a, thread < there);
    count(loaded.b, thread + WORKGROUP_SIZE < there);
    count(loaded.c, thread + 2u * WORKGROUP_SIZE < there);
    count(loaded.d, thread + 3u * WORKGROUP_SIZE < there);
    scan_cells(words, 1u, thread);
    place(loaded.a, thread < there);
    place(loaded.b, thread + WORKGROUP_SIZE < there);
    place(loaded.c, thread + 2u * WORKGROUP_SIZE < there);
    place(loaded.d, thread + 3u * WORKGROUP_SIZE < there);
    workgroupBarrier();

    add_pairs(0u, 0u, thread);
    if unfinished {
        give_up(STATUS_UNFINISHED);
    }
    take_peaks(group.x, rois[group.x].bins, rois[group.x].half, rois[group.x].background_windows, thread);
    if thread == 0u {
        peaks[group.x * params.peaks].flags = atomicLoad(&wg_flags);
    }
}
