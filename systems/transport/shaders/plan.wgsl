// Ends a step: what was made and what ended is counted, and whether and how large the next one is.
// in:   params, counters
// out:  counters, dispatches (workgroups for all slots; from word 4 on for all tracks)
// grid: one thread
// workgroup memory: none
// Needs: types. CPU twin: CpuRun::run in src/engine/cpu/engine.rs.

@group(0) @binding(1) var<storage, read_write> counters: array<u32, COUNTERS>;
@group(0) @binding(2) var<storage, read_write> dispatches: array<u32, 8>;

@compute @workgroup_size(1)
fn plan() {
    if counters[SIZE] > 0u {
        let used = counters[USED];
        let room = counters[ROOM];
        let made = min(counters[TAKEN], room + (params.capacity - used));
        let reused = min(made, room);
        let secondaries = counters[SECONDARIES] + made;
        counters[SECONDARIES + 1u] += select(0u, 1u, secondaries < made);
        counters[SECONDARIES] = secondaries;
        var head = counters[HEAD] + reused;
        var tail = counters[TAIL];
        if head >= params.capacity {
            head -= params.capacity;
            tail -= params.capacity;
        }
        counters[HEAD] = head;
        counters[TAIL] = tail;
        counters[USED] = used + (made - reused);
        counters[ROOM] = tail - head;
        counters[TAKEN] = 0u;
        // If all wait, none makes room for another one.
        let waiting = counters[WAITING];
        counters[STUCK] = select(0u, 1u, waiting > 0u && waiting == used - room);
        counters[WAITED] = waiting;
        counters[WAITING] = 0u;
        counters[ITERATIONS] += 1u;
    }
    let goes_on = counters[USED] > counters[ROOM] && counters[STUCK] == 0u && counters[ITERATIONS] < params.iterations;
    let size = select(0u, counters[USED], goes_on);
    counters[SIZE] = size;
    rows(0u, size);
    rows(4u, select(0u, counters[USED] - counters[ROOM], goes_on));
}

fn rows(at: u32, threads: u32) {
    let workgroups = (threads + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    dispatches[at] = min(workgroups, ROW);
    dispatches[at + 1u] = (workgroups + ROW - 1u) / ROW;
    dispatches[at + 2u] = 1u;
}
