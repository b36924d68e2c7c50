// Tracks as three columns of 16 bytes, as the engines have them. Swapped with the other files of
// layout/. Host: src/engine/gpu/layouts.rs.
// Needs: integrate; of the kernel params.

@group(0) @binding(1) var<storage, read_write> tracks: array<vec4<f32>>;

fn load_state(i: u32) -> State {
    return State(tracks[i].xyz, tracks[params.count + i].xyz);
}

fn store_state(i: u32, state: State) {
    tracks[i] = vec4<f32>(state.place, 0.0);
    tracks[params.count + i] = vec4<f32>(state.momentum, 0.0);
}
