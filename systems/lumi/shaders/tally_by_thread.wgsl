// Counts hits or clusters of lumi events, as it was done before: a thread an event, one after the
// other.
// in:   params, indices, offsets, elements
// out:  counters
// grid: a few workgroups, whose threads step through the events
// Needs: types, events/all, subjects.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> element_offsets: array<u32>;
@group(0) @binding(3) var<storage, read> elements: array<u32>;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var place = id.x; place < params.events; place += groups.x * WORKGROUP_SIZE) {
        let event = event_of(place);
        if event.x == NONE {
            continue;
        }
        var own = array<u32, COUNTERS>();
        let end = element_offsets[event.x + 1u];
        for (var i = element_offsets[event.x]; i < end; i++) {
            own[counter_of(elements[i])] += 1u;
        }
        for (var counter = 0u; counter < COUNTERS - 1u; counter++) {
            let part = summands(counter);
            var sum = 0u;
            for (var i = part.x; i < part.y; i += STEP) {
                sum += own[i];
            }
            counters[event.y * WORDS + AT + counter] = sum;
        }
        counters[event.y * WORDS + SKIPPED] = own[COUNTERS - 1u];
    }
}
