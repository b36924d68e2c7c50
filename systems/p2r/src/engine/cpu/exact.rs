//! Propagates states along their helices to cylinders, in closed form. Shader:
//! propagate/exact.wgsl, line by line.

use pulp::Simd;

use super::lanes::{Lanes, Mask, dot};
use super::state::State;
use crate::engine::reference::CURVATURE;

/// At the radius, and where it is reached.
#[inline(always)]
pub(super) fn propagate<S: Simd>(p: &State<S>, charge: Lanes<S>, radius: Lanes<S>) -> (State<S>, Mask<S>) {
    let n = |value: f64| charge.all(value as f32);
    let (zero, one, two, half) = (n(0.0), n(1.0), n(2.0), n(0.5));
    let k = charge * n(CURVATURE);
    let inverse_k = one.over(k);
    let turn = p.ipt * inverse_k;
    let pt = one.over(p.ipt);
    let (sine, cosine) = p.phi.sine_cosine();
    let square = dot([p.x, p.y], [p.x, p.y]);
    let growth = radius.times_plus(radius, -square);
    let along = dot([p.x, p.y], [cosine, sine]);
    let across = (half * turn).times_plus(growth, p.y.times_from(cosine, p.x * sine));
    let along_square = (radius - across) * (radius + across);
    let root = zero.below(along_square).choose(along_square, zero).root();
    let is_near = (n(4.0) * square).below(radius * radius);
    let radial = is_near.choose(root, zero.at_most(along).choose(root, -root));
    let sum = along + radial;
    let product = radial * sum;
    let is_reached = n(1e-37).below(product).and(product.below(n(3e38)));
    let straight = growth.over(sum);
    let tangent = half * turn * straight;
    let inverse = one.over(tangent.times_plus(tangent, one));
    let ahead = straight * inverse;
    let aside = ahead * tangent;
    let x = p.x + sine.times_from(aside, cosine * ahead);
    let y = p.y + dot([sine, cosine], [ahead, aside]);
    let s = two * tangent * inverse;
    let c = s.times_from(tangent, one);
    let u = sine.times_from(s, cosine * c);
    let v = dot([sine, cosine], [c, s]);
    let path = straight * tangent.arctangent_ratio();
    let (polar_sine, polar_cosine) = p.theta.sine_cosine();
    let inverse_sine = one.over(polar_sine);
    let cot = polar_cosine * inverse_sine;
    let b3 = pt * aside;
    let inverse_radial = one.over(radial);
    let ratio = across * inverse_radial;
    let (d0, d1) = (v.times_from(ratio, -u), u.times_plus(ratio, -v));
    let d3 = dot([pt, b3], [ahead - path, ratio]);
    let d4 = ahead.times_plus(ratio, -aside);
    let (j20, j21, j23, j24) = (cot * d0, cot * d1, cot * d3, cot * d4);
    let j25 = -(path * inverse_sine * inverse_sine);
    let (j40, j41, j43) = (turn * d0, turn * d1, aside.times_plus(ratio, ahead) * inverse_k);
    let j44 = s.times_plus(ratio, c);
    let (tx, ty) = (-(y * inverse_radial), x * inverse_radial);
    let b = [-v, u, b3, ahead];
    let m0 = dot(b, [p.c00, p.c10, p.c30, p.c40]);
    let m1 = dot(b, [p.c10, p.c11, p.c31, p.c41]);
    let m2 = dot(b, [p.c20, p.c21, p.c32, p.c42]);
    let m3 = dot(b, [p.c30, p.c31, p.c33, p.c43]);
    let m4 = dot(b, [p.c40, p.c41, p.c43, p.c44]);
    let m5 = dot(b, [p.c50, p.c51, p.c53, p.c54]);
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
    let variance = dot(b, [m0, m1, m3, m4]);
    let bz = m2 + dot([j20, j21, j23, j24, j25], [m0, m1, m3, m4, m5]);
    let bphi = dot([j40, j41, j43, j44], [m0, m1, m3, m4]);
    let at = State {
        x,
        y,
        z: path.times_plus(cot, p.z),
        ipt: p.ipt,
        phi: path.times_plus(turn, p.phi),
        theta: p.theta,
        c00: tx * tx * variance,
        c10: tx * ty * variance,
        c11: ty * ty * variance,
        c20: tx * bz,
        c21: ty * bz,
        c22: m22 + dot([m20, m21, m23, m24, m25], [j20, j21, j23, j24, j25]),
        c30: tx * m3,
        c31: ty * m3,
        c32: m23,
        c33: p.c33,
        c40: tx * bphi,
        c41: ty * bphi,
        c42: dot([m20, m21, m23, m24], [j40, j41, j43, j44]),
        c43: m43,
        c44: dot([m40, m41, m43, m44], [j40, j41, j43, j44]),
        c50: tx * m5,
        c51: ty * m5,
        c52: m25,
        c53: p.c53,
        c54: m45,
        c55: p.c55,
    };
    (at, is_reached)
}
