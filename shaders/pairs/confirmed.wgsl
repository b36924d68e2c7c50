// Pairs that third spacepoints confirm, of a share of an RoI's spacepoints in the middle. LANES threads take one: they list
// the tracks that it makes with spacepoints further out, and hold those with spacepoints further in against the list. Swapped with pairs/streamed.wgsl and pairs/numbered.wgsl.
// workgroup memory: 16 LIST + 4 WORKGROUP_SIZE / LANES + 16 bytes; in f64, 32 LIST
// Needs: find_z, order, confirmations.

override LANES: u32 = 8;
// Entries of all lists together.
override LIST: u32 = 512;

// The track through the spacepoint in the middle and one further out, and which pairs the latter may follow.
struct Third {
    z: real,
    bend: Bend,
    sides: u32,
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

// Teams' entries lie side by side, for memory likes neighbours to read neighbours.
fn listed_at(team: u32, entry: u32) -> u32 {
    return entry * (WORKGROUP_SIZE / LANES) + team;
}

fn list_thirds(b: u32, team: u32, lane: u32) {
    let point = points[b];
    let slice_layer = stored_word(beside[b]);
    let layer = slice_layer & 0xffu;
    let slice = slice_layer >> 8u;
    // A little more than the cut on z leaves, which is made in full later.
    let margin = cuts.dz * real(1.001) + real(0.01);
    let room = LIST / (WORKGROUP_SIZE / LANES);
    let parts = third_parts();
    for (var part = 0u; part < parts; part++) {
        let among = thirds_around(layer, slice, part);
        var i = among.first + lane;
        for (; i < among.end; i += LANES) {
            let c = place_among(among, i);
            let z = track_z(point, points[c]);
            if z > roi.z_min - margin && z < roi.z_max + margin {
                let entry = atomicAdd(&wg_listed[team], 1u);
                if entry < room {
                    wg_list[listed_at(team, entry)] = Third(z, bend_from_first(b, c), third_sides(layer, slice, part, c));
                }
            }
        }
        unfinished = unfinished || i < among.end;
    }
}

// Whether a third spacepoint may follow a pair that steps down, stays in its slice, steps up.
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
    let parts = inner_parts();
    for (var part = 0u; part < parts; part++) {
        let among = inners(slice_layer & 0xffu, slice_layer >> 8u, part);
        var i = among.first + lane;
        for (; i < among.end; i += LANES) {
            let a = place_among(among, i);
            let z12 = track_z(point, points[a]);
            if !is_searched(z12) {
                continue;
            }
            var weight = 0u;
            if listed <= room {
                weight = listed_confirmations(a, b, z12, team, listed);
            } else {
                weight = confirmations(a, b, z12);
            }
            if weight != 0u {
                add_entry(z12, weight);
            }
        }
        unfinished = unfinished || i < among.end;
    }
}

// How many listed spacepoints confirm the pair of spacepoints a and b; 1 at most when any will do.
fn listed_confirmations(a: u32, b: u32, z12: real, team: u32, count: u32) -> u32 {
    let step = step_between(stored_word(beside[a]) >> 8u, stored_word(beside[b]) >> 8u);
    let side = select(select(SIDE_MIDDLE, SIDE_UP, step > 0), SIDE_DOWN, step < 0);
    let inner = bend_from_second(a, b);
    var found = 0u;
    for (var entry = 0u; entry < count; entry++) {
        let at = listed_at(team, entry);
        // The cut on z first: hardly any passes it, and the rest need not be loaded.
        if abs(wg_list[at].z - z12) <= cuts.dz {
            if (wg_list[at].sides & side) != 0u && bend_alike(inner, wg_list[at].bend) {
                found += 1u;
                if TRIPLETS == 1u {
                    break;
                }
            }
        }
    }
    return found;
}
