// z of a pair at the beam: along a line that meets it. Swapped with extrapolation/accurate.wgsl.
// Needs: tracks.

fn extrapolate(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>) -> real {
    return track_z(point_a, point_b);
}

// Whether z may lie in a range. Without a quotient, which takes longer than all else.
fn may_be_within(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>, range: ZRange) -> bool {
    let apart = point_b.x - point_a.x;
    return abs(point_b.y - point_a.y - range.middle * apart) <= range.half * abs(apart);
}
