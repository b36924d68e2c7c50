// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Each thread has
// the same cells of several events, so that what is known of a cell is read once for them all, and sums the two halves of
// weights apart, which fit a word each; then the workgroup sums the threads.
// in:   params, listed, cells (two words each), digits
// out:  counters
// grid: a workgroup for EVENTS events
// workgroup memory: 20 WORKGROUP_SIZE + 60 EVENTS bytes
// Needs: types, events, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 256;
const EVENTS: u32 = 4u;
// Quads of digits that a thread sums before words could overflow: 8 digits each, and 31 products of 26 bits fit.
const MOST_QUADS: u32 = 3u;
// Energy, and transverse energy of six areas.
const SUMS: u32 = 7u;
const HALF: u32 = 10u; // bits of half a weight

@group(0) @binding(0) var<uniform> params: Params;
// Of a cell: weight for transverse energy (20 bits) and low 12 bits of the pedestal; weight for energy, high 4 bits of the
// pedestal, area.
@group(0) @binding(2) var<storage, read> cells: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

var<workgroup> wg_low: array<atomic<u32>, EVENTS * SUMS>;
var<workgroup> wg_high: array<atomic<u32>, EVENTS * SUMS>;
var<workgroup> wg_skipped: array<atomic<u32>, EVENTS>;
// Of each thread: low and high halves of energy and of transverse energy, and the area of the latter.
var<workgroup> wg_parts: array<vec4<i32>, WORKGROUP_SIZE>;
var<workgroup> wg_areas: array<u32, WORKGROUP_SIZE>;

fn add(slot: u32, value: vec2<u32>) {
    if any(value != vec2<u32>()) {
        let before = atomicAdd(&wg_low[slot], value.x);
        atomicAdd(&wg_high[slot], value.y + select(0u, 1u, before + value.x < before));
    }
}

// Of low and high halves.
fn whole(halves: vec2<i32>) -> vec2<u32> {
    return add64(signed64(halves.x), shift64(signed64(halves.y), HALF));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let place = place_of(group, groups) * EVENTS;
    // All threads have the same.
    if event_of(place).x == NONE {
        return;
    }
    var firsts = array<u32, EVENTS>(); // digits
    for (var e = 0u; e < EVENTS; e++) {
        // The first one's in place of one that is not there.
        let event = event_of(place + e).x;
        firsts[e] = select(event, event_of(place).x, event == NONE) * params.quads;
    }
    for (var slot = thread; slot < EVENTS * SUMS; slot += WORKGROUP_SIZE) {
        atomicStore(&wg_low[slot], 0u);
        atomicStore(&wg_high[slot], 0u);
    }
    if thread < EVENTS {
        atomicStore(&wg_skipped[thread], 0u);
    }
    workgroupBarrier();

    // Low and high halves of energy and of transverse energy.
    var sums = array<vec4<i32>, EVENTS>();
    var area = 0u;
    let each = (params.quads + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    let end = min((thread + 1u) * each, params.quads);
    var since = 0u;
    for (var quad = thread * each; quad < end; quad++) {
        if since == MOST_QUADS {
            for (var e = 0u; e < EVENTS; e++) {
                add(e * SUMS, whole(sums[e].xy));
                add(e * SUMS + 1u + area, whole(sums[e].zw));
                sums[e] = vec4<i32>();
            }
            since = 0u;
        }
        since += 1u;
        var four: array<vec4<u32>, EVENTS>;
        for (var e = 0u; e < EVENTS; e++) {
            four[e] = digits[firsts[e] + quad];
        }
        for (var word = 0u; word < 4u; word++) {
            let two = cells[4u * quad + word];
            for (var half = 0u; half < 2u; half++) {
                let cell = select(two.xy, two.zw, half == 1u);
                let pedestal = bitcast<i32>(((cell.y << 8u) & 0xf0000000u) | ((cell.x >> 4u) & 0x0fff0000u)) >> 16u;
                let own_area = cell.y >> 24u;
                let et = vec2<i32>(i32(cell.x & 0x3ffu), i32((cell.x >> HALF) & 0x3ffu));
                let energy = vec2<i32>(i32(cell.y & 0x3ffu), i32((cell.y >> HALF) & 0x3ffu));
                if own_area != area {
                    for (var e = 0u; e < EVENTS; e++) {
                        add(e * SUMS + 1u + area, whole(sums[e].zw));
                        sums[e] = vec4<i32>(sums[e].xy, 0, 0);
                    }
                    area = own_area;
                }
                for (var e = 0u; e < EVENTS; e++) {
                    let adc = bitcast<i32>(select(four[e][word] << 16u, four[e][word], half == 1u)) >> 16u;
                    if adc == -32768 {
                        // Cells beyond the last one fill a quad.
                        if 8u * quad + 2u * word + half < params.cells {
                            atomicAdd(&wg_skipped[e], 1u);
                        }
                        continue;
                    }
                    let count = adc - pedestal;
                    sums[e] += vec4<i32>(count * energy, count * et);
                }
            }
        }
    }

    wg_areas[thread] = area;
    for (var e = 0u; e < EVENTS; e++) {
        wg_parts[thread] = sums[e];
        workgroupBarrier();
        // One in sixteen threads sums sixteen; of transverse energy as long as it is of the same area.
        if thread < WORKGROUP_SIZE / 16u {
            var energy = vec2<u32>();
            var et = vec2<u32>();
            var own_area = wg_areas[16u * thread];
            for (var i = 16u * thread; i < 16u * thread + 16u; i++) {
                let part = wg_parts[i];
                energy = add64(energy, whole(part.xy));
                if wg_areas[i] != own_area {
                    add(e * SUMS + 1u + own_area, et);
                    et = vec2<u32>();
                    own_area = wg_areas[i];
                }
                et = add64(et, whole(part.zw));
            }
            add(e * SUMS, energy);
            add(e * SUMS + 1u + own_area, et);
        }
        workgroupBarrier();
    }
    if thread < EVENTS {
        let event = event_of(place + thread);
        if event.x != NONE {
            let at = event.y * WORDS;
            var all = vec2<u32>();
            for (var i = 0u; i < SUMS; i++) {
                let sum = vec2<u32>(atomicLoad(&wg_low[thread * SUMS + i]), atomicLoad(&wg_high[thread * SUMS + i]));
                all = add64(all, select(sum, vec2<u32>(), i == 0u));
                counters[at + CALO_AT + 2u + 2u * i] = sum.x;
                counters[at + CALO_AT + 3u + 2u * i] = sum.y;
            }
            counters[at + CALO_AT] = all.x;
            counters[at + CALO_AT + 1u] = all.y;
            counters[at + SKIPPED_AT] = atomicLoad(&wg_skipped[thread]);
        }
    }
}
