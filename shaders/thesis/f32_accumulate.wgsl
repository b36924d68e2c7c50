// Accumulates z in f32 by compare and retry, the thesis's way to add floats without float atomics:
// read, add, write if unchanged, else again. The last digits depend on the order. Swapped with
// find_z/accumulate/fixed_point.wgsl.

#import shared::histograms
#import shared::types
#import find_z::pair_weight
#import kernel::{count_pair, give_up}

override TILE_BINS: u32 = 1024;

var<workgroup> wg_n: array<atomic<u32>, TILE_BINS>;
// Bits of f32.
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
    // Far from wrapping, and beyond what an RoI may have.
    if atomicAdd(&wg_n[bin], weight) + weight > MAX_COUNT {
        give_up(STATUS_COUNTS);
    }
    let term = f32(weight) * z;
    var old = atomicLoad(&wg_z[bin]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + term);
        // The exchange may fail spuriously. The value that it returns is then a fresh read.
        let result = atomicCompareExchangeWeak(&wg_z[bin], old, sum);
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

// The word of a bin in a row's `part`.
fn row_word(bin: u32, part: u32) -> u32 {
    if part == 0u {
        return atomicLoad(&wg_n[bin]);
    }
    return atomicLoad(&wg_z[bin]);
}
