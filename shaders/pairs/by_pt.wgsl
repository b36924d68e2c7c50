// Pairs that weigh by the transverse momentum of their tracks, of a share of an RoI's spacepoints. A thread takes one spacepoint
// as the second of its pairs. Going outwards, it marks the z of the tracks that third spacepoints of each layer make with it.
// Going inwards, it queues the pairs whose z lies near marks of two layers: no other pair weighs anything. Then all threads of
// the workgroup search the third spacepoints of the queued pairs.
// Swapped with pairs/confirmed.wgsl, pairs/streamed.wgsl and pairs/numbered.wgsl.
// workgroup memory: 12 MARK_WORDS + 4 QUEUED + 20 bytes
// Needs: tracks, extrapolation, order/by_layer, confirmations/pt.

// PLACES / 32 words a thread.
override MARK_WORDS: u32 = 512;
// Pairs that the queue holds; a pair that finds no room is decided at once.
override QUEUED: u32 = 512;

// First and last of the spacepoints walked.
var<workgroup> wg_walked: vec2<u32>;
var<workgroup> wg_queued: atomic<u32>;
var<workgroup> wg_queue_end: u32;
// The place of the first spacepoint in the RoI, and from OTHER_BITS on the number of the second one in the share.
var<workgroup> wg_queue: array<u32, QUEUED>;
// Bits of places along z, a column a thread: within the cut of marks of the layer at hand, of any layer, of two layers.
var<workgroup> wg_of_layer: array<u32, MARK_WORDS>;
var<workgroup> wg_of_one: array<u32, MARK_WORDS>;
var<workgroup> wg_of_two: array<u32, MARK_WORDS>;

const OTHER_BITS: u32 = 22u;
const PLACES: u32 = 256u;
const COLUMN: u32 = PLACES / 32u;
// Spacepoints are tested in blocks, a bit each, so that neighbouring threads then work on those that passed side by side.
const BLOCK: u32 = 32u;
// Second spacepoints side by side in a share.
const CHUNK: u32 = 32u;

// The second spacepoint of a thread's pairs.
struct Second {
    b: u32,
    point: vec2<real>,
    layer: u32,
    slice: u32,
    most_k: real, // the largest curvature that any of its tracks may have
}

// Places along z: so many a mm from z_min on.
struct Places {
    low: f32,
    per_mm: f32,
}

// All places but two from z_min to z_max, and one more at each end; never more than 24 within the cut, nor so many that rounding
// of z is more than a small part of one.
fn places() -> Places {
    let per_mm = min(f32(PLACES - 2u) / f32(roi.z_max - roi.z_min), 12.0 / max(f32(cuts.dz), 0.001));
    let farthest = max(abs(f32(roi.z_min)), abs(f32(roi.z_max)));
    return Places(f32(roi.z_min), min(per_mm, 131072.0 / max(farthest, 0.001)));
}

// More than rounding takes from a place.
const BLUR: f32 = 0.0625;

// The place `shift` places beyond z. `low` is subtracted first: far from z = 0, too, a place is wider than rounding. Adding 2^15
// leaves whole places from bit 8 on.
fn place_of(z: real, places: Places, shift: f32) -> u32 {
    return (bitcast<u32>((f32(z) - places.low) * places.per_mm + (32769.0 + shift)) >> 8u) & (PLACES - 1u);
}

