// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's weights. Eight threads take
// a chunk of the cells, three quads of an area each, keep their weights, and go through events; then sum_chunks sums the chunks
// of an event, and takes away what their pedestals come to. Digits and weights are taken as bytes, four of which a packed
// product multiplies and adds at once.
// in:   params, listed, chunks (first quad of digits, quads, area, products of pedestals), quads, there, digits
// out:  partials (of an event and a chunk: energy, transverse energy), and with them counters
// grid: sum_cells: x, y = any number of workgroups, in rows; z = chunks, TEAMS of them; sum_chunks: two events each
// workgroup memory: 16 AT_ONCE WORKGROUP_SIZE bytes; sum_chunks: 1280 bytes
// Needs: types, events/listed, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

// A multiple of 8.
override WORKGROUP_SIZE: u32 = 256;
const TOGETHER: u32 = 8u;
override TEAMS: u32 = WORKGROUP_SIZE / TOGETHER;
const SUMS: u32 = 2u;
const AT_ONCE: u32 = TOGETHER / SUMS; // events
// Digits are taken as so much more, which makes them whole numbers from 0 on, and those that are not to be used 0.
const BIAS: u32 = 0x80808080u;
const BYTES: u32 = 0x00ff00ffu; // of a word, every other
const HIGHEST: u32 = 0x80808080u; // bits of bytes
// Where digits that are not to be used are counted: in a thread's sum, and in the upper word of a partial.
const SKIPPED_BIT: u32 = 20u;
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

