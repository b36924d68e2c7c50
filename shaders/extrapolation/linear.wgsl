// z of a pair at the beam: along a line that meets it. Swapped with extrapolation/accurate.wgsl.
// Needs: tracks.

fn extrapolate(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>) -> real {
    return track_z(point_a, point_b);
}
