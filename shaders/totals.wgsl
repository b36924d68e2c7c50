// Where RoIs' own histograms lie.
// Needs: types; of the kernel params.

// The word of a bin's part in a histogram: 0 n, 1 z, 2 pairs, 3 and 4 sectors of soft and of hard tracks.
fn total_word(histogram: u32, part: u32, bin: u32) -> u32 {
    return (histogram * params.total_parts + part) * params.row_bins + bin;
}

// Pairs are part n, or a part of their own.
fn pairs_part() -> u32 {
    return select(0u, 2u, params.total_parts > 2u);
}
