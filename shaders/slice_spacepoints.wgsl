// Groups each RoI's spacepoints by (layer, slice): a counting sort in three dispatches.
// in:   params, rois, packed (by RoI)
// out:  cells (where each layer and slice begins; must be zero before), spacepoints (by RoI, layer, slice)
// grid: count_cells and scatter_spacepoints: x = blocks of spacepoints, y = RoI; scan_cells: x = RoI
// workgroup memory: 4 WORKGROUP_SIZE bytes (scan_cells)
// Needs: real, types. CPU twin: src/engine/cpu/slice_spacepoints.rs

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> packed: array<Spacepoint>;
@group(0) @binding(3) var<storage, read_write> cells: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> spacepoints: array<Spacepoint>;

var<workgroup> wg_scan: array<u32, WORKGROUP_SIZE>;

fn cell_of(roi: u32, slice_layer: u32) -> u32 {
    return rois[roi].cell_first + (slice_layer & 0xffu) * rois[roi].slices + (slice_layer >> 8u);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count_cells(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= rois[id.y].spacepoint_count {
        return;
    }
    let slice_layer = packed[rois[id.y].spacepoint_first + id.x].slice_layer;
    atomicAdd(&cells[cell_of(id.y, slice_layer)], 1u);
}

// Cells that a thread sums by itself before threads scan together.
const RUN: u32 = 8u;

// Inclusive, so that scattering from the end leaves each cell's beginning.
@compute @workgroup_size(WORKGROUP_SIZE)
fn scan_cells(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let cell_first = rois[group.x].cell_first;
    let cell_count = params.layers * rois[group.x].slices + 1u;
    var before = rois[group.x].spacepoint_first;
    for (var base = 0u; base < cell_count; base += RUN * WORKGROUP_SIZE) {
        let first = base + thread * RUN;
        var sums: array<u32, RUN>;
        var total = 0u;
        for (var i = 0u; i < RUN; i++) {
            if first + i < cell_count {
                total += atomicLoad(&cells[cell_first + first + i]);
            }
            sums[i] = total;
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
        let start = before + wg_scan[thread] - total;
        for (var i = 0u; i < RUN; i++) {
            if first + i < cell_count {
                atomicStore(&cells[cell_first + first + i], start + sums[i]);
            }
        }
        before += wg_scan[WORKGROUP_SIZE - 1u];
        workgroupBarrier();
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn scatter_spacepoints(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= rois[id.y].spacepoint_count {
        return;
    }
    let spacepoint = packed[rois[id.y].spacepoint_first + id.x];
    let place = atomicSub(&cells[cell_of(id.y, spacepoint.slice_layer)], 1u) - 1u;
    spacepoints[place] = spacepoint;
}
