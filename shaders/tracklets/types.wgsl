// Records of the search for tracklets, shared with the host (src/engine/gpu/tracklets/records.rs; a
// test holds them together), and what its kernels have in common.

#import shared::real
#import shared::types

// Cells of azimuth of a layer, and cells a radian.
const CELLS_OF_LAYER: u32 = 512u;
const CELLS_PER_RAD: real = 81.48733086305042;
const PI: real = 3.141592653589793;

// The least |cot| of a track that passes a disk, and the highest momentum of a short tracklet
// [GeV]: src/engine/tracklets/search.rs.
const MIN_COT_ON_DISK: real = 0.01;
const MIN_PER_PT: real = 0.03333333333333333;

// No hit.
const NO_HIT: u32 = 0xffffffffu;

// An event of a part, and where its data lie. Capacities are of lists.
struct Event {
    hit_first: u32,
    hit_count: u32,
    cell_first: u32, // where its first cell begins; all of its layers and one word follow
    range_count: u32,
    doublet_first: u32,
    doublet_capacity: u32,
    outer_first: u32,
    outer_capacity: u32,
    triplet_first: u32,
    triplet_capacity: u32,
    kept_first: u32,
    kept_capacity: u32,
    // The ranges of z that tracklets point into [mm].
    ranges: array<vec2<real>, 4>,
    // The least and the largest rho of each pixel layer [mm].
    extents: array<vec2<real>, 64>,
}

// Numbers of what an event has. A number above a list's capacity says how long the list must be.
struct Counts {
    doublets: atomic<u32>,
    outers: atomic<u32>,
    triplets: atomic<u32>,
    kept: atomic<u32>,
    flags: atomic<u32>,
    rounds: u32, // of choose_rest
    crowd: atomic<u32>, // most pairs of an inner and an outer hit of one hit, if above MOST_SMALL
    padding: u32,
}

// Pairs of an inner and an outer hit that are not counted as a crowd.
const MOST_SMALL: u32 = 2048u;

// Flags: STATUS_UNFINISHED in shared/types.wgsl; hits near a hit that are too many to be tested.
const STATUS_CROWDED: u32 = 8u;

// A pixel layer.
struct Layer {
    resolution: real,
    thickness: real, // in layers of 1 % of a radiation length; of a disk, with a negative sign
    first: u32,     // of `neighbours`: layers further in, and then layers further out
    inner: u32,
    outer: u32,
    padding_a: u32,
    padding_b: u32,
    padding_c: u32,
}

// A hit as it lies in memory, in the order of layers and cells.
struct StoredHit {
    place: vec4<real>,  // rho, phi, z, bend_of
    sensor: vec4<real>, // 1 / rho, resolution, thickness, number of the layer
}

// A hit.
struct Hit {
    rho: real,
    phi: real,
    z: real,
    bend: real, // bend_of
    inverse_rho: real,
    resolution: real,
    thickness: real,
    layer: u32, // among pixel layers
}

// A middle hit with one further in, and the triplets that it has.
struct Doublet {
    inner: u32,
    middle: u32,
    triplet_first: u32,
    triplets: u32,
}

struct Triplet {
    doublet: u32,
    outer: u32,
    chi2: real,
    kappa: real, // of the first and the last hit [1/mm]
}

// Hits of one track, from the beam outwards; NO_HIT behind the last one.
struct Chain {
    hits: array<u32, 6>,
    chi2: real,
    // Larger for more hits, and then for lower chi2, of which the lowest bit is left out.
    bid: u32,
}

struct Constants {
    max_kappa: real,
    by_gev_mm: real,
    scattering2: real,
    width2: real,
    layers: u32, // of pixels
}

fn hit_of(stored: StoredHit) -> Hit {
    let place = stored.place;
    let sensor = stored.sensor;
    return Hit(place.x, place.y, place.z, place.w, sensor.x, sensor.y, sensor.z, u32(sensor.w));
}

// The azimuth that the softest track turns up to rho, with an impact parameter.
fn bend_of(max_kappa: real, rho: real) -> real {
    return product(real(0.55) * max_kappa, rho) - quotient(real(0.15), rho);
}

// A difference of azimuths, the shorter way round.
fn shorter(phi: real) -> real {
    let below = select(phi, phi - TURN, phi > PI);
    return select(below, phi + TURN, phi < -PI);
}

fn square(x: real) -> real {
    return product(x, x);
}
