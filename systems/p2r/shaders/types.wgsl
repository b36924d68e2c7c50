// Types and constants of all pieces. CPU twin: src/engine/cpu/state.rs.
// Needs: real.

struct Params {
    tracks: u32, // of an event
    groups: u32, // of BSIZE tracks, of an event
    events: u32,
    layers: u32,
}

// Parameters [cm, GeV], and the lower triangle of their covariance.
struct State {
    x: real,
    y: real,
    z: real,
    ipt: real,
    phi: real,
    theta: real,
    c00: real,
    c10: real,
    c11: real,
    c20: real,
    c21: real,
    c22: real,
    c30: real,
    c31: real,
    c32: real,
    c33: real,
    c40: real,
    c41: real,
    c42: real,
    c43: real,
    c44: real,
    c50: real,
    c51: real,
    c52: real,
    c53: real,
    c54: real,
    c55: real,
}

struct Hit {
    x: real,
    y: real,
    z: real,
    v00: real,
    v10: real,
    v11: real,
    v20: real,
    v21: real,
    v22: real,
}

struct Propagated {
    state: State,
    reached: bool, // if false, the state is undefined
}

// Of a charge and a transverse momentum, the helix's radius [cm/GeV]: 100 / (0.299792458 * 3.8112),
// turning right.
const CURVATURE: real = -87.52206528079138;

// Numbers of a state, a track and a hit, as they lie in memory.
const STATE: u32 = 27u;
const TRACK: u32 = 28u;
const HIT: u32 = 9u;

// The first word of the covariance of a hit that is missing: src/batch.rs.
const NO_HIT: real = -1.0;

// Faults of a track: src/status.rs.
const BAD_TRACK: u32 = 1u;
const BAD_HIT: u32 = 2u;
const UNREACHABLE: u32 = 4u;
const SINGULAR: u32 = 8u;
const NOT_FINITE: u32 = 16u;
const NO_HITS: u32 = 32u;
const NOT_POSITIVE: u32 = 64u;
const FAULTS: u32 = 0xffffu;
// The number of updates is counted above the faults.
const UPDATE: u32 = 0x10000u;
