// Brings each element to its place: first within its tile, in workgroup memory, so that memory is
// written in runs.
// in:   settings, size, digits, tile_counts (sums), totals; what `put` reads
// out:  what `put` writes
// grid: a workgroup a tile, in rows; those beyond the last do nothing
// Needs: sort, and sort/alone, sort/moved or sort/carried.

@group(0) @binding(2) var<storage, read> digits: array<u32>;
@group(0) @binding(3) var<storage, read> tile_counts: array<u32>;
@group(0) @binding(4) var<storage, read> totals: array<u32, DIGITS>;

// A word more every 32, for threads whose elements are all of one class to write to different
// banks.
var<workgroup> wg_words: array<u32, TILE + TILE / 32u>;
// Of each digit, from places in the tile to places among all.
var<workgroup> wg_moves: array<u32, DIGITS>;

// Counts of each digit in sixteen bits, in the layout of `spread`: in the threads before, and in
// all threads.
struct Sums {
    before: vec4<u32>,
    all: vec4<u32>,
}

fn pairs_at(place: u32) -> vec4<u32> {
    return vec4<u32>(
        wg_words[place],
        wg_words[place + THREADS],
        wg_words[place + 2u * THREADS],
        wg_words[place + 3u * THREADS],
    );
}

fn put_pairs(place: u32, pairs: vec4<u32>) {
    wg_words[place] = pairs.x;
    wg_words[place + THREADS] = pairs.y;
    wg_words[place + 2u * THREADS] = pairs.z;
    wg_words[place + 3u * THREADS] = pairs.w;
}

// By fours: in workgroup memory that is free as yet.
fn sums(thread: u32, own: vec4<u32>) -> Sums {
    var sum = own;
    var half = 0u;
    put_pairs(thread, sum);
    workgroupBarrier();
    for (var reach = 1u; reach < THREADS; reach *= 4u) {
        for (var k = 1u; k < 4u; k++) {
            if thread >= k * reach {
                sum += pairs_at(half + thread - k * reach);
            }
        }
        half = 4u * THREADS - half;
        put_pairs(half + thread, sum);
        workgroupBarrier();
    }
    let all = pairs_at(half + THREADS - 1u);
    workgroupBarrier();
    return Sums(sum - own, all);
}

fn staged(place: u32) -> u32 {
    return place + place / 32u;
}

fn counted(word: u32) -> u32 {
    var few = 0u;
    for (var j = 0u; j < EACH; j++) {
        few += 1u << (4u * ((word >> (4u * j)) & 7u));
    }
    return few;
}

// Where a digit begins among all. All are read, for that takes no longer than one.
fn beginning(digit: u32) -> u32 {
    var sum = 0u;
    for (var d = 0u; d < DIGITS; d++) {
        sum += select(0u, totals[d], d < digit);
    }
    return sum;
}

@compute @workgroup_size(THREADS)
fn scatter(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let n = elements();
    let tile = tile_of(group, groups);
    let all_tiles = tiles(n);
    if tile == 0u {
        tell(thread);
    }
    if tile >= all_tiles {
        return;
    }
    let first = tile * TILE;
    // Read now, for it to be there when it is needed.
    var to_all = 0u;
    if thread < DIGITS {
        to_all = beginning(thread) + tile_counts[thread * row_of(all_tiles) + tile];
    }
    let word = digits[tile * THREADS + thread];
    let sum = sums(thread, spread(counted(word)));
    let low = (sum.all.x + sum.all.y + sum.all.z + sum.all.w) & 0xffffu;
    let upper = vec4<u32>(low << 16u);
    let begins = upper + vec4<u32>(0u, sum.all.x, sum.all.x + sum.all.y, sum.all.x + sum.all.y + sum.all.z);
    if thread < DIGITS {
        wg_moves[thread] = to_all - ((begins[thread & 3u] >> (4u * (thread & 4u))) & 0xffffu);
    }

    let bases = begins + sum.before;
    var few = 0u;
    for (var j = 0u; j < EACH; j++) {
        let digit = (word >> (4u * j)) & 7u;
        let even = select(bases.x, bases.z, (digit & 2u) != 0u);
        let odd = select(bases.y, bases.w, (digit & 2u) != 0u);
        let pair = select(even, odd, (digit & 1u) != 0u);
        let place = ((pair >> (4u * (digit & 4u))) & 0xffffu) + ((few >> (4u * digit)) & 15u);
        few += 1u << (4u * digit);
        wg_words[staged(place)] = (digit << 16u) | (thread * EACH + j);
    }
    workgroupBarrier();
    let here = min(n - first, TILE);
    for (var k = 0u; k < EACH; k++) {
        let place = k * THREADS + thread;
        if place < here {
            let found = wg_words[staged(place)];
            put(first + (found & 0xffffu), place + wg_moves[found >> 16u]);
        }
    }
}
