// One Runge-Kutta step of each track in a uniform field, in a swapped layout of tracks: the cost of
// the layout.
// in:   params, tracks
// out:  tracks
// grid: a thread a track, in rows
// Needs: integrate, and layout/structures, layout/groups or layout/columns.

override WORKGROUP_SIZE: u32 = 128;

struct LayoutParams {
    count: u32, // of tracks
    charge: f32,
    length: f32, // of the step [mm]
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: LayoutParams;

@compute @workgroup_size(WORKGROUP_SIZE)
fn one_step(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = (group.y * groups.x + group.x) * WORKGROUP_SIZE + thread;
    if i < params.count {
        store_state(i, plain_step(params.charge, load_state(i), params.length));
    }
}
