// The first half of each step: the first kernel of split steps.
// in:   params, tracks, tables, a field, counters
// out:  tracks, classes (of each slot: what interactions are sorted by)
// grid: a thread a slot, in rows
// Needs: types, tracks, cells, sort_by, step_length.

@group(0) @binding(5) var<storage, read_write> classes: array<u32>;
@group(0) @binding(6) var<storage, read> counters: array<u32, COUNTERS>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn step_length(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let slot = own_thread(group, groups, thread);
    if slot >= counters[SIZE] {
        return;
    }
    let word = identities[slot].w;
    let status = status_of(word);
    if status == IS_VACANT {
        classes[slot] = params.classes - 1u;
    } else if status == IS_WAITING {
        classes[slot] = class_of(process_of(word), (word >> CELL_AT) & OUTSIDE);
    } else {
        let track = step_length_of(load(slot));
        store(slot, track);
        classes[slot] = class_of(track.process, track.cell);
    }
}
