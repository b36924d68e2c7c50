// z of a pair at the beam: along a line that meets it, or ACCURATE: where the line through the pair is nearest to the beam
// (thesis, section 5.1). Products of three numbers are `product` each: NVIDIA's compiler multiplies them in another order, and
// one RoI in some five thousand then has an entry beside.
// Needs: rounding, tracks.

// 1: accurate.
override ACCURATE: u32 = 0;

fn extrapolate(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>) -> real {
    if ACCURATE == 0u {
        return track_z(point_a, point_b);
    }
    let half = real(0.5) * abs(stored_real(beside[b]) - stored_real(beside[a]));
    // From pi / 2 on the sine comes back.
    let s = sine(min(half, real(0.5) * TURN - half));
    let u = point_a.x;
    let v = point_b.x;
    let ss = product(s, s);
    let four_ss = real(4.0) * ss;
    // The square of the line's distance from the beam, d0.
    let below = product(u - v, u - v) + product(four_ss, product(u, v));
    let square = quotient(product(four_ss, real(1.0) - ss), below);
    // sqrt(rho^2 - d0^2) = rho w
    let wa = root(real(1.0) - product(product(square, u), u));
    let wb = root(real(1.0) - product(product(square, v), v));
    return quotient(product(point_b.y, wa) - product(point_a.y, wb), product(v, wa) - product(u, wb));
}

// Whether z may lie in a range; of a line that meets the beam without a quotient, which takes longer than all else.
fn may_be_within(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>, range: ZRange) -> bool {
    if ACCURATE == 0u {
        let apart = point_b.x - point_a.x;
        return abs(point_b.y - point_a.y - range.middle * apart) <= range.half * abs(apart);
    }
    return abs(extrapolate(a, point_a, b, point_b) - range.middle) <= range.half;
}
