//! Updates states with hits on their surfaces: Kalman. Shader: update.wgsl, line by line.

use pulp::Simd;

use super::lanes::{Lanes, Mask, dot};
use super::state::{Hit, State};
use crate::batch::PARAMETERS;

/// Updated states. A track whose covariance of residuals is not positive definite keeps its state.
pub(super) struct Updated<S: Simd> {
    pub(super) state: State<S>,
    pub(super) is_regular: Mask<S>,
    pub(super) chi2: Lanes<S>,
    /// The determinant and the first entry of the residual's covariance.
    pub(super) minors: [Lanes<S>; 2],
}

/// A measurement of two numbers: its directions times the covariance of the state, the covariance
/// of the residual, and the residual.
pub(super) struct Measured<S: Simd> {
    pub(super) h: [Lanes<S>; PARAMETERS],
    pub(super) g: [Lanes<S>; PARAMETERS],
    pub(super) s00: Lanes<S>,
    pub(super) s01: Lanes<S>,
    pub(super) s11: Lanes<S>,
    pub(super) residual0: Lanes<S>,
    pub(super) residual1: Lanes<S>,
}

/// On a cylinder: across the mean direction to the hit and to the track, and along the beam.
#[inline(always)]
pub(super) fn measure_on_cylinder<S: Simd>(p: &State<S>, hit: &Hit<S>, inverse_radius: Lanes<S>) -> Measured<S> {
    let half = inverse_radius.all(0.5) * inverse_radius;
    let r0 = -(hit.y + p.y) * half;
    let r1 = (hit.x + p.x) * half;
    let h0 = dot([r0, r1], [p.c00, p.c10]);
    let h1 = dot([r0, r1], [p.c10, p.c11]);
    let h2 = dot([r0, r1], [p.c20, p.c21]);
    let h3 = dot([r0, r1], [p.c30, p.c31]);
    let h4 = dot([r0, r1], [p.c40, p.c41]);
    let h5 = dot([r0, r1], [p.c50, p.c51]);
    let noise0 = dot([r0, r1], [hit.v00, hit.v10]);
    let noise1 = dot([r0, r1], [hit.v10, hit.v11]);
    Measured {
        h: [h0, h1, h2, h3, h4, h5],
        g: [p.c20, p.c21, p.c22, p.c32, p.c42, p.c52],
        s00: dot([r0, r1, r0, r1], [h0, h1, noise0, noise1]),
        s01: h2 + dot([r0, r1], [hit.v20, hit.v21]),
        s11: p.c22 + hit.v22,
        residual0: dot([r0, r1], [hit.x - p.x, hit.y - p.y]),
        residual1: hit.z - p.z,
    }
}

#[inline(always)]
pub(super) fn update<S: Simd>(p: &State<S>, measured: &Measured<S>) -> Updated<S> {
    let &Measured { h: [h0, h1, h2, h3, h4, h5], g: [g0, g1, g2, g3, g4, g5], .. } = measured;
    let &Measured { s00, s01, s11, residual0, residual1, .. } = measured;
    let n = |value: f32| s00.all(value);
    let det = s01.times_from(s01, s00 * s11);
    let is_regular = n(1e-37).below(det).and(det.below(n(3e38))).and((-s00).at_most(n(1e-37)));
    let inverse = n(1.0).over(is_regular.choose(det, n(1.0)));
    // A gain of zero changes nothing.
    let inverse = is_regular.choose(inverse, n(0.0));
    let (i00, i01, i11) = (s11 * inverse, -(s01 * inverse), s00 * inverse);
    let (k00, k01) = (dot([h0, g0], [i00, i01]), dot([h0, g0], [i01, i11]));
    let (k10, k11) = (dot([h1, g1], [i00, i01]), dot([h1, g1], [i01, i11]));
    let (k20, k21) = (dot([h2, g2], [i00, i01]), dot([h2, g2], [i01, i11]));
    let (k30, k31) = (dot([h3, g3], [i00, i01]), dot([h3, g3], [i01, i11]));
    let (k40, k41) = (dot([h4, g4], [i00, i01]), dot([h4, g4], [i01, i11]));
    let (k50, k51) = (dot([h5, g5], [i00, i01]), dot([h5, g5], [i01, i11]));
    let at = State {
        x: p.x + dot([k00, k01], [residual0, residual1]),
        y: p.y + dot([k10, k11], [residual0, residual1]),
        z: p.z + dot([k20, k21], [residual0, residual1]),
        ipt: p.ipt + dot([k30, k31], [residual0, residual1]),
        phi: p.phi + dot([k40, k41], [residual0, residual1]),
        theta: p.theta + dot([k50, k51], [residual0, residual1]),
        c00: k01.times_from(g0, k00.times_from(h0, p.c00)),
        c10: k11.times_from(g0, k10.times_from(h0, p.c10)),
        c11: k11.times_from(g1, k10.times_from(h1, p.c11)),
        c20: k21.times_from(g0, k20.times_from(h0, p.c20)),
        c21: k21.times_from(g1, k20.times_from(h1, p.c21)),
        c22: k21.times_from(g2, k20.times_from(h2, p.c22)),
        c30: k31.times_from(g0, k30.times_from(h0, p.c30)),
        c31: k31.times_from(g1, k30.times_from(h1, p.c31)),
        c32: k31.times_from(g2, k30.times_from(h2, p.c32)),
        c33: k31.times_from(g3, k30.times_from(h3, p.c33)),
        c40: k41.times_from(g0, k40.times_from(h0, p.c40)),
        c41: k41.times_from(g1, k40.times_from(h1, p.c41)),
        c42: k41.times_from(g2, k40.times_from(h2, p.c42)),
        c43: k41.times_from(g3, k40.times_from(h3, p.c43)),
        c44: k41.times_from(g4, k40.times_from(h4, p.c44)),
        c50: k51.times_from(g0, k50.times_from(h0, p.c50)),
        c51: k51.times_from(g1, k50.times_from(h1, p.c51)),
        c52: k51.times_from(g2, k50.times_from(h2, p.c52)),
        c53: k51.times_from(g3, k50.times_from(h3, p.c53)),
        c54: k51.times_from(g4, k50.times_from(h4, p.c54)),
        c55: k51.times_from(g5, k50.times_from(h5, p.c55)),
    };
    let weighted0 = dot([i00, i01], [residual0, residual1]);
    let weighted1 = dot([i01, i11], [residual0, residual1]);
    let chi2 = dot([residual0, residual1], [weighted0, weighted1]);
    Updated { state: at, is_regular, chi2, minors: [det, s00] }
}
