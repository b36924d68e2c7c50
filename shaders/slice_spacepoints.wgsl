// Groups each RoI's spacepoints by cells, that is by slice and layer: a counting sort. A workgroup makes a tile of an
// RoI's cells, for which it goes through all of the RoI's spacepoints: those of cells before its own say where it begins.
// in:   params, rois, packed (by RoI)
// out:  cells (where each begins), rho_z and phi_slice (by RoI and cell), status; totals, which are zero afterwards
// grid: x = RoI, y = tiles of cells
// workgroup memory: 4 TILE_CELLS + 4 WORKGROUP_SIZE + 4 bytes
// Needs: real, types, encoding, order. CPU twin: src/engine/cpu/slice_spacepoints.rs

override WORKGROUP_SIZE: u32 = 256;
override TILE_CELLS: u32 = 2048;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> packed: array<Packed>;
@group(0) @binding(3) var<storage, read_write> cells: array<u32>;
@group(0) @binding(4) var<storage, read_write> rho_z: array<vec2<real>>;
@group(0) @binding(5) var<storage, read_write> phi_slice: array<PhiSlice>;
@group(0) @binding(6) var<storage, read_write> totals: array<u32>;
@group(0) @binding(7) var<storage, read_write> status: array<RoiStatus>;

var<workgroup> wg_cells: array<atomic<u32>, TILE_CELLS>;
var<workgroup> wg_scan: array<u32, WORKGROUP_SIZE>;
// Spacepoints of cells before the tile's.
var<workgroup> wg_before: atomic<u32>;

// The cell of a spacepoint; DROPPED: takes no part.
fn cell_of(slice_layer: u32, slices: u32) -> u32 {
    let cell = cell_place(params.layers, slices, slice_layer & 0xffu, slice_layer >> 8u);
    return select(cell, DROPPED, slice_layer == DROPPED);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn slice_spacepoints(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let roi_first = rois[group.x].spacepoint_first;
    let roi_end = roi_first + rois[group.x].spacepoint_count;
    let slices = rois[group.x].slices;
    let cell_first = rois[group.x].cell_first;
    let cell_count = params.layers * slices + 1u;
    let tile_first = group.y * TILE_CELLS;
    if tile_first >= cell_count {
        return;
    }
    var unfinished = false;
    if group.y == 0u {
        let row = group.x * 2u * params.row_bins;
        for (var word = thread; word < 2u * params.row_bins; word += WORKGROUP_SIZE) {
            totals[row + word] = 0u;
        }
    }
    for (var cell = thread; cell < TILE_CELLS; cell += WORKGROUP_SIZE) {
        atomicStore(&wg_cells[cell], 0u);
    }
    if thread == 0u {
        atomicStore(&wg_before, 0u);
    }
    workgroupBarrier();

    var before = 0u;
    var i = roi_first + thread;
    for (; i < roi_end; i += WORKGROUP_SIZE) {
        let cell = cell_of(packed_slice_layer(packed[i]), slices);
        if cell < tile_first {
            before += 1u;
        } else if cell - tile_first < TILE_CELLS {
            atomicAdd(&wg_cells[cell - tile_first], 1u);
        }
    }
    unfinished = unfinished || i < roi_end;
    if before != 0u {
        atomicAdd(&wg_before, before);
    }
    workgroupBarrier();

    // Counts become beginnings: each thread sums a run of cells, then the threads' sums are scanned.
    let run = (TILE_CELLS + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    let run_first = thread * run;
    let run_end = min(run_first + run, TILE_CELLS);
    var total = 0u;
    for (var cell = run_first; cell < run_end; cell++) {
        total += atomicLoad(&wg_cells[cell]);
    }
    wg_scan[thread] = total;
    workgroupBarrier();
    for (var stride = 1u; stride < WORKGROUP_SIZE; stride <<= 1u) {
        var below = 0u;
        if thread >= stride {
            below = wg_scan[thread - stride];
        }
        workgroupBarrier();
        wg_scan[thread] += below;
        workgroupBarrier();
    }
    var start = roi_first + atomicLoad(&wg_before) + wg_scan[thread] - total;
    for (var cell = run_first; cell < run_end; cell++) {
        let count = atomicLoad(&wg_cells[cell]);
        atomicStore(&wg_cells[cell], start);
        start += count;
    }
    workgroupBarrier();
    let tile_end = min(TILE_CELLS, cell_count - tile_first);
    for (var cell = thread; cell < tile_end; cell += WORKGROUP_SIZE) {
        cells[cell_first + tile_first + cell] = atomicLoad(&wg_cells[cell]);
    }
    workgroupBarrier();

    i = roi_first + thread;
    for (; i < roi_end; i += WORKGROUP_SIZE) {
        let slice_layer = packed_slice_layer(packed[i]);
        let cell = cell_of(slice_layer, slices);
        if cell >= tile_first && cell - tile_first < TILE_CELLS {
            let place = atomicAdd(&wg_cells[cell - tile_first], 1u);
            rho_z[place] = packed_rho_z(packed[i]);
            phi_slice[place] = PhiSlice(packed_phi(packed[i]), slice_layer);
        }
    }
    if unfinished || i < roi_end {
        atomicOr(&status[group.x].flags, STATUS_UNFINISHED);
    }
}
