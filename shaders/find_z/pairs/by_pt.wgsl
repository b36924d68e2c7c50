// Pairs weighted by pT, of a share of an RoI's spacepoints. A team of threads takes one spacepoint
// as the second of its pairs. Outwards, the team marks where along z the tracks to third
// spacepoints meet the beam. Inwards, it queues the pairs whose z has two marks: all other pairs
// weigh nothing. Then all threads of the workgroup search the third spacepoints of the queued
// pairs. Tracks that bend too much to count are left out from the start: the curvature of a track
// lies between those of its two pairs, which differ by the cut at most. Workgroup memory limits the
// occupancy, and so the speed: lab/records/2026-11-25-triplets-by-lists.md.

#import shared::real
#import shared::types
#import find_z::order::by_layer
#import find_z::tracks
#import find_z::pair_weight::pt
#import kernel::{WORKGROUP_SIZE, beside, cuts, params, points, set_rows}

// Words of marks of all teams: a team of more threads has more places.
override MARK_WORDS: u32 = 1024;
// Pairs that the queue holds.
override QUEUED: u32 = 256;

// First and last of the second spacepoints.
var<workgroup> wg_searched: vec2<u32>;
var<workgroup> wg_queued: atomic<u32>;
var<workgroup> wg_wanted: u32;
// First and second spacepoint of each queued pair.
var<workgroup> wg_queue: array<vec2<u32>, QUEUED>;
// Bits of places along z, a column a team: with a mark, with two.
var<workgroup> wg_one: array<atomic<u32>, MARK_WORDS>;
var<workgroup> wg_two: array<atomic<u32>, MARK_WORDS>;

// Spacepoints are tested in blocks, a bit each, so that neighbouring threads then work on those
// that passed side by side.
const BLOCK: u32 = 32u;
// More than rounding takes from a place.
const BLUR: f32 = 0.0625;
// More than rounding takes from a difference of two azimuths [rad].
const BLUR_RAD: f32 = 4e-6;

// The second spacepoint of a team's pairs.
struct Second {
    b: u32,
    column: u32, // the first word of the team's marks
    point: vec2<real>,
    phi: real,
    layer: u32,
    slice: u32,
    most_k: real, // the largest curvature of any pair of a track that counts
}

// Places along z: so many a mm from `low` on.
struct Places {
    low: f32,
    per_mm: f32,
    last: u32,
}

// Position in the loop over the first spacepoints of a second one.
struct Cursor {
    part: u32,
    parts: u32, // of first spacepoints
    among: Range,
    first: u32, // of the block at hand
    bits: u32, // of the block: candidates that are not queued yet
}

// Words of a team's marks.
fn column_words() -> u32 {
    return (MARK_WORDS / WORKGROUP_SIZE) << params.lanes_shift;
}

// All places but two from z_min to z_max, and one more at each end; never more than 24 within the
// cut, nor so many that rounding of z is more than a small part of one.
fn places() -> Places {
    let last = 32u * column_words() - 1u;
    let per_mm = min(f32(last - 1u) / f32(roi.z_max - roi.z_min), 12.0 / max(f32(cuts.dz), 0.001));
    let farthest = max(abs(f32(roi.z_min)), abs(f32(roi.z_max)));
    return Places(f32(roi.z_min), min(per_mm, 131072.0 / max(farthest, 0.001)), last);
}

// The place `shift` places beyond z; of all z further out, the first or the last. A z that is no
// number has one, too.
fn place_of(z: f32, at: Places, shift: f32) -> u32 {
    return min(u32(clamp((z - at.low) * at.per_mm + (1.0 + shift), 0.0, f32(at.last))), at.last);
}

// Histograms the pairs of this workgroup's share. Returns false for an empty share.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        let all = vec2<u32>(cell(0u, 0u), order_end());
        wg_searched = all;
        if group == 0u && tile == 0u {
            set_rows((all.y - all.x + params.share - 1u) / params.share);
        }
    }
    let all = workgroupUniformLoad(&wg_searched);
    let first = all.x + group * params.share;
    if first >= all.y {
        return false;
    }
    let end = min(first + params.share, all.y);
    let teams = WORKGROUP_SIZE >> params.lanes_shift;
    let team = thread >> params.lanes_shift;
    let lanes = 1u << params.lanes_shift;
    let lane = thread & (lanes - 1u);
    let at = places();
    for (var base = first; base < end; base += teams) {
        for (var word = thread; word < MARK_WORDS; word += WORKGROUP_SIZE) {
            atomicStore(&wg_one[word], 0u);
            atomicStore(&wg_two[word], 0u);
        }
        if thread == 0u {
            atomicStore(&wg_queued, 0u);
        }
        workgroupBarrier();
        let second = second_at(min(base + team, end - 1u), team * column_words());
        let parts = select(0u, min(part_of(second.layer), inner_layers()), base + team < end);
        if parts > 0u {
            mark_thirds(second, at, lane, lanes);
        }
        workgroupBarrier();
        var cursor = Cursor(0u, select(0u, parts, has_two_marks(second.column)), no_range(), 0u, 0u);
        loop {
            queue_firsts(second, at, lane, lanes, &cursor);
            workgroupBarrier();
            if thread == 0u {
                wg_wanted = atomicLoad(&wg_queued);
                atomicStore(&wg_queued, 0u);
            }
            let wanted = workgroupUniformLoad(&wg_wanted);
            let queue_end = min(wanted, QUEUED);
            var i = thread;
            for (; i < queue_end; i += WORKGROUP_SIZE) {
                decide(wg_queue[i].x, wg_queue[i].y);
            }
            unfinished = unfinished || i < queue_end;
            workgroupBarrier();
            if wanted <= QUEUED {
                break;
            }
        }
        let rest = cursor.bits != 0u || cursor.first < cursor.among.end || cursor.part < cursor.parts;
        unfinished = unfinished || rest;
    }
    return true;
}

