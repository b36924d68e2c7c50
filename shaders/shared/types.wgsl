// Records shared with the host (src/engine/records.rs; a test holds them
// together), where cells lie, and quotients.

#import shared::real

// A line through the beam at z0 has z / rho = z0 / rho + slope. A sorted spacepoint is therefore
// kept as (1 / rho, z / rho) [1/mm, 1]: the quotient of two spacepoints' differences is their z0.
// `Stored` has the rest: phi from the lower edge of the RoI's window [rad], and slice << 8 | layer.
fn slice_layer_of(beside: Stored) -> u32 {
    return stored_word(beside);
}

// One RoI of the batch and where its data lie.
struct Roi {
    z_min: real,
    z_max: real,
    steps_per_mm: real, // OFFSET_STEPS a bin
    steps_at_0: real,   // of z = 0 above the first bin's lower edge; whole
    spacepoint_first: u32,
    spacepoint_count: u32, // as uploaded, those that take no part included
    cell_first: u32, // word of the first of its cells
    slices: u32,
    ring: u32, // 1: slices at both ends are neighbours
    endcap_shift: i32,
    bins: u32,
    half: u32, // the middle bin
    histogram_first: u32,
    histogram_count: u32,
    partial_first: u32,
    partial_count: u32,
    background_windows: u32, // windows of the lowest sums; their mean is the background; 0: none
    total_first: u32, // the first of its own histograms
    totals: u32, // how many they are
    padding: u32,
}

// Parameters that all RoIs of the batch share.
struct Params {
    layers: u32,
    inner_layers: u32, // most layers that may hold inner spacepoints, at least 1
    slices_per_histogram: u32, // of thesis/numbered_pairs
    share: u32,       // spacepoints whose pairs share a histogram, of pairs/streamed
    lanes_shift: u32, // log2 of the threads that share a spacepoint's partners
    row_first: u32,   // of find_z's dispatch: its first row of histograms
    rows: u32,        // rows of histograms, those of find_z's earlier dispatches included
    row_bins: u32,    // bins of a row of histograms, with padding
    peaks: u32,
    least_weight: u32,
    prefer_central: u32,
    // Of sum_histos: 0 sums find_z's rows in groups, 1 sums the groups, 2 sums find_z's rows at
    // once. Of highest_windows: the pass of count_sums.
    stage: u32,
    row_lanes_shift: u32, // log2 of the threads of sum_histos that share a block's rows
    // Parts of an RoI's histogram: n, z; pairs if n counts weights; precisions; sectors with soft
    // tracks; sectors with hard tracks.
    total_parts: u32,
}

// Cuts on triplets.
struct Cuts {
    dz: real,
    dk: real,
    dp: real,
    gev_mm: real, // pT over curvature
    // Of weights by pT (PtWeight in src/pt_weight.rs): here, and not overrides, which are f32 in
    // either precision.
    strip_dz: real,
    resolution_mm: real,
    per_gev2: real,
}

// The background: the sum and the number of the windows below `threshold`. The remaining windows
// are at the threshold.
struct Background {
    low: u32, // word of the sum of so many windows
    high: u32,
    windows: u32,
    threshold: u32,
}

// Of an RoI with several histograms: as Background, and windows by digits of their sums.
struct Sums {
    low: u32,
    high: u32,
    windows: u32,
    threshold: u32,
    digits: array<u32, 256>,
}

// Pairs near a peak whose mean is its z (find_peaks/z_estimate/densest.wgsl); else zero.
struct Cluster {
    first: u32, // part of the window, from the first of the five bins about the peak's middle one
    weight: u32,  // sum of the pairs' precisions
    sum: u32,     // of precision times part, counted from `first`
    squares: u32, // of precision times the square of the part
    directions: u32, // sectors with soft tracks in the bins that the window touches
    around: u32,  // sum of the precisions in all five bins
}

