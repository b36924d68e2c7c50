// A field by components on a grid of distances from the axis and positions along it, linear in both between its points. Swapped with
// field/uniform.wgsl and field/parametrised.wgsl. CPU twin: Map in src/field.rs.

struct FieldParams {
    points_r: u32,
    points_z: u32,
    per_mm: f32, // points
    unused: u32,
}

@group(0) @binding(20) var<uniform> field_params: FieldParams;
// Bz and Br [T] of points, those along the axis side by side.
@group(0) @binding(21) var<storage, read> field_map: array<vec2<f32>>;

// At a place [mm], the field [T]; none outside.
fn field_at(place: vec3<f32>) -> vec3<f32> {
    let points_z = field_params.points_z;
    let square = place.x * place.x + place.y * place.y;
    // On the axis Br is of no direction, and 0 times anything finite will do.
    let inverse = inverseSqrt(max(square, 1e-30));
    let last = vec2<f32>(f32(field_params.points_r - 1u), f32(points_z - 1u));
    let r = square * inverse * field_params.per_mm;
    let z = place.z * field_params.per_mm + 0.5 * last.y;
    // What is no number is outside, too.
    if !(r <= last.x && z >= 0.0 && z <= last.y) {
        return vec3<f32>();
    }
    // At the last point, the cell before it. Bounded as integers: what compilers think of comparisons with no numbers is no matter.
    let ir = min(u32(r), field_params.points_r - 2u);
    let iz = min(u32(z), points_z - 2u);
    let dr = r - f32(ir);
    let dz = z - f32(iz);
    let first = ir * points_z + iz;
    let inner = mix_of(field_map[first], field_map[first + 1u], dz);
    let outer = mix_of(field_map[first + points_z], field_map[first + points_z + 1u], dz);
    let found = mix_of(inner, outer, dr);
    let br = found.y * inverse;
    return vec3<f32>(br * place.x, br * place.y, found.x);
}

fn mix_of(a: vec2<f32>, b: vec2<f32>, part: f32) -> vec2<f32> {
    return a + part * (b - a);
}
