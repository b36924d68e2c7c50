// Row and bin of a word by division and modulus. Swapped with index_subtraction.wgsl.
// Needs: of the kernel params.

// The place so many words further on: row, bin.
fn advanced(place: vec2<u32>, words: u32) -> vec2<u32> {
    let bin = place.y + words;
    return vec2(place.x + bin / params.row_words, bin % params.row_words);
}
