// Third spacepoints of a pair.
// Needs: find_z, order.

// Curvature k and azimuth p at the beam line of the track through two spacepoints whose rho differ.
struct Bend {
    k: real,
    p: real,
}

fn track_bend(rho_a: real, phi_a: real, rho_b: real, phi_b: real) -> Bend {
    let slope = (phi_b - phi_a) / (rho_b - rho_a);
    return Bend(real(-2.0) * slope, phi_a - rho_a * slope);
}

// How many third spacepoints confirm the pair of spacepoints a and b; 1 at most when any will do.
fn confirmations(a: u32, b: u32, z12: real) -> u32 {
    let slice_a = phi_slice[a].slice_layer >> 8u;
    let slice_b = phi_slice[b].slice_layer >> 8u;
    let layer_b = phi_slice[b].slice_layer & 0xffu;
    let point_b = rho_z[b];
    let step_b = step_between(slice_a, slice_b);
    let turn = turn_between(slice_a, slice_b, step_b);
    let inner = track_bend(rho_z[a].x, phi_slice[a].phi, point_b.x, phi_slice[b].phi + turn);
    var found = 0u;
    let ranges = third_ranges();
    for (var part = 0u; part < ranges; part++) {
        let range = thirds(layer_b, slice_b, step_b, part);
        var i = range.first;
        for (; i < range.end; i++) {
            let c = place_in(range, i);
            let point_c = rho_z[c];
            // The cut on z first: it needs no azimuth, and hardly any passes it.
            if point_c.x == point_b.x || !(abs(track_z(point_b, track_slope(point_b, point_c)) - z12) <= cuts.dz) {
                continue;
            }
            let slice_c = phi_slice[c].slice_layer >> 8u;
            let turn_c = turn_between(slice_b, slice_c, step_between(slice_b, slice_c));
            let outer = track_bend(point_b.x, phi_slice[b].phi, point_c.x, phi_slice[c].phi + turn_c);
            if abs(outer.k - inner.k) <= cuts.dk && abs(outer.p + turn - inner.p) < cuts.dp {
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
