// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Sixteen threads
// take a chunk of the cells, two quads of an area each, keep their weights, and go through the events of a block; then
// sum_chunks sums the chunks of an event, and takes away what their pedestals come to. Digits and weights are taken as bytes,
// four of which a packed product multiplies and adds at once.
// in:   params, listed, chunks (first quad of digits, quads, area, products of pedestals), weights, products, digits
// out:  partials (of an event and a chunk: energy, transverse energy), and with them counters
// grid: sum_cells: x, y = blocks of BLOCK events, in rows; z = chunks, TEAMS of them; sum_chunks: two events each
// workgroup memory: 16 AT_ONCE WORKGROUP_SIZE bytes and 4 AT_ONCE TEAMS; sum_chunks: 1280 bytes
// Needs: types, events/listed, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

// 16, 32 or 64.
override WORKGROUP_SIZE: u32 = 64;
const TOGETHER: u32 = 16u;
override TEAMS: u32 = WORKGROUP_SIZE / TOGETHER;
const BLOCK: u32 = 32u;
const AT_ONCE: u32 = 8u;
const SUMS: u32 = 2u;
// Digits are taken as so much more, which makes them whole numbers from 0 on, and INVALID 0.
const BIAS: u32 = 0x80808080u;
const BYTES: u32 = 0x00ff00ffu; // of a word, every other
// Sums of a chunk are below 2^45; digits that are not to be used are counted above, as so much of the upper word.
const ONE_SKIPPED: u32 = 65536u;

