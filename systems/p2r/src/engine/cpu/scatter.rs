//! Adds the multiple scattering in a layer to the covariances of states. Shader: scatter.wgsl, line
//! by line.

use pulp::Simd;

use super::lanes::Lanes;
use super::state::State;
use crate::engine::reference::PION;

#[inline(always)]
pub(super) fn scatter<S: Simd>(p: &State<S>, scattering: Lanes<S>) -> State<S> {
    let n = |value: f64| scattering.all(value as f32);
    let (sine, cosine) = p.theta.sine_cosine();
    let inverse = n(1.0).over(sine);
    let q = p.ipt * sine;
    let square = q * q;
    let variance = scattering * square * square.times_plus(n(PION * PION), n(1.0));
    let slope = p.ipt * cosine * inverse;
    State {
        c33: (slope * slope).times_plus(variance, p.c33),
        c44: (variance * inverse).times_plus(inverse, p.c44),
        c53: slope.times_from(variance, p.c53),
        c55: p.c55 + variance,
        ..*p
    }
}
