// Groups each RoI's spacepoints by cells, that is by slice and layer: a counting sort. A workgroup makes a tile of an
// RoI's cells, for which it goes through all of the RoI's spacepoints: those of cells before its own say where it begins.
// in:   params, rois, packed (by RoI)
// out:  cells (where each begins), points and beside (by RoI and cell), status; totals, which are zero afterwards
// grid: x = RoI, y = tiles of cells
// workgroup memory: 4 TILE_WORDS + 4 ORDER_WORDS + 4 WORKGROUP_SIZE + 16 bytes
// Needs: real, types, encoding, cells. CPU twin: src/engine/cpu/slice_spacepoints.rs

override WORKGROUP_SIZE: u32 = 256;
// Two cells a word, or one where an RoI has spacepoints beyond what half a word counts.
override TILE_WORDS: u32 = 1024;
// Two spacepoints a word, of tiles that are written out in order; larger tiles are scattered.
override ORDER_WORDS: u32 = 1024;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rois: array<Roi>;
@group(0) @binding(2) var<storage, read> packed: array<Packed>;
@group(0) @binding(3) var<storage, read_write> cells: array<u32>;
@group(0) @binding(4) var<storage, read_write> points: array<vec2<real>>;
@group(0) @binding(5) var<storage, read_write> beside: array<Stored>;
@group(0) @binding(6) var<storage, read_write> totals: array<u32>;
@group(0) @binding(7) var<storage, read_write> status: array<RoiStatus>;

const MOST_HALF: u32 = 0xffffu;
// Spacepoints that a thread loads at once, so that memory has something to do meanwhile.
const AT_ONCE: u32 = 4u;

var<workgroup> wg_cells: array<atomic<u32>, TILE_WORDS>;
var<workgroup> wg_scan: array<u32, WORKGROUP_SIZE>;
// Spacepoints of cells before the tile's.
var<workgroup> wg_before: atomic<u32>;
// The tile's spacepoints in order, counted from the RoI's first: memory likes writes that lie side by side.
var<workgroup> wg_order: array<atomic<u32>, ORDER_WORDS>;
var<workgroup> wg_total: u32;

// The tile of this workgroup: cells from `first` to `end`, of an RoI with so many slices, 1 << shift a word.
struct Tile {
    first: u32,
    end: u32,
    slices: u32,
    shift: u32,
}

// A spacepoint's cell among all of its RoI's; DROPPED: it takes no part.
fn cell_of(tile: Tile, slice_layer: u32) -> u32 {
    let cell = cell_place(params.layers, tile.slices, slice_layer & 0xffu, slice_layer >> 8u);
    return select(cell, DROPPED, slice_layer == DROPPED);
}

fn half_shift(cell: u32, tile: Tile) -> u32 {
    return (cell & tile.shift) << 4u;
}

// Counts a spacepoint in its cell. Returns what was there before.
fn add_to(cell: u32, tile: Tile) -> u32 {
    let shift = half_shift(cell, tile);
    let old = atomicAdd(&wg_cells[cell >> tile.shift], 1u << shift) >> shift;
    return select(old, old & MOST_HALF, tile.shift != 0u);
}

fn cell_value(word: u32, cell: u32, tile: Tile) -> u32 {
    let value = word >> half_shift(cell, tile);
    return select(value, value & MOST_HALF, tile.shift != 0u);
}

