// Spacepoints by layer and, within it, by slice, so that all of a layer in neighbouring slices lie
// side by side: for any neighbours.

#import shared::types
#import find_z::tracks
#import kernel::{WORKGROUP_SIZE, beside, params}

const MAX_LAYERS: u32 = 64u;

// Layers with a spacepoint, ascending.
var<workgroup> wg_filled: array<u32, MAX_LAYERS>;
var<workgroup> wg_filled_count: u32;
// A bit for each of them.
var<workgroup> wg_filled_bits: array<atomic<u32>, 2>;

fn is_filled(layer: u32) -> bool {
    return cell(layer, 0u) != cell(layer, roi.slices);
}

// Lists the filled layers. Ends with a barrier.
fn begin_order(thread: u32) {
    for (var word = thread; word < MAX_LAYERS / 32u; word += WORKGROUP_SIZE) {
        atomicStore(&wg_filled_bits[word], 0u);
    }
    workgroupBarrier();
    for (var layer = thread; layer < params.layers; layer += WORKGROUP_SIZE) {
        if is_filled(layer) {
            atomicOr(&wg_filled_bits[layer >> 5u], 1u << (layer & 31u));
        }
    }
    workgroupBarrier();
    let low = atomicLoad(&wg_filled_bits[0]);
    let high = atomicLoad(&wg_filled_bits[1]);
    for (var layer = thread; layer < params.layers; layer += WORKGROUP_SIZE) {
        let own = select(high, low, layer < 32u);
        let below = own & ((1u << (layer & 31u)) - 1u);
        if (own & (1u << (layer & 31u))) != 0u {
            wg_filled[countOneBits(below) + select(countOneBits(low), 0u, layer < 32u)] = layer;
        }
    }
    if thread == 0u {
        wg_filled_count = countOneBits(low) + countOneBits(high);
    }
    workgroupBarrier();
}

// Filled layers that may be inner.
fn inner_layers() -> u32 {
    return min(params.inner_layers, max(wg_filled_count, 1u) - 1u);
}

// The spacepoints whose partners are sought.
fn searched_range() -> vec2<u32> {
    let first = cell(0u, 0u);
    let layers = inner_layers();
    if layers == 0u {
        return vec2<u32>(first, first);
    }
    return vec2<u32>(first, cell(wg_filled[layers - 1u], roi.slices));
}

// Ranges of partners of a spacepoint: a layer each.
fn partner_ranges() -> u32 {
    return wg_filled_count;
}

fn partners(a: u32, slice_layer: u32, part: u32) -> Range {
    let layer = slice_layer & 0xffu;
    let outer = wg_filled[part];
    if outer <= layer {
        return no_range();
    }
    let n = reach(layer, outer);
    return slices_around(outer, slice_layer >> 8u, n, n);
}

// Whether one in such a range is a partner.
fn is_partner(slice_layer: u32, b: u32) -> bool {
    return true;
}

// Where the sorted spacepoints end.
fn order_end() -> u32 {
    return cell(params.layers - 1u, roi.slices);
}

// Parts of first and of third spacepoints of a second one: a layer each.
fn inner_parts() -> u32 {
    return inner_layers();
}

fn inners(layer: u32, slice: u32, part: u32) -> Stretches {
    let inner = wg_filled[part];
    if inner >= layer {
        return stretch(no_range());
    }
    let n = reach(inner, layer);
    return stretch(slices_around(inner, slice, n, n));
}

fn third_parts() -> u32 {
    return wg_filled_count;
}

fn thirds_around(layer: u32, slice: u32, part: u32) -> Stretches {
    let outer = wg_filled[part];
    if outer <= layer {
        return stretch(no_range());
    }
    let n = reach(layer, outer);
    return stretch(slices_around(outer, slice, n, n));
}

// Kinds of pairs: that step down, not at all, up.
const SIDES: u32 = 3u;

fn side_of(a: u32, b: u32) -> u32 {
    let step = step_between(slice_layer_of(beside[a]) >> 8u, slice_layer_of(beside[b]) >> 8u);
    return u32(clamp(step, -1, 1) + 1);
}

// Whether such a spacepoint may follow a pair that steps down (1), stays in its slice (2), steps up
// (4): `thirds`.
fn third_sides(layer: u32, slice: u32, part: u32, c: u32) -> u32 {
    let n = reach(layer, wg_filled[part]);
    let other = slice_layer_of(beside[c]) >> 8u;
    var up = other - slice;
    var down = slice - other;
    if roi.ring != 0u {
        up = select(up + roi.slices, up, other >= slice);
        down = select(down + roi.slices, down, slice >= other);
    }
    // Beyond a window without ends, the way round is no way: it wraps to far more than n.
    let near = up <= 1u || down <= 1u;
    return select(0u, 1u, up <= 1u || down <= n) | select(0u, 2u, near) | select(0u, 4u, up <= n || down <= 1u);
}

// On layers beyond that of a second spacepoint, `step` slices from the first: the bending keeps its
// sign.
fn thirds(layer: u32, slice: u32, step: i32, part: u32) -> Stretches {
    let outer = wg_filled[part];
    if outer <= layer {
        return stretch(no_range());
    }
    let n = reach(layer, outer);
    return stretch(slices_around(outer, slice, select(n, 1u, step >= 0), select(n, 1u, step <= 0)));
}

// The spacepoints of a layer in the slices from s - below to s + above; on a ring, each slice once.
fn slices_around(layer: u32, s: u32, below: u32, above: u32) -> Range {
    let slices = roi.slices;
    if roi.ring == 0u {
        return plain_range(cell(layer, s - min(s, below)), cell(layer, min(s + above, slices - 1u) + 1u));
    }
    if below + above >= slices {
        return plain_range(cell(layer, 0u), cell(layer, slices));
    }
    let low = select(s + slices - below, s - below, s >= below);
    let high = select(s + above - slices, s + above, s + above < slices);
    let first = cell(layer, low);
    let end = cell(layer, high + 1u);
    if low <= high {
        return plain_range(first, end);
    }
    let layer_first = cell(layer, 0u);
    let layer_end = cell(layer, slices);
    return Range(first, layer_end + end - layer_first, layer_end, layer_first - layer_end);
}

// Which of the filled layers it is.
fn part_of(layer: u32) -> u32 {
    let low = atomicLoad(&wg_filled_bits[0]);
    let high = atomicLoad(&wg_filled_bits[1]);
    let below = (1u << (layer & 31u)) - 1u;
    return select(countOneBits(low) + countOneBits(high & below), countOneBits(low & below), layer < 32u);
}
