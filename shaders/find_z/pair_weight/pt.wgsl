// Weight of a confirmed pair by the transverse momentum of its track (PtWeight in src/pt_weight.rs,
// whose numbers are the overrides and the last entries of cuts).
// CPU twin: src/engine/twin/pair_weight.rs

#import shared::real
#import shared::types
#import find_z::bends
#import find_z::order::by_layer
#import find_z::tracks
#import kernel::{beside, cuts, points}

override SOFT_GEV: f32 = 0;
override WEIGHED_GEV: f32 = 0;
override HARD_GEV: f32 = 0;
override CAP_GEV: f32 = 0;
override SOFT_LAYERS: u32 = 0;
override WEIGHED_LAYERS: u32 = 0;
override HARD_LAYERS: u32 = 0;
// Of a pair whose outer spacepoint lies on a disk.
override SOFT_DISK_GEV: f32 = 0;
override WEIGHED_DISK_GEV: f32 = 0;
override HARD_DISK_GEV: f32 = 0;
override SOFT_DISK_LAYERS: u32 = 0;
override WEIGHED_DISK_LAYERS: u32 = 0;
override HARD_DISK_LAYERS: u32 = 0;

// Whether pairs are counted beside weights.
fn counts_pairs() -> bool {
    return true;
}

// Set in a neighbour count of a pair whose outer layer is one of strips.
const STRIP_PAIR: u32 = 0x40000000u;

// The cut on z of a third spacepoint.
fn cut_on_z(layer_b: u32, layer_c: u32) -> real {
    return select(cuts.dz, cuts.strip_dz, (neighbours_word(layer_b, layer_c) & STRIP_PAIR) != 0u);
}

fn is_disk(layer: u32) -> bool {
    return (neighbours_word(layer, layer) & ENDCAP_PAIR) != 0u;
}

// The largest curvature of the two pairs of a track that counts, with its second spacepoint on a
// layer: the track's own lies between theirs, which differ by the cut at most.
fn most_curvature(layer: u32) -> real {
    return quotient(cuts.gev_mm, real(select(SOFT_GEV, SOFT_DISK_GEV, is_disk(layer)))) + cuts.dk;
}

// The weight of the pair of spacepoints a and b, and whether its direction counts; 0 if it is no
// track's.
fn weigh_pair(a: u32, b: u32, z12: real) -> u32 {
    let slice_b = slice_layer_of(beside[b]) >> 8u;
    let layer_b = slice_layer_of(beside[b]) & 0xffu;
    let step_b = step_between(slice_layer_of(beside[a]) >> 8u, slice_b);
    let inner = bend_from_second(a, b);
    let u = points[a].x;
    let v = points[b].x;
    let resolution = product(product(cuts.resolution_mm, u), u);
    let disk = is_disk(layer_b);
    let soft_gev = real(select(SOFT_GEV, SOFT_DISK_GEV, disk));
    let weighed_gev = real(select(WEIGHED_GEV, WEIGHED_DISK_GEV, disk));
    let hard_gev = real(select(HARD_GEV, HARD_DISK_GEV, disk));
    var hard = 0u;
    var weighed = 0u;
    var soft = 0u;
    var hardest = real(0.0);
    let parts = third_parts();
    for (var part = 0u; part < parts; part++) {
        let among = thirds(layer_b, slice_b, step_b, part);
        let dz = cut_on_z(layer_b, wg_filled[part]);
        let range = z_range(z12 - dz, z12 + dz);
        var best = real(0.0);
        var i = among.first;
        for (; i < among.end; i++) {
            let c = place_among(among, i);
            if !may_be_within(b, points[b], c, points[c], range) {
                continue;
            }
            let w = points[c].x;
            let near = abs(extrapolate(b, points[b], c, points[c]) - z12) <= dz;
            if near && u > v && v > w && bend_alike(inner, bend_from_first(b, c)) {
                // 1 / (rho_a (rho_c - rho_a)) = u u w / (u - w)
                let blur = quotient(product(resolution, w), u - w);
                best = max(best, quotient(cuts.gev_mm, abs(bend_from_first(a, c).k) + blur));
            }
        }
        unfinished = unfinished || i < among.end;
        hard += select(0u, 1u, best >= hard_gev);
        weighed += select(0u, 1u, best >= weighed_gev);
        soft += select(0u, 1u, best >= soft_gev);
        hardest = max(hardest, best);
    }
    let is_soft = soft >= select(SOFT_LAYERS, SOFT_DISK_LAYERS, disk);
    let is_hard = hard >= select(HARD_LAYERS, HARD_DISK_LAYERS, disk);
    let flags = select(0u, SOFT_TRACK, is_soft) | select(0u, HARD_TRACK, is_hard);
    if weighed >= select(WEIGHED_LAYERS, WEIGHED_DISK_LAYERS, disk) {
        // No quotient by a constant: SPIRV-Tools, which drivers optimise with, makes products with
        // its reciprocal of those, and 233 of the 23 million numbers from 6 to 40 GeV then weigh
        // something else.
        let pt = min(hardest, real(CAP_GEV));
        return flags | u32(product(product(pt, pt), cuts.per_gev2) + real(0.5));
    }
    return flags | select(0u, 1u, is_soft);
}
