// A pair counts if a third spacepoint lies on its track: on a layer further out, in the slice of
// the outer spacepoint or in a neighbouring one. z, curvature k and azimuth p at the beam line must
// be close to those of the pair. Swapped with confirm_pairs.wgsl.
// k = 2 (phi_b - phi_a) / (rho_a - rho_b), p = (phi_b rho_a - phi_a rho_b) / (rho_a - rho_b)
// Needs: of the kernel params, points, roi, cell, extrapolate.

// Largest differences: z [mm], curvature [rad/mm] and azimuth [rad].
override MOST_DZ: f32;
override MOST_DK: f32;
override MOST_DP: f32;

// phi of each spacepoint, and layer * slices + slice as a number.
@group(0) @binding(6) var<storage, read> azimuths: array<vec2<real>>;

// k and p of the track through two spacepoints.
fn bend(a: u32, b: u32) -> vec2<real> {
    let rho = vec2(points[a].x, points[b].x);
    let phi = vec2(azimuths[a].x, azimuths[b].x);
    return vec2(2.0 * (phi.y - phi.x), phi.y * rho.x - phi.x * rho.y) / (rho.x - rho.y);
}

fn is_confirmed(a: u32, b: u32, z12: real) -> bool {
    let bend_12 = bend(a, b);
    let cell_b = u32(azimuths[b].y);
    let slice_b = cell_b % roi.slices;
    for (var layer_c = cell_b / roi.slices + 1u; layer_c < params.layers; layer_c++) {
        let end = cell(layer_c, min(slice_b + 2u, roi.slices));
        for (var c = cell(layer_c, max(slice_b, 1u) - 1u); c < end; c++) {
            let difference = abs(bend(b, c) - bend_12);
            let dz = abs(extrapolate(points[b], points[c]) - z12);
            if dz <= real(MOST_DZ) && difference.x <= real(MOST_DK) && difference.y < real(MOST_DP) {
                return true;
            }
        }
    }
    return false;
}
