// Sums the calorimeter of lumi events: energies times 10^8 as whole numbers of 64 bits, those above
// zero and those below apart, each digit by itself.
// in:   params, events (indices or listed), cells, digits
// out:  counters
// grid: a workgroup an event
// Needs: types, events, limbs, subjects/calo. CPU twin: calo_counters in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 256;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> cells: array<Cell>;
@group(0) @binding(3) var<storage, read> digits: array<u32>;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

// Low and high words of sums above zero, and of sums below it.
var<workgroup> wg_sums: array<atomic<u32>, 32>;
var<workgroup> wg_skipped: atomic<u32>;

fn add(slot: u32, value: vec2<u32>) {
    let before = atomicAdd(&wg_sums[2u * slot], value.x);
    atomicAdd(&wg_sums[2u * slot + 1u], value.y + select(0u, 1u, before + value.x < before));
}

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
    for (var word = thread; word < 32u; word += WORKGROUP_SIZE) {
        atomicStore(&wg_sums[word], 0u);
    }
    if thread == 0u {
        atomicStore(&wg_skipped, 0u);
    }
    workgroupBarrier();
    for (var i = thread; i < params.cells; i += WORKGROUP_SIZE) {
        let adc = digit(digits[event.x * 4u * params.quads + (i >> 1u)], i);
        if adc == INVALID {
            atomicAdd(&wg_skipped, 1u);
            continue;
        }
        let cell = cells[i];
        let energy = cell.gain * f32(adc - cell.pedestal);
        let below = select(0u, 8u, energy < 0.0);
        let et = scaled(abs(energy) * cell.sin_theta * 1e8, 0);
        add(below, et);
        add(below + 1u, scaled(abs(energy) * 1e8, 0));
        add(below + 2u + cell.area, et);
    }
    workgroupBarrier();
    for (var word = thread; word < 32u; word += WORKGROUP_SIZE) {
        counters[event.y * WORDS + CALO_AT + word] = atomicLoad(&wg_sums[word]);
    }
    if thread == 0u {
        counters[event.y * WORDS + SKIPPED_AT] = atomicLoad(&wg_skipped);
    }
}
