// z of a pair where the line through it is nearest to the beam (thesis, section 5.1). Swapped with
// extrapolation/linear.wgsl.
// Needs: tracks, beside/phi.

fn extrapolate(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>) -> real {
    let half = real(0.5) * abs(stored_real(beside[b]) - stored_real(beside[a]));
    // From pi / 2 on the sine comes back.
    let s = sine(min(half, real(0.5) * TURN - half));
    let u = point_a.x;
    let v = point_b.x;
    let four_ss = real(4.0) * s * s;
    // The square of the line's distance from the beam, d0.
    let square = four_ss * (real(1.0) - s * s) / ((u - v) * (u - v) + four_ss * (u * v));
    // sqrt(rho^2 - d0^2) = rho w
    let wa = sqrt(real(1.0) - square * u * u);
    let wb = sqrt(real(1.0) - square * v * v);
    return (point_b.y * wa - point_a.y * wb) / (v * wa - u * wb);
}
