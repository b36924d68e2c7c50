// Updates the counters after a step: tracks made and ended, and the size of the next step.
// Needs: types.
// CPU twin: CpuRun::run in src/engine/cpu/engine.rs.

// The first words of the counters.
const PLANNED: u32 = 16u;

fn planned(before: array<u32, PLANNED>) -> array<u32, PLANNED> {
    var words = before;
    if words[SIZE] > 0u {
        let used = words[USED];
        let room = words[ROOM];
        let made = min(words[TAKEN], room + (params.capacity - used));
        let reused = min(made, room);
        let secondaries = words[SECONDARIES] + made;
        words[SECONDARIES + 1u] += select(0u, 1u, secondaries < made);
        words[SECONDARIES] = secondaries;
        var head = words[HEAD] + reused;
        var tail = words[TAIL];
        if head >= params.capacity {
            head -= params.capacity;
            tail -= params.capacity;
        }
        words[HEAD] = head;
        words[TAIL] = tail;
        words[USED] = used + (made - reused);
        words[ROOM] = tail - head;
        words[TAKEN] = 0u;
        // If all tracks wait, no slot becomes vacant.
        let waiting = words[WAITING];
        words[STUCK] = select(0u, 1u, waiting > 0u && waiting == used - room);
        words[WAITED] = waiting;
        words[WAITING] = 0u;
        words[ITERATIONS] += 1u;
    }
    let goes_on = words[USED] > words[ROOM] && words[STUCK] == 0u && words[ITERATIONS] < params.iterations;
    words[SIZE] = select(0u, words[USED], goes_on);
    return words;
}
