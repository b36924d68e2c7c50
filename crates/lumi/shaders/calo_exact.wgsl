// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Thirty-two
// threads take a chunk of the cells, eight cells of an area each, keep what is known of them, and go through the events of a
// block; then sum_chunks sums the chunks of an event.
// in:   params, listed, chunks (first quad of digits, quads, area), cells, digits
// out:  partials (of an event and a chunk: energy, transverse energy, digits that are not to be used), and with them counters
// grid: sum_cells: x, y = blocks of BLOCK events, in rows; z = chunks, TEAMS of them; sum_chunks: four events each
// workgroup memory: 24 AT_ONCE WORKGROUP_SIZE bytes
// Needs: types, events/listed, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

// 32 or 64.
override WORKGROUP_SIZE: u32 = 64;
const TOGETHER: u32 = 32u;
override TEAMS: u32 = WORKGROUP_SIZE / TOGETHER;
const BLOCK: u32 = 32u;
const AT_ONCE: u32 = 8u;
const SUMS: u32 = 3u;
const HALF: u32 = 10u; // bits of half a weight
const INVALID: i32 = -32768;

struct Chunk {
    first: u32,
    quads: u32,
    area: u32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
// Of a cell: weights of 20 bits for transverse energy and for energy, pedestal, 1; zeros where there is none. Those that
// threads read together lie side by side: the first of each quad of a chunk, then the second ones.
@group(0) @binding(3) var<storage, read> cells: array<vec4<i32>>;
@group(0) @binding(4) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> partials: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> counters: array<u32>;

// Of each thread, by event and then by sum.
var<workgroup> wg_sums: array<vec2<u32>, SUMS * AT_ONCE * WORKGROUP_SIZE>;

// Products with whole weights as far as a word goes, and those with their upper halves, which fit one, of energy and of
// transverse energy; and digits that are not to be used.
struct Taken {
    energy: i32,
    energy_upper: i32,
    et: i32,
    et_upper: i32,
    skipped: i32,
}

fn with_cell(taken: Taken, cell: vec4<i32>, adc: i32) -> Taken {
    let bad = adc == INVALID;
    let count = select(adc - cell.z, 0, bad);
    return Taken(
        taken.energy + count * cell.y,
        taken.energy_upper + count * (cell.y >> HALF),
        taken.et + count * cell.x,
        taken.et_upper + count * (cell.x >> HALF),
        taken.skipped + select(0, cell.w, bad),
    );
}

fn with_two(taken: Taken, first: vec4<i32>, second: vec4<i32>, word: u32) -> Taken {
    let low = with_cell(taken, first, bitcast<i32>(word << 16u) >> 16u);
    return with_cell(low, second, bitcast<i32>(word) >> 16u);
}

// The sum of which both say something: what the lower halves of weights make fits a word.
fn whole(all: i32, upper: i32) -> vec2<u32> {
    let low = upper << HALF;
    return add64(vec2<u32>(bitcast<u32>(low), bitcast<u32>(upper >> (32u - HALF))), signed64(all - low));
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
    // Eight variables, not an array: they stay in registers.
    let cell_0 = cells[at];
    let cell_1 = cells[at + TOGETHER];
    let cell_2 = cells[at + 2u * TOGETHER];
    let cell_3 = cells[at + 3u * TOGETHER];
    let cell_4 = cells[at + 4u * TOGETHER];
    let cell_5 = cells[at + 5u * TOGETHER];
    let cell_6 = cells[at + 6u * TOGETHER];
    let cell_7 = cells[at + 7u * TOGETHER];
    let last = listed[0] - 1u;
    for (var some = 0u; some < BLOCK; some += AT_ONCE) {
        for (var e = 0u; e < AT_ONCE; e++) {
            let event = listed[1u + min(place + some + e, last)];
            let four = digits[event * params.quads + quad];
            var taken = with_two(Taken(), cell_0, cell_1, four.x);
            taken = with_two(taken, cell_2, cell_3, four.y);
            taken = with_two(taken, cell_4, cell_5, four.z);
            taken = with_two(taken, cell_6, cell_7, four.w);
            let slot = e * SUMS * WORKGROUP_SIZE + thread;
            wg_sums[slot] = whole(taken.energy, taken.energy_upper);
            wg_sums[slot + WORKGROUP_SIZE] = whole(taken.et, taken.et_upper);
            wg_sums[slot + 2u * WORKGROUP_SIZE] = vec2<u32>(u32(taken.skipped), 0u);
        }
        workgroupBarrier();
        // Each of some threads of a team sums one of its sums; each begins elsewhere, so that all banks of memory are asked.
        let event = place + some + own / SUMS;
        if own < SUMS * AT_ONCE && chunk < params.chunks && event <= last {
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
        if counter == 8u {
            sum = add64(sum, partials[partial + 2u]);
        } else if counter == 1u {
            sum = add64(sum, partials[partial]);
        } else if counter == 0u || chunks[chunk].area + 2u == counter {
            sum = add64(sum, partials[partial + 1u]);
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
