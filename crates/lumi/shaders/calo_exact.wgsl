// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Thirty-two
// threads take a chunk of the cells, eight cells of an area each, keep their weights, and go through the events of a block;
// then sum_chunks sums the chunks of an event, and takes away what their pedestals come to.
// in:   params, listed, chunks (first quad of digits, quads, area, products of pedestals), weights, pedestals, digits
// out:  partials (of an event and a chunk: energy, transverse energy), and with them counters
// grid: sum_cells: x, y = blocks of BLOCK events, in rows; z = chunks, TEAMS of them; sum_chunks: four events each
// workgroup memory: 16 AT_ONCE WORKGROUP_SIZE bytes
// Needs: types, events/listed, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

// 32 or 64.
override WORKGROUP_SIZE: u32 = 64;
const TOGETHER: u32 = 32u;
override TEAMS: u32 = WORKGROUP_SIZE / TOGETHER;
const BLOCK: u32 = 32u;
const AT_ONCE: u32 = 16u;
const SUMS: u32 = 2u;
const HALF: u32 = 10u; // bits of half a weight
const INVALID: i32 = -32768;
// Sums of a chunk are of 43 bits and a sign; above them are digits that are not to be used, as so much of the upper word.
const ONE_SKIPPED: u32 = 65536u;

struct Chunk {
    first: u32,
    quads: u32,
    area: u32,
    unused: u32,
    // Pedestals times weights.
    energy: vec2<u32>,
    et: vec2<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
// Of a cell, of 20 bits, for transverse energy and for energy; zeros where there is none. Those that threads read together
// lie side by side: the first of each quad of a chunk, then the second ones.
@group(0) @binding(3) var<storage, read> weights: array<vec2<i32>>;
// In the same order: pedestal, 1; zeros where there is no cell.
@group(0) @binding(4) var<storage, read> pedestals: array<vec2<i32>>;
@group(0) @binding(5) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> partials: array<vec2<u32>>;
@group(0) @binding(7) var<storage, read_write> counters: array<u32>;

// Of each thread, by event and then by sum.
var<workgroup> wg_sums: array<vec2<u32>, SUMS * AT_ONCE * WORKGROUP_SIZE>;

// Weights of a thread's cells: variables, not an array, so that they stay in registers.
struct Cells {
    a: vec2<i32>,
    b: vec2<i32>,
    c: vec2<i32>,
    d: vec2<i32>,
    e: vec2<i32>,
    f: vec2<i32>,
    g: vec2<i32>,
    h: vec2<i32>,
}

// Products with whole weights as far as a word goes, and those with their upper halves, which fit one, of energy and of
// transverse energy.
struct Taken {
    energy: i32,
    energy_upper: i32,
    et: i32,
    et_upper: i32,
}

fn with_cell(taken: Taken, cell: vec2<i32>, count: i32) -> Taken {
    return Taken(
        taken.energy + count * cell.y,
        taken.energy_upper + count * (cell.y >> HALF),
        taken.et + count * cell.x,
        taken.et_upper + count * (cell.x >> HALF),
    );
}

fn low_of(word: u32) -> i32 {
    return bitcast<i32>(word << 16u) >> 16u;
}

fn high_of(word: u32) -> i32 {
    return bitcast<i32>(word) >> 16u;
}

fn with_two(taken: Taken, first: vec2<i32>, second: vec2<i32>, word: u32) -> Taken {
    return with_cell(with_cell(taken, first, low_of(word)), second, high_of(word));
}

// Not zero where a half of the word is INVALID: of each, 0x8000 and nothing else.
fn invalid(word: u32) -> u32 {
    let other = word ^ 0x80008000u;
    return (other - 0x00010001u) & ~other & 0x80008000u;
}

// The sum of which both say something: what the lower halves of weights make fits a word.
fn whole(all: i32, upper: i32) -> vec2<u32> {
    let low = upper << HALF;
    return add64(vec2<u32>(bitcast<u32>(low), bitcast<u32>(upper >> (32u - HALF))), signed64(all - low));
}

// What eight digits come to; some may be invalid, so some count as one that is not there. Seldom.
fn keep(slot: u32, cells: Cells, at: u32, four: vec4<u32>) {
    var taken = with_two(Taken(), cells.a, cells.b, four.x);
    taken = with_two(taken, cells.c, cells.d, four.y);
    taken = with_two(taken, cells.e, cells.f, four.z);
    taken = with_two(taken, cells.g, cells.h, four.w);
    var skipped = 0u;
    // May be told of a digit beside an invalid one, too; below each is looked at.
    if (invalid(four.x) | invalid(four.y) | invalid(four.z) | invalid(four.w)) != 0u {
        for (var i = 0u; i < 8u; i++) {
            let word = four[i / 2u];
            let there = pedestals[at + i * TOGETHER];
            if select(low_of(word), high_of(word), i % 2u == 1u) == INVALID {
                // As much as the pedestal.
                taken = with_cell(taken, weights[at + i * TOGETHER], there.x - INVALID);
                skipped += u32(there.y);
            }
        }
    }
    wg_sums[slot] = whole(taken.energy, taken.energy_upper) + vec2<u32>(0u, skipped * ONE_SKIPPED);
    wg_sums[slot + WORKGROUP_SIZE] = whole(taken.et, taken.et_upper);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_cells(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let place = place_of(group, groups) * BLOCK;
    if place >= listed[0] {
        return;
    }
    let team = thread / TOGETHER;
    let own = thread % TOGETHER;
    let chunk = group.z * TEAMS + team;
    let there = chunk < params.chunks && own < chunks[min(chunk, params.chunks - 1u)].quads;
    let quad = select(0u, chunks[min(chunk, params.chunks - 1u)].first + own, there);
    let at = 8u * TOGETHER * min(chunk, params.chunks - 1u) + own;
    let cells = Cells(
        weights[at],
        weights[at + TOGETHER],
        weights[at + 2u * TOGETHER],
        weights[at + 3u * TOGETHER],
        weights[at + 4u * TOGETHER],
        weights[at + 5u * TOGETHER],
        weights[at + 6u * TOGETHER],
        weights[at + 7u * TOGETHER],
    );
    let last = listed[0] - 1u;
    for (var some = 0u; some < BLOCK; some += AT_ONCE) {
        for (var e = 0u; e < AT_ONCE; e += 4u) {
            // Four are asked for before the first is waited for.
            let event = place + some + e;
            let first = digits[listed[1u + min(event, last)] * params.quads + quad];
            let second = digits[listed[1u + min(event + 1u, last)] * params.quads + quad];
            let third = digits[listed[1u + min(event + 2u, last)] * params.quads + quad];
            let fourth = digits[listed[1u + min(event + 3u, last)] * params.quads + quad];
            let slot = e * SUMS * WORKGROUP_SIZE + thread;
            keep(slot, cells, at, first);
            keep(slot + SUMS * WORKGROUP_SIZE, cells, at, second);
            keep(slot + 2u * SUMS * WORKGROUP_SIZE, cells, at, third);
            keep(slot + 3u * SUMS * WORKGROUP_SIZE, cells, at, fourth);
        }
        workgroupBarrier();
        // Each thread of a team sums one of its sums; each begins elsewhere, so that all banks of memory are asked.
        let event = place + some + own / SUMS;
        if chunk < params.chunks && event <= last {
            var sum = vec2<u32>();
            for (var i = 0u; i < TOGETHER; i++) {
                sum = add64(sum, wg_sums[own * WORKGROUP_SIZE + team * TOGETHER + (i + own) % TOGETHER]);
            }
            partials[(event * params.chunks + chunk) * SUMS + own % SUMS] = sum;
        }
        workgroupBarrier();
    }
}

// Threads of an event: its counters, and digits that are not to be used.
const EACH: u32 = 16u;

@compute @workgroup_size(64)
fn sum_chunks(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let event = place_of(group, groups) * (64u / EACH) + thread / EACH;
    let counter = thread % EACH;
    if event >= listed[0] || counter > 8u {
        return;
    }
    var sum = vec2<u32>();
    for (var chunk = 0u; chunk < params.chunks; chunk++) {
        let partial = (event * params.chunks + chunk) * SUMS;
        let own = chunks[chunk];
        if counter == 1u || counter == 8u {
            // The sum is what the lower 48 bits are with their sign.
            let energy = partials[partial];
            let sign = bitcast<u32>(low_of(energy.y));
            if counter == 1u {
                sum = add64(sum, sub64(vec2<u32>(energy.x, sign), own.energy));
            } else {
                sum.x += (energy.y - sign) / ONE_SKIPPED;
            }
        } else if counter == 0u || own.area + 2u == counter {
            sum = add64(sum, sub64(partials[partial + 1u], own.et));
        }
    }
    let at = event * WORDS;
    if counter == 8u {
        counters[at + SKIPPED_AT] = sum.x;
    } else {
        counters[at + CALO_AT + 2u * counter] = sum.x;
        counters[at + CALO_AT + 2u * counter + 1u] = sum.y;
    }
}