// Of the two fours of cells of a quad, a word with a byte of each cell: low, middle and high bytes of the weights for energy and
// of those for transverse energy, low and high bytes of biased pedestals. Zeros where there is no cell.
struct Quad {
    first: vec3<u32>,
    second: vec3<u32>,
    first_et: vec3<u32>,
    second_et: vec3<u32>,
    pedestals: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
// A Quad's words, four at a time; those that threads read together lie side by side.
@group(0) @binding(3) var<storage, read> quads: array<vec4<u32>>;
// Of each thread's quads and their fours, in turn, a bit of each byte: whether there is a cell.
@group(0) @binding(4) var<storage, read> there: array<u32>;
@group(0) @binding(5) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> partials: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> counters: array<u32>;

// Of each thread, by event and then by sum: units, and 2^16 of them.
var<workgroup> wg_sums: array<vec2<u32>, SUMS * AT_ONCE * WORKGROUP_SIZE>;

// By powers of 2^8, and digits that are not to be used.
struct Sums {
    energy: vec4<u32>,
    et: vec4<u32>,
    skipped: u32,
}

fn quad_of(at: u32) -> Quad {
    let a = quads[at];
    let b = quads[at + TOGETHER];
    let c = quads[at + 2u * TOGETHER];
    return Quad(a.xyz, vec3<u32>(a.w, b.xy), vec3<u32>(b.zw, c.x), c.yzw, quads[at + 3u * TOGETHER]);
}

fn products(low: u32, high: u32, weights: vec3<u32>) -> vec4<u32> {
    return vec4<u32>(
        dot4U8Packed(low, weights.x),
        dot4U8Packed(low, weights.y) + dot4U8Packed(high, weights.x),
        dot4U8Packed(low, weights.z) + dot4U8Packed(high, weights.y),
        dot4U8Packed(high, weights.z),
    );
}

// The highest bit of each byte that is 0.
fn zeros(bytes: u32) -> u32 {
    return ~(((bytes & ~HIGHEST) + ~HIGHEST) | bytes | ~HIGHEST);
}

fn with_quad(sums: Sums, quad: Quad, cells: u32, four: vec4<u32>) -> Sums {
    // Of cells 0, 2, 1 and 3 of each four, the low bytes and the high ones.
    var low = (four.xz & vec2<u32>(BYTES)) | ((four.yw << vec2<u32>(8u)) & vec2<u32>(~BYTES));
    var high = (((four.xz >> vec2<u32>(8u)) & vec2<u32>(BYTES)) | (four.yw & vec2<u32>(~BYTES))) ^ vec2<u32>(BIAS);
    var skipped = sums.skipped;
    let zero = vec2<u32>(zeros(low.x | high.x), zeros(low.y | high.y));
    if (zero.x | zero.y) != 0u {
        // As much as the pedestals.
        let found = zero & vec2<u32>(cells << 7u, cells << 6u);
        let mask = (found << vec2<u32>(1u)) - (found >> vec2<u32>(7u));
        low |= mask & quad.pedestals.xy;
        high |= mask & quad.pedestals.zw;
        skipped += countOneBits(found.x) + countOneBits(found.y);
    }
    return Sums(
        sums.energy + products(low.x, high.x, quad.first) + products(low.y, high.y, quad.second),
        sums.et + products(low.x, high.x, quad.first_et) + products(low.y, high.y, quad.second_et),
        skipped,
    );
}

// Units and 2^16 of them: neither overflows when eight threads are summed, and of the first twelve bits are free.
fn halves(sums: vec4<u32>) -> vec2<u32> {
    let low = sums.x + ((sums.y & 0xffu) << 8u);
    return vec2<u32>(low & 0xffffu, (low >> 16u) + (sums.y >> 8u) + sums.z + (sums.w << 8u));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn sum_cells(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let team = thread / TOGETHER;
    let own = thread % TOGETHER;
    let chunk = group.z * TEAMS + team;
    let known = min(chunk, params.chunks - 1u);
    let first = chunks[known].first + own;
    let last_quad = params.quads - 1u;
    let at = 12u * TOGETHER * known + own;
    let quad_0 = quad_of(at);
    let quad_1 = quad_of(at + 4u * TOGETHER);
    let quad_2 = quad_of(at + 8u * TOGETHER);
    let cells = there[known * TOGETHER + own];
    let events = listed[0];
    // Of all workgroups, the events of a round lie side by side.
    for (var some = place_of(group, groups) * AT_ONCE; some < events; some += groups.x * groups.y * AT_ONCE) {
        for (var e = 0u; e < AT_ONCE; e++) {
            let row = listed[1u + min(some + e, events - 1u)] * params.quads;
            let four_0 = digits[row + min(first, last_quad)];
            let four_1 = digits[row + min(first + TOGETHER, last_quad)];
            let four_2 = digits[row + min(first + 2u * TOGETHER, last_quad)];
            var sums = with_quad(Sums(), quad_0, cells, four_0);
            sums = with_quad(sums, quad_1, cells >> 2u, four_1);
            sums = with_quad(sums, quad_2, cells >> 4u, four_2);
            let slot = e * SUMS * WORKGROUP_SIZE + thread;
            wg_sums[slot] = halves(sums.energy);
            wg_sums[slot + WORKGROUP_SIZE] = halves(sums.et) + vec2<u32>(sums.skipped << SKIPPED_BIT, 0u);
        }
        workgroupBarrier();
        // Each thread of a team sums one of its sums; each begins elsewhere, so that all banks of memory are asked.
        let event = some + own / SUMS;
        if chunk < params.chunks && event < events {
            var sum = vec2<u32>();
            for (var i = 0u; i < TOGETHER; i++) {
                sum += wg_sums[own * WORKGROUP_SIZE + team * TOGETHER + (i + own) % TOGETHER];
            }
            let skipped = sum.x >> SKIPPED_BIT;
            let low = vec2<u32>(sum.x & ((1u << SKIPPED_BIT) - 1u), 0u);
            var both = add64(low, vec2<u32>(sum.y << 16u, sum.y >> 16u));
            both.y += skipped * ONE_SKIPPED;
            let at = event * params.chunks + chunk;
            if own % SUMS == 0u {
                partials[at].x = both.x;
                partials[at].y = both.y;
            } else {
                partials[at].z = both.x;
                partials[at].w = both.y;
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
