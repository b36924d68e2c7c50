// What words of histograms mean: counts, and sums of offsets within the bin in OFFSET_STEPS of it. Swapped with
// thesis/f32_histogram.wgsl.

// The largest count whose sum of offsets fits a word of its own.
const MAX_COUNT: u32 = 4194303u;

// find_z's rows have one word a bin, count << COUNT_SHIFT | sum of offsets, for counts up to MOST_PACKED.
const ROW_PARTS: u32 = 1u;
const COUNT_SHIFT: u32 = 21u;
const MOST_PACKED: u32 = 2047u;

// n and z of a bin of such a row.
fn unpacked(words: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(words.x >> COUNT_SHIFT, words.x & ((1u << COUNT_SHIFT) - 1u));
}

// The word of two sums of z together.
fn sum_z(a: u32, b: u32) -> u32 {
    return a + b;
}
