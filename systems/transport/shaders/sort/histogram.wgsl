// Counts the digits of each tile, and keeps them, eight a word, for `scatter` to read.
// in:   settings, size, keys (classes, or what the pass before moved, four together)
// out:  digits, tile_counts (of digit 0 of each tile, then of digit 1, ...), status (as in
//       count.wgsl)
// grid: a workgroup a tile, in rows; those beyond the last do nothing
// Needs: sort.

@group(0) @binding(2) var<storage, read> keys: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> digits: array<u32>;
@group(0) @binding(4) var<storage, read_write> tile_counts: array<u32>;
@group(0) @binding(5) var<storage, read_write> status: array<atomic<u32>, 2>;

var<workgroup> wg_sums: array<vec4<u32>, THREADS>;

fn refuse(element: u32, many: u32) {
    atomicAdd(&status[0], many);
    atomicMax(&status[1], ~element);
}

// Elements without a class are reported, and sorted with the last class.
fn digit_of(key: u32, element: u32) -> u32 {
    if key >= settings.classes && settings.is_first != 0u {
        refuse(element, 1u);
    }
    return (min(key, settings.classes - 1u) >> settings.shift) & 7u;
}

fn digits_of(four: vec4<u32>, element: u32) -> vec4<u32> {
    if all(four < vec4<u32>(settings.classes)) {
        return (four >> vec4<u32>(settings.shift)) & vec4<u32>(7u);
    }
    return vec4<u32>(
        digit_of(four.x, element),
        digit_of(four.y, element + 1u),
        digit_of(four.z, element + 2u),
        digit_of(four.w, element + 3u),
    );
}

fn packed(four: vec4<u32>) -> u32 {
    return four.x | (four.y << 4u) | (four.z << 8u) | (four.w << 12u);
}

fn counted(four: vec4<u32>) -> u32 {
    let ones = vec4<u32>(1u) << (four * 4u);
    return ones.x + ones.y + ones.z + ones.w;
}

@compute @workgroup_size(THREADS)
fn histogram(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    let n = elements();
    let tile = tile_of(group, groups);
    let all_tiles = tiles(n);
    if tile == 0u && thread == 0u && settings.is_first != 0u && size[SIZE_AT] > n {
        refuse(n, size[SIZE_AT] - n);
    }
    if tile >= all_tiles {
        return;
    }
    let word = tile * THREADS + thread;
    let first = word * EACH;
    var few = 0u;
    if first < n && n - first >= EACH {
        let a = digits_of(keys[2u * word], first);
        let b = digits_of(keys[2u * word + 1u], first + 4u);
        digits[word] = packed(a) | (packed(b) << 16u);
        few = counted(a) + counted(b);
    } else {
        // Beyond the last element are sevens, which are not counted: sorted within the tile, they
        // come last.
        var here = 0u;
        for (var j = 0u; j < EACH; j++) {
            var digit = 7u;
            if first < n && j < n - first {
                digit = digit_of(keys[2u * word + j / 4u][j % 4u], first + j);
                few += 1u << (4u * digit);
            }
            here |= digit << (4u * j);
        }
        digits[word] = here;
    }
    wg_sums[thread] = spread(few);
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half {
            wg_sums[thread] += wg_sums[thread + half];
        }
        workgroupBarrier();
    }
    if thread < DIGITS {
        let pair = wg_sums[0][thread & 3u];
        tile_counts[thread * row_of(all_tiles) + tile] = (pair >> (4u * (thread & 4u))) & 0xffffu;
    }
}
