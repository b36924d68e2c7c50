// Accumulates straight into an RoI's own histograms, where entries are few or there are several
// histograms: of each charge, of each slice. Which of them a pair goes into, specification, section
// 2.
// CPU twin: src/engine/twin/find_z.rs

#import shared::histograms
#import shared::types
#import find_z::total_sums
#import find_z::pair_weight
#import find_z::tracks
#import kernel::{beside, give_up, totals}

override TILE_BINS: u32 = 4096;
// 1: one histogram for pairs that bend up and one for those that bend down.
override CHARGE_AWARE: u32 = 0;
// 1: histograms of each slice.
override PER_SLICE: u32 = 0;

fn clear_bin(bin: u32) {}

// Adds the entry of a pair (a, b) at z [mm], so many steps above the lower edge of the tile's first
// bin.
fn accumulate(a: u32, b: u32, steps: u32, weight: u32, z: f32) {
    let bin = tile_first + (steps >> STEP_BITS);
    let slice = slice_layer_of(beside[a]) >> 8u;
    let layer = slice_layer_of(beside[a]) & 0xffu;
    let step = step_between(slice, slice_layer_of(beside[b]) >> 8u);
    // How far the track may have been from here on the innermost layer.
    var m = 0u;
    if PER_SLICE != 0u && layer != 0u {
        m = reach(0u, layer);
    }
    for (var charge = 0u; charge <= CHARGE_AWARE; charge++) {
        if CHARGE_AWARE != 0u && select(-step, step, charge == 0u) > 1 {
            continue;
        }
        if PER_SLICE == 0u {
            add_to_histogram(charge, bin, steps, weight, z);
            continue;
        }
        let below = select(min(m, 1u), m, CHARGE_AWARE == 0u || charge == 1u);
        let above = select(min(m, 1u), m, CHARGE_AWARE == 0u || charge == 0u);
        var first = slice - min(slice, below);
        var last = min(slice + above, roi.slices - 1u);
        if roi.ring != 0u {
            first = select(slice - below, slice + roi.slices - below, slice < below);
            last = first + below + above;
            if below + above >= roi.slices {
                first = 0u;
                last = roi.slices - 1u;
            }
        }
        var s = first;
        for (; s <= last; s++) {
            add_to_histogram(charge * roi.slices + select(s, s - roi.slices, s >= roi.slices), bin, steps, weight, z);
        }
        unfinished = unfinished || s <= last;
    }
}

fn add_to_histogram(histogram: u32, bin: u32, steps: u32, weight: u32, z: f32) {
    let row = roi.total_first + histogram;
    if atomicAdd(&totals[total_word(row, 0u, bin)], weight) + weight > MAX_COUNT {
        give_up(STATUS_COUNTS);
    }
    add_z(total_word(row, 1u, bin), steps, weight, z);
    if counts_pairs() {
        atomicAdd(&totals[total_word(row, pairs_part(), bin)], 1u);
    }
}

// find_z writes no rows.
fn row_word(bin: u32, part: u32) -> u32 {
    return 0u;
}
