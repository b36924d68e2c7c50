// Pairs that third spacepoints confirm, of a share of an RoI's middle spacepoints. A thread takes a
// middle spacepoint. It first sets bits along z for the tracks that the spacepoint makes with
// spacepoints further out. It then compares the pairs with inner spacepoints with these bits, which
// decides most pairs. Undecided pairs are queued. When the queue is full, all threads of the
// workgroup search the third spacepoints of the queued pairs, and the loops continue where they
// stopped. Workgroup memory limits the occupancy, and so the speed:
// lab/records/2026-11-25-triplets-by-lists.md.

#import shared::real
#import shared::types
#import find_z::bends
#import find_z::order
#import find_z::tracks
#import find_z::pair_weight
#import kernel::{WORKGROUP_SIZE, beside, cuts, params, points, set_rows}

// Pairs that the queue holds.
override QUEUED: u32 = 512;

// First and last of the middle spacepoints.
var<workgroup> wg_searched: vec2<u32>;
var<workgroup> wg_queued: atomic<u32>;
var<workgroup> wg_wanted: u32;
var<workgroup> wg_queue: array<u32, QUEUED>;

// Of a queued pair: the place of the spacepoint in the middle in the share, and that of the other
// one in the RoI.
const OTHER_BITS: u32 = 22u;

// Where along z a spacepoint makes tracks with some further out: any, and those that confirm any
// pair nearby which bends as little; of each, those that may follow each kind of pair (SIDES).
struct Marks {
    any: array<vec2<u32>, SIDES>,
    sure: array<vec2<u32>, SIDES>,
}

// Position in the loop over the first spacepoints of a second one.
struct Cursor {
    part: u32,
    parts: u32, // of first spacepoints
    among: Stretches,
    next: u32,
}

// Places along z: so many a mm from `low` on, and the cut on z in places.
struct Places {
    low: f32,
    per_mm: f32,
    cut: f32,
}

// 62 places from z_min to z_max with the cut at both ends and one more each; never more than 30
// within the cut. Adding 2^15 leaves whole places from bit 8 on.
fn places() -> Places {
    let cut = f32(cuts.dz);
    let low = f32(roi.z_min) - cut;
    let high = f32(roi.z_max) + cut;
    let per_mm = min(62.0 / (high - low), 14.0 / max(cut, 0.001));
    return Places(low, per_mm, cut * per_mm);
}

// The first mm are taken off first: far from z = 0, too, a place is finer than rounding.
fn place_of(z: f32, at: Places, shift: f32) -> u32 {
    return (bitcast<u32>((z - at.low) * at.per_mm + (32769.0 + shift)) >> 8u) & 63u;
}

// More than rounding takes from a place.
const BLUR: f32 = 0.03125;

// Whether it differs by less than the cuts on k and p from any other such track through the
// spacepoint at this phi.
fn is_straight(bend: Bend, phi: real) -> bool {
    return abs(bend.k) <= real(0.499) * cuts.dk && abs(bend.p - phi) < real(0.499) * cuts.dp;
}

// Histograms the confirmed pairs of this workgroup's share. Returns false for an empty share.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        let all = vec2<u32>(cell(0u, 0u), order_end());
        wg_searched = all;
        if group == 0u && tile == 0u {
            set_rows((all.y - all.x + params.share - 1u) / params.share);
        }
        atomicStore(&wg_queued, 0u);
    }
    let all = workgroupUniformLoad(&wg_searched);
    let first = all.x + group * params.share;
    if first >= all.y {
        return false;
    }
    let end = min(first + params.share, all.y);
    let at = places();
    // Threads that share a spacepoint all mark, and share its first spacepoints.
    let lanes = 1u << params.lanes_shift;
    let lane = thread & (lanes - 1u);
    for (var base = first; base < end; base += WORKGROUP_SIZE >> params.lanes_shift) {
        let b = base + (thread >> params.lanes_shift);
        var marks = Marks();
        if b < end && has_inners(b) {
            marks = marks_of(b, at);
        }
        var cursor = Cursor(0u, select(0u, inner_parts(), b < end && has_any(marks)), stretch(no_range()), 0u);
        loop {
            hold_against(marks, at, all.x, first, b, lane, lanes, &cursor);
            workgroupBarrier();
            if thread == 0u {
                wg_wanted = atomicLoad(&wg_queued);
                atomicStore(&wg_queued, 0u);
            }
            let wanted = workgroupUniformLoad(&wg_wanted);
            let queue_end = min(wanted, QUEUED);
            var i = thread;
            for (; i < queue_end; i += WORKGROUP_SIZE) {
                let pair = wg_queue[i];
                decide(all.x + (pair & ((1u << OTHER_BITS) - 1u)), first + (pair >> OTHER_BITS));
            }
            unfinished = unfinished || i < queue_end;
            workgroupBarrier();
            if wanted <= QUEUED {
                break;
            }
        }
        unfinished = unfinished || !has_ended(cursor);
    }
    return true;
}

fn has_any(marks: Marks) -> bool {
    var words = vec2<u32>();
    for (var side = 0u; side < SIDES; side++) {
        words |= marks.any[side];
    }
    return any(words != vec2<u32>());
}