fn second_at(b: u32, column: u32) -> Second {
    let slice_layer = slice_layer_of(beside[b]);
    let layer = slice_layer & 0xffu;
    return Second(b, column, points[b], stored_real(beside[b]), layer, slice_layer >> 8u, most_curvature(layer));
}

// The azimuth between two spacepoints, the shorter way round on a ring, less what rounding may add.
fn least_turn(phi: real, other: real) -> real {
    let straight = abs(other - phi);
    let least = select(straight, min(straight, TURN - straight), roi.ring != 0u);
    return max(least - real(BLUR_RAD), real(0.0));
}

// Whether another spacepoint may make a track with the second one that counts: z lies in a range,
// rho grows from the beam outwards, and it bends little. `outwards`: 1 for a third spacepoint, -1
// for a first one. Without a quotient.
fn may_be_track(second: Second, other: u32, range: ZRange, outwards: real) -> bool {
    let point = points[other];
    let turn = least_turn(second.phi, stored_real(beside[other]));
    let apart = outwards * (second.point.x - point.x);
    let straight = turn * second.point.x * point.x <= real(0.5005) * second.most_k * apart;
    return (apart > real(0.0)) & straight & may_be_within(second.b, second.point, other, point, range);
}

// Which spacepoints of a block may: a bit each.
fn near(second: Second, among: Range, first: u32, lanes: u32, range: ZRange, outwards: real) -> u32 {
    let count = min((among.end - first + lanes - 1u) / lanes, BLOCK);
    var bits = 0u;
    var i = 0u;
    for (; i < count; i++) {
        let other = place_in(among, first + i * lanes);
        bits |= select(0u, 1u, may_be_track(second, other, range, outwards)) << i;
    }
    unfinished = unfinished || i < count;
    return bits;
}

// Marks the tracks with third spacepoints.
fn mark_thirds(second: Second, at: Places, lane: u32, lanes: u32) {
    for (var part = part_of(second.layer) + 1u; part < wg_filled_count; part++) {
        let among = around(second, wg_filled[part]);
        let dz = cut_on_z(second.layer, wg_filled[part]);
        let range = z_range(roi.z_min - dz, roi.z_max + dz);
        var first = among.first + lane;
        for (; first < among.end; first += BLOCK * lanes) {
            for (var bits = near(second, among, first, lanes, range, real(1.0)); bits != 0u; bits &= bits - 1u) {
                mark(second, place_in(among, first + firstTrailingBit(bits) * lanes), f32(dz), at);
            }
        }
        unfinished = unfinished || first < among.end;
    }
}

// A layer's spacepoints within reach.
fn around(second: Second, layer: u32) -> Range {
    let n = reach(min(layer, second.layer), max(layer, second.layer));
    return slices_around(layer, second.slice, n, n);
}

// Marks the places within the cut of a third spacepoint.
fn mark(second: Second, c: u32, dz: f32, at: Places) {
    let z = f32(extrapolate(second.b, second.point, c, points[c]));
    let first = place_of(z - dz, at, -BLUR);
    let last = max(place_of(z + dz, at, BLUR), first);
    let bits = (2u << (last - first)) - 1u;
    let shift = first & 31u;
    let word = second.column + (first >> 5u);
    mark_word(word, bits << shift);
    let rest = (bits >> 1u) >> (31u - shift);
    if rest != 0u {
        mark_word(word + 1u, rest);
    }
}

// Both marks of a place may come from one layer: the search finds that out.
fn mark_word(word: u32, bits: u32) {
    let again = atomicOr(&wg_one[word], bits) & bits;
    if again != 0u {
        atomicOr(&wg_two[word], again);
    }
}

fn has_two_marks(column: u32) -> bool {
    var any_of_two = 0u;
    for (var word = column; word < column + column_words(); word++) {
        any_of_two |= atomicLoad(&wg_two[word]);
    }
    return any_of_two != 0u;
}

// Queues pairs until there are no more or the queue is full.
fn queue_firsts(second: Second, at: Places, lane: u32, lanes: u32, cursor: ptr<function, Cursor>) {
    let range = z_range(roi.z_min, roi.z_max);
    loop {
        for (; (*cursor).bits != 0u; (*cursor).bits &= (*cursor).bits - 1u) {
            let a = place_in((*cursor).among, (*cursor).first + firstTrailingBit((*cursor).bits) * lanes);
            let place = place_of(f32(extrapolate(second.b, second.point, a, points[a])), at, 0.0);
            if (atomicLoad(&wg_two[second.column + (place >> 5u)]) & (1u << (place & 31u))) != 0u {
                let entry = atomicAdd(&wg_queued, 1u);
                if entry >= QUEUED {
                    return;
                }
                wg_queue[entry] = vec2<u32>(a, second.b);
            }
        }
        (*cursor).first += BLOCK * lanes;
        if (*cursor).first >= (*cursor).among.end {
            if (*cursor).part >= (*cursor).parts {
                return;
            }
            (*cursor).among = around(second, wg_filled[(*cursor).part]);
            (*cursor).first = (*cursor).among.first + lane;
            (*cursor).part += 1u;
        }
        if (*cursor).first < (*cursor).among.end {
            (*cursor).bits = near(second, (*cursor).among, (*cursor).first, lanes, range, real(-1.0));
        }
    }
}

// Searches the third spacepoints of a pair.
fn decide(a: u32, b: u32) {
    let z12 = extrapolate(b, points[b], a, points[a]);
    if is_searched(z12) {
        let weight = weigh_pair(a, b, z12);
        if weight != 0u {
            add_entry(a, b, z12, weight);
        }
    }
}
