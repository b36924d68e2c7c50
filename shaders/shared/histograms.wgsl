// The words of histograms, and the places of RoIs' own histograms. A word holds counts and sums of
// z. Sums are offsets within the bin in units of 1 / OFFSET_STEPS of it; with F32_SUMS they are the
// bits of f32 sums of z, as in the thesis.

#import shared::types
#import kernel::{params}

// 1: f32 sums.
override F32_SUMS: u32 = 0;

// The largest count whose sum of offsets fits a word of its own.
const MAX_COUNT: u32 = 4194303u;

// Of find_z's rows: n of all bins, then z of all bins; or one word a bin, count << COUNT_SHIFT |
// sum of offsets, for counts up to MOST_PACKED. ROW_PARTS is 0 where find_z writes none.
override ROW_PARTS: u32 = 1;
const COUNT_SHIFT: u32 = 21u;
const MOST_PACKED: u32 = 2047u;

// n and z of a bin of such a row.
fn unpacked(words: vec2<u32>) -> vec2<u32> {
    if F32_SUMS != 0u {
        return words;
    }
    return vec2<u32>(words.x >> COUNT_SHIFT, words.x & ((1u << COUNT_SHIFT) - 1u));
}

// The word of two sums of z together.
fn sum_z(a: u32, b: u32) -> u32 {
    if F32_SUMS != 0u {
        return bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
    }
    return a + b;
}

// The word of a bin's part in a histogram of an RoI: 0 n, 1 z, 2 pairs; where weights go by pT, 3
// to 10 precisions of the pairs in each eighth of the bin, 11 and 12 sectors of soft and of hard
// tracks.
fn total_word(histogram: u32, part: u32, bin: u32) -> u32 {
    return (histogram * params.total_parts + part) * params.row_bins + bin;
}

// Equal parts of a bin in which precisions of pairs are summed where weights go by pT.
const PAIR_PARTS: u32 = 8u;
const PRECISION_PART: u32 = 3u;
const SOFT_PART: u32 = PRECISION_PART + PAIR_PARTS;
const HARD_PART: u32 = SOFT_PART + 1u;

// Pairs are part n, or a part of their own.
fn pairs_part() -> u32 {
    return select(0u, 2u, params.total_parts > 2u);
}

// The part in which a pair's precision is summed, so many steps above its tile's lower edge.
fn precision_part_at(steps: u32) -> u32 {
    return PRECISION_PART + (steps & (OFFSET_STEPS - 1u)) * PAIR_PARTS / OFFSET_STEPS;
}
