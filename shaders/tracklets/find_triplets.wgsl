// Finds the triplets of each doublet: predicts where the third hit should be, computes chi2 of
// those that are there, and lists the good ones. Each thread takes a doublet, counts its triplets,
// takes room, and lists them.
// in:   events, hits, lists, outers, doublets
// out:  triplets, doublets (their triplets), counts
// grid: x = doublets, y = events
// CPU twin: Finder::predict, find_thirds and compute in src/engine/cpu/tracklets/triplets.rs

#import shared::real
#import shared::types
#import tracklets::types

override WORKGROUP_SIZE: u32 = 64;

@group(0) @binding(0) var<storage, read> events: array<Event>;
@group(0) @binding(1) var<uniform> constants: Constants;
@group(0) @binding(2) var<storage, read> hits: array<StoredHit>;
@group(0) @binding(3) var<storage, read> lists: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> outers: array<u32>;
@group(0) @binding(5) var<storage, read_write> doublets: array<Doublet>;
@group(0) @binding(6) var<storage, read_write> triplets: array<Triplet>;
@group(0) @binding(7) var<storage, read_write> counts: array<Counts>;

// Of src/engine/cpu/tracklets/triplets.rs.
const MAX_Z_ERRORS: real = 3.0;
const ARC_BY_Z_ERRORS: real = 0.0033333333333333335;
const MAX_PHI_ERRORS: real = 3.5;
const PHI_MARGIN: real = 0.0005;
const MAX_TRIPLET_CHI2: real = 9.0;
const A_24TH: real = 0.041666666666666664;

// Triplets of a doublet that are not computed twice; few doublets have more.
const KEPT_BACK: u32 = 4u;

// Only count.
const NOWHERE: u32 = 0xffffffffu;

// Where the third hit of a doublet should be, as far beyond the middle hit as its rho is, with the
// largest distances from there.
struct Prediction {
    half_kappa: real,
    cot: real,
    on_disk: real,
    // Of the azimuth for each mm: from curvature, and from the kink, which counts relative to rho.
    by_curve: real,
    by_kink: real,
    // Of z: at the middle hit, and for each mm beyond it.
    at_middle: real,
    by_slope: real,
}

// A third hit's chi2 and curvature, and whether it makes a triplet.
struct Tested {
    keeps: bool,
    chi2: real,
    kappa: real,
}

// |cot| on a disk.
fn cot_on_disk(cot: real) -> real {
    return max(abs(cot), MIN_COT_ON_DISK);
}

// The error of z of a hit on tracks of this slope.
fn z_error(hit: Hit, on_disk: real) -> real {
    return select(hit.resolution, hit.resolution * on_disk, hit.thickness < 0.0);
}

// The square of the scattering angle across the bend, for 1 + cot^2.
fn kink2_of(kappa: real, slope2: real, thickness: real, on_disk: real) -> real {
    let by_pt = max(abs(kappa) * constants.by_gev_mm, MIN_PER_PT);
    // The length of the way through the layer, times its thickness.
    let length = root(slope2);
    let way = select(length, quotient(length, on_disk), thickness < 0.0) * abs(thickness);
    return constants.scattering2 * (by_pt * by_pt) * way;
}

fn predict(a: Hit, b: Hit) -> Prediction {
    let by_step = quotient(real(1.0), b.rho - a.rho);
    let kappa = real(2.0) * shorter(b.phi - a.phi) * by_step;
    let cot = (b.z - a.z) * by_step;
    let slope2 = real(1.0) + square(cot);
    let on_disk = cot_on_disk(cot);
    let kink2 = kink2_of(kappa, slope2, b.thickness, on_disk);
    let d0 = root(constants.width2 + product(a.rho * a.rho, kink2));
    let of_hits = product(real(4.0) * b.resolution * a.inverse_rho, by_step);
    let of_d0 = product(real(2.0) * d0, a.inverse_rho * b.inverse_rho);
    let curve_error = real(0.5) * (of_hits + of_d0);
    let e_a = z_error(a, on_disk);
    let e_b = z_error(b, on_disk);
    // The kink counts more, for the triplet's curvature may be larger; so do arcs.
    let kink = product(real(1.5), root(kink2 * slope2));
    let arcs = product(ARC_BY_Z_ERRORS, abs(cot));
    let slope_error = product(e_a + e_b, by_step) + kink + arcs;
    return Prediction(real(0.5) * kappa, cot, on_disk, MAX_PHI_ERRORS * curve_error, MAX_PHI_ERRORS * root(kink2),
        product(MAX_Z_ERRORS, e_b), MAX_Z_ERRORS * slope_error);
}

fn is_near(at: Prediction, b: Hit, c: Hit) -> bool {
    let step = c.rho - b.rho;
    let apart = abs(shorter(c.phi - b.phi) - product(at.half_kappa, step));
    let most = product(at.by_curve, step) + product(at.by_kink, step * c.inverse_rho) + PHI_MARGIN;
    if !(apart <= most) {
        return false;
    }
    let reach = MAX_Z_ERRORS * c.resolution;
    let z_apart = abs(c.z - b.z - product(at.cot, step));
    let z_most = select(reach, product(reach, at.on_disk), c.thickness < 0.0) + at.at_middle;
    return z_apart <= z_most + product(at.by_slope, step);
}

