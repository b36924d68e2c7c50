// Of each digit, makes the counts of tiles the sums of those before; and of each class, where it
// begins.
// in:   settings, size, tile_counts; bounds (counts of classes)
// out:  tile_counts, totals (of digits); bounds (after the counts, how many elements are of the
//       classes before)
// grid: scan: a workgroup a digit; offsets: one
// Needs: sort.

@group(0) @binding(2) var<storage, read_write> tile_counts: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> totals: array<u32, DIGITS>;
@group(0) @binding(4) var<storage, read_write> bounds: array<u32>;

// Threads of a workgroup here.
override SCANNING: u32 = 256u;

var<workgroup> wg_sums: array<u32, 2u * SCANNING>;

// The sum of the threads before, and the sum of all threads.
fn sums(thread: u32, value: u32) -> vec2<u32> {
    var sum = value;
    var half = 0u;
    wg_sums[thread] = sum;
    workgroupBarrier();
    for (var reach = 1u; reach < SCANNING; reach *= 4u) {
        for (var k = 1u; k < 4u; k++) {
            if thread >= k * reach {
                sum += wg_sums[half + thread - k * reach];
            }
        }
        half = SCANNING - half;
        wg_sums[half + thread] = sum;
        workgroupBarrier();
    }
    let total = wg_sums[half + SCANNING - 1u];
    workgroupBarrier();
    return vec2<u32>(sum - value, total);
}

// Sums up to each component, and the sum of all.
struct Running {
    before: vec4<u32>,
    after: u32,
}

fn running(before: u32, four: vec4<u32>) -> Running {
    let x = before + four.x;
    let y = x + four.y;
    let z = y + four.z;
    return Running(vec4<u32>(before, x, y, z), z + four.w);
}

// Places beyond the last tile are zero.
fn of_tiles(four: vec4<u32>, first: u32, tiles: u32) -> vec4<u32> {
    return select(vec4<u32>(), four, vec4<u32>(first) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(tiles));
}

@compute @workgroup_size(SCANNING)
fn scan(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let all_tiles = tiles(elements());
    let fours = row_of(all_tiles) / 4u;
    let begin = group.x * fours;
    var before = 0u;
    for (var first = 0u; first < fours; first += 4u * SCANNING) {
        let own = first + 4u * thread;
        // All are read before any is written: one wait for memory.
        var a = vec4<u32>();
        var b = vec4<u32>();
        var c = vec4<u32>();
        var d = vec4<u32>();
        if own < fours {
            a = of_tiles(tile_counts[begin + own], 4u * own, all_tiles);
        }
        if own + 1u < fours {
            b = of_tiles(tile_counts[begin + own + 1u], 4u * own + 4u, all_tiles);
        }
        if own + 2u < fours {
            c = of_tiles(tile_counts[begin + own + 2u], 4u * own + 8u, all_tiles);
        }
        if own + 3u < fours {
            d = of_tiles(tile_counts[begin + own + 3u], 4u * own + 12u, all_tiles);
        }
        let four = a + b + c + d;
        let scanned = sums(thread, four.x + four.y + four.z + four.w);
        let up_to_a = running(before + scanned.x, a);
        let up_to_b = running(up_to_a.after, b);
        let up_to_c = running(up_to_b.after, c);
        let up_to_d = running(up_to_c.after, d);
        if own < fours {
            tile_counts[begin + own] = up_to_a.before;
        }
        if own + 1u < fours {
            tile_counts[begin + own + 1u] = up_to_b.before;
        }
        if own + 2u < fours {
            tile_counts[begin + own + 2u] = up_to_c.before;
        }
        if own + 3u < fours {
            tile_counts[begin + own + 3u] = up_to_d.before;
        }
        before += scanned.y;
    }
    if thread == 0u {
        totals[group.x] = before;
    }
}

@compute @workgroup_size(SCANNING)
fn offsets(@builtin(local_invocation_index) thread: u32) {
    var before = 0u;
    for (var first = 0u; first < settings.classes; first += SCANNING) {
        let own = first + thread;
        var here = 0u;
        if own < settings.classes {
            here = bounds[own];
        }
        let scanned = sums(thread, here);
        if own < settings.classes {
            bounds[settings.classes + own] = before + scanned.x;
        }
        before += scanned.y;
    }
}
