// Accumulates z in f32 by compare and retry, the thesis's way to add floats without float atomics: read, add, write if
// unchanged, else again. The last digits depend on the order. Swapped with accumulate/fixed_point.wgsl.
// workgroup memory: 8 TILE_BINS bytes

override TILE_BINS: u32 = 1024;

const MAX_COUNT: u32 = 4194303u;

var<workgroup> wg_n: array<atomic<u32>, TILE_BINS>;
// Bits of f32.
var<workgroup> wg_z: array<atomic<u32>, TILE_BINS>;

// Adds an entry at z [mm], `offset` bins from the middle of its bin; `bin` counts from the tile's first.
fn accumulate(bin: u32, weight: u32, z: f32, offset: f32) {
    atomicAdd(&wg_n[bin], weight);
    let term = f32(weight) * z;
    var old = atomicLoad(&wg_z[bin]);
    loop {
        let sum = bitcast<u32>(bitcast<f32>(old) + term);
        // May fail without cause on some hardware: what came back is as good as a fresh read.
        let result = atomicCompareExchangeWeak(&wg_z[bin], old, sum);
        if result.exchanged {
            break;
        }
        old = result.old_value;
    }
}

// The word of two sums together.
fn sum_z(a: u32, b: u32) -> u32 {
    return bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
}
