// Updates a state on a hit's surface with the hit: Kalman.
// Needs: types, real. CPU twin: src/engine/cpu/update.rs, whose lines these are.

struct Updated {
    state: State,
    regular: bool, // the residual's covariance is positive definite; if not, the state is undefined
    fault: u32, // if not regular
    chi2: real, // of the residual
}

// A measurement of two numbers: its directions times the covariance of the state, row by row, the
// covariance of the residual, and the residual.
struct Measured {
    h0: real, h1: real, h2: real, h3: real, h4: real, h5: real,
    g0: real, g1: real, g2: real, g3: real, g4: real, g5: real,
    s00: real, s01: real, s11: real,
    residual0: real, residual1: real,
}

// On a cylinder: across the mean direction to the hit and to the track, and along the beam.
fn measure_on_cylinder(p: State, hit: Hit, radius: real) -> Measured {
    let half = 0.5 / radius;
    let r0 = -(hit.y + p.y) * half;
    let r1 = (hit.x + p.x) * half;
    let h0 = r0 * p.c00 + r1 * p.c10;
    let h1 = r0 * p.c10 + r1 * p.c11;
    let h2 = r0 * p.c20 + r1 * p.c21;
    let h3 = r0 * p.c30 + r1 * p.c31;
    let h4 = r0 * p.c40 + r1 * p.c41;
    let h5 = r0 * p.c50 + r1 * p.c51;
    return Measured(
        h0, h1, h2, h3, h4, h5,
        p.c20, p.c21, p.c22, p.c32, p.c42, p.c52,
        r0 * h0 + r1 * h1 + r0 * r0 * hit.v00 + 2.0 * r0 * r1 * hit.v10 + r1 * r1 * hit.v11,
        h2 + r0 * hit.v20 + r1 * hit.v21,
        p.c22 + hit.v22,
        r0 * (hit.x - p.x) + r1 * (hit.y - p.y),
        hit.z - p.z,
    );
}

fn update(p: State, m: Measured) -> Updated {
    let det = m.s00 * m.s11 - m.s01 * m.s01;
    let inverse = 1.0 / det;
    let i00 = m.s11 * inverse;
    let i01 = -m.s01 * inverse;
    let i11 = m.s00 * inverse;
    let k00 = m.h0 * i00 + m.g0 * i01;
    let k01 = m.h0 * i01 + m.g0 * i11;
    let k10 = m.h1 * i00 + m.g1 * i01;
    let k11 = m.h1 * i01 + m.g1 * i11;
    let k20 = m.h2 * i00 + m.g2 * i01;
    let k21 = m.h2 * i01 + m.g2 * i11;
    let k30 = m.h3 * i00 + m.g3 * i01;
    let k31 = m.h3 * i01 + m.g3 * i11;
    let k40 = m.h4 * i00 + m.g4 * i01;
    let k41 = m.h4 * i01 + m.g4 * i11;
    let k50 = m.h5 * i00 + m.g5 * i01;
    let k51 = m.h5 * i01 + m.g5 * i11;
    let state = State(
        p.x + k00 * m.residual0 + k01 * m.residual1,
        p.y + k10 * m.residual0 + k11 * m.residual1,
        p.z + k20 * m.residual0 + k21 * m.residual1,
        p.ipt + k30 * m.residual0 + k31 * m.residual1,
        p.phi + k40 * m.residual0 + k41 * m.residual1,
        p.theta + k50 * m.residual0 + k51 * m.residual1,
        p.c00 - k00 * m.h0 - k01 * m.g0,
        p.c10 - k10 * m.h0 - k11 * m.g0,
        p.c11 - k10 * m.h1 - k11 * m.g1,
        p.c20 - k20 * m.h0 - k21 * m.g0,
        p.c21 - k20 * m.h1 - k21 * m.g1,
        p.c22 - k20 * m.h2 - k21 * m.g2,
        p.c30 - k30 * m.h0 - k31 * m.g0,
        p.c31 - k30 * m.h1 - k31 * m.g1,
        p.c32 - k30 * m.h2 - k31 * m.g2,
        p.c33 - k30 * m.h3 - k31 * m.g3,
        p.c40 - k40 * m.h0 - k41 * m.g0,
        p.c41 - k40 * m.h1 - k41 * m.g1,
        p.c42 - k40 * m.h2 - k41 * m.g2,
        p.c43 - k40 * m.h3 - k41 * m.g3,
        p.c44 - k40 * m.h4 - k41 * m.g4,
        p.c50 - k50 * m.h0 - k51 * m.g0,
        p.c51 - k50 * m.h1 - k51 * m.g1,
        p.c52 - k50 * m.h2 - k51 * m.g2,
        p.c53 - k50 * m.h3 - k51 * m.g3,
        p.c54 - k50 * m.h4 - k51 * m.g4,
        p.c55 - k50 * m.h5 - k51 * m.g5,
    );
    let chi2 = m.residual0 * (i00 * m.residual0 + i01 * m.residual1) + m.residual1 * (i01 * m.residual0 + i11 * m.residual1);
    let negative = is_between(-det, LEAST, MOST) | is_between(-m.s00, LEAST, MOST);
    let regular = is_between(det, LEAST, MOST) & !is_between(-m.s00, LEAST, MOST);
    return Updated(state, regular, select(SINGULAR, NOT_POSITIVE, negative), chi2);
}
