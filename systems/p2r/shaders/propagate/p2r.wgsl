// Propagates a state along its helix to a radius, with the formulas and the approximate Jacobian of
// the mini-app p2r. Swapped with propagate/exact.wgsl.
// Needs: types, real. CPU twin: src/engine/cpu/p2r.rs, whose lines these are; formulas:
//       propagate_p2r in src/engine/reference.rs, here with what cancels cancelled.

const STEPS: u32 = 5u;
const SMALL_STEP: real = 1e-4;
const REACHED: real = 1e-3;

// Of small angles.
fn small_sine(a: real) -> real {
    return a - 0.16666667 * a * (a * a);
}

fn small_cosine(a: real) -> real {
    let q = a * a;
    return 1.0 + q * (0.04166667 * q - 0.5);
}

fn propagate(p: State, charge: real, radius: real) -> Propagated {
    let k = charge * CURVATURE;
    let ipt = p.ipt;
    let turn = ipt / k; // of a path
    let pt = 1.0 / ipt;
    let azimuth = sine_cosine(p.phi);
    let px0 = pt * azimuth.y;
    let py0 = pt * azimuth.x;
    var px = px0;
    var py = py0;
    var x = p.x;
    var y = p.y;
    // The path, and its derivatives with respect to x, y, 1/pt and phi.
    var path = real(0.0);
    var dx = real(0.0);
    var dy = real(0.0);
    var di = real(0.0);
    var dphi = real(0.0);
    for (var step = 0u; step < STEPS; step++) {
        let square = x * x + y * y;
        let at_beam = square == 0.0;
        let inverse = inverse_root(select(square, 1.0, at_beam));
        let d = radius - square * inverse;
        path += d;
        let a = d * turn;
        let s = small_sine(a);
        let c = small_cosine(a);
        let u = px * c - py * s;
        let v = py * c + px * s;
        let du = px - u;
        let dv = v - py;
        if step == 0u {
            dx = -x * inverse;
            dy = -y * inverse;
        }
        if (step + 1u < STEPS) & (abs(d) < SMALL_STEP) {
            let g = x * u + y * v;
            let f = inverse * (1.0 - ipt * inverse * g);
            let o = k * inverse;
            dx -= x * f;
            dy -= y * f;
            di -= o * pt * (a * g - x * dv - y * du);
            dphi += o * (x * (py * s + px * c - px) - y * dv);
        }
        x += k * dv;
        y += k * du;
        px = u;
        py = v;
    }
    let reached = abs(radius - sqrt(x * x + y * y)) <= REACHED * radius;
    let polar = sine_cosine(p.theta);
    let cot = polar.y / polar.x;
    let a = path * turn;
    let s = small_sine(a);
    let c = small_cosine(a);
    let u = px0 * c - py0 * s;
    let v = py0 * c + px0 * s;
    let ki = ipt * di + path; // k times the derivative of the angle with respect to 1/pt
    let ax = dx * ipt;
    let ay = dy * ipt;
    let aphi = dphi * ipt;
    let j00 = 1.0 + ax * u;
    let j01 = ay * u;
    let j03 = ki * u + k * pt * (py0 - v);
    let j04 = aphi * u + k * (u - px0);
    let j10 = ax * v;
    let j11 = 1.0 + ay * v;
    let j13 = ki * v + k * pt * (u - px0);
    let j14 = aphi * v + k * (v - py0);
    let j20 = dx * cot;
    let j21 = dy * cot;
    let j23 = di * cot;
    let j24 = dphi * cot;
    let j25 = -path / (polar.x * polar.x);
    let j40 = dx * turn;
    let j41 = dy * turn;
    let j43 = ki / k;
    let j44 = 1.0 + dphi * turn;

    // The Jacobian times the covariance: rows 0, 1, 2 and 4; the others stay.
    let m00 = j00 * p.c00 + j01 * p.c10 + j03 * p.c30 + j04 * p.c40;
    let m01 = j00 * p.c10 + j01 * p.c11 + j03 * p.c31 + j04 * p.c41;
    let m03 = j00 * p.c30 + j01 * p.c31 + j03 * p.c33 + j04 * p.c43;
    let m04 = j00 * p.c40 + j01 * p.c41 + j03 * p.c43 + j04 * p.c44;
    let m05 = j00 * p.c50 + j01 * p.c51 + j03 * p.c53 + j04 * p.c54;
    let m10 = j10 * p.c00 + j11 * p.c10 + j13 * p.c30 + j14 * p.c40;
    let m11 = j10 * p.c10 + j11 * p.c11 + j13 * p.c31 + j14 * p.c41;
    let m13 = j10 * p.c30 + j11 * p.c31 + j13 * p.c33 + j14 * p.c43;
    let m14 = j10 * p.c40 + j11 * p.c41 + j13 * p.c43 + j14 * p.c44;
    let m15 = j10 * p.c50 + j11 * p.c51 + j13 * p.c53 + j14 * p.c54;
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

    // The product above times the transposed Jacobian. Entries that it leaves unchanged come from
    // the product.
    let state = State(
        x,
        y,
        p.z + path * cot,
        ipt,
        p.phi + a,
        p.theta,
        m00 * j00 + m01 * j01 + m03 * j03 + m04 * j04,
        m10 * j00 + m11 * j01 + m13 * j03 + m14 * j04,
        m10 * j10 + m11 * j11 + m13 * j13 + m14 * j14,
        m20 * j00 + m21 * j01 + m23 * j03 + m24 * j04,
        m20 * j10 + m21 * j11 + m23 * j13 + m24 * j14,
        m20 * j20 + m21 * j21 + m22 + m23 * j23 + m24 * j24 + m25 * j25,
        m03,
        m13,
        m23,
        p.c33,
        m40 * j00 + m41 * j01 + m43 * j03 + m44 * j04,
        m40 * j10 + m41 * j11 + m43 * j13 + m44 * j14,
        m20 * j40 + m21 * j41 + m23 * j43 + m24 * j44,
        m43,
        m40 * j40 + m41 * j41 + m43 * j43 + m44 * j44,
        m05,
        m15,
        m25,
        p.c53,
        m45,
        p.c55,
    );
    return Propagated(state, reached);
}
