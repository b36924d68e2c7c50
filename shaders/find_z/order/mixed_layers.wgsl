// Spacepoints by slice, with mixed layers. Only pairs use this order. The table of cells is short,
// and layers are compared pair by pair, which is faster if pairs are few.

#import shared::types
#import find_z::tracks
#import kernel::{beside}

// Nothing to do before the others here can be called.
fn begin_order(thread: u32) {}

// The spacepoints whose partners are sought.
fn searched_range() -> vec2<u32> {
    return vec2<u32>(cell(0u, 0u), cell(0u, roi.slices));
}

// Ranges of partners of a spacepoint: the next slice of the last one on a ring lies elsewhere.
fn partner_ranges() -> u32 {
    return 1u + roi.ring;
}

fn partners(a: u32, slice_layer: u32, part: u32) -> Range {
    let next = (slice_layer >> 8u) + 1u;
    if part == 0u {
        return plain_range(a + 1u, cell(0u, min(next + 1u, roi.slices)));
    }
    // Two slices on a ring are neighbours once.
    if next != roi.slices || roi.slices < 3u {
        return no_range();
    }
    return plain_range(cell(0u, 0u), cell(0u, 1u));
}

// Whether one in such a range is a partner.
fn is_partner(slice_layer: u32, b: u32) -> bool {
    return ((slice_layer ^ slice_layer_of(beside[b])) & 0xffu) != 0u;
}
