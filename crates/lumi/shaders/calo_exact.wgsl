// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Each thread has
// the same cells of several events, so that what is known of a cell is read once for them all, and sums the two halves of
// weights apart, which fit a word each; then the workgroup sums the threads.
// in:   params, listed, cells (two words each), digits
// out:  counters
// grid: a workgroup for EVENTS events
// workgroup memory: 60 EVENTS bytes
// Needs: types, events/listed, limbs, reductions. CPU twin: calo_counters in src/engine/cpu.rs.

override WORKGROUP_SIZE: u32 = 256;
const EVENTS: u32 = 8u;
// Quads of digits that a thread sums before words could overflow: 8 digits each, and 31 products of 26 bits fit.
const MOST_QUADS: u32 = 3u;
// Energy, and transverse energy of six areas.
const SUMS: u32 = 7u;
const HALF: u32 = 10u; // bits of half a weight
const HALF_MASK: u32 = 0x3ffu;
const INVALID: i32 = -32768;
// In place of an area: cells of a quad are in several.
const MIXED: u32 = 8u;

@group(0) @binding(0) var<uniform> params: Params;
// Of a cell: weight for transverse energy (20 bits) and low 12 bits of the pedestal; weight for energy, high 4 bits of the
// pedestal, area (and MIXED where those of a quad differ). Two cells an element.
@group(0) @binding(2) var<storage, read> cells: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> counters: array<u32>;

var<workgroup> wg_low: array<atomic<u32>, EVENTS * SUMS>;
var<workgroup> wg_high: array<atomic<u32>, EVENTS * SUMS>;
var<workgroup> wg_skipped: array<atomic<u32>, EVENTS>;

var<private> own_thread: u32;

// Of four events: low and high halves of energy and of transverse energy, and digits that are not to be used.
struct Four {
    energy_low: vec4<i32>,
    energy_high: vec4<i32>,
    et_low: vec4<i32>,
    et_high: vec4<i32>,
    skipped: vec4<u32>,
}

struct Cell {
    energy: vec2<i32>, // low and high half
    et: vec2<i32>,
    pedestal: i32,
}

fn add(slot: u32, value: vec2<u32>) {
    if any(value != vec2<u32>()) {
        let before = atomicAdd(&wg_low[slot], value.x);
        atomicAdd(&wg_high[slot], value.y + select(0u, 1u, before + value.x < before));
    }
}

// Of low and high halves.
fn whole(low: i32, high: i32) -> vec2<u32> {
    return add64(signed64(low), shift64(signed64(high), HALF));
}

fn area_of(cell: vec2<u32>) -> u32 {
    return cell.y >> 24u;
}

fn unpacked(cell: vec2<u32>) -> Cell {
    return Cell(
        vec2<i32>(vec2<u32>(cell.y & HALF_MASK, (cell.y >> HALF) & HALF_MASK)),
        vec2<i32>(vec2<u32>(cell.x & HALF_MASK, (cell.x >> HALF) & HALF_MASK)),
        bitcast<i32>(((cell.y << 8u) & 0xf0000000u) | ((cell.x >> 4u) & 0x0fff0000u)) >> 16u,
    );
}

fn low_digits(words: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(words << vec4<u32>(16u)) >> vec4<u32>(16u);
}

fn high_digits(words: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>(words) >> vec4<u32>(16u);
}

fn add_cell(sums: ptr<function, Four>, cell: Cell, adc: vec4<i32>) {
    let bad = adc == vec4<i32>(INVALID);
    let count = select(adc - cell.pedestal, vec4<i32>(), bad);
    (*sums).skipped += select(vec4<u32>(), vec4<u32>(1u), bad);
    (*sums).energy_low += count * cell.energy.x;
    (*sums).energy_high += count * cell.energy.y;
    (*sums).et_low += count * cell.et.x;
    (*sums).et_high += count * cell.et.y;
}

// Where each event's digits begin.
struct Places {
    a: vec4<u32>,
    b: vec4<u32>,
}

// A word of each of four events.
struct Words {
    x: vec4<u32>,
    y: vec4<u32>,
    z: vec4<u32>,
    w: vec4<u32>,
}

fn words_of(places: vec4<u32>, quad: u32, there: bool) -> Words {
    let a = select(vec4<u32>(), digits[places.x + quad], there);
    let b = select(vec4<u32>(), digits[places.y + quad], there);
    let c = select(vec4<u32>(), digits[places.z + quad], there);
    let d = select(vec4<u32>(), digits[places.w + quad], there);
    return Words(
        vec4<u32>(a.x, b.x, c.x, d.x),
        vec4<u32>(a.y, b.y, c.y, d.y),
        vec4<u32>(a.z, b.z, c.z, d.z),
        vec4<u32>(a.w, b.w, c.w, d.w),
    );
}

fn add_two(a: ptr<function, Four>, b: ptr<function, Four>, two: vec4<u32>, of_a: vec4<u32>, of_b: vec4<u32>) {
    let first = unpacked(two.xy);
    add_cell(a, first, low_digits(of_a));
    add_cell(b, first, low_digits(of_b));
    let second = unpacked(two.zw);
    add_cell(a, second, high_digits(of_a));
    add_cell(b, second, high_digits(of_b));
}

