// A field by components on a grid of distances from the axis and positions along it, linear in both
// between its points. Swapped with field/uniform.wgsl and field/parametrised.wgsl. CPU twin: Map in
// src/field.rs.

struct FieldParams {
    points_r: u32,
    points_z: u32,
    per_mm: f32, // points
    first_z: f32, // position of the first point [mm]
}

@group(0) @binding(20) var<uniform> field_params: FieldParams;
// Bz and Br [T] of a point, and of the next one away from the axis; points along the axis side by
// side. So a cell is in one line of a cache, of which there are too few for two each of all
// threads.
@group(0) @binding(21) var<storage, read> field_map: array<vec4<f32>>;

// At a place [mm], the field [T]; none outside.
fn field_at(place: vec3<f32>) -> vec3<f32> {
    let points_z = field_params.points_z;
    let square = place.x * place.x + place.y * place.y;
    // On the axis Br is of no direction, and 0 times anything finite will do.
    let inverse = inverseSqrt(max(square, 1e-30));
    let last = vec2<f32>(f32(field_params.points_r - 1u), f32(points_z - 1u));
    let r = square * inverse * field_params.per_mm;
    let z = (place.z - field_params.first_z) * field_params.per_mm;
    // NaN counts as outside.
    let is_inside = (r <= last.x) & (z >= 0.0) & (z <= last.y);
    // At the last point, and outside, the last cell: this is called so often that SwiftShader,
    // which puts calls in place, takes hours over branches here. Bounded as integers, which hold
    // whatever a compiler thinks of what is no number.
    let ir = min(u32(r), field_params.points_r - 2u);
    let iz = min(u32(z), points_z - 2u);
    let dr = r - f32(ir);
    let dz = z - f32(iz);
    let first = ir * points_z + iz;
    let before = field_map[first];
    let both = before + dz * (field_map[first + 1u] - before);
    let found = both.xy + dr * (both.zw - both.xy);
    let br = found.y * inverse;
    return select(vec3<f32>(), vec3<f32>(br * place.x, br * place.y, found.x), is_inside);
}
