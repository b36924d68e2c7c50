//! Propagates states along their helices to radii, with the formulas of the mini-app p2r. Shader:
//! propagate/p2r.wgsl, line by line.

use pulp::Simd;

use super::lanes::{Lanes, Mask, dot};
use super::state::State;
use crate::engine::reference::{CURVATURE, REACHED, SMALL_STEP, STEPS};

/// Sine and cosine of small angles.
#[inline(always)]
fn small<S: Simd>(a: Lanes<S>) -> (Lanes<S>, Lanes<S>) {
    let q = a * a;
    let sine = (a * q).times_from(a.all(0.166_666_67), a);
    let cosine = q.times_plus(q.times_plus(a.all(0.041_666_67), a.all(-0.5)), a.all(1.0));
    (sine, cosine)
}

/// At the radius, and where it is reached.
#[inline(always)]
pub(super) fn propagate<S: Simd>(
    p: &State<S>,
    charge: Lanes<S>,
    [radius, inverse_radius]: [Lanes<S>; 2],
) -> (State<S>, Mask<S>) {
    let n = |value: f64| charge.all(value as f32);
    let (zero, one) = (n(0.0), n(1.0));
    let k = charge * n(CURVATURE);
    let ipt = p.ipt;
    let inverse_k = one.over(k);
    let turn = ipt * inverse_k;
    let pt = one.over(ipt);
    let (sine, cosine) = p.phi.sine_cosine();
    let (px0, py0) = (pt * cosine, pt * sine);
    let (mut px, mut py) = (px0, py0);
    let (mut x, mut y) = (p.x, p.y);
    let mut path = zero;
    let (mut dx, mut dy, mut di, mut dphi) = (zero, zero, zero, zero);
    for step in 0..STEPS {
        let r0 = dot([x, y], [x, y]).root();
        let d = radius - r0;
        path = path + d;
        let a = d * turn;
        let (s, c) = small(a);
        let u = py.times_from(s, px * c);
        let v = dot([py, px], [c, s]);
        let (du, dv) = (px - u, v - py);
        if step == 0 {
            let inverse = one.over(zero.below(r0).choose(r0, one));
            (dx, dy) = (-(x * inverse), -(y * inverse));
        }
        let near = d.absolute().below(n(SMALL_STEP));
        if step + 1 < STEPS && near.anywhere() {
            // 1 / r0, which is as near to the radius.
            let part = d * inverse_radius;
            let inverse = part.times_plus(part.times_plus(inverse_radius, inverse_radius), inverse_radius);
            let inverse = near.choose(inverse, zero);
            let g = dot([x, y], [u, v]);
            let f = inverse * (ipt * inverse).times_from(g, one);
            let o = k * inverse;
            dx = x.times_from(f, dx);
            dy = y.times_from(f, dy);
            let across = dot([x, y], [dv, du]);
            di = (o * pt).times_from(a.times_plus(g, -across), di);
            let w = dot([py, px], [s, c]) - px;
            dphi = o.times_plus(y.times_from(dv, x * w), dphi);
        }
        x = k.times_plus(dv, x);
        y = k.times_plus(du, y);
        (px, py) = (u, v);
    }
    let reached = dot([x, y], [x, y]).root();
    let is_reached = (radius - reached).absolute().at_most(n(REACHED) * radius);
    let (sine, cosine) = p.theta.sine_cosine();
    let inverse_sine = one.over(sine);
    let cot = cosine * inverse_sine;
    let a = path * turn;
    let (s, c) = small(a);
    let u = py0.times_from(s, px0 * c);
    let v = dot([py0, px0], [c, s]);
    let ki = ipt.times_plus(di, path);
    let (ax, ay, aphi) = (dx * ipt, dy * ipt, dphi * ipt);
    let (du, dv) = (u - px0, v - py0);
    let kpt = k * pt;
    let j00 = ax.times_plus(u, one);
    let j01 = ay * u;
    let j03 = kpt.times_from(dv, ki * u);
    let j04 = dot([aphi, k], [u, du]);
    let j10 = ax * v;
    let j11 = ay.times_plus(v, one);
    let j13 = dot([ki, kpt], [v, du]);
    let j14 = dot([aphi, k], [v, dv]);
    let (j20, j21, j23, j24) = (dx * cot, dy * cot, di * cot, dphi * cot);
    let j25 = -(path * inverse_sine * inverse_sine);
    let (j40, j41, j43) = (dx * turn, dy * turn, ki * inverse_k);
    let j44 = dphi.times_plus(turn, one);
    let m00 = dot([j00, j01, j03, j04], [p.c00, p.c10, p.c30, p.c40]);
    let m01 = dot([j00, j01, j03, j04], [p.c10, p.c11, p.c31, p.c41]);
    let m03 = dot([j00, j01, j03, j04], [p.c30, p.c31, p.c33, p.c43]);
    let m04 = dot([j00, j01, j03, j04], [p.c40, p.c41, p.c43, p.c44]);
    let m05 = dot([j00, j01, j03, j04], [p.c50, p.c51, p.c53, p.c54]);
    let m10 = dot([j10, j11, j13, j14], [p.c00, p.c10, p.c30, p.c40]);
    let m11 = dot([j10, j11, j13, j14], [p.c10, p.c11, p.c31, p.c41]);
    let m13 = dot([j10, j11, j13, j14], [p.c30, p.c31, p.c33, p.c43]);
    let m14 = dot([j10, j11, j13, j14], [p.c40, p.c41, p.c43, p.c44]);
    let m15 = dot([j10, j11, j13, j14], [p.c50, p.c51, p.c53, p.c54]);
    let m20 = p.c20 + dot([j20, j21, j23, j24, j25], [p.c00, p.c10, p.c30, p.c40, p.c50]);
    let m21 = p.c21 + dot([j20, j21, j23, j24, j25], [p.c10, p.c11, p.c31, p.c41, p.c51]);
    let m22 = p.c22 + dot([j20, j21, j23, j24, j25], [p.c20, p.c21, p.c32, p.c42, p.c52]);
    let m23 = p.c32 + dot([j20, j21, j23, j24, j25], [p.c30, p.c31, p.c33, p.c43, p.c53]);
    let m24 = p.c42 + dot([j20, j21, j23, j24, j25], [p.c40, p.c41, p.c43, p.c44, p.c54]);
    let m25 = p.c52 + dot([j20, j21, j23, j24, j25], [p.c50, p.c51, p.c53, p.c54, p.c55]);
    let m40 = dot([j40, j41, j43, j44], [p.c00, p.c10, p.c30, p.c40]);
    let m41 = dot([j40, j41, j43, j44], [p.c10, p.c11, p.c31, p.c41]);
    let m43 = dot([j40, j41, j43, j44], [p.c30, p.c31, p.c33, p.c43]);
    let m44 = dot([j40, j41, j43, j44], [p.c40, p.c41, p.c43, p.c44]);
    let m45 = dot([j40, j41, j43, j44], [p.c50, p.c51, p.c53, p.c54]);
    let at = State {
        x,
        y,
        z: path.times_plus(cot, p.z),
        ipt,
        phi: p.phi + a,
        theta: p.theta,
        c00: dot([m00, m01, m03, m04], [j00, j01, j03, j04]),
        c10: dot([m10, m11, m13, m14], [j00, j01, j03, j04]),
        c11: dot([m10, m11, m13, m14], [j10, j11, j13, j14]),
        c20: dot([m20, m21, m23, m24], [j00, j01, j03, j04]),
        c21: dot([m20, m21, m23, m24], [j10, j11, j13, j14]),
        c22: m22 + dot([m20, m21, m23, m24, m25], [j20, j21, j23, j24, j25]),
        c30: m03,
        c31: m13,
        c32: m23,
        c33: p.c33,
        c40: dot([m40, m41, m43, m44], [j00, j01, j03, j04]),
        c41: dot([m40, m41, m43, m44], [j10, j11, j13, j14]),
        c42: dot([m20, m21, m23, m24], [j40, j41, j43, j44]),
        c43: m43,
        c44: dot([m40, m41, m43, m44], [j40, j41, j43, j44]),
        c50: m05,
        c51: m15,
        c52: m25,
        c53: p.c53,
        c54: m45,
        c55: p.c55,
    };
    (at, is_reached)
}
