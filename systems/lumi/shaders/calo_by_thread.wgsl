// Sums the calorimeter of lumi events, as it was done before: a thread an event, in f32, one digit
// after the other.
// in:   params, indices, cells, digits
// out:  counters
// grid: a few workgroups, whose threads step through the events
// Needs: types, events/all, subjects/calo. CPU twin: calo_counters in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> cells: array<Cell>;
@group(0) @binding(3) var<storage, read> digits: array<u32>;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var place = id.x; place < params.events; place += groups.x * WORKGROUP_SIZE) {
        let event = event_of(place);
        if event.x == NONE {
            continue;
        }
        var sums = array<f32, 8>();
        var skipped = 0u;
        for (var i = 0u; i < params.cells; i++) {
            let adc = digit(digits[event.x * 4u * params.quads + (i >> 1u)], i);
            if adc == INVALID {
                skipped += 1u;
                continue;
            }
            let cell = cells[i];
            let energy = cell.gain * f32(adc - cell.pedestal);
            let et = energy * cell.sin_theta;
            sums[0] += et;
            sums[1] += energy;
            sums[2u + cell.area] += et;
        }
        for (var counter = 0u; counter < 8u; counter++) {
            counters[event.y * WORDS + CALO_AT + counter] = bitcast<u32>(sums[counter]);
        }
        counters[event.y * WORDS + SKIPPED_AT] = skipped;
    }
}