// Histograms the pairs of this workgroup's share. False if there is none.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        let all = vec2<u32>(cell(0u, 0u), order_end());
        wg_walked = all;
        atomicStore(&wg_queued, 0u);
        if group == 0u && tile == 0u {
            set_rows((all.y - all.x + params.share - 1u) / params.share);
        }
    }
    let all = workgroupUniformLoad(&wg_walked);
    let groups = (all.y - all.x + params.share - 1u) / params.share;
    if group >= groups {
        return false;
    }
    let lanes = 1u << params.lanes_shift;
    let lane = thread & (lanes - 1u);
    let at = places();
    var number = thread >> params.lanes_shift;
    for (; number < params.share; number += WORKGROUP_SIZE >> params.lanes_shift) {
        let b = all.x + second_of(number, group, groups);
        if b >= all.y {
            continue;
        }
        let slice_layer = slice_layer_of(beside[b]);
        let layer = slice_layer & 0xffu;
        let second = Second(b, points[b], layer, slice_layer >> 8u, most_curvature(layer));
        if has_inners(second) && mark_thirds(second, at, thread) {
            queue_inners(second, at, thread, lane, lanes, all.x, number);
        }
    }
    unfinished = unfinished || number < params.share;
    workgroupBarrier();
    if thread == 0u {
        wg_queue_end = min(atomicLoad(&wg_queued), QUEUED);
    }
    let queue_end = workgroupUniformLoad(&wg_queue_end);
    var i = thread;
    for (; i < queue_end; i += WORKGROUP_SIZE) {
        let pair = wg_queue[i];
        let b = all.x + second_of(pair >> OTHER_BITS, group, groups);
        decide(all.x + (pair & ((1u << OTHER_BITS) - 1u)), b);
    }
    unfinished = unfinished || i < queue_end;
    return true;
}

// The place in the RoI of a share's second spacepoint. Shares take turns at chunks of spacepoints: those of some layers make many
// more tracks than others, and a workgroup that had all of them would end last.
fn second_of(number: u32, group: u32, groups: u32) -> u32 {
    return (number / CHUNK * groups + group) * CHUNK + number % CHUNK;
}

// Whether any spacepoint lies further in.
fn has_inners(second: Second) -> bool {
    let parts = inner_parts();
    for (var part = 0u; part < parts; part++) {
        let among = inners(second.layer, second.slice, part);
        if among.first < among.end {
            return true;
        }
    }
    return false;
}

// Which spacepoints of a block make tracks with z in a range: a bit each; of some, z lies just outside.
fn near(second: Second, among: Stretches, first: u32, lanes: u32, range: ZRange) -> u32 {
    let count = min((among.end - first + lanes - 1u) / lanes, BLOCK);
    let last = among.end - 1u;
    var bits = 0u;
    var i = 0u;
    for (; i < count; i += 4u) {
        // Four at once, so that the device has their loads under way together.
        let at = first + i * lanes;
        let c0 = place_among(among, at);
        let c1 = place_among(among, min(at + lanes, last));
        let c2 = place_among(among, min(at + 2u * lanes, last));
        let c3 = place_among(among, min(at + 3u * lanes, last));
        let p0 = points[c0];
        let p1 = points[c1];
        let p2 = points[c2];
        let p3 = points[c3];
        let four = select(0u, 1u, may_be_within(second.b, second.point, c0, p0, range))
            | select(0u, 2u, may_be_within(second.b, second.point, c1, p1, range))
            | select(0u, 4u, may_be_within(second.b, second.point, c2, p2, range))
            | select(0u, 8u, may_be_within(second.b, second.point, c3, p3, range));
        bits |= four << i;
    }
    unfinished = unfinished || i < count;
    return bits & ((2u << (count - 1u)) - 1u);
}

