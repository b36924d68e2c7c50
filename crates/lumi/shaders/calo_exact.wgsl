// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Each thread has
// the same cells of several events, so that what is known of a cell is read once for them all. It sums in words, and now
// and then moves those into sums of two words, in words of its own of the workgroup's memory area by area; last the workgroup
// sums the threads. No word is shared before, so nothing is atomic, and nothing waits.
// in:   params, listed, chunks (first quad of digits, quads, area), cells, digits
// out:  counters
// grid: a workgroup for EVENTS events
// workgroup memory: 8 SUMS EVENTS WORKGROUP_SIZE + 60 EVENTS bytes
// Needs: types, events/listed, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

// 32 or 64.
override WORKGROUP_SIZE: u32 = 64;
const EVENTS: u32 = 4u;
// Threads that take a chunk together, a quad each.
const TOGETHER: u32 = 32u;
// Quads of digits that a thread sums before words could overflow: 8 digits each, and 31 products of 26 bits fit.
const MOST_QUADS: u32 = 3u;
// Energy, and transverse energy of six areas.
const SUMS: u32 = 7u;
const HALF: u32 = 10u; // bits of half a weight
const INVALID: i32 = -32768;
// In place of an area: that of each cell.
const MIXED: u32 = 8u;

struct Chunk {
    first: u32,
    quads: u32,
    area: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
// Of a cell: weights of 20 bits for transverse energy and for energy, pedestal, area. Those that threads read together lie
// side by side: the first of each quad of a chunk, then the second ones.
@group(0) @binding(3) var<storage, read> cells: array<vec4<i32>>;
@group(0) @binding(4) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> counters: array<u32>;

var<workgroup> wg_low: array<atomic<u32>, EVENTS * SUMS>;
var<workgroup> wg_high: array<atomic<u32>, EVENTS * SUMS>;
var<workgroup> wg_skipped: array<atomic<u32>, EVENTS>;
// Of each thread: low and high words of its sums, by event and then by sum.
var<workgroup> wg_own: array<vec2<u32>, SUMS * EVENTS * WORKGROUP_SIZE>;
var<private> own_thread: u32;

// Sums of products with weights, of four events: those with whole weights as far as a word goes, and those with their upper
// halves, which fit one. The two say what the sum is.
struct Halves {
    all: vec4<i32>,
    upper: vec4<i32>,
}

// Sums of four events, low and high words.
struct Sums {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn add_own(slot: u32, value: vec2<u32>) {
    let at = slot * WORKGROUP_SIZE + own_thread;
    wg_own[at] = add64(wg_own[at], value);
}

fn add_sums(a: Sums, low: vec4<u32>, high: vec4<u32>) -> Sums {
    let sum = a.low + low;
    return Sums(sum, a.high + high + select(vec4<u32>(), vec4<u32>(1u), sum < low));
}

// Sums with what the words say.
fn moved(sums: Sums, halves: Halves) -> Sums {
    // What the lower halves of weights make fits a word.
    let lower = halves.all - (halves.upper << vec4<u32>(HALF));
    let upper = add_sums(
        sums,
        bitcast<vec4<u32>>(halves.upper << vec4<u32>(HALF)),
        bitcast<vec4<u32>>(halves.upper >> vec4<u32>(32u - HALF)),
    );
    return add_sums(upper, bitcast<vec4<u32>>(lower), bitcast<vec4<u32>>(lower >> vec4<u32>(31u)));
}

fn with_count(halves: Halves, count: vec4<i32>, weight: i32) -> Halves {
    return Halves(halves.all + count * weight, halves.upper + count * (weight >> HALF));
}

fn low_digits(words: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(words << vec4<u32>(16u)) >> vec4<u32>(16u);
}

fn high_digits(words: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(words) >> vec4<u32>(16u);
}

// Above the pedestal; 0 for digits that are not to be used.
fn counts(cell: vec4<i32>, adc: vec4<i32>) -> vec4<i32> {
    return select(adc - cell.z, vec4<i32>(), adc == vec4<i32>(INVALID));
}

fn skipped(adc: vec4<i32>) -> vec4<u32> {
    return select(vec4<u32>(), vec4<u32>(1u), adc == vec4<i32>(INVALID));
}

// Transverse energy of a cell by itself, in its area.
fn give_cell(cell: vec4<i32>, adc: vec4<i32>) {
    let sums = moved(Sums(), with_count(Halves(), counts(cell, adc), cell.x));
    for (var e = 0u; e < EVENTS; e++) {
        add_own(e * SUMS + 1u + u32(cell.w), vec2<u32>(sums.low[e], sums.high[e]));
    }
}

// What a thread has summed of four events, and digits that are not to be used.
struct Taken {
    energy: Halves,
    et: Halves,
    skipped: vec4<u32>,
}

// With two cells.
fn with_two(taken: Taken, words: vec4<u32>, place: u32, mixed: bool) -> Taken {
    let first = cells[place];
    let second = cells[place + TOGETHER];
    let low = low_digits(words);
    let high = high_digits(words);
    let low_counts = counts(first, low);
    let high_counts = counts(second, high);
    var et = taken.et;
    if mixed {
        give_cell(first, low);
        give_cell(second, high);
    } else {
        et = with_count(with_count(et, low_counts, first.x), high_counts, second.x);
    }
    let energy = with_count(with_count(taken.energy, low_counts, first.y), high_counts, second.y);
    return Taken(energy, et, taken.skipped + skipped(low) + skipped(high));
}

// A sum of each event.
fn give(which: u32, sums: Sums) {
    add_own(which, vec2<u32>(sums.low.x, sums.high.x));
    add_own(SUMS + which, vec2<u32>(sums.low.y, sums.high.y));
    add_own(2u * SUMS + which, vec2<u32>(sums.low.z, sums.high.z));
    add_own(3u * SUMS + which, vec2<u32>(sums.low.w, sums.high.w));
}

// Digits of an event; the first one's in place of one that is not there.
fn first_digits(place: u32, e: u32) -> u32 {
    let event = event_of(place + e).x;
    return select(event, event_of(place).x, event == NONE) * params.quads;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    own_thread = thread;
    let place = place_of(group, groups) * EVENTS;
    // All threads have the same.
    if event_of(place).x == NONE {
        return;
    }
    for (var slot = thread; slot < EVENTS * SUMS; slot += WORKGROUP_SIZE) {
        atomicStore(&wg_low[slot], 0u);
        atomicStore(&wg_high[slot], 0u);
    }
    for (var slot = 0u; slot < EVENTS * SUMS; slot++) {
        wg_own[slot * WORKGROUP_SIZE + thread] = vec2<u32>();
    }
    if thread < EVENTS {
        atomicStore(&wg_skipped[thread], 0u);
    }
    workgroupBarrier();

    let firsts = vec4<u32>(
        first_digits(place, 0u),
        first_digits(place, 1u),
        first_digits(place, 2u),
        first_digits(place, 3u),
    );
    var taken = Taken();
    var energy_sums = Sums();
    var et_sums = Sums();
    var area = 0u;
    var since = 0u;
    // As many rounds for all, some of which have nothing to do in the last ones.
    let teams = WORKGROUP_SIZE / TOGETHER;
    let each = (params.chunks + teams - 1u) / teams;
    let first_chunk = (thread / TOGETHER) * each;
    for (var i = 0u; i < each; i++) {
        let at = first_chunk + i;
        let chunk = chunks[min(at, params.chunks - 1u)];
        if since == MOST_QUADS || chunk.area != area {
            energy_sums = moved(energy_sums, taken.energy);
            et_sums = moved(et_sums, taken.et);
            taken = Taken(Halves(), Halves(), taken.skipped);
            since = 0u;
        }
        since += 1u;
        if chunk.area != area {
            give(1u + area % MIXED, et_sums);
            et_sums = Sums();
            area = chunk.area;
        }
        let own = thread % TOGETHER;
        if at < params.chunks && own < chunk.quads {
            let quad = chunk.first + own;
            let a = digits[firsts.x + quad];
            let b = digits[firsts.y + quad];
            let c = digits[firsts.z + quad];
            let d = digits[firsts.w + quad];
            let mixed = chunk.area == MIXED;
            let place_of_cells = 8u * TOGETHER * at + own;
            // In full: what is chosen by a number may not stay in registers.
            taken = with_two(taken, vec4<u32>(a.x, b.x, c.x, d.x), place_of_cells, mixed);
            taken = with_two(taken, vec4<u32>(a.y, b.y, c.y, d.y), place_of_cells + 2u * TOGETHER, mixed);
            taken = with_two(taken, vec4<u32>(a.z, b.z, c.z, d.z), place_of_cells + 4u * TOGETHER, mixed);
            taken = with_two(taken, vec4<u32>(a.w, b.w, c.w, d.w), place_of_cells + 6u * TOGETHER, mixed);
        }
    }
    give(1u + area % MIXED, moved(et_sums, taken.et));
    give(0u, moved(energy_sums, taken.energy));
    for (var e = 0u; e < EVENTS; e++) {
        if taken.skipped[e] != 0u {
            atomicAdd(&wg_skipped[e], taken.skipped[e]);
        }
    }
    workgroupBarrier();

    // Parts of WORKGROUP_SIZE / 2 threads; each starts elsewhere, so that all banks of the memory are asked.
    let half = WORKGROUP_SIZE / 2u;
    for (var part = thread; part < 2u * EVENTS * SUMS; part += WORKGROUP_SIZE) {
        var sum = vec2<u32>();
        for (var i = 0u; i < half; i++) {
            sum = add64(sum, wg_own[part * half + (i + thread) % half]);
        }
        let slot = part / 2u;
        let before = atomicAdd(&wg_low[slot], sum.x);
        atomicAdd(&wg_high[slot], sum.y + select(0u, 1u, before + sum.x < before));
    }
    workgroupBarrier();

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
            // Cells beyond the last one fill a quad.
            counters[at + SKIPPED_AT] = atomicLoad(&wg_skipped[thread]) - (8u * params.quads - params.cells);
        }
    }
}
