// The surfaces of hits: cylinders around the beam, and disks across it, whose hits have a variance
// of z of 0. Swapped with surfaces/cylinders.wgsl.
// Needs: types, real, propagate, update. CPU twin: src/engine/cpu/disks.rs, whose lines these are;
//       formulas: cross in src/engine/reference.rs.

// The largest angle by which a track turns on its way to a disk.
const MOST_TURN: real = 3.14159265358979;

fn is_on_disk(hit: Hit) -> bool {
    return (hit.v22 == 0.0) & (hit.v00 > 0.0);
}

// Propagates a state along its helix to a plane of constant z.
fn propagate_to_plane(p: State, charge: real, plane: real) -> Propagated {
    let k = charge * CURVATURE;
    let turn = p.ipt / k; // of a path across the beam
    let pt = 1.0 / p.ipt;
    let azimuth = sine_cosine(p.phi);
    let px = pt * azimuth.y;
    let py = pt * azimuth.x;
    let polar = sine_cosine(p.theta);
    let slope = polar.x / polar.y;
    let along = plane - p.z;
    let path = along * slope;
    let a = path * turn;
    let half = sine_cosine(0.5 * a);
    let s = 2.0 * half.x * half.y;
    let versine = 2.0 * half.x * half.x; // 1 - cos(a), without cancellation
    let du = -(px * versine + py * s);
    let dv = px * s - py * versine;
    let u = px + du;
    let v = py + dv;
    // The way of the position.
    let move_x = k * dv;
    let move_y = -k * du;
    let per_theta = along / (polar.y * polar.y);
    let j02 = -u * p.ipt * slope;
    let j03 = u * path - pt * move_x;
    let j04 = -move_y;
    let j05 = u * p.ipt * per_theta;
    let j12 = -v * p.ipt * slope;
    let j13 = v * path - pt * move_y;
    let j14 = move_x;
    let j15 = v * p.ipt * per_theta;
    let j42 = -slope * turn;
    let j43 = path / k;
    let j45 = per_theta * turn;

    // The Jacobian times the covariance: rows 0, 1 and 4. Row 2 is zero, the others stay.
    let m00 = p.c00 + j02 * p.c20 + j03 * p.c30 + j04 * p.c40 + j05 * p.c50;
    let m02 = p.c20 + j02 * p.c22 + j03 * p.c32 + j04 * p.c42 + j05 * p.c52;
    let m03 = p.c30 + j02 * p.c32 + j03 * p.c33 + j04 * p.c43 + j05 * p.c53;
    let m04 = p.c40 + j02 * p.c42 + j03 * p.c43 + j04 * p.c44 + j05 * p.c54;
    let m05 = p.c50 + j02 * p.c52 + j03 * p.c53 + j04 * p.c54 + j05 * p.c55;
    let m10 = p.c10 + j12 * p.c20 + j13 * p.c30 + j14 * p.c40 + j15 * p.c50;
    let m11 = p.c11 + j12 * p.c21 + j13 * p.c31 + j14 * p.c41 + j15 * p.c51;
    let m12 = p.c21 + j12 * p.c22 + j13 * p.c32 + j14 * p.c42 + j15 * p.c52;
    let m13 = p.c31 + j12 * p.c32 + j13 * p.c33 + j14 * p.c43 + j15 * p.c53;
    let m14 = p.c41 + j12 * p.c42 + j13 * p.c43 + j14 * p.c44 + j15 * p.c54;
    let m15 = p.c51 + j12 * p.c52 + j13 * p.c53 + j14 * p.c54 + j15 * p.c55;
    let m40 = p.c40 + j42 * p.c20 + j43 * p.c30 + j45 * p.c50;
    let m41 = p.c41 + j42 * p.c21 + j43 * p.c31 + j45 * p.c51;
    let m42 = p.c42 + j42 * p.c22 + j43 * p.c32 + j45 * p.c52;
    let m43 = p.c43 + j42 * p.c32 + j43 * p.c33 + j45 * p.c53;
    let m44 = p.c44 + j42 * p.c42 + j43 * p.c43 + j45 * p.c54;
    let m45 = p.c54 + j42 * p.c52 + j43 * p.c53 + j45 * p.c55;

    // The product above times the transposed Jacobian.
    let state = State(
        p.x + move_x,
        p.y + move_y,
        plane,
        p.ipt,
        p.phi + a,
        p.theta,
        m00 + m02 * j02 + m03 * j03 + m04 * j04 + m05 * j05,
        m10 + m12 * j02 + m13 * j03 + m14 * j04 + m15 * j05,
        m11 + m12 * j12 + m13 * j13 + m14 * j14 + m15 * j15,
        0.0,
        0.0,
        0.0,
        m03,
        m13,
        0.0,
        p.c33,
        m40 + m42 * j02 + m43 * j03 + m44 * j04 + m45 * j05,
        m41 + m42 * j12 + m43 * j13 + m44 * j14 + m45 * j15,
        0.0,
        m43,
        m44 + m42 * j42 + m43 * j43 + m45 * j45,
        m05,
        m15,
        0.0,
        p.c53,
        m45,
        p.c55,
    );
    // Shifted by 1, because an angle of 0 is between no two numbers above 0.
    return Propagated(state, is_between(1.0 + abs(a), 0.5, 1.0 + MOST_TURN));
}

// On a disk: x and y.
fn measure_on_disk(p: State, hit: Hit) -> Measured {
    return Measured(
        p.c00, p.c10, p.c20, p.c30, p.c40, p.c50,
        p.c10, p.c11, p.c21, p.c31, p.c41, p.c51,
        p.c00 + hit.v00,
        p.c10 + hit.v10,
        p.c11 + hit.v11,
        hit.x - p.x,
        hit.y - p.y,
    );
}

fn approach(p: State, charge: real, hit: Hit, radius: real) -> Propagated {
    if is_on_disk(hit) {
        return propagate_to_plane(p, charge, hit.z);
    }
    return propagate(p, charge, radius);
}

fn measure(p: State, hit: Hit, radius: real) -> Measured {
    if is_on_disk(hit) {
        return measure_on_disk(p, hit);
    }
    return measure_on_cylinder(p, hit, radius);
}
