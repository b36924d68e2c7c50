// Accumulates z as fixed-point offsets within the bin: integers, so the same bits in any order.
// Count and sum of offsets share a word, so that an entry is one atomic.

#import shared::histograms
#import shared::types
#import find_z::pair_weight
#import kernel::{WORKGROUP_SIZE, add_to_totals, count_pair}

override TILE_BINS: u32 = 1024;

var<workgroup> wg_bins: array<atomic<u32>, TILE_BINS>;

// A thread that sees a bin at this count empties the bin into the RoI's totals before it adds
// again. A thread therefore adds at most once beyond this count, and the count stays within its
// bits.
const FULL: u32 = (MOST_PACKED + 1u) / 2u;

fn clear_bin(bin: u32) {
    atomicStore(&wg_bins[bin], 0u);
}

// Adds the entry of a pair (a, b) at z [mm], so many steps above the lower edge of the tile's first
// bin.
fn accumulate(a: u32, b: u32, steps: u32, weight: u32, z: f32) {
    let bin = steps >> STEP_BITS;
    if counts_pairs() {
        count_pair(bin);
    }
    let entry = (1u << COUNT_SHIFT) | (steps & (OFFSET_STEPS - 1u));
    if !counts_pairs() {
        add_packed(bin, 1u, entry);
        return;
    }
    // A greater weight goes in parts, so that all threads' last ones together fit above FULL; a
    // much greater one to the totals.
    let most = (MOST_PACKED + 1u - FULL) / WORKGROUP_SIZE;
    if weight > 8u * most {
        add_to_totals(bin, weight, weight * (steps & (OFFSET_STEPS - 1u)));
        return;
    }
    for (var rest = weight; rest != 0u;) {
        let part = min(rest, most);
        add_packed(bin, part, part * entry);
        rest -= part;
    }
}

fn add_packed(bin: u32, weight: u32, word: u32) {
    let old = atomicAdd(&wg_bins[bin], word);
    if old >= (FULL - weight) << COUNT_SHIFT {
        let full = unpacked(vec2<u32>(atomicExchange(&wg_bins[bin], 0u), 0u));
        add_to_totals(bin, full.x, full.y);
    }
}

// The word of a bin in a row's `part`.
fn row_word(bin: u32, part: u32) -> u32 {
    return atomicLoad(&wg_bins[bin]);
}
