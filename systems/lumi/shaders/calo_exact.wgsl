// Sums the calorimeter of lumi events in whole numbers: a digit above its pedestal times its cell's
// weights. Eight threads take a chunk of the cells, three quads of an area each, keep their
// weights, and go through events; their sums are summed, and what pedestals come to is taken away.
// Digits and weights are taken as bytes, four of which a packed product multiplies and adds at
// once.
// in:   params, listed, chunks (first quad of digits, area), quads, there, pedestals, digits
// out:  counters
// grid: any number of workgroups, in rows
// Needs: types, events/listed, limbs. CPU twin: calo_counters in src/engine/cpu.rs.

// A multiple of 32.
override WORKGROUP_SIZE: u32 = 256;
const TOGETHER: u32 = 8u;
override TEAMS: u32 = WORKGROUP_SIZE / TOGETHER;
const SUMS: u32 = 2u;
const AT_ONCE: u32 = TOGETHER / SUMS; // events
// Digits are taken as so much more, which makes them whole numbers from 0 on, and those that are
// not to be used 0.
const BIAS: u32 = 0x80808080u;
const BYTES: u32 = 0x00ff00ffu; // of a word, every other
const HIGHEST: u32 = 0x80808080u; // bits of bytes
// Where digits that are not to be used are counted: in a thread's sum, and in the upper word of a
// chunk's, which are below 2^45; and there, a chunk's area.
const SKIPPED_BIT: u32 = 20u;
const CHUNK_SKIPPED_BIT: u32 = 16u;
const AREA_BIT: u32 = 28u;
// Sums of an event: areas, and these. PARTS threads sum a part of the chunks each.
const ENERGY: u32 = 6u;
const SKIPPED: u32 = 7u;
const OF_EVENT: u32 = 8u;
override PARTS: u32 = WORKGROUP_SIZE / (OF_EVENT * AT_ONCE);

struct Chunk {
    first: u32,
    area: u32,
}

