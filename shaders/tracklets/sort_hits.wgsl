// Sorts the hits of each event by layer and cell of azimuth. The order within a cell is any: no
// later step depends on it.
// in:   events, packed, layers
// out:  hits, numbers (place among the packed hits of the event), cells (where each begins)
// grid: count_hits and place_hits: x = hits, y = events; scan_cells: x = events
// CPU twin: src/engine/cpu/tracklets/hits.rs

#import shared::real
#import shared::types
#import tracklets::types

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<storage, read> events: array<Event>;
@group(0) @binding(1) var<uniform> constants: Constants;
@group(0) @binding(2) var<uniform> layers: array<Layer, 64>;
@group(0) @binding(3) var<storage, read> packed: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> cells: array<atomic<u32>>;
@group(0) @binding(5) var<storage, read_write> hits: array<StoredHit>;
@group(0) @binding(6) var<storage, read_write> numbers: array<u32>;

var<workgroup> wg_scan: array<u32, WORKGROUP_SIZE>;

// The word in which a hit's cell ends, when all hits have their place.
fn cell_end(event: u32, hit: vec4<u32>) -> u32 {
    let cell = u32(max((bitcast<real>(hit.y) + PI) * CELLS_PER_RAD, 0.0));
    return events[event].cell_first + hit.w * CELLS_OF_LAYER + min(cell, CELLS_OF_LAYER - 1u) + 1u;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count_hits(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < events[id.y].hit_count {
        atomicAdd(&cells[cell_end(id.y, packed[events[id.y].hit_first + id.x])], 1u);
    }
}

// Counts become beginnings, one word further: each thread sums a run of words, then the threads'
// sums are scanned.
@compute @workgroup_size(WORKGROUP_SIZE)
fn scan_cells(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let thread = local.x;
    let words = constants.layers * CELLS_OF_LAYER;
    let first = events[group.x].cell_first;
    let run = (words + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    let run_first = min(thread * run, words);
    let run_end = min(run_first + run, words);
    var total = 0u;
    for (var word = run_first; word < run_end; word++) {
        total += atomicLoad(&cells[first + 1u + word]);
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
    var start = events[group.x].hit_first + wg_scan[thread] - total;
    for (var word = run_first; word < run_end; word++) {
        let count = atomicLoad(&cells[first + 1u + word]);
        atomicStore(&cells[first + 1u + word], start);
        start += count;
    }
    if thread == 0u {
        atomicStore(&cells[first], events[group.x].hit_first);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn place_hits(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= events[id.y].hit_count {
        return;
    }
    let hit = packed[events[id.y].hit_first + id.x];
    let place = atomicAdd(&cells[cell_end(id.y, hit)], 1u);
    let rho = bitcast<real>(hit.x);
    let bend = bend_of(constants.max_kappa, rho);
    let layer = layers[hit.w];
    hits[place].place = vec4<real>(rho, bitcast<real>(hit.y), bitcast<real>(hit.z), bend);
    let inverse_rho = quotient(real(1.0), rho);
    hits[place].sensor = vec4<real>(inverse_rho, layer.resolution, layer.thickness, real(hit.w));
    numbers[place] = id.x;
}