struct Chunk {
    first: u32,
    quads: u32,
    area: u32,
    unused: u32,
    // Of biased pedestals and weights.
    energy: vec2<u32>,
    et: vec2<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
// Of a thread's fours of cells, a word of bytes of each: the low, the middle and the high bytes of the weights for energy, and
// those for transverse energy. Those that threads read together lie side by side.
@group(0) @binding(3) var<storage, read> weights: array<vec4<u32>>;
// Of each cell, biased pedestal times weight for energy, in units and in 2^16 of them, and for transverse energy; the highest
// bit of the third word says that there is a cell.
@group(0) @binding(4) var<storage, read> products: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> partials: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> counters: array<u32>;

// Of each thread, by event and then by sum: units, and 2^16 of them.
var<workgroup> wg_sums: array<vec2<u32>, SUMS * AT_ONCE * WORKGROUP_SIZE>;
var<workgroup> wg_skipped: array<atomic<u32>, AT_ONCE * TEAMS>;

// Bytes of weights of four fours of cells.
struct Weights {
    low: vec4<u32>,
    middle: vec4<u32>,
    high: vec4<u32>,
}

// What a four of cells adds to, by powers of 2^8.
fn with_four(sums: vec4<u32>, low: u32, high: u32, weights: vec3<u32>) -> vec4<u32> {
    return sums + vec4<u32>(
        dot4U8Packed(low, weights.x),
        dot4U8Packed(low, weights.y) + dot4U8Packed(high, weights.x),
        dot4U8Packed(low, weights.z) + dot4U8Packed(high, weights.y),
        dot4U8Packed(high, weights.z),
    );
}

fn with_all(low: vec4<u32>, high: vec4<u32>, bytes: Weights) -> vec2<u32> {
    var sums = with_four(vec4<u32>(), low.x, high.x, vec3<u32>(bytes.low.x, bytes.middle.x, bytes.high.x));
    sums = with_four(sums, low.y, high.y, vec3<u32>(bytes.low.y, bytes.middle.y, bytes.high.y));
    sums = with_four(sums, low.z, high.z, vec3<u32>(bytes.low.z, bytes.middle.z, bytes.high.z));
    sums = with_four(sums, low.w, high.w, vec3<u32>(bytes.low.w, bytes.middle.w, bytes.high.w));
    // Neither overflows when sixteen threads are summed.
    return vec2<u32>(sums.x + ((sums.y & 0xffu) << 8u), (sums.y >> 8u) + sums.z + (sums.w << 8u));
}

// Some byte of which is 0, and perhaps bits more.
fn zeros(bytes: u32) -> u32 {
    return (bytes - 0x01010101u) & ~bytes & 0x80808080u;
}

// What digits that are not to be used lack of their pedestals, of a four of cells.
fn skip(found: u32, low: u32, high: u32, at: u32, skipped: u32) -> vec4<u32> {
    var sums = vec4<u32>();
    for (var left = found; left != 0u; left &= left - 1u) {
        let byte = firstTrailingBit(left) / 8u;
        if (((low | high) >> (8u * byte)) & 0xffu) == 0u {
            let product = products[at + byte * TOGETHER];
            sums += product & vec4<u32>(NONE, NONE, 0x7fffffffu, NONE);
            atomicAdd(&wg_skipped[skipped], product.z >> 31u);
        }
    }
    return sums;
}

// Sums of sixteen digits of an event.
fn keep(e: u32, thread: u32, at: u32, energy: Weights, et: Weights, first: vec4<u32>, second: vec4<u32>) {
    // Of cells 0, 2, 1 and 3 of each four, the low bytes and the high ones.
    let even = vec4<u32>(first.xz, second.xz);
    let odd = vec4<u32>(first.yw, second.yw);
    let low = (even & vec4<u32>(BYTES)) | ((odd << vec4<u32>(8u)) & vec4<u32>(~BYTES));
    let high = (((even >> vec4<u32>(8u)) & vec4<u32>(BYTES)) | (odd & vec4<u32>(~BYTES))) ^ vec4<u32>(BIAS);
    var all = vec4<u32>(with_all(low, high, energy), with_all(low, high, et));
    let found = vec4<u32>(zeros(high.x), zeros(high.y), zeros(high.z), zeros(high.w));
    if (found.x | found.y | found.z | found.w) != 0u {
        let skipped = e * TEAMS + thread / TOGETHER;
        all += skip(found.x, low.x, high.x, at, skipped);
        all += skip(found.y, low.y, high.y, at + 4u * TOGETHER, skipped);
        all += skip(found.z, low.z, high.z, at + 8u * TOGETHER, skipped);
        all += skip(found.w, low.w, high.w, at + 12u * TOGETHER, skipped);
    }
    let slot = e * SUMS * WORKGROUP_SIZE + thread;
    wg_sums[slot] = all.xy;
    wg_sums[slot + WORKGROUP_SIZE] = all.zw;
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
    let known = min(chunk, params.chunks - 1u);
    let last_quad = chunks[known].first + chunks[known].quads - 1u;
    let quad = min(chunks[known].first + own, last_quad);
    let other = min(chunks[known].first + own + TOGETHER, last_quad);
    let at = 6u * TOGETHER * known + own;
    let energy = Weights(weights[at], weights[at + TOGETHER], weights[at + 2u * TOGETHER]);
    let et = Weights(weights[at + 3u * TOGETHER], weights[at + 4u * TOGETHER], weights[at + 5u * TOGETHER]);
    let products_at = 16u * TOGETHER * known + own;
    let last = listed[0] - 1u;
    if thread < AT_ONCE * TEAMS {
        atomicStore(&wg_skipped[thread], 0u);
    }
    workgroupBarrier();
    for (var some = 0u; some < BLOCK; some += AT_ONCE) {
        for (var e = 0u; e < AT_ONCE; e += 2u) {
            // Two events are asked for before the first is waited for.
            let event = place + some + e;
            let row = listed[1u + min(event, last)] * params.quads;
            let next_row = listed[1u + min(event + 1u, last)] * params.quads;
            let a = digits[row + quad];
            let b = digits[row + other];
            let c = digits[next_row + quad];
            let d = digits[next_row + other];
            keep(e, thread, products_at, energy, et, a, b);
            keep(e + 1u, thread, products_at, energy, et, c, d);
        }
        workgroupBarrier();
        // Each thread of a team sums one of its sums; each begins elsewhere, so that all banks of memory are asked.
        let event = place + some + own / SUMS;
        if chunk < params.chunks && event <= last {
            var sum = vec2<u32>();
            for (var i = 0u; i < TOGETHER; i++) {
                sum += wg_sums[own * WORKGROUP_SIZE + team * TOGETHER + (i + own) % TOGETHER];
            }
            var both = add64(vec2<u32>(sum.x, 0u), vec2<u32>(sum.y << 16u, sum.y >> 16u));
            let at = event * params.chunks + chunk;
            if own % SUMS == 0u {
                partials[at].x = both.x;
                partials[at].y = both.y;
            } else {
                partials[at].z = both.x;
                partials[at].w = both.y + atomicLoad(&wg_skipped[own / SUMS * TEAMS + team]) * ONE_SKIPPED;
                atomicStore(&wg_skipped[own / SUMS * TEAMS + team], 0u);
            }
        }
        workgroupBarrier();
    }
}

// Threads of an event, a chunk each and then a counter each: energies, and digits that are not to be used.
const EACH: u32 = 32u;
const SKIPPED: u32 = 8u;

var<workgroup> wg_partials: array<vec4<u32>, 2u * EACH>;
var<workgroup> wg_areas: array<u32, 2u * EACH>;

@compute @workgroup_size(64)
fn sum_chunks(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let event = place_of(group, groups) * 2u + thread / EACH;
    let own = thread % EACH;
    let there = event < listed[0];
    var sum = vec2<u32>();
    for (var strip = 0u; strip < params.chunks; strip += EACH) {
        let chunk = strip + own;
        var areas = NONE;
        if there && chunk < params.chunks {
            let pedestals = chunks[chunk];
            let partial = partials[event * params.chunks + chunk];
            let et = vec2<u32>(partial.z, partial.w % ONE_SKIPPED);
            wg_partials[thread] = vec4<u32>(sub64(partial.xy, pedestals.energy), sub64(et, pedestals.et));
            // Which both fit.
            areas = pedestals.area | (partial.w / ONE_SKIPPED) << 4u;
        }
        wg_areas[thread] = areas;
        workgroupBarrier();
        if own <= SKIPPED {
            for (var i = 0u; i < min(EACH, params.chunks - strip); i++) {
                let at = thread - own + i;
                let area = wg_areas[at];
                let partial = wg_partials[at];
                if own == SKIPPED {
                    sum.x += area >> 4u;
                } else if own == 1u {
                    sum = add64(sum, partial.xy);
                } else if own == 0u || own == (area & 15u) + 2u {
                    sum = add64(sum, partial.zw);
                }
            }
        }
        workgroupBarrier();
    }
    if there && own <= SKIPPED {
        let at = event * WORDS;
        if own == SKIPPED {
            counters[at + SKIPPED_AT] = sum.x;
        } else {
            counters[at + CALO_AT + 2u * own] = sum.x;
            counters[at + CALO_AT + 2u * own + 1u] = sum.y;
        }
    }
}
