// A field that is the same everywhere. Swapped with field/parametrised.wgsl and field/map.wgsl. CPU
// twin: src/field.rs.

struct FieldParams {
    value: vec3<f32>, // [T]
}

@group(0) @binding(20) var<uniform> field_params: FieldParams;

// At a place [mm], the field [T].
fn field_at(place: vec3<f32>) -> vec3<f32> {
    return field_params.value;
}
