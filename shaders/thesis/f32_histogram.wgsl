// What words of histograms mean: counts, and the bits of f32 sums of z. Swapped with histogram/fixed_point.wgsl.

const MAX_COUNT: u32 = 4194303u;

// find_z's rows have n of all bins, then z of all bins.
const ROW_PARTS: u32 = 2u;

// n and z of a bin of such a row.
fn unpacked(words: vec2<u32>) -> vec2<u32> {
    return words;
}

// The word of two sums of z together.
fn sum_z(a: u32, b: u32) -> u32 {
    return bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
}
