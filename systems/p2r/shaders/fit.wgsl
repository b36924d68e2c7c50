// Fits tracks: propagates each to the surface of a hit and updates it with the hit, layer after
// layer. The entry points are three mappings of tracks onto threads.
// in:   params, tracks, hits; with SCATTERS scatterings
// out:  states, statuses; with SEED_STATE layer_sums; with CHI2 chi2s
// grid: by_track: any number of workgroups; by_event: a workgroup for ROWS events; by_batch: a
//       workgroup for ROWS groups of BSIZE tracks; workgroups are in rows
// Needs: types, real, update, surfaces, scatter.
// CPU twin: src/engine/cpu/mod.rs.

override WORKGROUP_SIZE: u32 = 128;
// Rows of threads in a workgroup of by_event and by_batch: the block shape is ROWS x
// (WORKGROUP_SIZE / ROWS).
override ROWS: u32 = 1;
// Tracks in a group.
override BSIZE: u32 = 32;
// Each layer begins with the input track.
override SEED_STATE: bool = false;
override CHI2: bool = false;
// Tracks scatter behind their hits.
override SCATTERS: bool = false;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> tracks: array<real>;
@group(0) @binding(2) var<storage, read> hits: array<real>;
@group(0) @binding(3) var<storage, read_write> states: array<real>;
@group(0) @binding(4) var<storage, read_write> statuses: array<u32>;
@group(0) @binding(5) var<storage, read_write> layer_sums: array<real>;
@group(0) @binding(6) var<storage, read_write> chi2s: array<real>;
@group(0) @binding(7) var<storage, read> scatterings: array<real>;

fn number(at: u32, n: u32) -> real {
    return tracks[at + n * BSIZE];
}

fn track_at(at: u32) -> State {
    return State(
        number(at, 0u), number(at, 1u), number(at, 2u), number(at, 3u), number(at, 4u), number(at, 5u),
        number(at, 6u),
        number(at, 7u), number(at, 8u),
        number(at, 9u), number(at, 10u), number(at, 11u),
        number(at, 12u), number(at, 13u), number(at, 14u), number(at, 15u),
        number(at, 16u), number(at, 17u), number(at, 18u), number(at, 19u), number(at, 20u),
        number(at, 21u), number(at, 22u), number(at, 23u), number(at, 24u), number(at, 25u), number(at, 26u),
    );
}

fn hit_at(at: u32) -> Hit {
    return Hit(
        hits[at],
        hits[at + BSIZE],
        hits[at + 2u * BSIZE],
        hits[at + 3u * BSIZE],
        hits[at + 4u * BSIZE],
        hits[at + 5u * BSIZE],
        hits[at + 6u * BSIZE],
        hits[at + 7u * BSIZE],
        hits[at + 8u * BSIZE],
    );
}

fn store(at: u32, n: u32, value: real) {
    states[at + n * BSIZE] = value;
}

fn store_state(at: u32, p: State) {
    store(at, 0u, p.x);
    store(at, 1u, p.y);
    store(at, 2u, p.z);
    store(at, 3u, p.ipt);
    store(at, 4u, p.phi);
    store(at, 5u, p.theta);
    store(at, 6u, p.c00);
    store(at, 7u, p.c10);
    store(at, 8u, p.c11);
    store(at, 9u, p.c20);
    store(at, 10u, p.c21);
    store(at, 11u, p.c22);
    store(at, 12u, p.c30);
    store(at, 13u, p.c31);
    store(at, 14u, p.c32);
    store(at, 15u, p.c33);
    store(at, 16u, p.c40);
    store(at, 17u, p.c41);
    store(at, 18u, p.c42);
    store(at, 19u, p.c43);
    store(at, 20u, p.c44);
    store(at, 21u, p.c50);
    store(at, 22u, p.c51);
    store(at, 23u, p.c52);
    store(at, 24u, p.c53);
    store(at, 25u, p.c54);
    store(at, 26u, p.c55);
}

// One condition: each `&&` would be a branch.
fn all_are_finite(p: State) -> bool {
    return is_finite(p.x) & is_finite(p.y) & is_finite(p.z) & is_finite(p.ipt) & is_finite(p.phi) & is_finite(p.theta)
        & is_finite(p.c00) & is_finite(p.c10) & is_finite(p.c11) & is_finite(p.c20) & is_finite(p.c21) & is_finite(p.c22)
        & is_finite(p.c30) & is_finite(p.c31) & is_finite(p.c32) & is_finite(p.c33) & is_finite(p.c40) & is_finite(p.c41)
        & is_finite(p.c42) & is_finite(p.c43) & is_finite(p.c44) & is_finite(p.c50) & is_finite(p.c51) & is_finite(p.c52)
        & is_finite(p.c53) & is_finite(p.c54) & is_finite(p.c55);
}

