//! Hits on disks: propagates states to planes of constant z, and measures x and y there. Shader:
//! surfaces/any.wgsl, line by line.

use pulp::Simd;

use super::lanes::{Lanes, Mask, dot};
use super::state::{Hit, State};
use super::update::Measured;
use crate::batch::PARAMETERS;
use crate::engine::reference::{CURVATURE, MOST_TURN};

#[inline(always)]
pub(super) fn are_on_disks<S: Simd>(hit: &Hit<S>) -> Mask<S> {
    let zero = hit.v22.all(0.0);
    hit.v22.absolute().at_most(zero).and(zero.below(hit.v00))
}

/// At the plane, and where it is reached.
#[inline(always)]
pub(super) fn propagate_to_plane<S: Simd>(p: &State<S>, charge: Lanes<S>, plane: Lanes<S>) -> (State<S>, Mask<S>) {
    let n = |value: f64| charge.all(value as f32);
    let (zero, one, two) = (n(0.0), n(1.0), n(2.0));
    let k = charge * n(CURVATURE);
    let inverse_k = one.over(k);
    let turn = p.ipt * inverse_k;
    let pt = one.over(p.ipt);
    let (sine, cosine) = p.phi.sine_cosine();
    let (px, py) = (pt * cosine, pt * sine);
    let (sine, cosine) = p.theta.sine_cosine();
    let inverse_cosine = one.over(cosine);
    let slope = sine * inverse_cosine;
    let along = plane - p.z;
    let path = along * slope;
    let a = path * turn;
    let (half_sine, half_cosine) = (n(0.5) * a).sine_cosine();
    let s = two * half_sine * half_cosine;
    let versine = two * half_sine * half_sine;
    let du = -dot([px, py], [versine, s]);
    let dv = py.times_from(versine, px * s);
    let (u, v) = (px + du, py + dv);
    let (move_x, move_y) = (k * dv, -(k * du));
    let per_theta = along * inverse_cosine * inverse_cosine;
    let (ux, uy) = (u * p.ipt, v * p.ipt);
    let (j02, j03, j04, j05) = (-(ux * slope), pt.times_from(move_x, u * path), -move_y, ux * per_theta);
    let (j12, j13, j14, j15) = (-(uy * slope), pt.times_from(move_y, v * path), move_x, uy * per_theta);
    let (j42, j43, j45) = (-(slope * turn), path * inverse_k, per_theta * turn);
    let m00 = p.c00 + dot([j02, j03, j04, j05], [p.c20, p.c30, p.c40, p.c50]);
    let m02 = p.c20 + dot([j02, j03, j04, j05], [p.c22, p.c32, p.c42, p.c52]);
    let m03 = p.c30 + dot([j02, j03, j04, j05], [p.c32, p.c33, p.c43, p.c53]);
    let m04 = p.c40 + dot([j02, j03, j04, j05], [p.c42, p.c43, p.c44, p.c54]);
    let m05 = p.c50 + dot([j02, j03, j04, j05], [p.c52, p.c53, p.c54, p.c55]);
    let m10 = p.c10 + dot([j12, j13, j14, j15], [p.c20, p.c30, p.c40, p.c50]);
    let m11 = p.c11 + dot([j12, j13, j14, j15], [p.c21, p.c31, p.c41, p.c51]);
    let m12 = p.c21 + dot([j12, j13, j14, j15], [p.c22, p.c32, p.c42, p.c52]);
    let m13 = p.c31 + dot([j12, j13, j14, j15], [p.c32, p.c33, p.c43, p.c53]);
    let m14 = p.c41 + dot([j12, j13, j14, j15], [p.c42, p.c43, p.c44, p.c54]);
    let m15 = p.c51 + dot([j12, j13, j14, j15], [p.c52, p.c53, p.c54, p.c55]);
    let m40 = p.c40 + dot([j42, j43, j45], [p.c20, p.c30, p.c50]);
    let m41 = p.c41 + dot([j42, j43, j45], [p.c21, p.c31, p.c51]);
    let m42 = p.c42 + dot([j42, j43, j45], [p.c22, p.c32, p.c52]);
    let m43 = p.c43 + dot([j42, j43, j45], [p.c32, p.c33, p.c53]);
    let m44 = p.c44 + dot([j42, j43, j45], [p.c42, p.c43, p.c54]);
    let m45 = p.c54 + dot([j42, j43, j45], [p.c52, p.c53, p.c55]);
    let at = State {
        x: p.x + move_x,
        y: p.y + move_y,
        z: plane,
        ipt: p.ipt,
        phi: p.phi + a,
        theta: p.theta,
        c00: m00 + dot([m02, m03, m04, m05], [j02, j03, j04, j05]),
        c10: m10 + dot([m12, m13, m14, m15], [j02, j03, j04, j05]),
        c11: m11 + dot([m12, m13, m14, m15], [j12, j13, j14, j15]),
        c20: zero,
        c21: zero,
        c22: zero,
        c30: m03,
        c31: m13,
        c32: zero,
        c33: p.c33,
        c40: m40 + dot([m42, m43, m44, m45], [j02, j03, j04, j05]),
        c41: m41 + dot([m42, m43, m44, m45], [j12, j13, j14, j15]),
        c42: zero,
        c43: m43,
        c44: m44 + dot([m42, m43, m45], [j42, j43, j45]),
        c50: m05,
        c51: m15,
        c52: zero,
        c53: p.c53,
        c54: m45,
        c55: p.c55,
    };
    (at, a.absolute().below(n(MOST_TURN)))
}

#[inline(always)]
pub(super) fn measure_on_disk<S: Simd>(p: &State<S>, hit: &Hit<S>) -> Measured<S> {
    Measured {
        h: [p.c00, p.c10, p.c20, p.c30, p.c40, p.c50],
        g: [p.c10, p.c11, p.c21, p.c31, p.c41, p.c51],
        s00: p.c00 + hit.v00,
        s01: p.c10 + hit.v10,
        s11: p.c11 + hit.v11,
        residual0: hit.x - p.x,
        residual1: hit.y - p.y,
    }
}

/// One measurement where a mask holds, and another elsewhere.
#[inline(always)]
pub(super) fn chosen<S: Simd>(mask: Mask<S>, if_true: Measured<S>, if_false: Measured<S>) -> Measured<S> {
    let mut chosen = if_false;
    for n in 0..PARAMETERS {
        chosen.h[n] = mask.choose(if_true.h[n], chosen.h[n]);
        chosen.g[n] = mask.choose(if_true.g[n], chosen.g[n]);
    }
    chosen.s00 = mask.choose(if_true.s00, chosen.s00);
    chosen.s01 = mask.choose(if_true.s01, chosen.s01);
    chosen.s11 = mask.choose(if_true.s11, chosen.s11);
    chosen.residual0 = mask.choose(if_true.residual0, chosen.residual0);
    chosen.residual1 = mask.choose(if_true.residual1, chosen.residual1);
    chosen
}
