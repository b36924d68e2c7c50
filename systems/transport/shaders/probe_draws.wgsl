// Random numbers by themselves, for tests: a thread a step of a track.
// in:   params, asked (low and high word of the track, step, unused)
// out:  drawn: so many numbers of each, one after the other
// grid: any number of workgroups, in rows
// Needs: philox. CPU twin: src/philox.rs.

override WORKGROUP_SIZE: u32 = 128;

struct DrawParams {
    seed: vec2<u32>,
    is_constant: u32,
    count: u32, // of each
}

@group(0) @binding(0) var<uniform> params: DrawParams;
@group(0) @binding(1) var<storage, read> asked: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> drawn: array<f32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn draw(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.y * groups.x + group.x) * WORKGROUP_SIZE + thread;
    if i < arrayLength(&asked) {
        var draws = draws_of(asked[i].xy, asked[i].z);
        for (var n = 0u; n < params.count; n++) {
            drawn[i * params.count + n] = draw_uniform(&draws, params.seed, params.is_constant != 0u);
        }
    }
}
