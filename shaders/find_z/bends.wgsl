// How tracks bend.

#import shared::real
#import shared::types
#import find_z::tracks
#import kernel::{beside, cuts, points}

// Curvature k and azimuth p at the beam line of the track through two spacepoints whose rho differ.
struct Bend {
    k: real,
    p: real,
}

// With 1 / rho_a - 1 / rho_b = (rho_b - rho_a) / (rho_a rho_b), one quotient serves both.
fn track_bend(a: vec2<real>, phi_a: real, b: vec2<real>, phi_b: real) -> Bend {
    let turned = quotient((phi_b - phi_a) * b.x, b.x - a.x);
    return Bend(product(real(2.0) * turned, a.x), phi_a + turned);
}

// Of the track through two sorted spacepoints, p as seen from the second one.
fn bend_from_second(a: u32, b: u32) -> Bend {
    let turn = turn_of_step(slice_layer_of(beside[a]) >> 8u, slice_layer_of(beside[b]) >> 8u);
    let bend = track_bend(points[a], stored_real(beside[a]), points[b], stored_real(beside[b]) + turn);
    return Bend(bend.k, bend.p - turn);
}

// p as seen from the first one.
fn bend_from_first(b: u32, c: u32) -> Bend {
    let turn = turn_of_step(slice_layer_of(beside[b]) >> 8u, slice_layer_of(beside[c]) >> 8u);
    return track_bend(points[b], stored_real(beside[b]), points[c], stored_real(beside[c]) + turn);
}

// The cuts on k and p.
fn bend_alike(inner: Bend, outer: Bend) -> bool {
    return abs(outer.k - inner.k) <= cuts.dk && abs(outer.p - inner.p) < cuts.dp;
}
