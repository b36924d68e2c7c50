// Lists the hits that make doublets with each hit: inner ones and outer ones. Each thread takes a
// hit, counts them, takes room, and lists them.
// in:   events, layers, neighbours, hits, cells
// out:  doublets (the inner hits of middle ones), outers, lists (of each hit: where its doublets
//       and its outer hits begin, and how many they are), counts
// grid: x = hits, y = events
// CPU twin: Finder::doublets in src/engine/cpu/tracklets/triplets.rs

#import shared::real
#import shared::types
#import tracklets::types

override WORKGROUP_SIZE: u32 = 64;

@group(0) @binding(0) var<storage, read> events: array<Event>;
@group(0) @binding(1) var<uniform> constants: Constants;
@group(0) @binding(2) var<uniform> layers: array<Layer, 64>;
@group(0) @binding(3) var<storage, read> neighbours: array<u32>;
@group(0) @binding(4) var<storage, read> hits: array<StoredHit>;
@group(0) @binding(5) var<storage, read> cells: array<u32>;
@group(0) @binding(6) var<storage, read_write> doublets: array<Doublet>;
@group(0) @binding(7) var<storage, read_write> outers: array<u32>;
@group(0) @binding(8) var<storage, read_write> lists: array<vec4<u32>>;
@group(0) @binding(9) var<storage, read_write> counts: array<Counts>;

// Hits that a thread loads at once.
const AT_ONCE: u32 = 4u;

const MIN_STEP_MM: real = 3.0;
const SCATTERED: real = 0.002;
// More hits near one hit are left to the host: a thread would be busy for too long.
const MOST_TESTS: u32 = 16384u;

// Hits on one side that are not searched twice: few middle hits have more.
const KEPT_BACK: u32 = 24u;

// Only count.
const NOWHERE: u32 = 0xffffffffu;

// The middle hit of doublets.
struct Middle {
    event: u32,
    number: u32,
    outwards: bool,
    rho: real,
    phi: real,
    z: real,
    bend: real, // with its sign, and with scattering
    // Of each range of z: the distance from its middle, and half of its width, with a margin.
    from_middles: vec4<real>,
    halves: vec4<real>,
}

fn middle_at(event: u32, number: u32, outwards: bool) -> Middle {
    let hit = hit_of(hits[number]);
    var from_middles = vec4<real>();
    // Nothing is within a range that is not there.
    var halves = vec4<real>(-1e30);
    for (var k = 0u; k < events[event].range_count; k++) {
        let range = events[event].ranges[k];
        from_middles[k] = hit.z - real(0.5) * (range.x + range.y);
        halves[k] = real(0.5) * (range.y - range.x) + real(0.5);
    }
    let bend = select(hit.bend, -hit.bend, outwards);
    return Middle(event, number, outwards, hit.rho, hit.phi, hit.z, bend + SCATTERED, from_middles, halves);
}

// The places of a layer's hits near the middle hit: two ranges, for they may pass the ends of the
// circle.
fn places_near(middle: Middle, layer: u32) -> vec4<u32> {
    let extents = events[middle.event].extents[layer];
    let far = select(extents.x, extents.y, middle.outwards);
    let step = select(middle.rho - far, far - middle.rho, middle.outwards);
    if step < MIN_STEP_MM {
        return vec4<u32>();
    }
    let bend = bend_of(constants.max_kappa, far);
    let reach = middle.bend + select(-bend, bend, middle.outwards);
    // Rounded up, for the numbers' rounding too.
    let around = u32(max(reach * CELLS_PER_RAD, 0.0)) + 2u;
    let cell = min(u32(max((middle.phi + PI) * CELLS_PER_RAD, 0.0)), CELLS_OF_LAYER - 1u);
    let first = events[middle.event].cell_first + layer * CELLS_OF_LAYER;
    if 2u * around >= CELLS_OF_LAYER {
        return vec4<u32>(cells[first], cells[first + CELLS_OF_LAYER], 0u, 0u);
    }
    let low = cell - around;
    let high = cell + around + 1u;
    if cell < around {
        return vec4<u32>(cells[first], cells[first + high], cells[first + low + CELLS_OF_LAYER],
            cells[first + CELLS_OF_LAYER]);
    }
    if high > CELLS_OF_LAYER {
        return vec4<u32>(cells[first + low], cells[first + CELLS_OF_LAYER], cells[first],
            cells[first + high - CELLS_OF_LAYER]);
    }
    return vec4<u32>(cells[first + low], cells[first + high], 0u, 0u);
}

// Whether the line from the beam through both hits may come from a range.
fn points_into(from_middle: real, half: real, step: real, across: real, tolerance: real) -> bool {
    return abs(product(from_middle, step) - across) <= product(half, step) + tolerance;
}

