// Tracks as structures of 22 words, the 88 bytes of the prototype: an array of structures. Swapped
// with the other files of layout/. Host: src/engine/gpu/layouts.rs.
// Needs: integrate.

@group(0) @binding(1) var<storage, read_write> tracks: array<f32>;

fn at(track: u32, word: u32) -> u32 {
    return 22u * track + word;
}

fn load_state(i: u32) -> State {
    let place = vec3<f32>(tracks[at(i, 0u)], tracks[at(i, 1u)], tracks[at(i, 2u)]);
    return State(place, vec3<f32>(tracks[at(i, 4u)], tracks[at(i, 5u)], tracks[at(i, 6u)]));
}

fn store_state(i: u32, state: State) {
    tracks[at(i, 0u)] = state.place.x;
    tracks[at(i, 1u)] = state.place.y;
    tracks[at(i, 2u)] = state.place.z;
    tracks[at(i, 4u)] = state.momentum.x;
    tracks[at(i, 5u)] = state.momentum.y;
    tracks[at(i, 6u)] = state.momentum.z;
}
