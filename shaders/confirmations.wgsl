// Third spacepoints of a pair.
// Needs: find_z, order.

// Curvature k and azimuth p at the beam line of the track through two spacepoints whose rho differ.
struct Bend {
    k: real,
    p: real,
}

fn track_bend(a: vec2<real>, phi_a: real, b: vec2<real>, phi_b: real) -> Bend {
    let rho_a = real(1.0) / a.x;
    let slope = (phi_b - phi_a) / (real(1.0) / b.x - rho_a);
    return Bend(real(-2.0) * slope, phi_a - rho_a * slope);
}

// Whether the tracks through a and b and through b and c bend alike: the cuts on k and p.
fn bends_alike(a: u32, b: u32, c: u32) -> bool {
    let slice_a = stored_word(beside[a]) >> 8u;
    let slice_b = stored_word(beside[b]) >> 8u;
    let slice_c = stored_word(beside[c]) >> 8u;
    let phi_b = stored_real(beside[b]);
    let turn = turn_between(slice_a, slice_b, step_between(slice_a, slice_b));
    let turn_c = turn_between(slice_b, slice_c, step_between(slice_b, slice_c));
    let inner = track_bend(points[a], stored_real(beside[a]), points[b], phi_b + turn);
    let outer = track_bend(points[b], phi_b, points[c], stored_real(beside[c]) + turn_c);
    return abs(outer.k - inner.k) <= cuts.dk && abs(outer.p + turn - inner.p) < cuts.dp;
}

// How many third spacepoints confirm the pair of spacepoints a and b; 1 at most when any will do.
fn confirmations(a: u32, b: u32, z12: real) -> u32 {
    let slice_b = stored_word(beside[b]) >> 8u;
    let layer_b = stored_word(beside[b]) & 0xffu;
    let step_b = step_between(stored_word(beside[a]) >> 8u, slice_b);
    var found = 0u;
    let ranges = third_ranges();
    for (var part = 0u; part < ranges; part++) {
        let range = thirds(layer_b, slice_b, step_b, part);
        var i = range.first;
        for (; i < range.end; i++) {
            let c = place_in(range, i);
            // The cut on z first: it needs no azimuth, and hardly any passes it.
            if abs(track_z(points[b], points[c]) - z12) <= cuts.dz && bends_alike(a, b, c) {
                found += 1u;
                if TRIPLETS == 1u {
                    return 1u;
                }
            }
        }
        unfinished = unfinished || i < range.end;
    }
    return found;
}
