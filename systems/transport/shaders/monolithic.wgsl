// A whole step in one kernel.
// in:   params, tracks, tables, a field, counters, vacancies
// out:  tracks, counters, deposits, vacancies
// grid: a thread a slot, in rows
// Needs: types, tracks, step_length, finish.

@compute @workgroup_size(WORKGROUP_SIZE)
fn monolithic(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let slot = own_thread(group, groups, thread);
    var track: Track;
    var is_track = false;
    begin(thread);
    if slot < wg_now.size {
        let word = identities[slot].w;
        // A track that was made in this step does not take part in it.
        let is_born_now = (word >> BORN_AT) == wg_now.birth;
        is_track = status_of(word) != IS_VACANT && !is_born_now;
        if is_track {
            track = load(slot);
            if track.status == IS_ALIVE {
                track = step_length_of(track);
            }
        }
    }
    finish(slot, track, is_track, thread);
}
