// Counts hits or clusters of lumi events.
// in:   params, events (indices or listed), offsets, elements
// out:  counters
// grid: a workgroup an event
// Needs: types, events, subjects.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> element_offsets: array<u32>;
@group(0) @binding(3) var<storage, read> elements: array<u32>;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

var<workgroup> wg_counters: array<atomic<u32>, COUNTERS>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let event = event_of(place_of(group, groups));
    if event.x == NONE {
        return;
    }
    for (var counter = thread; counter < COUNTERS; counter += WORKGROUP_SIZE) {
        atomicStore(&wg_counters[counter], 0u);
    }
    workgroupBarrier();
    let end = element_offsets[event.x + 1u];
    // Four that lie side by side, so that memory has enough to do.
    for (var i = element_offsets[event.x] + 4u * thread; i < end; i += 4u * WORKGROUP_SIZE) {
        let last = end - 1u;
        let four = vec4<u32>(
            elements[i],
            elements[min(i + 1u, last)],
            elements[min(i + 2u, last)],
            elements[min(i + 3u, last)],
        );
        atomicAdd(&wg_counters[counter_of(four.x)], 1u);
        if i + 1u < end {
            atomicAdd(&wg_counters[counter_of(four.y)], 1u);
        }
        if i + 2u < end {
            atomicAdd(&wg_counters[counter_of(four.z)], 1u);
        }
        if i + 3u < end {
            atomicAdd(&wg_counters[counter_of(four.w)], 1u);
        }
    }
    workgroupBarrier();
    for (var counter = thread; counter < COUNTERS - 1u; counter += WORKGROUP_SIZE) {
        let part = summands(counter);
        var sum = 0u;
        for (var i = part.x; i < part.y; i += STEP) {
            sum += atomicLoad(&wg_counters[i]);
        }
        counters[event.y * WORDS + AT + counter] = sum;
    }
    if thread == 0u {
        counters[event.y * WORDS + SKIPPED] = atomicLoad(&wg_counters[COUNTERS - 1u]);
    }
}
