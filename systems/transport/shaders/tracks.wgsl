// Tracks in slots, as three groups of 16 bytes. CPU twin: Slots in src/track.rs.
// Needs: types.

// x, y, z; length of the step.
@group(0) @binding(1) var<storage, read_write> places: array<vec4<f32>>;
// Direction of length 1; kinetic energy.
@group(0) @binding(2) var<storage, read_write> directions: array<vec4<f32>>;
// Number, low and high; two words of bits.
@group(0) @binding(3) var<storage, read_write> identities: array<vec4<u32>>;

// Bits of the last word: two of the kind, two of the status, one is unused, three of the process,
// twenty of the cell.
const STATUS_AT: u32 = 2u;
const PROCESS_AT: u32 = 5u;
const CELL_AT: u32 = 8u;
// Bits of the word before it: sixteen of the steps, eight of the loops, eight of the material.
const MOST_STEPS: u32 = 0xffffu;
const MOST_LOOPS: u32 = 0xffu;
const LOOPS_AT: u32 = 16u;
const MATERIAL_AT: u32 = 24u;

struct Track {
    number: vec2<u32>,
    kind: u32,
    status: u32,
    place: vec3<f32>,
    direction: vec3<f32>,
    kinetic: f32,
    cell: u32,
    steps: u32,
    step: f32,
    material: u32, // 0 is vacuum
    process: u32,
    loops: u32,
}

fn load(slot: u32) -> Track {
    let identity = identities[slot];
    let place = places[slot];
    let direction = directions[slot];
    let word = identity.w;
    return Track(
        identity.xy,
        word & 3u,
        status_of(word),
        place.xyz,
        direction.xyz,
        direction.w,
        (word >> CELL_AT) & 0xfffffu,
        identity.z & MOST_STEPS,
        place.w,
        identity.z >> MATERIAL_AT,
        process_of(word),
        (identity.z >> LOOPS_AT) & MOST_LOOPS,
    );
}

fn counts_of(track: Track) -> u32 {
    return track.steps | (track.loops << LOOPS_AT) | (track.material << MATERIAL_AT);
}

fn word_of(track: Track) -> u32 {
    return track.kind
        | (track.status << STATUS_AT)
        | (track.process << PROCESS_AT)
        | (track.cell << CELL_AT);
}

// The highest bits of the last word mark a track that was made in this step, and does not take part
// in it.
const BORN_AT: u32 = 28u;
const LONG_AGO: u32 = 15u;

fn birth_of(iteration: u32) -> u32 {
    return iteration % LONG_AGO;
}

fn store_born(slot: u32, track: Track, birth: u32) {
    places[slot] = vec4<f32>(track.place, track.step);
    directions[slot] = vec4<f32>(track.direction, track.kinetic);
    identities[slot] = vec4<u32>(track.number, counts_of(track), word_of(track) | (birth << BORN_AT));
}

fn store(slot: u32, track: Track) {
    store_born(slot, track, LONG_AGO);
}

fn status_of(word: u32) -> u32 {
    return (word >> STATUS_AT) & 3u;
}

fn process_of(word: u32) -> u32 {
    return (word >> PROCESS_AT) & 7u;
}

// The momentum of an electron of a kinetic energy.
fn momentum_of(kinetic: f32) -> f32 {
    return sqrt(kinetic * (kinetic + 2.0 * ELECTRON_MASS));
}
