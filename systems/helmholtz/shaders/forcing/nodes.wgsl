// The forcing at every node: cos(2 pi x) cos(2 pi y) times what its level has.
// in:   params, turns (x and y of vertices, whole turns taken off), level_factors
// out:  out
// grid: TEAMS blocks of columns a workgroup, in rows
// Swapped with forcing/prisms.wgsl.
// Needs: types, real, columns. CPU twin: `CpuEngine::forcing` in src/engine/cpu.rs.

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
    let column = own_column(group, groups, thread, BLOCK);
    if !column.is_one {
        return;
    }
    let at = turns[column.vertex];
    let factor = cos_turns(at.x) * cos_turns(at.y);
    for (var slot = 0u; slot < SLOTS; slot++) {
        let level = column.first + slot * LANES + column.lane;
        if level < params.levels {
            out[column.base + level] = factor * level_factors[level];
        }
    }
}
