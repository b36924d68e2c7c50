// Tracks in slots, as three groups of 16 bytes. CPU twin: Slots in src/track.rs.
// Needs: types.

@group(0) @binding(1) var<storage, read_write> places: array<vec4<f32>>; // x, y, z; length of the step
@group(0) @binding(2) var<storage, read_write> directions: array<vec4<f32>>; // of length 1; kinetic energy
@group(0) @binding(3) var<storage, read_write> identities: array<vec4<u32>>; // number, low and high; steps; the rest in bits

// Bits of the last word: two of kind, two of status, one of matter, three of process, twenty of cell.
const STATUS_AT: u32 = 2u;
const MATERIAL_AT: u32 = 4u;
const PROCESS_AT: u32 = 5u;
const CELL_AT: u32 = 8u;

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
    in_material: u32,
    process: u32,
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
        identity.z,
        place.w,
        (word >> MATERIAL_AT) & 1u,
        process_of(word),
    );
}

fn word_of(track: Track) -> u32 {
    return track.kind
        | (track.status << STATUS_AT)
        | (track.in_material << MATERIAL_AT)
        | (track.process << PROCESS_AT)
        | (track.cell << CELL_AT);
}

// The highest bits of a word tell of a track that was made in this step, which is not its own first one.
const BORN_AT: u32 = 28u;
const LONG_AGO: u32 = 15u;

fn birth_of(iteration: u32) -> u32 {
    return iteration % LONG_AGO;
}

fn store_born(slot: u32, track: Track, birth: u32) {
    places[slot] = vec4<f32>(track.place, track.step);
    directions[slot] = vec4<f32>(track.direction, track.kinetic);
    identities[slot] = vec4<u32>(track.number, track.steps, word_of(track) | (birth << BORN_AT));
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
