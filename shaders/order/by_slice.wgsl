// Spacepoints by slice and, within it, by layer: for single neighbours and all layers inner. Two spacepoints of different
// layers in the same or in neighbouring slices are then always a pair, whichever comes first, so each goes through
// what follows it in its slice and in the next one (the two-slice scheme of the thesis's future work).
// Swapped with order/by_layer.wgsl.
// Needs: cells/by_slice, find_z.

// Nothing to do before the others here can be called.
fn begin_order(thread: u32) {}

// The spacepoints whose partners are sought.
fn walked() -> vec2<u32> {
    return vec2<u32>(cell(0u, 0u), cell(0u, roi.slices));
}

// Ranges of partners of a spacepoint: the next slice of the last one on a ring lies elsewhere.
fn partner_ranges() -> u32 {
    return 1u + roi.ring;
}

fn partners(layer: u32, slice: u32, part: u32) -> Range {
    let next = slice + 1u;
    if part == 0u {
        let first = cell(layer + 1u, slice);
        let own_end = cell(0u, next);
        if next == roi.slices {
            return plain_range(first, own_end);
        }
        let same_layer = cell(layer, next);
        let jump = cell(layer + 1u, next) - same_layer;
        return Range(first, cell(0u, next + 1u) - jump, same_layer, jump, own_end);
    }
    // Two slices on a ring are neighbours once.
    if next != roi.slices || roi.slices < 3u {
        return no_range();
    }
    let first = cell(0u, 0u);
    let same_layer = cell(layer, 0u);
    let jump = cell(layer + 1u, 0u) - same_layer;
    return Range(first, cell(0u, 1u) - jump, same_layer, jump, first);
}

// Ranges of third spacepoints: the slices around the second one's.
fn third_ranges() -> u32 {
    return 3u;
}

// On layers beyond that of a second spacepoint, `step` slices from the first.
fn thirds(layer: u32, slice: u32, step: i32, part: u32) -> Range {
    var s = slice + part;
    if s == 0u || s > roi.slices {
        // On a ring of two, the slice on the other side comes in its turn.
        if roi.ring == 0u || roi.slices < 3u {
            return no_range();
        }
        s = select(1u, roi.slices, s == 0u);
    }
    return plain_range(cell(layer + 1u, s - 1u), cell(0u, s));
}
