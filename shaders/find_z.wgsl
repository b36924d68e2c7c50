// Fills nHisto and zHisto with the z12 of every pair of a share of an RoI's pairs. Which pairs are whose, and in which
// order spacepoints lie, is said by the swapped files pairs/*.wgsl and order/*.wgsl.
// in:   params, cuts, neighbours, rois, row_rois (the RoI of each row), points, beside (by RoI and cell), cells
// out:  histograms (a row a workgroup), totals (what a row's words cannot hold), status
// grid: x, y = rows, y * width + x; z = tiles of bins
// workgroup memory: 40 bytes, and what the swapped files take
// Needs: real, types, beside, histogram, accumulate, order, confirmations, pairs. CPU twin: src/engine/cpu/find_z.rs

override WORKGROUP_SIZE: u32 = 256;
// 0: pairs; 1: pairs that a third spacepoint confirms; 2: weighted by how many do.
override TRIPLETS: u32 = 0;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> cuts: Cuts;
// n(A, B), row A, column B: of MAX_LAYERS each at most.
@group(0) @binding(2) var<uniform> neighbours: array<vec4<u32>, 1024>;
@group(0) @binding(3) var<storage, read> rois: array<Roi>;
@group(0) @binding(4) var<storage, read> row_rois: array<u32>;
@group(0) @binding(5) var<storage, read> points: array<vec2<real>>;
@group(0) @binding(6) var<storage, read> beside: array<Beside>;
@group(0) @binding(7) var<storage, read> cells: array<u32>;
@group(0) @binding(8) var<storage, read_write> histograms: array<u32>;
@group(0) @binding(9) var<storage, read_write> totals: array<atomic<u32>>;
@group(0) @binding(10) var<storage, read_write> status: array<RoiStatus>;

// Set in a neighbour count of a pair with a disk.
const ENDCAP_PAIR: u32 = 0x80000000u;

// The RoI of this workgroup, and the first bin of its tile.
var<private> roi: Roi;
var<private> roi_index: u32;
var<private> tile_first: u32;
// Whether a loop of this thread was ended early.
var<private> unfinished: bool;

// Where a slice of a layer begins.
fn cell(layer: u32, slice: u32) -> u32 {
    let place = cell_place(params.layers, roi.slices, layer, slice);
    let shift = cell_shift(roi.spacepoint_count);
    return roi.spacepoint_first + cell_of_word(cells[roi.cell_first + (place >> shift)], place, shift);
}

// n(A, B) at the RoI's eta.
fn reach(inner: u32, outer: u32) -> u32 {
    let place = inner * params.layers + outer;
    let n = neighbours[place >> 2u][place & 3u];
    if (n & ENDCAP_PAIR) == 0u {
        return n;
    }
    return u32(max(i32(n & ~ENDCAP_PAIR) - roi.endcap_shift, 1));
}

// Spacepoints side by side, with one jump: those from `first` to `end`, and from `jump_at` on so much further.
struct Range {
    first: u32,
    end: u32,
    jump_at: u32,
    jump: u32,
}

fn no_range() -> Range {
    return Range(0u, 0u, 0xffffffffu, 0u);
}

fn plain_range(first: u32, end: u32) -> Range {
    return Range(first, end, 0xffffffffu, 0u);
}

fn place_in(range: Range, i: u32) -> u32 {
    return i + select(0u, range.jump, i >= range.jump_at);
}

// As a Range, with two jumps: three stretches.
struct Stretches {
    first: u32,
    end: u32,
    jump_at: u32,
    jump: u32,
    second_at: u32,
    second: u32,
}

fn stretch(range: Range) -> Stretches {
    return Stretches(range.first, range.end, range.jump_at, range.jump, 0xffffffffu, 0u);
}

fn place_among(among: Stretches, i: u32) -> u32 {
    return i + select(0u, among.jump, i >= among.jump_at) + select(0u, among.second, i >= among.second_at);
}

// Slices from `origin` to `other`, on a ring the shorter way round.
fn step_between(origin: u32, other: u32) -> i32 {
    let straight = i32(other) - i32(origin);
    let slices = i32(roi.slices);
    if roi.ring != 0u && 2 * straight > slices {
        return straight - slices;
    }
    if roi.ring != 0u && 2 * straight <= -slices {
        return straight + slices;
    }
    return straight;
}

// What to add to the phi of a spacepoint in slice `other` seen from slice `origin`, `step` away: whole turns.
fn turn_between(origin: u32, other: u32, step: i32) -> real {
    let straight = i32(other) - i32(origin);
    if step > straight {
        return TURN;
    }
    if step < straight {
        return -TURN;
    }
    return real(0.0);
}

fn turn_of_step(origin: u32, other: u32) -> real {
    if roi.ring == 0u {
        return real(0.0);
    }
    return turn_between(origin, other, step_between(origin, other));
}

// z at the beam of the line through two spacepoints, in either order: z12 of the specification. Infinite or NaN where
// their rho do not differ.
fn track_z(a: vec2<real>, b: vec2<real>) -> real {
    return (b.y - a.y) / (b.x - a.x);
}

fn is_searched(z12: real) -> bool {
    return z12 > roi.z_min && z12 < roi.z_max;
}

// Histograms an entry.
fn add_entry(z12: real, weight: u32) {
    // The comparison in whole numbers stands also where a compiler takes it that there is no NaN.
    let steps = whole_steps(z12, roi.steps_per_mm, roi.steps_at_0 - real(tile_first * OFFSET_STEPS));
    if steps < TILE_BINS * OFFSET_STEPS {
        accumulate(steps, weight, f32(z12));
    }
}

// What a row's words cannot hold.
fn add_to_totals(bin: u32, n: u32, z: u32) {
    let word = roi_index * 2u * params.row_bins + tile_first + bin;
    if atomicAdd(&totals[word], n) + n > MAX_COUNT {
        give_up(STATUS_COUNTS);
    }
    atomicAdd(&totals[word + params.row_bins], z);
}

fn give_up(flag: u32) {
    atomicOr(&status[roi_index].flags, flag);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_z(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let row = group.y * groups.x + group.x;
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
    if unfinished {
        give_up(STATUS_UNFINISHED);
    }
}
