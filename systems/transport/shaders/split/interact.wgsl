// The second half of each step, in sorted order: the last kernel of split steps.
// in:   params, tracks, tables, order (slots by class), counters, vacancies
// out:  tracks, counters, deposits, vacancies
// grid: a thread a track, in rows
// Needs: types, tracks, finish.

@group(0) @binding(8) var<storage, read> order: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn interact(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let place = own_thread(group, groups, thread);
    begin(thread);
    // Vacant slots come last.
    let is_track = wg_now.size > 0u && place < wg_now.used - wg_now.room;
    var slot = 0u;
    var track: Track;
    if is_track {
        slot = order[place];
        track = load(slot);
    }
    finish(slot, track, is_track, thread);
}