// Whether a hit, given by its rho, phi, z and bend, makes a doublet with the middle one.
fn is_doublet(middle: Middle, place: vec4<real>) -> bool {
    let rho = place.x;
    let turn = abs(shorter(middle.phi - place.y));
    let bend = place.w;
    let step = select(middle.rho - rho, rho - middle.rho, middle.outwards);
    let reach = select(middle.bend - bend, middle.bend + bend, middle.outwards);
    if !(step >= MIN_STEP_MM && turn <= reach) {
        return false;
    }
    let z = place.z;
    let dz = select(middle.z - z, z - middle.z, middle.outwards);
    let across = product(dz, middle.rho);
    let tolerance = product(real(0.1), abs(dz));
    if points_into(middle.from_middles.x, middle.halves.x, step, across, tolerance) {
        return true;
    }
    return events[middle.event].range_count > 1u
        && (points_into(middle.from_middles.y, middle.halves.y, step, across, tolerance)
            || points_into(middle.from_middles.z, middle.halves.z, step, across, tolerance)
            || points_into(middle.from_middles.w, middle.halves.w, step, across, tolerance));
}

// A bit for each of the hits from `first` to `last`, at most four, that makes a doublet with the
// middle hit. All are loaded at once, so that memory has something to do.
fn doublets_of_four(middle: Middle, first: u32, last: u32) -> u32 {
    let a = hits[first].place;
    let b = hits[min(first + 1u, last)].place;
    let c = hits[min(first + 2u, last)].place;
    let d = hits[min(first + 3u, last)].place;
    var bits = select(0u, 1u, is_doublet(middle, a));
    bits |= select(0u, 2u, first + 1u <= last && is_doublet(middle, b));
    bits |= select(0u, 4u, first + 2u <= last && is_doublet(middle, c));
    bits |= select(0u, 8u, first + 3u <= last && is_doublet(middle, d));
    return bits;
}

// Hits that make doublets with a middle hit: how many, and the first ones.
struct Found {
    count: u32,
    tests: u32,
    first_ones: array<u32, KEPT_BACK>,
}

fn store(middle: Middle, place: u32, hit: u32) {
    if middle.outwards {
        outers[place] = hit;
    } else {
        doublets[place] = Doublet(hit, middle.number, 0u, 0u);
    }
}

// Lists the hits of the layers that follow the middle hit's own on one side, from `to` on; or only
// counts them, and gives the first ones back.
fn list_hits(middle: Middle, first_layer: u32, layer_count: u32, to: u32, found: ptr<function, Found>) {
    for (var k = 0u; k < layer_count; k++) {
        let near = places_near(middle, neighbours[first_layer + k]);
        (*found).tests += near.y - near.x + near.w - near.z;
        if (*found).tests > MOST_TESTS {
            return;
        }
        for (var part = 0u; part < 2u; part++) {
            let end = select(near.y, near.w, part == 1u);
            for (var i = select(near.x, near.z, part == 1u); i < end; i += AT_ONCE) {
                var bits = doublets_of_four(middle, i, end - 1u);
                while bits != 0u {
                    let hit = i + firstTrailingBit(bits);
                    bits &= bits - 1u;
                    let count = (*found).count;
                    if to != NOWHERE {
                        store(middle, to + count, hit);
                    } else if count < KEPT_BACK {
                        (*found).first_ones[count] = hit;
                    }
                    (*found).count = count + 1u;
                }
            }
        }
    }
}

// Lists what was found from `to` on.
fn list_found(middle: Middle, first_layer: u32, layer_count: u32, to: u32, found: ptr<function, Found>) {
    if (*found).count <= KEPT_BACK {
        for (var k = 0u; k < (*found).count; k++) {
            store(middle, to + k, (*found).first_ones[k]);
        }
    } else {
        (*found).count = 0u;
        (*found).tests = 0u;
        list_hits(middle, first_layer, layer_count, to, found);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_doublets(@builtin(global_invocation_id) id: vec3<u32>) {
    let event = id.y;
    if id.x >= events[event].hit_count {
        return;
    }
    let number = events[event].hit_first + id.x;
    let layer = layers[hit_of(hits[number]).layer];
    let inwards = middle_at(event, number, false);
    let outwards = middle_at(event, number, true);
    var inner_ones = Found();
    var outer_ones = Found();
    list_hits(inwards, layer.first, layer.inner, NOWHERE, &inner_ones);
    if inner_ones.count > 0u {
        list_hits(outwards, layer.first + layer.inner, layer.outer, NOWHERE, &outer_ones);
    }
    let inner = inner_ones.count;
    let outer = outer_ones.count;
    var list = vec4<u32>();
    if inner_ones.tests + outer_ones.tests > MOST_TESTS {
        atomicOr(&counts[event].flags, STATUS_CROWDED);
    } else if outer > 0u {
        if inner * outer > MOST_SMALL {
            atomicMax(&counts[event].crowd, inner * outer);
        }
        let doublet = atomicAdd(&counts[event].doublets, inner);
        let behind = atomicAdd(&counts[event].outers, outer);
        if doublet + inner <= events[event].doublet_capacity && behind + outer <= events[event].outer_capacity {
            list = vec4<u32>(events[event].doublet_first + doublet, inner, events[event].outer_first + behind, outer);
            list_found(inwards, layer.first, layer.inner, list.x, &inner_ones);
            list_found(outwards, layer.first + layer.inner, layer.outer, list.z, &outer_ones);
        }
    }
    lists[number] = list;
    if loops_are_cut(constants.layers) {
        atomicOr(&counts[event].flags, STATUS_UNFINISHED);
    }
}
