// Fills nHisto and zHisto with z12 of the pairs in one share of an RoI's pairs. The swapped files
// find_z/pairs/*.wgsl choose the pairs of a share; find_z/order/*.wgsl define the order of
// spacepoints.
// in:   params, cuts, neighbours, rois, row_rois (the RoI of each row), points, beside (by RoI and
//       cell), cells
// out:  histograms (a row a workgroup), totals (overflow of a row's words; all entries if an RoI
//       has several histograms), status
// grid: x, y = rows of this dispatch, y * width + x; z = tiles of bins
// CPU twin: src/engine/twin/find_z.rs

#import shared::histograms
#import shared::real
#import shared::types
#import find_z::accumulate
#import find_z::pairs
#import find_z::tracks

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> cuts: Cuts;
// n(A, B), row A, column B: of MAX_LAYERS each at most.
@group(0) @binding(2) var<uniform> neighbours: array<vec4<u32>, 1024>;
@group(0) @binding(3) var<storage, read> rois: array<Roi>;
@group(0) @binding(4) var<storage, read> row_rois: array<u32>;
@group(0) @binding(5) var<storage, read> points: array<vec2<real>>;
@group(0) @binding(6) var<storage, read> beside: array<Stored>;
@group(0) @binding(7) var<storage, read> cells: array<u32>;
@group(0) @binding(8) var<storage, read_write> histograms: array<u32>;
@group(0) @binding(9) var<storage, read_write> totals: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read_write> status: array<RoiStatus>;

// Where a cell begins.
fn cell_begin(place: u32) -> u32 {
    let shift = cell_shift(roi.spacepoint_count);
    return roi.spacepoint_first + cell_of_word(cells[roi.cell_first + (place >> shift)], place, shift);
}

// Adds the overflow of a row's words to the RoI's totals.
fn add_to_totals(bin: u32, n: u32, z: u32) {
    if atomicAdd(&totals[total_word(roi.total_first, 0u, tile_first + bin)], n) + n > MAX_COUNT {
        give_up(STATUS_COUNTS);
    }
    atomicAdd(&totals[total_word(roi.total_first, 1u, tile_first + bin)], z);
}

// Counts a pair whose weight is another.
fn count_pair(bin: u32) {
    atomicAdd(&totals[total_word(roi.total_first, pairs_part(), tile_first + bin)], 1u);
}

// Histograms that this workgroup's RoI fills, said once.
fn set_rows(rows: u32) {
    status[roi_index].rows = rows;
}

fn give_up(flag: u32) {
    atomicOr(&status[roi_index].flags, flag);
}

// Adds the precision of a pair that lies `steps` above the tile's lower edge. Sets the bit of the
// sector of the RoI's window in which its track begins.
fn mark_track(a: u32, b: u32, steps: u32, flags: u32) {
    let bin = steps >> STEP_BITS;
    let layers = vec2<u32>(slice_layer_of(beside[a]), slice_layer_of(beside[b])) & vec2<u32>(0xffu);
    let of_pair = (neighbours_word(layers.x, layers.y) & PRECISION) >> PRECISION_SHIFT;
    atomicAdd(&totals[total_word(roi.total_first, precision_part_at(steps), tile_first + bin)], of_pair);
    let sector = 1u << ((slice_layer_of(beside[a]) >> 8u) * SECTORS / roi.slices);
    if (flags & SOFT_TRACK) != 0u {
        atomicOr(&totals[total_word(roi.total_first, SOFT_PART, tile_first + bin)], sector);
    }
    if (flags & HARD_TRACK) != 0u {
        atomicOr(&totals[total_word(roi.total_first, HARD_PART, tile_first + bin)], sector);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_z(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = params.row_first + group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    roi_index = row_rois[row];
    roi = rois[roi_index];
    tile_first = group.z * TILE_BINS;
    for (var bin = thread; bin < TILE_BINS; bin += WORKGROUP_SIZE) {
        clear_bin(bin);
    }
    workgroupBarrier();

    if !add_pairs(row - rois[row_rois[row]].histogram_first, group.z, thread) {
        return;
    }
    workgroupBarrier();

    // Whole groups of four, as sum_histos reads them.
    let bin_end = min(TILE_BINS, max((roi.bins + 3u) & ~3u, tile_first) - tile_first);
    for (var part = 0u; part < ROW_PARTS; part++) {
        let row_first = (row * ROW_PARTS + part) * params.row_bins + tile_first;
        for (var bin = thread; bin < bin_end; bin += WORKGROUP_SIZE) {
            histograms[row_first + bin] = row_word(bin, part);
        }
    }
    if unfinished || loops_are_cut(params.layers) {
        give_up(STATUS_UNFINISHED);
    }
}