// Three neighbouring bins, the middle one being `bin`; bin = NO_PEAK: none.
struct Peak {
    bin: u32,
    n: array<u32, 3>,
    z: array<u32, 3>,
    pairs: array<u32, 3>,
    rank: u32,
    cluster: Cluster,
    flags: u32, // of the RoI, in the first of its peaks, and so is:
    background: Background,
}

// Places along z are whole numbers of these a bin, on which all engines' histograms agree.
const OFFSET_STEPS: u32 = 1024u;
const STEP_BITS: u32 = 10u;

// Number of sectors of an RoI's window, one bit each.
const SECTORS: u32 = 24u;

const NO_PEAK: u32 = 0xffffffffu;

// Where cells begin is counted from an RoI's first spacepoint: in half words, as long as those
// count all of them.
const MOST_HALF: u32 = 0xffffu;

// log2 of the cells in a word.
fn cell_shift(spacepoint_count: u32) -> u32 {
    return select(0u, 1u, spacepoint_count <= MOST_HALF);
}

// A cell out of its word.
fn cell_of_word(word: u32, cell: u32, shift: u32) -> u32 {
    let value = word >> ((cell & shift) << 4u);
    return select(value, value & MOST_HALF, shift != 0u);
}

// Where an RoI's spacepoints of one slice and one layer begin, among its cells.
// 0: layers in turn, so that slice = slices is where the layer ends (find_z/order/by_layer.wgsl).
// 1: slices in turn, so that layer = layers is where the slice ends (find_z/order/by_slice.wgsl).
// 2: by slice alone, layers mixed (find_z/order/mixed_layers.wgsl).
override CELLS: u32 = 0;

fn cell_place(layers: u32, slices: u32, layer: u32, slice: u32) -> u32 {
    switch CELLS {
        case 0u: {
            return layer * slices + slice;
        }
        case 1u: {
            return slice * layers + layer;
        }
        default: {
            return slice;
        }
    }
}

fn cell_count(layers: u32, slices: u32) -> u32 {
    return select(layers * slices, slices, CELLS == 2u) + 1u;
}

// In place of a spacepoint's slice and layer: takes no part.
const DROPPED: u32 = 0xffffffffu;

// The status of an RoI.
struct RoiStatus {
    flags: atomic<u32>,
    rows: u32, // histograms that find_z filled, of those that there is room for
}

// Flags: more pairs in a slice than can be numbered; counts beyond what words hold; a loop that the
// driver ended early (llvmpipe does, after 65,536 rounds of an invocation's loops together, without
// a word).
const STATUS_PAIRS: u32 = 1u;
const STATUS_COUNTS: u32 = 2u;
const STATUS_UNFINISHED: u32 = 4u;

// Whether the driver ends this invocation's loops early by now, asked at a kernel's end: it ends
// any loop then, those whose rounds are not looked at and this one too. `layers` is 2 at least,
// which compilers do not know, or they would unroll it.
fn loops_are_cut(layers: u32) -> bool {
    let rounds = min(layers, 2u);
    var round = 0u;
    for (; round < rounds; round++) {}
    return round < rounds;
}

// Quotients and square roots. 0: as the device rounds them. 1: corrected to IEEE 754, except for
// about one in ten million, on a device with a fused multiply-add. The fused multiply-add gives the
// exact error of a rough result (P. Markstein, IBM J. Res. Dev. 34 (1990) 111). A corrected
// quotient by 0 is NaN.
override CORRECTED: u32 = 0;

fn quotient(a: real, b: real) -> real {
    if CORRECTED == 0u {
        return a / b;
    }
    let inverse = real(1.0) / b;
    let rough = a * inverse;
    return fma(fma(-b, rough, a), inverse, rough);
}

fn root(x: real) -> real {
    let rough = sqrt(x);
    if CORRECTED == 0u {
        return rough;
    }
    let corrected = fma(fma(-rough, rough, x), real(0.5) / rough, rough);
    return select(corrected, rough, x == real(0.0));
}