// Of the two fours of cells of a quad, a word with a byte of each cell: low, middle and high bytes
// of the weights for energy and of those for transverse energy, low and high bytes of biased
// pedestals. Zeros where there is no cell.
struct Quad {
    first: vec3<u32>,
    second: vec3<u32>,
    first_et: vec3<u32>,
    second_et: vec3<u32>,
    pedestals: vec4<u32>,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(2) var<storage, read> chunks: array<Chunk>;
// The words of a Quad, four at a time. Words that threads read together are adjacent.
@group(0) @binding(3) var<storage, read> quads: array<vec4<u32>>;
// Of each thread's quads and their fours, in turn, a bit of each byte: whether there is a cell.
@group(0) @binding(4) var<storage, read> there: array<u32>;
// Biased pedestals times weights: of areas, and for energy.
@group(0) @binding(5) var<storage, read> pedestals: array<vec2<u32>, 7>;
@group(0) @binding(6) var<storage, read> digits: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> counters: array<u32>;

// Of each thread, by event and then by sum: units, and 2^16 of them. Then of each chunk, and behind
// these of each part.
var<workgroup> wg_sums: array<vec2<u32>, SUMS * AT_ONCE * WORKGROUP_SIZE>;

// By powers of 2^8, and digits that are not to be used.
struct Sums {
    energy: vec4<u32>,
    et: vec4<u32>,
    skipped: u32,
}

// Digits of a thread's quads.
struct Fours {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
}

fn fours_of(event: u32, first: u32) -> Fours {
    let row = listed[1u + min(event, listed[0] - 1u)] * params.quads;
    let last = params.quads - 1u;
    return Fours(
        digits[row + min(first, last)],
        digits[row + min(first + TOGETHER, last)],
        digits[row + min(first + 2u * TOGETHER, last)],
    );
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

// Units and 2^16 of them: neither overflows when eight threads are summed, and of the first twelve
// bits are free.
fn halves(sums: vec4<u32>) -> vec2<u32> {
    let low = sums.x + ((sums.y & 0xffu) << 8u);
    return vec2<u32>(low & 0xffffu, (low >> 16u) + (sums.y >> 8u) + sums.z + (sums.w << 8u));
}

// Sums the chunks of one thread of a team. Each thread begins at another chunk, so that all memory
// banks are used.
fn sum_of_chunk(own: u32, team: u32) -> vec2<u32> {
    var sum = vec2<u32>();
    for (var i = 0u; i < TOGETHER; i++) {
        sum += wg_sums[own * WORKGROUP_SIZE + team * TOGETHER + (i + own) % TOGETHER];
    }
    let low = vec2<u32>(sum.x & ((1u << SKIPPED_BIT) - 1u), 0u);
    let both = add64(low, vec2<u32>(sum.y << 16u, sum.y >> 16u));
    return vec2<u32>(both.x, both.y | (sum.x >> SKIPPED_BIT) << CHUNK_SKIPPED_BIT);
}

// Returns a sum of an event over the chunks of a part.
fn sum_of_part(wanted: u32, event: u32, part: u32) -> vec2<u32> {
    var sum = vec2<u32>();
    for (var team = part; team < TEAMS; team += PARTS) {
        let chunk = wg_sums[(event * SUMS + select(1u, 0u, wanted == ENERGY)) * TEAMS + team];
        if wanted == SKIPPED {
            sum.x += (chunk.y >> CHUNK_SKIPPED_BIT) & 0xffu;
        } else if wanted == ENERGY || chunk.y >> AREA_BIT == wanted {
            sum = add64(sum, vec2<u32>(chunk.x, chunk.y & 0xffffu));
        }
    }
    return sum;
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn count(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let team = thread / TOGETHER;
    let own = thread % TOGETHER;
    // Threads that sum chunks, and then parts.
    let wanted = thread % OF_EVENT;
    let of_event = thread / OF_EVENT % AT_ONCE;
    let part = thread / (OF_EVENT * AT_ONCE);
    let parts_at = SUMS * AT_ONCE * TEAMS;
    var quad_0 = Quad();
    var quad_1 = Quad();
    var quad_2 = Quad();
    var cells = 0u;
    var first = 0u;
    var area = 0u;
    var known = NONE;
    var next = Fours();
    let stride = groups.x * groups.y * AT_ONCE;
    // Of all workgroups, the events of a round lie side by side.
    for (var some = place_of(group, groups) * AT_ONCE; some < listed[0]; some += stride) {
        var total = vec2<u32>();
        for (var strip = 0u; strip < params.chunks; strip += TEAMS) {
            if strip != known {
                // Once only, if there are as many teams as chunks.
                known = strip;
                let chunk = min(strip + team, params.chunks - 1u);
                let at = 12u * TOGETHER * chunk + own;
                quad_0 = quad_of(at);
                quad_1 = quad_of(at + 4u * TOGETHER);
                quad_2 = quad_of(at + 8u * TOGETHER);
                cells = there[chunk * TOGETHER + own];
                first = chunks[chunk].first + own;
                area = select(NONE, chunks[chunk].area, strip + team < params.chunks);
                next = fours_of(some, first);
            }
            for (var e = 0u; e < AT_ONCE; e++) {
                // The next event is loaded before this one is summed.
                let fours = next;
                next = fours_of(some + select(stride, e + 1u, e + 1u < AT_ONCE), first);
                var sums = with_quad(Sums(), quad_0, cells, fours.a);
                sums = with_quad(sums, quad_1, cells >> 2u, fours.b);
                sums = with_quad(sums, quad_2, cells >> 4u, fours.c);
                let slot = e * SUMS * WORKGROUP_SIZE + thread;
                wg_sums[slot] = halves(sums.energy);
                wg_sums[slot + WORKGROUP_SIZE] = halves(sums.et) + vec2<u32>(sums.skipped << SKIPPED_BIT, 0u);
            }
            workgroupBarrier();
            var sum = sum_of_chunk(own, team);
            sum.y |= area << AREA_BIT;
            sum = select(sum, vec2<u32>(0u, area << AREA_BIT), area == NONE);
            workgroupBarrier();
            wg_sums[own * TEAMS + team] = sum;
            workgroupBarrier();
            wg_sums[parts_at + thread] = sum_of_part(wanted, of_event, part);
            workgroupBarrier();
            if part == 0u {
                for (var i = 0u; i < PARTS; i++) {
                    total = add64(total, wg_sums[parts_at + thread + i * OF_EVENT * AT_ONCE]);
                }
            }
            workgroupBarrier();
        }
        if part == 0u && wanted != SKIPPED {
            total = sub64(total, pedestals[wanted]);
            wg_sums[thread] = total;
        }
        workgroupBarrier();
        let event = some + of_event;
        if part == 0u && event < listed[0] {
            var counter = wanted + 2u;
            if wanted == SKIPPED {
                counters[event * WORDS + SKIPPED_AT] = total.x;
                // Of all areas.
                counter = 0u;
                total = vec2<u32>();
                for (var i = 0u; i < ENERGY; i++) {
                    total = add64(total, wg_sums[of_event * OF_EVENT + i]);
                }
            } else if wanted == ENERGY {
                counter = 1u;
            }
            counters[event * WORDS + CALO_AT + 2u * counter] = total.x;
            counters[event * WORDS + CALO_AT + 2u * counter + 1u] = total.y;
        }
        workgroupBarrier();
    }
}
