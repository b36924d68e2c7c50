// What is kept beside a sorted spacepoint where no azimuth is asked for: slice << 8 | layer.
// Swapped with beside/phi.wgsl.
// Needs: real.

alias Beside = u32;

fn beside_of(phi: real, slice_layer: u32) -> Beside {
    return slice_layer;
}

fn slice_layer_of(beside: Beside) -> u32 {
    return beside;
}
