// Groups each RoI's spacepoints by cell (slice, or slice and layer) with a counting sort. A
// workgroup makes one tile of an RoI's cells. It reads all spacepoints of the RoI: spacepoints of
// earlier cells give the place where its own cells begin.
// in:   params, rois, packed (by RoI)
// out:  cells (where each begins), points and beside (by RoI and cell), status; totals (the RoI's
//       first histogram, set to zero)
// grid: x = RoI, y = tiles of cells
// CPU twin: src/engine/twin/slice_spacepoints.rs

#import shared::histograms
#import shared::real
#import shared::types
#import slice_spacepoints::counting_sort
#import slice_spacepoints::encoding

override WORKGROUP_SIZE: u32 = 256;
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

// Spacepoints of cells before the tile's.
var<workgroup> wg_before: atomic<u32>;
// The tile's spacepoints in order, counted from the RoI's first: memory likes writes that lie side
// by side.
var<workgroup> wg_order: array<atomic<u32>, ORDER_WORDS>;
var<workgroup> wg_total: u32;

// The tile of this workgroup: cells from `first` to `end`, of an RoI with so many slices, 1 <<
// shift a word.
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

// Counts a spacepoint in the tile, if it is there. Returns 1 for one of a cell before the tile.
fn count(tile: Tile, spacepoint: Packed, is_there: bool) -> u32 {
    let cell = cell_of(tile, packed_slice_layer(spacepoint));
    if is_there && cell >= tile.first && cell < tile.end {
        add_to(cell - tile.first, tile.shift);
    }
    return select(0u, 1u, is_there && cell < tile.first);
}

// Gives a spacepoint of the tile, the i-th of its RoI, its place: in the order, or where it
// belongs.
fn place(tile: Tile, spacepoint: Packed, i: u32, is_there: bool, in_order: bool, tile_start: u32) {
    let cell = cell_of(tile, packed_slice_layer(spacepoint));
    if !is_there || cell < tile.first || cell >= tile.end {
        return;
    }
    let at = add_to(cell - tile.first, tile.shift);
    if in_order {
        atomicAdd(&wg_order[at >> 1u], i << ((at & 1u) << 4u));
    } else {
        write_out(tile_start + at, spacepoint);
    }
}

fn ordered(at: u32, end: u32) -> u32 {
    let place = min(at, end - 1u);
    return (atomicLoad(&wg_order[place >> 1u]) >> ((place & 1u) << 4u)) & MOST_HALF;
}

fn write_out(place: u32, spacepoint: Packed) {
    points[place] = sorted_point(spacepoint);
    beside[place] = stored(packed_phi(spacepoint), packed_slice_layer(spacepoint));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn slice_spacepoints(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let roi_first = rois[group.x].spacepoint_first;
    let roi_end = roi_first + rois[group.x].spacepoint_count;
    let slices = rois[group.x].slices;
    let cell_first = rois[group.x].cell_first;
    let all_cells = cell_count(params.layers, slices);
    let shift = cell_shift(roi_end - roi_first);
    let tile_first = group.y * (TILE_WORDS << shift);
    if tile_first >= all_cells {
        return;
    }
    let tile_cells = min(TILE_WORDS << shift, all_cells - tile_first);
    let tile = Tile(tile_first, tile_first + tile_cells, slices, shift);
    let words = (tile_cells + shift) >> shift;
    if group.y == 0u {
        let first = total_word(rois[group.x].total_first, 0u, 0u);
        for (var word = thread; word < params.total_parts * params.row_bins; word += WORKGROUP_SIZE) {
            totals[first + word] = 0u;
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
        let i = base + thread;
        let loaded = four(i, roi_end - 1u);
        before += count(tile, loaded.a, i < roi_end);
        before += count(tile, loaded.b, i + WORKGROUP_SIZE < roi_end);
        before += count(tile, loaded.c, i + 2u * WORKGROUP_SIZE < roi_end);
        before += count(tile, loaded.d, i + 3u * WORKGROUP_SIZE < roi_end);
    }
    var unfinished = base < roi_end;
    if before != 0u {
        atomicAdd(&wg_before, before);
    }

    // Beginnings within the tile: they fit where counts do.
    let run_end = scan_cells(words, shift, thread);
    let tile_before = atomicLoad(&wg_before);
    let tile_start = roi_first + tile_before;
    let before_each = tile_before | select(0u, tile_before << 16u, shift != 0u);
    for (var word = thread; word < words; word += WORKGROUP_SIZE) {
        cells[cell_first + (tile_first >> shift) + word] = atomicLoad(&wg_cells[word]) + before_each;
    }
    if thread == WORKGROUP_SIZE - 1u {
        wg_total = run_end;
    }
    let total_points = workgroupUniformLoad(&wg_total);
    let in_order = shift != 0u && total_points <= 2u * ORDER_WORDS;

    base = roi_first;
    for (; base < roi_end; base += AT_ONCE * WORKGROUP_SIZE) {
        let i = base + thread;
        let loaded = four(i, roi_end - 1u);
        let at = i - roi_first;
        place(tile, loaded.a, at, i < roi_end, in_order, tile_start);
        place(tile, loaded.b, at + WORKGROUP_SIZE, i + WORKGROUP_SIZE < roi_end, in_order, tile_start);
        place(tile, loaded.c, at + 2u * WORKGROUP_SIZE, i + 2u * WORKGROUP_SIZE < roi_end, in_order, tile_start);
        place(tile, loaded.d, at + 3u * WORKGROUP_SIZE, i + 3u * WORKGROUP_SIZE < roi_end, in_order, tile_start);
    }
    unfinished = unfinished || base < roi_end;
    if in_order {
        workgroupBarrier();
        var next = 0u;
        for (; next < total_points; next += AT_ONCE * WORKGROUP_SIZE) {
            let at = next + thread;
            let loaded = Four(
                packed[roi_first + ordered(at, total_points)],
                packed[roi_first + ordered(at + WORKGROUP_SIZE, total_points)],
                packed[roi_first + ordered(at + 2u * WORKGROUP_SIZE, total_points)],
                packed[roi_first + ordered(at + 3u * WORKGROUP_SIZE, total_points)],
            );
            if at < total_points {
                write_out(tile_start + at, loaded.a);
            }
            if at + WORKGROUP_SIZE < total_points {
                write_out(tile_start + at + WORKGROUP_SIZE, loaded.b);
            }
            if at + 2u * WORKGROUP_SIZE < total_points {
                write_out(tile_start + at + 2u * WORKGROUP_SIZE, loaded.c);
            }
            if at + 3u * WORKGROUP_SIZE < total_points {
                write_out(tile_start + at + 3u * WORKGROUP_SIZE, loaded.d);
            }
        }
        unfinished = unfinished || next < total_points;
    }
    if unfinished || loops_are_cut(params.layers) {
        atomicOr(&status[group.x].flags, STATUS_UNFINISHED);
    }
}