fn arc(rho: real, curve: real) -> real {
    return product(rho, real(1.0) + product(curve, rho * rho));
}

fn test_triplet(event: u32, a: Hit, b: Hit, c: Hit) -> Tested {
    let cot = product(b.z - a.z, quotient(real(1.0), b.rho - a.rho));
    let slope2 = real(1.0) + square(cot);
    let on_disk = cot_on_disk(cot);
    let by_ac = quotient(real(1.0), c.rho - a.rho);
    let by_bc = quotient(real(1.0), c.rho - b.rho);
    let kappa = product(real(2.0) * shorter(c.phi - a.phi), by_ac);
    let dkappa = product(real(2.0) * shorter(c.phi - b.phi), by_bc) - kappa;
    let curve = kappa * kappa * A_24TH;
    let s_a = arc(a.rho, curve);
    let s_b = arc(b.rho, curve);
    let s_c = arc(c.rho, curve);
    let step = s_c - s_b;
    let ratio = quotient(step, s_b - s_a);
    let dz = (c.z - b.z) - product(b.z - a.z, ratio);
    let kink2 = kink2_of(kappa, slope2, b.thickness, on_disk);
    let e_a = square(z_error(a, on_disk));
    let e_b = square(z_error(b, on_disk));
    let e_c = square(z_error(c, on_disk));
    let of_hits_z = e_c + product(e_b, square(real(1.0) + ratio)) + product(e_a, square(ratio));
    let z_error2 = of_hits_z + product(kink2 * slope2, square(step));
    // Of the curvature: from d0, from the kink, and from the hits.
    let d02 = constants.width2 + product(square(a.rho), kink2);
    let lever = product(c.inverse_rho, a.inverse_rho - b.inverse_rho);
    let of_c = product(c.resolution * c.inverse_rho, by_bc - by_ac);
    let of_b = product(b.resolution * b.inverse_rho, by_bc);
    let of_a = product(a.resolution * a.inverse_rho, by_ac);
    let of_hits = square(of_c) + square(of_b) + square(of_a);
    let others = product(d02, square(lever)) + product(kink2, square(c.inverse_rho));
    let kappa_error2 = real(4.0) * (others + of_hits);
    let chi2 = quotient(square(dz), z_error2) + quotient(square(dkappa), kappa_error2);
    let slope = quotient(c.z - a.z, s_c - s_a);
    let z0 = a.z - product(slope, s_a);
    let margin = real(0.5) * max(abs(cot), real(1.0));
    var points_into_a_range = false;
    for (var k = 0u; k < events[event].range_count; k++) {
        let range = events[event].ranges[k];
        points_into_a_range |= range.x - margin <= z0 && z0 <= range.y + margin;
    }
    let keeps = abs(kappa) <= constants.max_kappa && chi2 <= MAX_TRIPLET_CHI2 && points_into_a_range;
    return Tested(keeps, chi2, kappa);
}

// Lists the triplets of a doublet from `to` on; or only counts them, and gives the first ones back.
fn list_triplets(
    event: u32,
    number: u32,
    at: Prediction,
    list: vec4<u32>,
    to: u32,
    first_ones: ptr<function, array<Triplet, KEPT_BACK>>,
) -> u32 {
    let a = hit_of(hits[doublets[number].inner]);
    let b = hit_of(hits[doublets[number].middle]);
    var count = 0u;
    for (var k = list.z; k < list.z + list.w; k++) {
        let c = hit_of(hits[outers[k]]);
        if is_near(at, b, c) {
            let tested = test_triplet(event, a, b, c);
            if tested.keeps {
                if to != NOWHERE {
                    triplets[to + count] = Triplet(number, outers[k], tested.chi2, tested.kappa);
                } else if count < KEPT_BACK {
                    (*first_ones)[count] = Triplet(number, outers[k], tested.chi2, tested.kappa);
                }
                count++;
            }
        }
    }
    return count;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn find_triplets(@builtin(global_invocation_id) id: vec3<u32>) {
    let event = id.y;
    let found = atomicLoad(&counts[event].doublets);
    if id.x >= found || found > events[event].doublet_capacity
        || atomicLoad(&counts[event].outers) > events[event].outer_capacity {
        return;
    }
    let number = events[event].doublet_first + id.x;
    let list = lists[doublets[number].middle];
    let at = predict(hit_of(hits[doublets[number].inner]), hit_of(hits[doublets[number].middle]));
    var first_ones: array<Triplet, KEPT_BACK>;
    let count = list_triplets(event, number, at, list, NOWHERE, &first_ones);
    if count > 0u {
        let place = atomicAdd(&counts[event].triplets, count);
        if place + count <= events[event].triplet_capacity {
            let first = events[event].triplet_first + place;
            doublets[number].triplet_first = first;
            doublets[number].triplets = count;
            if count <= KEPT_BACK {
                for (var k = 0u; k < count; k++) {
                    triplets[first + k] = first_ones[k];
                }
            } else {
                list_triplets(event, number, at, list, first, &first_ones);
            }
        }
    }
    if loops_are_cut(list.y + 1u) {
        atomicOr(&counts[event].flags, STATUS_UNFINISHED);
    }
}
