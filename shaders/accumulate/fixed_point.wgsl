// Accumulates z as fixed-point offsets within the bin: integers, so the same bits in any order. Swapped with
// accumulate/compare_exchange.wgsl.
// workgroup memory: 8 TILE_BINS bytes

override TILE_BINS: u32 = 1024;

const OFFSET_STEPS: f32 = 1024.0;
// The largest count whose sum of offsets fits a word.
const MAX_COUNT: u32 = 4194303u;

var<workgroup> wg_n: array<atomic<u32>, TILE_BINS>;
var<workgroup> wg_z: array<atomic<u32>, TILE_BINS>;

// Adds an entry at z [mm], `offset` bins from the middle of its bin; `bin` counts from the tile's first.
fn accumulate(bin: u32, weight: u32, z: f32, offset: f32) {
    let steps = u32(clamp(round((offset + 0.5) * OFFSET_STEPS), 0.0, OFFSET_STEPS));
    atomicAdd(&wg_n[bin], weight);
    atomicAdd(&wg_z[bin], weight * steps);
}

// The word of two sums together.
fn sum_z(a: u32, b: u32) -> u32 {
    return a + b;
}
