// Propagates a state along its helix to a cylinder around the beam in closed form, with the exact
// Jacobian. Swapped with propagate/p2r.wgsl.
// Along and across are the position's components along the direction and to its right.
//   across' = across + curvature (radius^2 - r^2) / 2, along'^2 = radius^2 - across'^2.
//   tan(angle / 2) = curvature / 2 * (radius^2 - r^2) / (along + along').
// A change of the state that moves the end by b to the left of the direction moves the point on the
// cylinder by b / along' times (-y', x'). It changes the path by b across' / along', less the
// movement along the direction.
// Needs: types, real. CPU twin: src/engine/cpu/exact.rs, whose lines these are; formulas: cross in
//       src/engine/reference.rs.

fn propagate(p: State, charge: real, radius: real) -> Propagated {
    let k = charge * CURVATURE;
    let turn = p.ipt / k; // of a path: the curvature
    let pt = 1.0 / p.ipt;
    let azimuth = sine_cosine(p.phi);
    let square = p.x * p.x + p.y * p.y;
    let growth = radius * radius - square;
    let along = p.x * azimuth.y + p.y * azimuth.x;
    let across = p.x * azimuth.x - p.y * azimuth.y + 0.5 * turn * growth;
    let along_square = (radius - across) * (radius + across);
    let root = sqrt(select(0.0, along_square, is_between(along_square, LEAST, MOST)));
    // The nearest crossing. A track near the beam goes forward.
    let radial = select(-root, root, (along >= 0.0) | (4.0 * square < radius * radius));
    let sum = along + radial;
    let reached = is_between(radial * sum, LEAST, MOST);
    let straight = growth / sum;
    let tangent = 0.5 * turn * straight; // of half the angle
    let inverse = 1.0 / (1.0 + tangent * tangent);
    // The way of the position, in the mean direction turned back by half the angle.
    let ahead = straight * inverse;
    let aside = ahead * tangent;
    let x = p.x + azimuth.y * ahead - azimuth.x * aside;
    let y = p.y + azimuth.x * ahead + azimuth.y * aside;
    let s = 2.0 * tangent * inverse;
    let c = 1.0 - s * tangent;
    let u = azimuth.y * c - azimuth.x * s;
    let v = azimuth.x * c + azimuth.y * s;
    let path = straight * arctangent_ratio(tangent);
    let polar = sine_cosine(p.theta);
    let cot = polar.y / polar.x;

    // Movements across the direction by x, y, 1/pt and phi are -v, u, b3 and ahead.
    let b3 = pt * aside;
    let ratio = across / radial;
    // The derivatives of the path.
    let d0 = -u - v * ratio;
    let d1 = u * ratio - v;
    let d3 = pt * (ahead - path) + b3 * ratio;
    let d4 = ahead * ratio - aside;
    let j20 = cot * d0;
    let j21 = cot * d1;
    let j23 = cot * d3;
    let j24 = cot * d4;
    let j25 = -path / (polar.x * polar.x);
    let j40 = turn * d0;
    let j41 = turn * d1;
    let j43 = (ahead + aside * ratio) / k;
    let j44 = c + s * ratio;
    let tx = -y / radial;
    let ty = x / radial;

    // The covariances of the movement across the direction; rows 2 and 4 of the Jacobian times the
    // covariance; the others stay.
    let m0 = u * p.c10 - v * p.c00 + b3 * p.c30 + ahead * p.c40;
    let m1 = u * p.c11 - v * p.c10 + b3 * p.c31 + ahead * p.c41;
    let m2 = u * p.c21 - v * p.c20 + b3 * p.c32 + ahead * p.c42;
    let m3 = u * p.c31 - v * p.c30 + b3 * p.c33 + ahead * p.c43;
    let m4 = u * p.c41 - v * p.c40 + b3 * p.c43 + ahead * p.c44;
    let m5 = u * p.c51 - v * p.c50 + b3 * p.c53 + ahead * p.c54;
    let m20 = j20 * p.c00 + j21 * p.c10 + p.c20 + j23 * p.c30 + j24 * p.c40 + j25 * p.c50;
    let m21 = j20 * p.c10 + j21 * p.c11 + p.c21 + j23 * p.c31 + j24 * p.c41 + j25 * p.c51;
    let m22 = j20 * p.c20 + j21 * p.c21 + p.c22 + j23 * p.c32 + j24 * p.c42 + j25 * p.c52;
    let m23 = j20 * p.c30 + j21 * p.c31 + p.c32 + j23 * p.c33 + j24 * p.c43 + j25 * p.c53;
    let m24 = j20 * p.c40 + j21 * p.c41 + p.c42 + j23 * p.c43 + j24 * p.c44 + j25 * p.c54;
    let m25 = j20 * p.c50 + j21 * p.c51 + p.c52 + j23 * p.c53 + j24 * p.c54 + j25 * p.c55;
    let m40 = j40 * p.c00 + j41 * p.c10 + j43 * p.c30 + j44 * p.c40;
    let m41 = j40 * p.c10 + j41 * p.c11 + j43 * p.c31 + j44 * p.c41;
    let m43 = j40 * p.c30 + j41 * p.c31 + j43 * p.c33 + j44 * p.c43;
    let m44 = j40 * p.c40 + j41 * p.c41 + j43 * p.c43 + j44 * p.c44;
    let m45 = j40 * p.c50 + j41 * p.c51 + j43 * p.c53 + j44 * p.c54;
    // The variance of the movement, and its covariances with z and phi.
    let b = u * m1 - v * m0 + b3 * m3 + ahead * m4;
    let bz = j20 * m0 + j21 * m1 + m2 + j23 * m3 + j24 * m4 + j25 * m5;
    let bphi = j40 * m0 + j41 * m1 + j43 * m3 + j44 * m4;

    let state = State(
        x,
        y,
        p.z + path * cot,
        p.ipt,
        p.phi + path * turn,
        p.theta,
        tx * tx * b,
        tx * ty * b,
        ty * ty * b,
        tx * bz,
        ty * bz,
        m20 * j20 + m21 * j21 + m22 + m23 * j23 + m24 * j24 + m25 * j25,
        tx * m3,
        ty * m3,
        m23,
        p.c33,
        tx * bphi,
        ty * bphi,
        m20 * j40 + m21 * j41 + m23 * j43 + m24 * j44,
        m43,
        m40 * j40 + m41 * j41 + m43 * j43 + m44 * j44,
        tx * m5,
        ty * m5,
        m25,
        p.c53,
        m45,
        p.c55,
    );
    return Propagated(state, reached);
}
