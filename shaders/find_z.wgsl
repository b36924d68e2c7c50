// Fills nHisto and zHisto with the z12 of every pair whose inner spacepoint lies in a group of slices.
// in:   params, cuts, rois, spacepoints (by RoI, layer, slice), cells, neighbours
// out:  histograms (a row a group of slices), status
// grid: x = groups of slices, y = RoI, z = tiles of bins
// workgroup memory: 8 TILE_BINS + 24 WORKGROUP_SIZE + 276 bytes
// Needs: real, types, accumulate. CPU twin: src/engine/cpu/find_z.rs

override WORKGROUP_SIZE: u32 = 256;
// 0: pairs; 1: pairs that a third spacepoint confirms; 2: weighted by how many do.
override TRIPLETS: u32 = 0;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<uniform> cuts: Cuts;
@group(0) @binding(2) var<storage, read> rois: array<Roi>;
@group(0) @binding(3) var<storage, read> spacepoints: array<Spacepoint>;
@group(0) @binding(4) var<storage, read> cells: array<u32>;
@group(0) @binding(5) var<storage, read> neighbours: array<u32>;
@group(0) @binding(6) var<storage, read_write> histograms: array<u32>;
@group(0) @binding(7) var<storage, read_write> status: array<atomic<u32>>;

const MAX_LAYERS: u32 = 64u;
// Set in a neighbour count of a pair with a disk.
const ENDCAP_PAIR: u32 = 0x80000000u;

// Layers with a spacepoint, ascending.
var<workgroup> wg_filled: array<u32, MAX_LAYERS>;
var<workgroup> wg_filled_count: u32;
// Cells with inner spacepoints: slice << 8 | index into wg_filled.
var<workgroup> wg_inner: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_inner_count: atomic<u32>;
// Pairs of an inner cell with an outer layer: where the inner and the outer spacepoints begin, how many outer ones,
// on which layer, and the number of the first pair when all pairs of the table are numbered together.
var<workgroup> wg_first_a: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_first_b: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_count_b: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_layer_b: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_pair_first: array<u32, WORKGROUP_SIZE>;
// Rows of the table << 24 | their pairs.
var<workgroup> wg_rows_pairs: atomic<u32>;
// Rows with too many pairs to be numbered with the others: from the table's end downwards, pair_first being their
// number of pairs.
var<workgroup> wg_large_rows: atomic<u32>;
// Passes its value to all threads, which the browser's compiler then knows to agree.
var<workgroup> wg_entries: u32;

const PAIR_BITS: u32 = 24u;
const PAIR_MASK: u32 = 0xffffffu;

// The RoI of this workgroup.
var<private> roi: Roi;
// Whether a loop of this thread was ended early.
var<private> unfinished: bool;

// Where a (layer, slice) begins; slice = slices: where the layer ends.
fn cell(layer: u32, slice: u32) -> u32 {
    return cells[roi.cell_first + layer * roi.slices + slice];
}

// n(A, B) at the RoI's eta.
fn reach(inner: u32, outer: u32) -> u32 {
    let n = neighbours[inner * params.layers + outer];
    if (n & ENDCAP_PAIR) == 0u {
        return n;
    }
    return u32(max(i32(n & ~ENDCAP_PAIR) - roi.endcap_shift, 1));
}

// Spacepoints of one layer in neighbouring slices: `count` from `first` on, going on at the layer's beginning when
// they pass its end (on a ring).
struct Around {
    first: u32,
    count: u32,
}

