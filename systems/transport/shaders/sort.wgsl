// Declarations of a stable sort by classes, three bits at a time. Each workgroup has a tile of
// elements. `histogram` counts the digits of the tile, `scan` turns the counts into places,
// `scatter` moves elements there.
// CPU twin: src/engine/cpu/sort.rs.

override THREADS: u32 = 128u;
override SIZE_AT: u32 = 0u;
// Elements of a thread, whose digits are one word.
const EACH: u32 = 8u;
override TILE: u32 = THREADS * EACH;
const DIGITS: u32 = 8u;

// One of the passes over the digits.
struct Settings {
    // Elements that there is room for.
    capacity: u32,
    classes: u32,
    // Where the digit is.
    shift: u32,
    is_first: u32,
    is_last: u32,
}

@group(0) @binding(0) var<uniform> settings: Settings;
@group(0) @binding(1) var<storage, read> size: array<u32>;

fn elements() -> u32 {
    return min(size[SIZE_AT], settings.capacity);
}

fn tiles(n: u32) -> u32 {
    return n / TILE + select(0u, 1u, n % TILE != 0u);
}

// Words of a row of counts of tiles: whole fours.
fn row_of(tiles: u32) -> u32 {
    return (tiles + 3u) / 4u * 4u;
}

fn tile_of(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.x + group.y * groups.x;
}

// Counts of eight digits in four bits each, as counts in sixteen: of 0 to 3, and of 4 to 7 in the
// upper halves.
fn spread(few: u32) -> vec4<u32> {
    return (vec4<u32>(few) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(0x000f000fu);
}
