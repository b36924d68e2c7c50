//! Tracks through two spacepoints: `shaders/bends.wgsl` in vectors.

use pulp::Simd;

use crate::engine::cpu::lanes::Lanes;

/// Curvature k and azimuth p at the beam of the track through two spacepoints whose rho differ,
/// given as 1 / rho and phi.
pub(crate) fn track_bend<R: Lanes>([u, phi]: [R; 2], [v, phi_outer]: [R; 2]) -> (R, R) {
    let turned = (phi_outer - phi) * v / (v - u);
    (R::from_f64(2.0) * turned * u, phi + turned)
}

/// More than the rounding error of a difference of two azimuths \[rad\].
const BLUR_RAD: f64 = 4e-6;

/// The lanes in which rho grows from an inner spacepoint to an outer one, given as 1 / rho and phi,
/// and the curvature of their track is at most `most_k`, with a margin for rounding. Without a
/// quotient.
#[inline(always)]
pub(crate) fn bends_at_most<R: Lanes, S: Simd>(
    simd: S,
    most_k: R,
    [u, phi]: [R::Vector<S>; 2],
    [v, phi_outer]: [R::Vector<S>; 2],
) -> R::Mask<S> {
    let zero = R::splat(simd, R::from_f64(0.0));
    let turned = R::absolute(simd, R::minus(simd, phi_outer, phi));
    let turned = R::larger(simd, R::minus(simd, turned, R::splat(simd, R::from_f64(BLUR_RAD))), zero);
    let apart = R::minus(simd, u, v);
    let most = R::times(simd, R::splat(simd, R::from_f64(0.5005) * most_k), apart);
    let bent = R::times(simd, R::times(simd, turned, u), v);
    R::both(simd, R::less(simd, zero, apart), R::at_most(simd, bent, most))
}

/// |a| <= b.
#[inline(always)]
pub(crate) fn within<R: Lanes, S: Simd>(simd: S, a: R::Vector<S>, b: R::Vector<S>) -> R::Mask<S> {
    R::at_most(simd, R::absolute(simd, a), b)
}

/// [`track_bend`] of two spacepoints in every lane.
#[inline(always)]
pub(crate) fn bend<R: Lanes, S: Simd>(
    simd: S,
    two: R::Vector<S>,
    [u, phi]: [R::Vector<S>; 2],
    [v, phi_outer]: [R::Vector<S>; 2],
) -> (R::Vector<S>, R::Vector<S>) {
    let turned = R::times(simd, R::minus(simd, phi_outer, phi), v);
    let turned = R::over(simd, turned, R::minus(simd, v, u));
    (R::times(simd, R::times(simd, two, turned), u), R::plus(simd, phi, turned))
}