fn write_out(place: u32, spacepoint: Packed) {
    let inverse_rho = real(1.0) / packed_rho(spacepoint);
    points[place] = vec2<real>(inverse_rho, packed_z(spacepoint) * inverse_rho);
    beside[place] = stored(packed_phi(spacepoint), packed_slice_layer(spacepoint));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn slice_spacepoints(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let roi_first = rois[group.x].spacepoint_first;
    let roi_end = roi_first + rois[group.x].spacepoint_count;
    let slices = rois[group.x].slices;
    let cell_first = rois[group.x].cell_first;
    let cell_count = params.layers * slices + 1u;
    let shift = select(0u, 1u, roi_end - roi_first <= MOST_HALF);
    let tile_first = group.y * (TILE_WORDS << shift);
    if tile_first >= cell_count {
        return;
    }
    let tile_cells = min(TILE_WORDS << shift, cell_count - tile_first);
    let tile = Tile(tile_first, tile_first + tile_cells, slices, shift);
    let words = (tile_cells + shift) >> shift;
    if group.y == 0u {
        let row = group.x * 2u * params.row_bins;
        for (var word = thread; word < 2u * params.row_bins; word += WORKGROUP_SIZE) {
            totals[row + word] = 0u;
        }
    }
    for (var word = thread; word < words; word += WORKGROUP_SIZE) {
        atomicStore(&wg_cells[word], 0u);
    }
    for (var word = thread; word < ORDER_WORDS; word += WORKGROUP_SIZE) {
        atomicStore(&wg_order[word], 0u);
    }
    if thread == 0u {
        atomicStore(&wg_before, 0u);
    }
    workgroupBarrier();

    var before = 0u;
    var base = roi_first;
    for (; base < roi_end; base += AT_ONCE * WORKGROUP_SIZE) {
        var loaded: array<u32, AT_ONCE>;
        for (var k = 0u; k < AT_ONCE; k++) {
            let i = base + k * WORKGROUP_SIZE + thread;
            loaded[k] = DROPPED;
            if i < roi_end {
                loaded[k] = packed_slice_layer(packed[i]);
            }
        }
        for (var k = 0u; k < AT_ONCE; k++) {
            let cell = cell_of(tile, loaded[k]);
            if cell < tile_first {
                before += 1u;
            } else if cell < tile.end {
                add_to(cell - tile_first, tile);
            }
        }
    }
    var unfinished = base < roi_end;
    if before != 0u {
        atomicAdd(&wg_before, before);
    }
    workgroupBarrier();

    // Counts become beginnings: each thread sums a run of words, then the threads' sums are scanned.
    let run = (words + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    let run_first = min(thread * run, words);
    let run_end = min(run_first + run, words);
    var total = 0u;
    for (var word = run_first; word < run_end; word++) {
        let counts = atomicLoad(&wg_cells[word]);
        total += select(counts, (counts & MOST_HALF) + (counts >> 16u), shift != 0u);
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
    // Beginnings within the tile: they fit where counts do.
    var start = wg_scan[thread] - total;
    for (var word = run_first; word < run_end; word++) {
        let counts = atomicLoad(&wg_cells[word]);
        if shift != 0u {
            let second = start + (counts & MOST_HALF);
            atomicStore(&wg_cells[word], start | (second << 16u));
            start = second + (counts >> 16u);
        } else {
            atomicStore(&wg_cells[word], start);
            start += counts;
        }
    }
    workgroupBarrier();
    let tile_start = roi_first + atomicLoad(&wg_before);
    for (var cell = thread; cell < tile_cells; cell += WORKGROUP_SIZE) {
        let value = cell_value(atomicLoad(&wg_cells[cell >> shift]), cell, tile);
        cells[cell_first + tile_first + cell] = tile_start + value;
    }
    if thread == WORKGROUP_SIZE - 1u {
        wg_total = start;
    }
    let total_points = workgroupUniformLoad(&wg_total);
    let in_order = shift != 0u && total_points <= 2u * ORDER_WORDS;

    base = roi_first;
    for (; base < roi_end; base += AT_ONCE * WORKGROUP_SIZE) {
        var loaded: array<Packed, AT_ONCE>;
        for (var k = 0u; k < AT_ONCE; k++) {
            loaded[k] = packed[min(base + k * WORKGROUP_SIZE + thread, roi_end - 1u)];
        }
        for (var k = 0u; k < AT_ONCE; k++) {
            let i = base + k * WORKGROUP_SIZE + thread;
            let cell = cell_of(tile, packed_slice_layer(loaded[k]));
            if i < roi_end && cell >= tile_first && cell < tile.end {
                let place = add_to(cell - tile_first, tile);
                if in_order {
                    atomicAdd(&wg_order[place >> 1u], (i - roi_first) << ((place & 1u) << 4u));
                } else {
                    write_out(tile_start + place, loaded[k]);
                }
            }
        }
    }
    unfinished = unfinished || base < roi_end;
    if in_order {
        workgroupBarrier();
        for (var place = thread; place < total_points; place += WORKGROUP_SIZE) {
            let half = atomicLoad(&wg_order[place >> 1u]) >> ((place & 1u) << 4u);
            write_out(tile_start + place, packed[roi_first + (half & MOST_HALF)]);
        }
    }
    if unfinished {
        atomicOr(&status[group.x].flags, STATUS_UNFINISHED);
    }
}
