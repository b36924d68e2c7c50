// Accumulates z as fixed-point offsets within the bin, count and sum of offsets in words of their
// own: where a workgroup's histogram is an RoI's, and no row of it is written.

#import shared::histograms
#import shared::types
#import find_z::pair_weight
#import kernel::{count_pair, give_up}

override TILE_BINS: u32 = 1024;

var<workgroup> wg_n: array<atomic<u32>, TILE_BINS>;
var<workgroup> wg_z: array<atomic<u32>, TILE_BINS>;

fn clear_bin(bin: u32) {
    atomicStore(&wg_n[bin], 0u);
    atomicStore(&wg_z[bin], 0u);
}

// Adds the entry of a pair (a, b) at z [mm], so many steps above the lower edge of the tile's first
// bin.
fn accumulate(a: u32, b: u32, steps: u32, weight: u32, z: f32) {
    let bin = steps >> STEP_BITS;
    if counts_pairs() {
        count_pair(bin);
    }
    if atomicAdd(&wg_n[bin], weight) + weight > MAX_COUNT {
        give_up(STATUS_COUNTS);
    }
    atomicAdd(&wg_z[bin], weight * (steps & (OFFSET_STEPS - 1u)));
}