// Whether it is in the middle of any pair's and any third spacepoint's way.
fn has_inners(b: u32) -> bool {
    let slice_layer = slice_layer_of(beside[b]);
    let parts = inner_parts();
    for (var part = 0u; part < parts; part++) {
        let among = inners(slice_layer & 0xffu, slice_layer >> 8u, part);
        if among.first < among.end {
            return true;
        }
    }
    return false;
}

// The marks of a second spacepoint.
fn marks_of(b: u32, at: Places) -> Marks {
    let point = points[b];
    let phi = stored_real(beside[b]);
    let slice_layer = slice_layer_of(beside[b]);
    let layer = slice_layer & 0xffu;
    let slice = slice_layer >> 8u;
    let low = roi.z_min - cuts.dz;
    let high = roi.z_max + cuts.dz;
    var marks = Marks();
    let parts = third_parts();
    for (var part = 0u; part < parts; part++) {
        let among = thirds_around(layer, slice, part);
        var i = among.first;
        for (; i < among.end; i++) {
            let c = place_among(among, i);
            let z = extrapolate(b, point, c, points[c]);
            if z >= low && z <= high {
                let place = place_of(f32(z), at, 0.0);
                let bit = 1u << (place & 31u);
                let bits = select(vec2<u32>(0u, bit), vec2<u32>(bit, 0u), place < 32u);
                let straight = !counts_pairs() && is_straight(bend_from_first(b, c), phi);
                let sides = third_sides(layer, slice, part, c);
                for (var side = 0u; side < SIDES; side++) {
                    let here = select(vec2<u32>(), bits, (sides & (1u << side)) != 0u);
                    marks.any[side] |= here;
                    marks.sure[side] |= select(vec2<u32>(), here, straight);
                }
            }
        }
        unfinished = unfinished || i < among.end;
    }
    return marks;
}

// Marks from a place on, as many as fit.
fn marks_from(marks: vec2<u32>, place: u32) -> u32 {
    let shift = place & 31u;
    let low = (marks.x >> shift) | ((marks.y << 1u) << (31u - shift));
    return select(marks.y >> shift, low, place < 32u);
}

// Selected, not indexed: marks stay in registers.
fn marks_of_side(marks: array<vec2<u32>, SIDES>, side: u32) -> vec2<u32> {
    var found = marks[0];
    for (var other = 1u; other < SIDES; other++) {
        found = select(found, marks[other], side == other);
    }
    return found;
}

fn has_ended(cursor: Cursor) -> bool {
    return cursor.next >= cursor.among.end && cursor.part >= cursor.parts;
}

// Holds pairs against the marks until there are no more or the queue is full.
fn hold_against(
    marks: Marks,
    at: Places,
    roi_first: u32,
    share_first: u32,
    b: u32,
    lane: u32,
    lanes: u32,
    cursor: ptr<function, Cursor>,
) {
    if has_ended(*cursor) {
        return;
    }
    let point = points[b];
    let phi = stored_real(beside[b]);
    let slice_layer = slice_layer_of(beside[b]);
    var i = (*cursor).next;
    loop {
        for (; i < (*cursor).among.end; i += lanes) {
            let a = place_among((*cursor).among, i);
            let z12 = extrapolate(b, point, a, points[a]);
            if !is_searched(z12) {
                continue;
            }
            // Places that hold tracks within the cut, and perhaps others.
            let low = place_of(f32(z12), at, -at.cut - BLUR);
            let high = place_of(f32(z12), at, at.cut + BLUR);
            let side = side_of(a, b);
            if (marks_from(marks_of_side(marks.any, side), low) & ((2u << (high - low)) - 1u)) == 0u {
                continue;
            }
            if !counts_pairs() {
                // Places that hold no others.
                let inner_low = place_of(f32(z12), at, 1.0 + BLUR - at.cut) - low;
                let inner_end = place_of(f32(z12), at, at.cut - BLUR) - low;
                let sure = marks_from(marks_of_side(marks.sure, side), low) & ((1u << inner_end) - 1u);
                if (sure >> inner_low) != 0u && is_straight(bend_from_second(a, b), phi) {
                    add_entry(a, b, z12, 1u);
                    continue;
                }
            }
            let other = a - roi_first;
            if other >> OTHER_BITS == 0u && b - share_first < (1u << (32u - OTHER_BITS)) {
                let place = atomicAdd(&wg_queued, 1u);
                if place >= QUEUED {
                    (*cursor).next = i;
                    return;
                }
                wg_queue[place] = ((b - share_first) << OTHER_BITS) | other;
                continue;
            }
            decide(a, b);
        }
        unfinished = unfinished || i < (*cursor).among.end;
        if (*cursor).part >= (*cursor).parts {
            (*cursor).next = (*cursor).among.end;
            return;
        }
        (*cursor).among = inners(slice_layer & 0xffu, slice_layer >> 8u, (*cursor).part);
        i = (*cursor).among.first + lane;
        (*cursor).part += 1u;
    }
}

// Goes through the third spacepoints of a pair.
fn decide(a: u32, b: u32) {
    let z12 = extrapolate(b, points[b], a, points[a]);
    let weight = weigh_pair(a, b, z12);
    if weight != 0u {
        add_entry(a, b, z12, weight);
    }
}
