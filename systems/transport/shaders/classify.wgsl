// Separates slots with a track from vacant ones, before tracks are packed into the first slots.
// in:   params, identities, counters
// out:  classes
// grid: a thread a slot, in rows
// Needs: types.

@group(0) @binding(1) var<storage, read> identities: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> counters: array<u32, COUNTERS>;
@group(0) @binding(3) var<storage, read_write> classes: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn classify(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let slot = own_thread(group, groups, thread);
    if slot < counters[SIZE] {
        let is_vacant = ((identities[slot].w >> 2u) & 3u) == IS_VACANT;
        classes[slot] = select(0u, params.classes - 1u, is_vacant);
    }
}
