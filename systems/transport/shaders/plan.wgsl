// Ends a step, and sizes the dispatches of the next one.
// in:   params, counters
// out:  counters, dispatches (workgroups for all slots; from word 4 on for all tracks)
// grid: one thread
// Needs: types, plan/next.

@group(0) @binding(1) var<storage, read_write> counters: array<u32, COUNTERS>;
@group(0) @binding(2) var<storage, read_write> dispatches: array<u32, 8>;

@compute @workgroup_size(1)
fn plan() {
    var words: array<u32, PLANNED>;
    for (var i = 0u; i < PLANNED; i++) {
        words[i] = counters[i];
    }
    words = planned(words);
    for (var i = 0u; i < PLANNED; i++) {
        counters[i] = words[i];
    }
    let goes_on = words[SIZE] > 0u;
    rows(0u, words[SIZE]);
    rows(4u, select(0u, words[USED] - words[ROOM], goes_on));
}

fn rows(at: u32, threads: u32) {
    let workgroups = (threads + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    dispatches[at] = min(workgroups, ROW);
    dispatches[at + 1u] = (workgroups + ROW - 1u) / ROW;
    dispatches[at + 2u] = 1u;
}
