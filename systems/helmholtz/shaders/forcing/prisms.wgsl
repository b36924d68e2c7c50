// The forcing at every node of every prism: the prisms around a node all write the same number, as
// in the report's generated code. Swapped with forcing/nodes.wgsl.
// in:   params, triangles, order (of triangles), turns (x and y of vertices, whole turns taken
//       off), level_factors
// out:  out
// grid: a thread a prism, in rows
// Needs: types, real, prisms, accumulate.

override WORKGROUP_SIZE: u32 = 128;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> triangles: array<u32>;
@group(0) @binding(2) var<storage, read> order: array<u32>;
@group(0) @binding(3) var<storage, read> turns: array<vec2<real>>;
@group(0) @binding(4) var<storage, read> level_factors: array<real>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn forcing(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let place = own_place(place_of(group, groups) * WORKGROUP_SIZE + thread);
    if !place.is_one {
        return;
    }
    for (var j = 0u; j < 6u; j++) {
        let level = place.level + j % 2u;
        let at = turns[place.corners[j / 2u]];
        let factor = cos_turns(at.x) * cos_turns(at.y);
        store(place.corners[j / 2u] * params.levels + level, factor * level_factors[level]);
    }
}
