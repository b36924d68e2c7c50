// Third spacepoints of a pair.
// Needs: tracks, extrapolation, order.

// Curvature k and azimuth p at the beam line of the track through two spacepoints whose rho differ.
struct Bend {
    k: real,
    p: real,
}

// With 1 / rho_a - 1 / rho_b = (rho_b - rho_a) / (rho_a rho_b), one quotient serves both.
fn track_bend(a: vec2<real>, phi_a: real, b: vec2<real>, phi_b: real) -> Bend {
    let turned = (phi_b - phi_a) * b.x / (b.x - a.x);
    return Bend(real(2.0) * turned * a.x, phi_a + turned);
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

// How many third spacepoints confirm the pair of spacepoints a and b; 1 at most when any will do.
fn confirmations(a: u32, b: u32, z12: real) -> u32 {
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
            // The cut on z first: it needs no azimuth, and hardly any passes it.
            if abs(extrapolate(b, points[b], c, points[c]) - z12) <= cuts.dz && bend_alike(inner, bend_from_first(b, c)) {
                found += 1u;
                if TRIPLETS == 1u {
                    return 1u;
                }
            }
        }
        unfinished = unfinished || i < among.end;
    }
    return found;
}
