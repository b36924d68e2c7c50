// Orders spacepoints by slice and, within a slice, by layer: for single neighbours and all layers
// inner. Two spacepoints of different layers in the same or in neighbouring slices are then always
// a pair. Each spacepoint is paired with later spacepoints of its slice and with those of the next
// slice (the two-slice scheme of the thesis's future work).

#import find_z::tracks
#import kernel::{params}

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
    let layer = slice_layer & 0xffu;
    let slice = slice_layer >> 8u;
    let next = slice + 1u;
    if part == 0u {
        let first = cell(layer + 1u, slice);
        if next == roi.slices {
            return plain_range(first, cell(0u, next));
        }
        let same_layer = cell(layer, next);
        let jump = cell(layer + 1u, next) - same_layer;
        return Range(first, cell(0u, next + 1u) - jump, same_layer, jump);
    }
    // Two slices on a ring are neighbours once.
    if next != roi.slices || roi.slices < 3u {
        return no_range();
    }
    let first = cell(0u, 0u);
    let same_layer = cell(layer, 0u);
    let jump = cell(layer + 1u, 0u) - same_layer;
    return Range(first, cell(0u, 1u) - jump, same_layer, jump);
}

// Whether one in such a range is a partner.
fn is_partner(slice_layer: u32, b: u32) -> bool {
    return true;
}

// Where the sorted spacepoints end.
fn order_end() -> u32 {
    return cell(0u, roi.slices);
}

// Returns 1 + the slice before, the slice itself, or the slice after, by `part`. 0: no such slice,
// or it is already counted.
fn slice_beside(slice: u32, part: u32) -> u32 {
    var s = slice + part;
    if s == 0u || s > roi.slices {
        // A ring of two slices has the other slice on both sides: it counts once.
        if roi.ring == 0u || roi.slices < 3u {
            return 0u;
        }
        s = select(1u, roi.slices, s == 0u);
    }
    return s;
}

// The spacepoints of a range of layers in a slice.
struct Layers {
    first: u32,
    end: u32,
}

fn layers_of(slice: u32, first: u32, end: u32) -> Layers {
    return Layers(cell(first, slice), cell(end, slice));
}

// The same layers of a slice and of its neighbours, as one range. At the ends of a ring, each
// neighbour takes a range of its own.
fn layers_around(slice: u32, part: u32, first: u32, end: u32) -> Stretches {
    let last = roi.slices - 1u;
    if roi.ring != 0u && (slice == 0u || slice == last) {
        let s = slice_beside(slice, part);
        if s == 0u {
            return stretch(no_range());
        }
        let only = layers_of(s - 1u, first, end);
        return stretch(plain_range(only.first, only.end));
    }
    if part != 0u {
        return stretch(no_range());
    }
    let own = layers_of(slice, first, end);
    var among = Stretches(own.first, own.end, 0xffffffffu, 0u, 0xffffffffu, 0u);
    if slice != 0u {
        let below = layers_of(slice - 1u, first, end);
        among.first = below.first;
        among.jump_at = below.end;
        among.jump = own.first - below.end;
        among.end = own.end - among.jump;
    }
    if slice != last {
        let above = layers_of(slice + 1u, first, end);
        among.second_at = among.end;
        among.second = above.first - own.end;
        among.end = above.end - among.jump - among.second;
    }
    return among;
}

// Parts of first and of third spacepoints of a second one.
fn inner_parts() -> u32 {
    return 1u + 2u * roi.ring;
}

fn inners(layer: u32, slice: u32, part: u32) -> Stretches {
    return layers_around(slice, part, 0u, layer);
}

fn third_parts() -> u32 {
    return 1u + 2u * roi.ring;
}

fn thirds_around(layer: u32, slice: u32, part: u32) -> Stretches {
    return layers_around(slice, part, layer + 1u, params.layers);
}

// With single neighbours they are those of any pair, whichever way it steps.
fn thirds(layer: u32, slice: u32, step: i32, part: u32) -> Stretches {
    return thirds_around(layer, slice, part);
}

const SIDES: u32 = 1u;

fn third_sides(layer: u32, slice: u32, part: u32, c: u32) -> u32 {
    return 1u;
}

fn side_of(a: u32, b: u32) -> u32 {
    return 0u;
}
