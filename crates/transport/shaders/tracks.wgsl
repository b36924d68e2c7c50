// Tracks in slots, as three groups of 16 bytes. CPU twin: Slots in src/track.rs.
// Needs: types.

@group(0) @binding(1) var<storage, read_write> places: array<vec4<f32>>; // x, y, z; length of the step
@group(0) @binding(2) var<storage, read_write> directions: array<vec4<f32>>; // of length 1; kinetic energy
@group(0) @binding(3) var<storage, read_write> identities: array<vec4<u32>>; // number, low and high; steps; the rest in bits

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
        (word >> 2u) & 3u,
        place.xyz,
        direction.xyz,
        direction.w,
        (word >> 8u) & 0xfffffu,
        identity.z,
        place.w,
        (word >> 4u) & 1u,
        (word >> 5u) & 7u,
    );
}

fn word_of(track: Track) -> u32 {
    return track.kind | (track.status << 2u) | (track.in_material << 4u) | (track.process << 5u) | (track.cell << 8u);
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
    return (word >> 2u) & 3u;
}

fn process_of(word: u32) -> u32 {
    return (word >> 5u) & 7u;
}

// The momentum of an electron of a kinetic energy.
fn momentum_of(kinetic: f32) -> f32 {
    return sqrt(kinetic * (kinetic + 2.0 * ELECTRON_MASS));
}