fn sum_of(p: State) -> real {
    return p.x + p.y + p.z + p.ipt + p.phi + p.theta + p.c00 + p.c10 + p.c11 + p.c20 + p.c21 + p.c22 + p.c30 + p.c31 + p.c32
        + p.c33 + p.c40 + p.c41 + p.c42 + p.c43 + p.c44 + p.c50 + p.c51 + p.c52 + p.c53 + p.c54 + p.c55;
}

// Whether a variance is below zero: of the position across the direction from the beam, of z, 1/pt,
// phi or theta. Along that direction the position has no error, because it lies at a given radius.
fn has_negative_variance(p: State) -> bool {
    let across = p.y * p.y * p.c00 - 2.0 * p.x * p.y * p.c10 + p.x * p.x * p.c11;
    return (across < 0.0) | (p.c22 < 0.0) | (p.c33 < 0.0) | (p.c44 < 0.0) | (p.c55 < 0.0);
}

// Squares of the smallest and the largest radius of a hit.
const LEAST_SQUARE: real = 1e-12;
const MOST_SQUARE: real = 1e18;

// Fits the track in a slot.
fn fit(slot: u32) {
    if slot % (params.groups * BSIZE) >= params.tracks {
        return;
    }
    let group = slot / BSIZE;
    let lane = slot % BSIZE;
    let from_at = group * TRACK * BSIZE + lane;
    let to = group * STATE * BSIZE + lane;
    let seed = track_at(from_at);
    let charge = number(from_at, STATE);
    var state = seed;
    var status = 0u;
    var sum = real(0.0);
    var chi2 = real(0.0);
    if all_are_finite(seed) & is_between(abs(charge), LEAST, MOST) & is_between(abs(seed.ipt), LEAST, MOST) {
        for (var layer = 0u; layer < params.layers; layer++) {
            let hit = hit_at((group * params.layers + layer) * HIT * BSIZE + lane);
            let square = hit.x * hit.x + hit.y * hit.y;
            if is_between(square, LEAST_SQUARE, MOST_SQUARE) {
                let radius = sqrt(square);
                var at = state;
                if SEED_STATE {
                    at = seed;
                }
                let propagated = approach(at, charge, hit, radius);
                if propagated.reached {
                    state = propagated.state;
                    let updated = update(state, measure(state, hit, radius));
                    if updated.regular {
                        state = updated.state;
                        status += UPDATE;
                        if CHI2 {
                            chi2 = updated.chi2 + select(chi2, 0.0, SEED_STATE);
                        }
                    } else {
                        status |= updated.fault;
                    }
                    if SEED_STATE {
                        sum += sum_of(state);
                    } else if SCATTERS {
                        state = scatter(state, scatterings[(group * params.layers + layer) * BSIZE + lane]);
                    }
                } else {
                    status |= UNREACHABLE;
                }
            } else if hit.v00 != NO_HIT {
                status |= BAD_HIT;
            }
        }
        if status == 0u {
            status = NO_HITS;
        }
        if !all_are_finite(state) {
            status = (status & FAULTS) | NOT_FINITE;
            state = seed;
            sum = 0.0;
            chi2 = 0.0;
        } else if has_negative_variance(state) {
            status |= NOT_POSITIVE;
        }
    } else {
        status |= BAD_TRACK;
    }
    store_state(to, state);
    statuses[slot] = status;
    if SEED_STATE {
        layer_sums[slot] = sum;
    }
    if CHI2 {
        chi2s[slot] = chi2;
    }
}

// v1 of the slides: one thread for each track of any event.
@compute @workgroup_size(WORKGROUP_SIZE)
fn by_track(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let slots = params.events * params.groups * BSIZE;
    let stride = workgroups.x * workgroups.y * WORKGROUP_SIZE;
    for (var slot = (workgroup.y * workgroups.x + workgroup.x) * WORKGROUP_SIZE + thread; slot < slots; slot += stride) {
        fit(slot);
    }
}

// v2: one row of threads for each event.
@compute @workgroup_size(WORKGROUP_SIZE)
fn by_event(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let columns = WORKGROUP_SIZE / ROWS;
    let event = (workgroup.y * workgroups.x + workgroup.x) * ROWS + thread / columns;
    if event >= params.events {
        return;
    }
    for (var i = thread % columns; i < params.tracks; i += columns) {
        fit(event * params.groups * BSIZE + i);
    }
}

// v3: one row of threads for each group of tracks.
@compute @workgroup_size(WORKGROUP_SIZE)
fn by_batch(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let columns = WORKGROUP_SIZE / ROWS;
    let group = (workgroup.y * workgroups.x + workgroup.x) * ROWS + thread / columns;
    if group >= params.events * params.groups {
        return;
    }
    for (var lane = thread % columns; lane < BSIZE; lane += columns) {
        fit(group * BSIZE + lane);
    }
}
