// Tallies in workgroup memory, where each thread first sums what it counts in the same counter one after the other: hits
// and clusters come by module.

var<workgroup> wg_counters: array<atomic<u32>, COUNTERS>;

struct Run {
    counter: u32,
    count: u32,
}

fn tally(run: Run, counter: u32) -> Run {
    if counter == run.counter {
        return Run(counter, run.count + 1u);
    }
    end_run(run);
    return Run(counter, 1u);
}

fn end_run(run: Run) {
    if run.count != 0u {
        atomicAdd(&wg_counters[run.counter], run.count);
    }
}
