// The forcing at every node: cos(2 pi x) cos(2 pi y) times what its level has.
// in:   params, turns (x and y of vertices, whole turns taken off), level_factors
// out:  out
// grid: a thread a node, in rows
// workgroup memory: none
// Needs: types, real. CPU twin: `CpuEngine::forcing` in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> turns: array<vec2<real>>;
@group(0) @binding(2) var<storage, read> level_factors: array<real>;
@group(0) @binding(3) var<storage, read_write> out: array<real>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn forcing(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let node = place_of(group, groups) * WORKGROUP_SIZE + thread;
    if node >= params.nodes {
        return;
    }
    let vertex = node / params.levels;
    let at = turns[vertex];
    out[node] = (cos_turns(at.x) * cos_turns(at.y)) * level_factors[node - vertex * params.levels];
}
