// Pairs that third spacepoints confirm, of a share of an RoI's spacepoints in the middle. LANES threads take one: they list
// the z at the beam that it makes with spacepoints further out, and hold that of its pairs with those further in
// against the list. Swapped with pairs/streamed.wgsl and pairs/numbered.wgsl.
// workgroup memory: 8 LIST + 4 WORKGROUP_SIZE / LANES + 16 bytes; in f64, 16 LIST
// Needs: find_z, order, confirmations.

override LANES: u32 = 8;
// Entries of all lists together.
override LIST: u32 = 512;

// A spacepoint further out: z with the one in the middle, its place, and where it may be used.
struct Third {
    z: real,
    place_sides: u32,
}

// First and last of the spacepoints walked.
var<workgroup> wg_walked: vec2<u32>;
var<workgroup> wg_listed: array<atomic<u32>, WORKGROUP_SIZE / LANES>;
var<workgroup> wg_list: array<Third, LIST>;

// Histograms the confirmed pairs of this workgroup's share. False if there is none.
fn add_pairs(group: u32, tile: u32, thread: u32) -> bool {
    begin_order(thread);
    if thread == 0u {
        let all = vec2<u32>(cell(0u, 0u), order_end());
        wg_walked = all;
        if group == 0u && tile == 0u {
            status[roi_index].rows = (all.y - all.x + params.share - 1u) / params.share;
        }
    }
    let all = workgroupUniformLoad(&wg_walked);
    let first = all.x + group * params.share;
    if first >= all.y {
        return false;
    }
    let end = min(first + params.share, all.y);
    let teams = WORKGROUP_SIZE / LANES;
    let team = thread / LANES;
    let lane = thread % LANES;
    for (var base = first; base < end; base += teams) {
        if lane == 0u {
            atomicStore(&wg_listed[team], 0u);
        }
        workgroupBarrier();
        let b = base + team;
        if b < end {
            list_thirds(b, team, lane);
        }
        workgroupBarrier();
        if b < end {
            add_confirmed(b, team, lane);
        }
        workgroupBarrier();
    }
    return true;
}

fn list_thirds(b: u32, team: u32, lane: u32) {
    let point = points[b];
    let slice_layer = stored_word(beside[b]);
    let layer = slice_layer & 0xffu;
    let slice = slice_layer >> 8u;
    // A little more than the cut on z leaves, which is made in full later.
    let margin = cuts.dz * real(1.001) + real(0.01);
    let room = LIST / (WORKGROUP_SIZE / LANES);
    let ranges = third_ranges();
    for (var part = 0u; part < ranges; part++) {
        let range = thirds_around(layer, slice, part);
        var i = range.first + lane;
        for (; i < range.end; i += LANES) {
            let c = place_in(range, i);
            let z = track_z(point, points[c]);
            if z > roi.z_min - margin && z < roi.z_max + margin {
                let entry = atomicAdd(&wg_listed[team], 1u);
                if entry < room {
                    wg_list[team * room + entry] = Third(z, c | (third_sides(layer, slice, part, c) << SIDES_SHIFT));
                }
            }
        }
        unfinished = unfinished || i < range.end;
    }
}

// In the uppermost bits of a place: whether the spacepoint may follow a pair that steps down, stays, steps up.
const SIDES_SHIFT: u32 = 29u;
const SIDE_DOWN: u32 = 1u;
const SIDE_MIDDLE: u32 = 2u;
const SIDE_UP: u32 = 4u;

fn add_confirmed(b: u32, team: u32, lane: u32) {
    let room = LIST / (WORKGROUP_SIZE / LANES);
    let listed = atomicLoad(&wg_listed[team]);
    if listed == 0u {
        return;
    }
    let point = points[b];
    let slice_layer = stored_word(beside[b]);
    let ranges = inner_ranges();
    for (var part = 0u; part < ranges; part++) {
        let range = inners(slice_layer & 0xffu, slice_layer >> 8u, part);
        var i = range.first + lane;
        for (; i < range.end; i += LANES) {
            let a = place_in(range, i);
            let z12 = track_z(point, points[a]);
            if !is_searched(z12) {
                continue;
            }
            var weight = 0u;
            if listed <= room {
                weight = listed_confirmations(a, b, z12, team * room, listed);
            } else {
                weight = confirmations(a, b, z12);
            }
            if weight != 0u {
                add_entry(z12, weight);
            }
        }
        unfinished = unfinished || i < range.end;
    }
}

// How many listed spacepoints confirm the pair of spacepoints a and b; 1 at most when any will do.
fn listed_confirmations(a: u32, b: u32, z12: real, first: u32, count: u32) -> u32 {
    var found = 0u;
    for (var entry = first; entry < first + count; entry++) {
        if abs(wg_list[entry].z - z12) <= cuts.dz {
            let third = wg_list[entry].place_sides;
            let step = step_between(stored_word(beside[a]) >> 8u, stored_word(beside[b]) >> 8u);
            let side = select(select(SIDE_MIDDLE, SIDE_UP, step > 0), SIDE_DOWN, step < 0);
            if ((third >> SIDES_SHIFT) & side) != 0u && bends_alike(a, b, third & ((1u << SIDES_SHIFT) - 1u)) {
                found += 1u;
                if TRIPLETS == 1u {
                    return 1u;
                }
            }
        }
    }
    return found;
}
