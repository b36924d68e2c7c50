// Pairs of a group of slices, in the thesis's way (findZ): all pairs of the group's inner cells
// with outer layers are numbered together, and every thread strides over the numbers. Swapped with
// find_z/pairs/streamed.wgsl.

#import shared::types
#import find_z::order::by_layer
#import find_z::tracks
#import find_z::pair_weight
#import kernel::{WORKGROUP_SIZE, give_up, params, points, set_rows}

// Cells with inner spacepoints: slice << 8 | index into wg_filled.
var<workgroup> wg_inner: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_inner_count: atomic<u32>;
// Pairs of an inner cell with an outer layer: where the inner and the outer spacepoints begin, how
// many outer ones, on which layer, and the number of the first pair when all pairs of the table are
// numbered together.
var<workgroup> wg_first_a: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_first_b: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_count_b: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_layer_b: array<u32, WORKGROUP_SIZE>;
var<workgroup> wg_pair_first: array<u32, WORKGROUP_SIZE>;
// Rows of the table << 24 | their pairs.
var<workgroup> wg_rows_pairs: atomic<u32>;
// Rows with too many pairs to be numbered with the others: from the table's end downwards,
// pair_first being their number of pairs.
var<workgroup> wg_large_rows: atomic<u32>;
// Passes its value to all threads, which the browser's compiler then knows to agree.
var<workgroup> wg_entries: u32;
var<workgroup> wg_slices: u32;

const PAIR_BITS: u32 = 24u;
const PAIR_MASK: u32 = 0xffffffu;
// Most pairs of a row. The error of a float quotient plus one stride of all threads must not
// overflow 32 bits.
const MOST_PAIRS: u32 = 0xffff0000u;

// Lists the cells of inner layers in slices from `first` to `end` that hold a spacepoint: a thread
// a cell, so there must not be more of them than threads. Returns cells times filled layers. Begins
// and ends with a barrier.
fn list_inner_cells(first: u32, end: u32, thread: u32) -> u32 {
    let inner = inner_layers();
    workgroupBarrier();
    if thread == 0u {
        atomicStore(&wg_inner_count, 0u);
    }
    workgroupBarrier();
    let s = first + thread / params.inner_layers;
    let i = thread % params.inner_layers;
    if s < end && i < inner {
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

// Tabulates inner cells with outer layers, a thread each from entry `base` on, and numbers their
// pairs together. The exclusive scan over the table's rows comes out of one atomic that counts rows
// and pairs at once: a row's first pair is what was there before it. Begins and ends with a
// barrier.
fn number_pairs(base: u32, entries: u32, thread: u32) {
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
            let count_b = around.end - around.first;
            if count_b > MOST_PAIRS / count_a {
                give_up(STATUS_PAIRS);
            } else if count_b != 0u {
                let pairs = count_a * count_b;
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
                wg_count_b[row] = count_b;
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

// Histograms pair `number` of a row.
fn add_pair(row: u32, number: u32) {
    let count_b = wg_count_b[row];
    // number = a * count_b + b without an integer division: a float quotient, put right.
    var a = u32(f32(number) / f32(count_b));
    while a * count_b > number {
        a -= 1u;
    }
    while number - a * count_b >= count_b {
        a += 1u;
    }
    let place_a = wg_first_a[row] + a;
    var place_b = wg_first_b[row] + (number - a * count_b);
    if roi.ring != 0u {
        // Past the layer's end it goes on at its beginning.
        let layer_end = cell(wg_layer_b[row], roi.slices);
        if place_b >= layer_end {
            place_b -= layer_end - cell(wg_layer_b[row], 0u);
        }
    }
    let z12 = extrapolate(place_a, points[place_a], place_b, points[place_b]);
    if !is_searched(z12) {
        return;
    }
    let weight = weigh_pair(place_a, place_b, z12);
    if weight != 0u {
        add_entry(place_a, place_b, z12, weight);
    }
}

// Histograms all pairs of the table.
fn add_tabulated(thread: u32) {
    let rows_pairs = atomicLoad(&wg_rows_pairs);
    let rows = rows_pairs >> PAIR_BITS;
    let pairs = rows_pairs & PAIR_MASK;
    var pair = thread;
    for (; pair < pairs; pair += WORKGROUP_SIZE) {
        let row = row_of(pair, rows);
        add_pair(row, pair - wg_pair_first[row]);
    }
    unfinished = unfinished || pair < pairs;
    let large_rows = atomicLoad(&wg_large_rows);
    var large = 0u;
    for (; large < large_rows; large++) {
        let row = WORKGROUP_SIZE - 1u - large;
        let row_pairs = wg_pair_first[row];
        pair = thread;
        for (; pair < row_pairs; pair += WORKGROUP_SIZE) {
            add_pair(row, pair);
        }
        unfinished = unfinished || pair < row_pairs;
    }
    unfinished = unfinished || large < large_rows;
}

// Histograms the pairs of this workgroup's slices.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        wg_slices = roi.slices;
        if group == 0u && tile == 0u {
            set_rows(roi.histogram_count);
        }
    }
    let slice_first = group * params.slices_per_histogram;
    let slice_end = min(slice_first + params.slices_per_histogram, workgroupUniformLoad(&wg_slices));
    // As many slices at once as there are threads for their inner cells.
    let stride = WORKGROUP_SIZE / params.inner_layers;
    var s = slice_first;
    for (; s < slice_end; s += stride) {
        let entries = list_inner_cells(s, min(s + stride, slice_end), thread);
        var base = 0u;
        for (; base < entries; base += WORKGROUP_SIZE) {
            number_pairs(base, entries, thread);
            add_tabulated(thread);
        }
        unfinished = unfinished || base < entries;
    }
    unfinished = unfinished || s < slice_end;
    return true;
}
