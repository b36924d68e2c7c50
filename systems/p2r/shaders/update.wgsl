// Updates a state at a hit's radius with the hit: Kalman.
// Needs: types, real. CPU twin: src/engine/cpu/update.rs, whose lines these are.

struct Updated {
    state: State,
    regular: bool, // the residual's covariance is positive definite; if not, the state is undefined
    fault: u32, // if not regular
    chi2: real, // of the residual
}

fn update(p: State, hit: Hit, radius: real) -> Updated {
    // Across the mean direction to the hit and to the track.
    let half = 0.5 / radius;
    let r0 = -(hit.y + p.y) * half;
    let r1 = (hit.x + p.x) * half;
    // The measured direction times the covariance: across the beam. Along the beam it is row 2.
    let h0 = r0 * p.c00 + r1 * p.c10;
    let h1 = r0 * p.c10 + r1 * p.c11;
    let h2 = r0 * p.c20 + r1 * p.c21;
    let h3 = r0 * p.c30 + r1 * p.c31;
    let h4 = r0 * p.c40 + r1 * p.c41;
    let h5 = r0 * p.c50 + r1 * p.c51;
    let s00 = r0 * h0 + r1 * h1 + r0 * r0 * hit.v00 + 2.0 * r0 * r1 * hit.v10 + r1 * r1 * hit.v11;
    let s01 = h2 + r0 * hit.v20 + r1 * hit.v21;
    let s11 = p.c22 + hit.v22;
    let det = s00 * s11 - s01 * s01;
    let inverse = 1.0 / det;
    let i00 = s11 * inverse;
    let i01 = -s01 * inverse;
    let i11 = s00 * inverse;
    let residual0 = r0 * (hit.x - p.x) + r1 * (hit.y - p.y);
    let residual1 = hit.z - p.z;
    let k00 = h0 * i00 + p.c20 * i01;
    let k01 = h0 * i01 + p.c20 * i11;
    let k10 = h1 * i00 + p.c21 * i01;
    let k11 = h1 * i01 + p.c21 * i11;
    let k20 = h2 * i00 + p.c22 * i01;
    let k21 = h2 * i01 + p.c22 * i11;
    let k30 = h3 * i00 + p.c32 * i01;
    let k31 = h3 * i01 + p.c32 * i11;
    let k40 = h4 * i00 + p.c42 * i01;
    let k41 = h4 * i01 + p.c42 * i11;
    let k50 = h5 * i00 + p.c52 * i01;
    let k51 = h5 * i01 + p.c52 * i11;
    let state = State(
        p.x + k00 * residual0 + k01 * residual1,
        p.y + k10 * residual0 + k11 * residual1,
        p.z + k20 * residual0 + k21 * residual1,
        p.ipt + k30 * residual0 + k31 * residual1,
        p.phi + k40 * residual0 + k41 * residual1,
        p.theta + k50 * residual0 + k51 * residual1,
        p.c00 - k00 * h0 - k01 * p.c20,
        p.c10 - k10 * h0 - k11 * p.c20,
        p.c11 - k10 * h1 - k11 * p.c21,
        p.c20 - k20 * h0 - k21 * p.c20,
        p.c21 - k20 * h1 - k21 * p.c21,
        p.c22 - k20 * h2 - k21 * p.c22,
        p.c30 - k30 * h0 - k31 * p.c20,
        p.c31 - k30 * h1 - k31 * p.c21,
        p.c32 - k30 * h2 - k31 * p.c22,
        p.c33 - k30 * h3 - k31 * p.c32,
        p.c40 - k40 * h0 - k41 * p.c20,
        p.c41 - k40 * h1 - k41 * p.c21,
        p.c42 - k40 * h2 - k41 * p.c22,
        p.c43 - k40 * h3 - k41 * p.c32,
        p.c44 - k40 * h4 - k41 * p.c42,
        p.c50 - k50 * h0 - k51 * p.c20,
        p.c51 - k50 * h1 - k51 * p.c21,
        p.c52 - k50 * h2 - k51 * p.c22,
        p.c53 - k50 * h3 - k51 * p.c32,
        p.c54 - k50 * h4 - k51 * p.c42,
        p.c55 - k50 * h5 - k51 * p.c52,
    );
    let chi2 = residual0 * (i00 * residual0 + i01 * residual1) + residual1 * (i01 * residual0 + i11 * residual1);
    let negative = is_between(-det, LEAST, MOST) | is_between(-s00, LEAST, MOST);
    let regular = is_between(det, LEAST, MOST) & !is_between(-s00, LEAST, MOST);
    return Updated(state, regular, select(SINGULAR, NOT_POSITIVE, negative), chi2);
}
