// Many steps of few tracks in one dispatch: the barriers of one workgroup stand in for dispatches.
// in:   params, tracks, tables, a field, counters, vacancies
// out:  tracks, counters, deposits, vacancies
// grid: one workgroup; each thread takes every WORKGROUP_SIZE-th slot
// Needs: types, tracks, step_length, finish, plan/next.

// Steps of a dispatch. A dispatch must end before a system stops it.
override TAIL_STEPS: u32 = 128u;
// With more slots, workgroups side by side are faster: the host takes over.
const TAIL_TURNS: u32 = 2u;

@compute @workgroup_size(WORKGROUP_SIZE)
fn tail(@builtin(local_invocation_index) thread: u32) {
    for (var i = 0u; i < TAIL_STEPS; i++) {
        begin(thread);
        let now = workgroupUniformLoad(&wg_now);
        if now.size == 0u || now.used > TAIL_TURNS * WORKGROUP_SIZE {
            break;
        }
        for (var first = 0u; first < now.used; first += WORKGROUP_SIZE) {
            begin(thread);
            let slot = first + thread;
            var track: Track;
            var is_track = false;
            if slot < now.size {
                let word = identities[slot].w;
                // A track that was made in this step does not take part in it.
                let is_born_now = (word >> BORN_AT) == now.birth;
                is_track = status_of(word) != IS_VACANT && !is_born_now;
                if is_track {
                    track = load(slot);
                    if track.status == IS_ALIVE {
                        track = step_length_of(track);
                    }
                }
            }
            finish(slot, track, is_track, thread);
            storageBarrier();
        }
        if thread == 0u {
            var words: array<u32, PLANNED>;
            for (var word = 0u; word < PLANNED; word++) {
                words[word] = atomicLoad(&counters[word]);
            }
            words = planned(words);
            for (var word = 0u; word < PLANNED; word++) {
                atomicStore(&counters[word], words[word]);
            }
        }
        storageBarrier();
    }
}
