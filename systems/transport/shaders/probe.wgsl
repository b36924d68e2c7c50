// Fields and paths by themselves, for tests and for benches: a thread a state.
// in:   params, places and momenta (states; the fourth number is unused)
// out:  new_places, new_momenta: of fields, the field in new_places; of follow_paths, also the
//       length in new_places and the number of steps in new_momenta
// grid: any number of workgroups, in rows
// Needs: accuracy, field, integrate.
// CPU twin: Walk in src/probe.rs.

override WORKGROUP_SIZE: u32 = 128;

struct ProbeParams {
    accuracy: Accuracy,
    first: u32, // state of the dispatch
    end: u32, // one past its last
    steps: u32,
    charge: f32,
    length: f32, // of a step, or of a path [mm]
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: ProbeParams;
@group(0) @binding(1) var<storage, read> places: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> momenta: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> new_places: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> new_momenta: array<vec4<f32>>;

fn own(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> u32 {
    return params.first + (group.y * groups.x + group.x) * WORKGROUP_SIZE + thread;
}

fn state_at(i: u32) -> State {
    return State(places[i].xyz, momenta[i].xyz);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn fields(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = own(group, groups, thread);
    if i < params.end {
        new_places[i] = vec4<f32>(field_at(places[i].xyz), 0.0);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn plain_steps(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = own(group, groups, thread);
    if i < params.end {
        var state = state_at(i);
        for (var n = 0u; n < params.steps; n++) {
            state = plain_step(params.charge, state, params.length);
        }
        new_places[i] = vec4<f32>(state.place, 0.0);
        new_momenta[i] = vec4<f32>(state.momentum, 0.0);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn halved_steps(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = own(group, groups, thread);
    if i < params.end {
        var state = state_at(i);
        for (var n = 0u; n < params.steps; n++) {
            state = halved_step(params.charge, state, params.length);
        }
        new_places[i] = vec4<f32>(state.place, 0.0);
        new_momenta[i] = vec4<f32>(state.momentum, 0.0);
    }
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn follow_paths(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let i = own(group, groups, thread);
    if i < params.end {
        let path = follow(params.charge, state_at(i), params.length, params.accuracy);
        new_places[i] = vec4<f32>(path.state.place, path.length);
        new_momenta[i] = vec4<f32>(path.state.momentum, f32(path.steps));
    }
}
