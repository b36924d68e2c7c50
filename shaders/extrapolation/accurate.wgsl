// z of a pair where the line through it is nearest to the beam (thesis, section 5.1). Swapped with
// extrapolation/linear.wgsl.
// Needs: tracks, beside/phi.

// sin x for |x| <= pi / 2, to the last digits of either number type: what a device's own sine does not promise.
fn sine(x: real) -> real {
    let y = x * x;
    var sum = real(1.0);
    for (var k = 11; k > 0; k--) {
        sum = real(1.0) - sum * y / real(2 * k * (2 * k + 1));
    }
    return x * sum;
}

fn extrapolate(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>) -> real {
    var between = stored_real(beside[b]) - stored_real(beside[a]);
    between -= select(real(0.0), TURN, between > real(0.5) * TURN);
    between += select(real(0.0), TURN, between < real(-0.5) * TURN);
    let s = sine(real(0.5) * between);
    let u = point_a.x;
    let v = point_b.x;
    // The square of the line's distance from the beam, d0.
    let square = real(4.0) * s * s * (real(1.0) - s * s) / ((u - v) * (u - v) + real(4.0) * u * v * s * s);
    // sqrt(rho^2 - d0^2) = rho w
    let wa = sqrt(real(1.0) - square * u * u);
    let wb = sqrt(real(1.0) - square * v * v);
    return (point_b.y * wa - point_a.y * wb) / (v * wa - u * wb);
}
