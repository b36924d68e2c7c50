// Row and bin of a word by subtraction. Swapped with index_modulus.wgsl.
// Needs: of the kernel params.

// The place so many words further on: row, bin.
fn advanced(place: vec2<u32>, words: u32) -> vec2<u32> {
    var next = vec2(place.x, place.y + words);
    while next.y >= params.row_words {
        next = vec2(next.x + 1u, next.y - params.row_words);
    }
    return next;
}