// The spacepoints of a layer in the slices from s - below to s + above; on a ring, each slice once.
fn slices_around(layer: u32, s: u32, below: u32, above: u32) -> Around {
    let slices = roi.slices;
    if roi.ring == 0u {
        let first = cell(layer, s - min(s, below));
        let end = cell(layer, min(s + above, slices - 1u) + 1u);
        return Around(first, end - first);
    }
    let layer_first = cell(layer, 0u);
    let layer_end = cell(layer, slices);
    if below + above >= slices {
        return Around(layer_first, layer_end - layer_first);
    }
    let low = select(s + slices - below, s - below, s >= below);
    let high = select(s + above - slices, s + above, s + above < slices);
    let first = cell(layer, low);
    let end = cell(layer, high + 1u);
    return Around(first, select(layer_end - first + (end - layer_first), end - first, low <= high));
}

// The k-th spacepoint of such a range.
fn spacepoint_around(layer: u32, first: u32, k: u32) -> Spacepoint {
    var i = first + k;
    if roi.ring != 0u {
        let layer_end = cell(layer, roi.slices);
        if i >= layer_end {
            i -= layer_end - cell(layer, 0u);
        }
    }
    return spacepoints[i];
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

// z at the beam line of the track through two spacepoints whose rho differ: z12 of the specification, arranged so that
// nearly equal products are not subtracted.
fn track_z(a: Spacepoint, b: Spacepoint) -> real {
    return a.z - a.rho * ((b.z - a.z) / (b.rho - a.rho));
}

// Its curvature k and azimuth p there.
struct Bend {
    k: real,
    p: real,
}

fn track_bend(a: Spacepoint, phi_a: real, b: Spacepoint, phi_b: real) -> Bend {
    let slope = (phi_b - phi_a) / (b.rho - a.rho);
    return Bend(real(-2.0) * slope, phi_a - a.rho * slope);
}

// How many third spacepoints confirm the pair (a, b); 1 at most when any will do.
fn confirmations(a: Spacepoint, b: Spacepoint) -> u32 {
    let slice_a = a.slice_layer >> 8u;
    let slice_b = b.slice_layer >> 8u;
    let layer_b = b.slice_layer & 0xffu;
    let step_b = step_between(slice_a, slice_b);
    let turn = turn_between(slice_a, slice_b, step_b);
    let z12 = track_z(a, b);
    let inner = track_bend(a, a.phi, b, b.phi + turn);
    var found = 0u;
    for (var i = 0u; i < wg_filled_count; i++) {
        let layer_c = wg_filled[i];
        if layer_c <= layer_b {
            continue;
        }
        let n = reach(layer_b, layer_c);
        // The bending keeps its sign.
        let around = slices_around(layer_c, slice_b, select(n, 1u, step_b >= 0), select(n, 1u, step_b <= 0));
        var k = 0u;
        for (; k < around.count; k++) {
            let c = spacepoint_around(layer_c, around.first, k);
            // The cut on z first: it needs no azimuth, and hardly any passes it.
            if c.rho == b.rho || !(abs(track_z(b, c) - z12) <= cuts.dz) {
                continue;
            }
            let slice_c = c.slice_layer >> 8u;
            let turn_c = turn_between(slice_b, slice_c, step_between(slice_b, slice_c));
            let outer = track_bend(b, b.phi, c, c.phi + turn_c);
            if abs(outer.k - inner.k) <= cuts.dk && abs(outer.p + turn - inner.p) < cuts.dp {
                found += 1u;
                if TRIPLETS == 1u {
                    return 1u;
                }
            }
        }
        unfinished = unfinished || k < around.count;
    }
    return found;
}

// Lists the filled layers. Ends with a barrier.
fn list_filled_layers(thread: u32) {
    if thread == 0u {
        var count = 0u;
        for (var layer = 0u; layer < min(params.layers, MAX_LAYERS); layer++) {
            if cell(layer, 0u) != cell(layer, roi.slices) {
                wg_filled[count] = layer;
                count += 1u;
            }
        }
        wg_filled_count = count;
    }
    workgroupBarrier();
}

// Lists the cells of inner layers in slices from `first` to `end` that hold a spacepoint: a thread a cell, so there
// must not be more of them than threads. Returns cells times filled layers. Begins and ends with a barrier.
fn list_inner_cells(first: u32, end: u32, thread: u32) -> u32 {
    let inner_layers = min(params.inner_layers, max(wg_filled_count, 1u) - 1u);
    workgroupBarrier();
    if thread == 0u {
        atomicStore(&wg_inner_count, 0u);
    }
    workgroupBarrier();
    let s = first + thread / params.inner_layers;
    let i = thread % params.inner_layers;
    if s < end && i < inner_layers {
        let layer = wg_filled[i];
        if cell(layer, s) != cell(layer, s + 1u) {
            wg_inner[atomicAdd(&wg_inner_count, 1u)] = (s << 8u) | i;
        }
    }
    workgroupBarrier();
    if thread == 0u {
        wg_entries = atomicLoad(&wg_inner_count) * wg_filled_count;
    }
    return workgroupUniformLoad(&wg_entries);
}

// Tabulates inner cells with outer layers, a thread each from entry `base` on, and numbers their pairs together. The
// exclusive scan over the table's rows comes out of one atomic that counts rows and pairs at once: a row's first pair
// is what was there before it. Begins and ends with a barrier.
fn number_pairs(roi_index: u32, base: u32, entries: u32, thread: u32) {
    workgroupBarrier();
    if thread == 0u {
        atomicStore(&wg_rows_pairs, 0u);
        atomicStore(&wg_large_rows, 0u);
    }
    workgroupBarrier();
    let entry = base + thread;
    if entry < entries {
        let inner = wg_inner[entry / wg_filled_count];
        let i = inner & 0xffu;
        let j = entry % wg_filled_count;
        if j > i {
            let s = inner >> 8u;
            let layer_a = wg_filled[i];
            let layer_b = wg_filled[j];
            let first_a = cell(layer_a, s);
            let count_a = cell(layer_a, s + 1u) - first_a;
            let n = reach(layer_a, layer_b);
            let around = slices_around(layer_b, s, n, n);
            if around.count > (0xffffffffu - 2u * WORKGROUP_SIZE) / count_a {
                atomicOr(&status[roi_index], STATUS_PAIRS);
            } else if around.count != 0u {
                let pairs = count_a * around.count;
                var row = 0u;
                if pairs <= PAIR_MASK / WORKGROUP_SIZE {
                    let before = atomicAdd(&wg_rows_pairs, (1u << PAIR_BITS) | pairs);
                    row = before >> PAIR_BITS;
                    wg_pair_first[row] = before & PAIR_MASK;
                } else {
                    row = WORKGROUP_SIZE - 1u - atomicAdd(&wg_large_rows, 1u);
                    wg_pair_first[row] = pairs;
                }
                wg_first_a[row] = first_a;
                wg_first_b[row] = around.first;
                wg_count_b[row] = around.count;
                wg_layer_b[row] = layer_b;
            }
        }
    }
    workgroupBarrier();
}

// The row that holds pair number `pair`: the last that begins at or before it.
fn row_of(pair: u32, rows: u32) -> u32 {
    var low = 0u;
    var high = rows;
    while high - low > 1u {
        let middle = (low + high) >> 1u;
        if wg_pair_first[middle] <= pair {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// Histograms pair `number` of a row. Returns its weight.
fn add_pair(row: u32, number: u32, tile_first: u32) -> u32 {
    let count_b = wg_count_b[row];
    // number = a * count_b + b without an integer division: a float quotient, put right.
    var a = u32(f32(number) / f32(count_b));
    while a * count_b > number {
        a -= 1u;
    }
    while number - a * count_b >= count_b {
        a += 1u;
    }
    let spacepoint_a = spacepoints[wg_first_a[row] + a];
    let spacepoint_b = spacepoint_around(wg_layer_b[row], wg_first_b[row], number - a * count_b);

    if spacepoint_a.rho == spacepoint_b.rho {
        return 0u;
    }
    let z12 = track_z(spacepoint_a, spacepoint_b);
    if !(z12 > roi.z_min && z12 < roi.z_max) {
        return 0u;
    }
    let place = z12 * roi.inverse_width - roi.offset;
    let bin = min(u32(nearest(place)), roi.bins - 1u);
    if bin < tile_first || bin - tile_first >= TILE_BINS {
        return 0u;
    }
    var weight = 1u;
    if TRIPLETS != 0u {
        weight = confirmations(spacepoint_a, spacepoint_b);
        if weight == 0u {
            return 0u;
        }
    }
    accumulate(bin - tile_first, weight, f32(z12), f32(place - real(bin)));
    return weight;
}

// Histograms all pairs of the table. Returns the thread's weights so far and here, or the largest number.
fn add_pairs(tile_first: u32, weights_before: u32, thread: u32) -> u32 {
    var weights = weights_before;
    let rows_pairs = atomicLoad(&wg_rows_pairs);
    let rows = rows_pairs >> PAIR_BITS;
    let pairs = rows_pairs & PAIR_MASK;
    var pair = thread;
    for (; pair < pairs; pair += WORKGROUP_SIZE) {
        let row = row_of(pair, rows);
        let weight = add_pair(row, pair - wg_pair_first[row], tile_first);
        weights = select(weights + weight, 0xffffffffu, weights + weight < weight);
    }
    unfinished = unfinished || pair < pairs;
    let large_rows = atomicLoad(&wg_large_rows);
    var large = 0u;
    for (; large < large_rows; large++) {
        let row = WORKGROUP_SIZE - 1u - large;
        let row_pairs = wg_pair_first[row];
        pair = thread;
        for (; pair < row_pairs; pair += WORKGROUP_SIZE) {
            let weight = add_pair(row, pair, tile_first);
            weights = select(weights + weight, 0xffffffffu, weights + weight < weight);
        }
        unfinished = unfinished || pair < row_pairs;
    }
    unfinished = unfinished || large < large_rows;
    return weights;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_z(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    roi = rois[group.y];
    if group.x >= rois[group.y].histogram_count {
        return;
    }
    let tile_first = group.z * TILE_BINS;
    for (var bin = thread; bin < TILE_BINS; bin += WORKGROUP_SIZE) {
        atomicStore(&wg_n[bin], 0u);
        atomicStore(&wg_z[bin], 0u);
    }
    list_filled_layers(thread);

    // Sum of this thread's weights: bounds what any bin can hold.
    var weights = 0u;
    let slice_end = min((group.x + 1u) * params.slices_per_histogram, rois[group.y].slices);
    // As many slices at once as there are threads for their inner cells.
    let stride = WORKGROUP_SIZE / params.inner_layers;
    var s = group.x * params.slices_per_histogram;
    for (; s < slice_end; s += stride) {
        let entries = list_inner_cells(s, min(s + stride, slice_end), thread);
        var base = 0u;
        for (; base < entries; base += WORKGROUP_SIZE) {
            number_pairs(group.y, base, entries, thread);
            weights = add_pairs(tile_first, weights, thread);
        }
        unfinished = unfinished || base < entries;
    }
    unfinished = unfinished || s < slice_end;
    if weights > 0xffffffffu / WORKGROUP_SIZE {
        atomicOr(&status[group.y], STATUS_COUNTS);
    }
    workgroupBarrier();

    let row = (roi.histogram_first + group.x) * 2u * params.row_bins + tile_first;
    let bin_end = min(TILE_BINS, max(roi.bins, tile_first) - tile_first);
    var bin = thread;
    for (; bin < bin_end; bin += WORKGROUP_SIZE) {
        histograms[row + bin] = atomicLoad(&wg_n[bin]);
        histograms[row + params.row_bins + bin] = atomicLoad(&wg_z[bin]);
    }
    if unfinished || bin < bin_end {
        atomicOr(&status[group.y], STATUS_UNFINISHED);
    }
}
