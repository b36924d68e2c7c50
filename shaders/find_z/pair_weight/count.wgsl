// The weight of a pair: the number of third spacepoints that confirm it, or 1 if any does.

#import shared::real
#import shared::types
#import find_z::bends
#import find_z::order
#import find_z::tracks
#import kernel::{beside, cuts, points}

// 1: the number; 0: 1 if any does.
override COUNTS_ALL: u32 = 0;

// Whether pairs are counted beside weights.
fn counts_pairs() -> bool {
    return COUNTS_ALL != 0u;
}

fn weigh_pair(a: u32, b: u32, z12: real) -> u32 {
    let slice_b = slice_layer_of(beside[b]) >> 8u;
    let layer_b = slice_layer_of(beside[b]) & 0xffu;
    let step_b = step_between(slice_layer_of(beside[a]) >> 8u, slice_b);
    let inner = bend_from_second(a, b);
    var found = 0u;
    let parts = third_parts();
    for (var part = 0u; part < parts; part++) {
        let among = thirds(layer_b, slice_b, step_b, part);
        var i = among.first;
        for (; i < among.end; i++) {
            let c = place_among(among, i);
            // The cut on z comes first: it needs no azimuth, and rejects most candidates.
            if abs(extrapolate(b, points[b], c, points[c]) - z12) <= cuts.dz && bend_alike(inner, bend_from_first(b, c)) {
                found += 1u;
                if !counts_pairs() {
                    return found;
                }
            }
        }
        unfinished = unfinished || i < among.end;
    }
    return found;
}