// Marks the tracks with third spacepoints. Returns whether any place is near marks of two layers.
fn mark_thirds(second: Second, at: Places, thread: u32) -> bool {
    for (var word = 0u; word < COLUMN; word++) {
        wg_of_layer[word * WORKGROUP_SIZE + thread] = 0u;
        wg_of_one[word * WORKGROUP_SIZE + thread] = 0u;
        wg_of_two[word * WORKGROUP_SIZE + thread] = 0u;
    }
    var any_of_two = 0u;
    let parts = third_parts();
    for (var part = 0u; part < parts; part++) {
        let among = thirds_around(second.layer, second.slice, part);
        if among.first >= among.end {
            continue;
        }
        let dz = cut_on_z(second.layer, wg_filled[part]);
        let low = roi.z_min - dz;
        let high = roi.z_max + dz;
        let range = z_range(low, high);
        var marked = false;
        var first = among.first;
        for (; first < among.end; first += BLOCK) {
            for (var bits = near(second, among, first, 1u, range); bits != 0u; bits &= bits - 1u) {
                let c = place_among(among, first + firstTrailingBit(bits));
                let z = extrapolate(second.b, second.point, c, points[c]);
                if z >= low && z <= high && bends_at_most(second.b, c, second.most_k) {
                    mark(max(z - dz, roi.z_min), min(z + dz, roi.z_max), at, thread);
                    marked = true;
                }
            }
        }
        unfinished = unfinished || first < among.end;
        if marked {
            any_of_two |= end_layer_of_marks(thread);
        }
    }
    return any_of_two != 0u;
}

// Marks the places from one z to another.
fn mark(low: real, high: real, at: Places, thread: u32) {
    let first = place_of(low, at, -BLUR);
    let last = place_of(high, at, BLUR);
    let bits = (2u << (last - first)) - 1u;
    let shift = first & 31u;
    let word = (first >> 5u) * WORKGROUP_SIZE + thread;
    wg_of_layer[word] |= bits << shift;
    let rest = (bits >> 1u) >> (31u - shift);
    if rest != 0u {
        wg_of_layer[word + WORKGROUP_SIZE] |= rest;
    }
}

// Adds the marks of a layer to those of the layers before it. Returns the bits that now have two, of any word.
fn end_layer_of_marks(thread: u32) -> u32 {
    var any_of_two = 0u;
    for (var word = thread; word < COLUMN * WORKGROUP_SIZE; word += WORKGROUP_SIZE) {
        let of_layer = wg_of_layer[word];
        let of_one = wg_of_one[word];
        let of_two = wg_of_two[word] | (of_one & of_layer);
        wg_of_two[word] = of_two;
        wg_of_one[word] = of_one | of_layer;
        wg_of_layer[word] = 0u;
        any_of_two |= of_two;
    }
    return any_of_two;
}

// Queues a lane's pairs that marks of two layers are near.
fn queue_inners(second: Second, at: Places, thread: u32, lane: u32, lanes: u32, roi_first: u32, number: u32) {
    let range = z_range(roi.z_min, roi.z_max);
    let parts = inner_parts();
    for (var part = 0u; part < parts; part++) {
        let among = inners(second.layer, second.slice, part);
        var first = among.first + lane;
        for (; first < among.end; first += BLOCK * lanes) {
            for (var bits = near(second, among, first, lanes, range); bits != 0u; bits &= bits - 1u) {
                let a = place_among(among, first + firstTrailingBit(bits) * lanes);
                let z12 = extrapolate(second.b, second.point, a, points[a]);
                if !is_searched(z12) {
                    continue;
                }
                let place = place_of(z12, at, 0.0);
                let marks = wg_of_two[(place >> 5u) * WORKGROUP_SIZE + thread];
                if (marks & (1u << (place & 31u))) != 0u && bends_at_most(a, second.b, second.most_k) {
                    queue(a, second.b, roi_first, number);
                }
            }
        }
        unfinished = unfinished || first < among.end;
    }
}

fn queue(a: u32, b: u32, roi_first: u32, number: u32) {
    let other = a - roi_first;
    if other >> OTHER_BITS == 0u && number < (1u << (32u - OTHER_BITS)) {
        let place = atomicAdd(&wg_queued, 1u);
        if place < QUEUED {
            wg_queue[place] = (number << OTHER_BITS) | other;
            return;
        }
    }
    decide(a, b);
}

// Goes through the third spacepoints of a pair.
fn decide(a: u32, b: u32) {
    let z12 = extrapolate(b, points[b], a, points[a]);
    let weight = confirmations(a, b, z12);
    if weight != 0u {
        add_entry(a, b, z12, weight);
    }
}
