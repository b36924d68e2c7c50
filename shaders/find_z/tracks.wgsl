// Functions that all loops over pairs share: cells, ranges of spacepoints, steps between slices,
// tracks, entries.

#import shared::real
#import shared::types
#import find_z::accumulate
#import kernel::{params, neighbours, beside, cell_begin, mark_track}

// Set in a neighbour count of a pair with a disk.
const ENDCAP_PAIR: u32 = 0x80000000u;
// The bits below the marks are the count.
const NEIGHBOURS: u32 = 0x1ffffffu;
// Bits of the precision of a pair, which find_z sums where weights go by pT.
const PRECISION: u32 = 0x3e000000u;
const PRECISION_SHIFT: u32 = 25u;

// The RoI of this workgroup, and the first bin of its tile.
var<private> roi: Roi;
var<private> roi_index: u32;
var<private> tile_first: u32;
// Whether a loop of this thread was ended early.
var<private> unfinished: bool;

// Where a slice of a layer begins.
fn cell(layer: u32, slice: u32) -> u32 {
    return cell_begin(cell_place(params.layers, roi.slices, layer, slice));
}

fn neighbours_word(inner: u32, outer: u32) -> u32 {
    let place = inner * params.layers + outer;
    return neighbours[place >> 2u][place & 3u];
}

// n(A, B) at the RoI's eta.
fn reach(inner: u32, outer: u32) -> u32 {
    let word = neighbours_word(inner, outer);
    let n = word & NEIGHBOURS;
    if (word & ENDCAP_PAIR) == 0u {
        return n;
    }
    return u32(max(i32(n) - roi.endcap_shift, 1));
}

// A range of spacepoints with one jump: from `first` to `end`, and from `jump_at` on `jump` places
// further.
struct Range {
    first: u32,
    end: u32,
    jump_at: u32,
    jump: u32,
}

fn no_range() -> Range {
    return Range(0u, 0u, 0xffffffffu, 0u);
}

fn plain_range(first: u32, end: u32) -> Range {
    return Range(first, end, 0xffffffffu, 0u);
}

fn place_in(range: Range, i: u32) -> u32 {
    return i + select(0u, range.jump, i >= range.jump_at);
}

// As a Range, with two jumps: three stretches.
struct Stretches {
    first: u32,
    end: u32,
    jump_at: u32,
    jump: u32,
    second_at: u32,
    second: u32,
}

fn stretch(range: Range) -> Stretches {
    return Stretches(range.first, range.end, range.jump_at, range.jump, 0xffffffffu, 0u);
}

fn place_among(among: Stretches, i: u32) -> u32 {
    return i + select(0u, among.jump, i >= among.jump_at) + select(0u, among.second, i >= among.second_at);
}

// Slices from `origin` to `other`, on a ring the shorter way round.
fn step_between(origin: u32, other: u32) -> i32 {
    let straight = i32(other) - i32(origin);
    let slices = i32(roi.slices);
    if roi.ring != 0u && 2 * straight > slices {
        return straight - slices;
    }
    if roi.ring != 0u && 2 * straight <= -slices {
        return straight + slices;
    }
    return straight;
}

// Whole turns to add to the phi of a spacepoint in slice `other`, seen from slice `origin`, `step`
// slices away.
fn turn_between(origin: u32, other: u32, step: i32) -> real {
    let straight = i32(other) - i32(origin);
    if step > straight {
        return TURN;
    }
    if step < straight {
        return -TURN;
    }
    return real(0.0);
}

fn turn_of_step(origin: u32, other: u32) -> real {
    if roi.ring == 0u {
        return real(0.0);
    }
    return turn_between(origin, other, step_between(origin, other));
}

// z at the beam of the line through two spacepoints, in either order: z12 of the specification.
// Infinite or NaN where their rho do not differ.
fn track_z(a: vec2<real>, b: vec2<real>) -> real {
    return quotient(b.y - a.y, b.x - a.x);
}

// A range of z: its middle and half of its width, with more than rounding may take.
struct ZRange {
    middle: real,
    half: real,
}

fn z_range(low: real, high: real) -> ZRange {
    let middle = real(0.5) * (low + high);
    return ZRange(middle, real(0.500005) * (high - low) + real(0.00001) * abs(middle));
}

fn is_searched(z12: real) -> bool {
    return z12 > roi.z_min && z12 < roi.z_max;
}

// Beside a weight: its direction counts, as that of a track or of a hard one.
const SOFT_TRACK: u32 = 0x40000000u;
const HARD_TRACK: u32 = 0x80000000u;

// Histograms the pair of an inner spacepoint a and an outer one b.
fn add_entry(a: u32, b: u32, z12: real, weight: u32) {
    // The comparison in whole numbers stands also where a compiler takes it that there is no NaN.
    let steps = whole_steps(z12, roi.steps_per_mm, roi.steps_at_0, tile_first * OFFSET_STEPS);
    if steps < TILE_BINS * OFFSET_STEPS {
        let flags = weight & (SOFT_TRACK | HARD_TRACK);
        if flags != 0u {
            mark_track(a, b, steps, flags);
        }
        accumulate(a, b, steps, weight & ~(SOFT_TRACK | HARD_TRACK), f32(z12));
    }
}

// z of a pair at the beam: along a line that meets it, or ACCURATE: where the line through the pair
// is nearest to the beam (thesis, section 5.1). Products of three numbers are `product` each:
// NVIDIA's compiler multiplies them in another order, and one RoI in some five thousand then has an
// entry beside. 1: accurate.
override ACCURATE: u32 = 0;

fn extrapolate(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>) -> real {
    if ACCURATE == 0u {
        return track_z(point_a, point_b);
    }
    let half = real(0.5) * abs(stored_real(beside[b]) - stored_real(beside[a]));
    // From pi / 2 on the sine comes back.
    let s = sine(min(half, real(0.5) * TURN - half));
    let u = point_a.x;
    let v = point_b.x;
    let ss = product(s, s);
    let four_ss = real(4.0) * ss;
    // The square of the line's distance from the beam, d0.
    let below = product(u - v, u - v) + product(four_ss, product(u, v));
    let square = quotient(product(four_ss, real(1.0) - ss), below);
    // sqrt(rho^2 - d0^2) = rho w
    let wa = root(real(1.0) - product(product(square, u), u));
    let wb = root(real(1.0) - product(product(square, v), v));
    return quotient(product(point_b.y, wa) - product(point_a.y, wb), product(v, wa) - product(u, wb));
}

// Whether z may lie in a range; of a line that meets the beam without a quotient, which takes
// longer than all else.
fn may_be_within(a: u32, point_a: vec2<real>, b: u32, point_b: vec2<real>, range: ZRange) -> bool {
    if ACCURATE == 0u {
        let apart = point_b.x - point_a.x;
        return abs(point_b.y - point_a.y - range.middle * apart) <= range.half * abs(apart);
    }
    return abs(extrapolate(a, point_a, b, point_b) - range.middle) <= range.half;
}
