// The parameters of a run, and constants of all kernels of a step.
// Needs: accuracy. Host: src/engine/gpu/params.rs.

override WORKGROUP_SIZE: u32 = 128;

const NODES: u32 = 78;
const ELECTRON_MASS: f32 = 0.51099895;

const PHOTON: u32 = 0u;
const ELECTRON: u32 = 1u;
const POSITRON: u32 = 2u;

const BREMSSTRAHLUNG: u32 = 0u;
const MOLLER: u32 = 1u;
const COMPTON: u32 = 2u;
const PAIR: u32 = 3u;
const PHOTOELECTRIC: u32 = 4u;
const ANNIHILATION: u32 = 5u;
const NOTHING: u32 = 6u;
const VACANT: u32 = 7u;
const PROCESSES: u32 = 8u;

// The status of a track.
const IS_VACANT: u32 = 0u;
const IS_ALIVE: u32 = 1u;
const IS_WAITING: u32 = 2u;

struct Params {
    accuracy: Accuracy,
    seed: vec2<u32>,
    child_seed: vec2<u32>,
    is_constant: u32,
    most_steps: u32, // of a track
    iterations: u32, // of a run
    capacity: u32, // slots
    electron_cut: f32,
    photon_cut: f32,
    stop: f32,
    layers: u32,
    shells: u32,
    sectors: u32,
    most_loops: u32, // of a track; 0 is no limit
    scatters: u32,
    classes: u32, // of the sort; the last one is vacant slots
    scored_materials: u32, // 0 if primaries are not scored
    regions_row: u32, // of the tables: materials by region
    photon_rows: u32, // of each material
    bins_low: vec2<f32>, // of r and z
    bins_per_mm: vec2<f32>,
    bins: vec2<u32>,
    unused_too: vec2<u32>,
    surfaces: array<vec4<f32>, 15>, // of shells: half of the size, or the radius; 1 for a box
    edges: array<vec4<f32>, 64>, // of layers, four together
    half_planes: array<vec4<f32>, 64>, // cosine and sine
}

@group(0) @binding(0) var<uniform> params: Params;

// Words of `counters`. Sums are of two words, the low one first.
const SIZE: u32 = 0u; // slots that a step looks at: none once a run has ended
const USED: u32 = 1u; // slots that were ever taken
const TAKEN: u32 = 2u; // in this step
const ROOM: u32 = 3u; // vacancies that this step may take
const HEAD: u32 = 4u; // of the ring of vacancies
const TAIL: u32 = 5u;
const ITERATIONS: u32 = 6u;
const STUCK: u32 = 7u;
const WAITING: u32 = 8u; // tracks, in this step
const WAITED: u32 = 9u; // in the last one
const ESCAPED: u32 = 10u;
const ABANDONED: u32 = 12u;
const SECONDARIES: u32 = 14u;
const DONE: u32 = 16u; // of each process: steps that ended so
const COUNTERS: u32 = 32u;

// Dispatches are rows of so many workgroups.
const ROW: u32 = 32768u;

fn own_thread(group: vec3<u32>, groups: vec3<u32>, thread: u32) -> u32 {
    return (group.y * groups.x + group.x) * WORKGROUP_SIZE + thread;
}