// Transverse energies of what is summed so far, of those threads that give it.
fn give_et(sums: ptr<function, Four>, event: u32, area: u32, gives: bool) {
    let low = select(vec4<i32>(), (*sums).et_low, gives);
    let high = select(vec4<i32>(), (*sums).et_high, gives);
    add_of_area(event * SUMS + 1u, area, whole(low.x, high.x));
    add_of_area((event + 1u) * SUMS + 1u, area, whole(low.y, high.y));
    add_of_area((event + 2u) * SUMS + 1u, area, whole(low.z, high.z));
    add_of_area((event + 3u) * SUMS + 1u, area, whole(low.w, high.w));
    (*sums).et_low -= low;
    (*sums).et_high -= high;
}

fn give_energy(sums: ptr<function, Four>, event: u32) {
    add_all(event * SUMS, whole((*sums).energy_low.x, (*sums).energy_high.x));
    add_all((event + 1u) * SUMS, whole((*sums).energy_low.y, (*sums).energy_high.y));
    add_all((event + 2u) * SUMS, whole((*sums).energy_low.z, (*sums).energy_high.z));
    add_all((event + 3u) * SUMS, whole((*sums).energy_low.w, (*sums).energy_high.w));
    (*sums).energy_low = vec4<i32>();
    (*sums).energy_high = vec4<i32>();
}

// Transverse energies of two cells by themselves, each in its area.
fn give_two(event: u32, two: vec4<u32>, words: vec4<u32>) {
    for (var half = 0u; half < 2u; half++) {
        let packed = select(two.xy, two.zw, half == 1u);
        var one = Four();
        let cell = unpacked(packed);
        add_cell(&one, cell, select(low_digits(words), high_digits(words), half == 1u));
        let area = area_of(packed) % MIXED;
        for (var e = 0u; e < 4u; e++) {
            add((event + e) * SUMS + 1u + area, whole(one.et_low[e], one.et_high[e]));
        }
    }
}

fn give_skipped(sums: Four, event: u32) {
    for (var e = 0u; e < 4u; e++) {
        if sums.skipped[e] != 0u {
            atomicAdd(&wg_skipped[event + e], sums.skipped[e]);
        }
    }
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
    if thread < EVENTS {
        atomicStore(&wg_skipped[thread], 0u);
    }
    workgroupBarrier();

    let of_a = vec4<u32>(
        first_digits(place, 0u),
        first_digits(place, 1u),
        first_digits(place, 2u),
        first_digits(place, 3u),
    );
    let of_b = vec4<u32>(
        first_digits(place, 4u),
        first_digits(place, 5u),
        first_digits(place, 6u),
        first_digits(place, 7u),
    );
    var a = Four();
    var b = Four();
    // Threads that lie side by side read quads that do, and thirty-two of them stay in a part of the cells, where areas are
    // few.
    let each = (params.quads + WORKGROUP_SIZE - 1u) / WORKGROUP_SIZE;
    var quad = (thread >> 5u) * 32u * each + (thread & 31u);
    var area = 0u;
    var since = 0u;
    for (var i = 0u; i < each; i++) {
        let there = quad < params.quads;
        let at = select(0u, quad, there);
        // Without weights, and digits of 0.
        let one = select(vec4<u32>(), cells[4u * at], there);
        let two = select(vec4<u32>(), cells[4u * at + 1u], there);
        let three = select(vec4<u32>(), cells[4u * at + 2u], there);
        let four = select(vec4<u32>(), cells[4u * at + 3u], there);
        let words_a = words_of(of_a, at, there);
        let words_b = words_of(of_b, at, there);
        let own_area = select(area, area_of(one.xy), there);
        if any_of(own_area != area) {
            give_et(&a, 0u, area % MIXED, own_area != area);
            give_et(&b, 4u, area % MIXED, own_area != area);
            area = own_area;
        }
        if since == MOST_QUADS {
            give_et(&a, 0u, area % MIXED, true);
            give_et(&b, 4u, area % MIXED, true);
            give_energy(&a, 0u);
            give_energy(&b, 4u);
            since = 0u;
        }
        since += 1u;
        add_two(&a, &b, one, words_a.x, words_b.x);
        add_two(&a, &b, two, words_a.y, words_b.y);
        add_two(&a, &b, three, words_a.z, words_b.z);
        add_two(&a, &b, four, words_a.w, words_b.w);
        if own_area >= MIXED && there {
            a.et_low = vec4<i32>();
            a.et_high = vec4<i32>();
            b.et_low = vec4<i32>();
            b.et_high = vec4<i32>();
            give_two(0u, one, words_a.x);
            give_two(0u, two, words_a.y);
            give_two(0u, three, words_a.z);
            give_two(0u, four, words_a.w);
            give_two(4u, one, words_b.x);
            give_two(4u, two, words_b.y);
            give_two(4u, three, words_b.z);
            give_two(4u, four, words_b.w);
        }
        quad += 32u;
    }
    give_et(&a, 0u, area % MIXED, true);
    give_et(&b, 4u, area % MIXED, true);
    give_energy(&a, 0u);
    give_energy(&b, 4u);
    give_skipped(a, 0u);
    give_skipped(b, 4u);
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
