// Parameters of the kernels, as in src/engine/gpu/mod.rs.

struct Params {
    levels: u32,
    vertices: u32,
    nodes: u32, // of all columns
    // Of the prisms of a dispatch: triangles, from the first of `order`; layers, from the first in
    // steps.
    first: u32,
    triangles: u32,
    layers: u32,
    layer: u32,
    step: u32,
    // Whether neighbouring threads take layers of a triangle, instead of triangles of a layer.
    by_columns: u32,
}

// Workgroups come in rows.
fn place_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}
