// What is kept beside a sorted spacepoint: phi from the lower edge of its RoI's window [rad], and slice << 8 | layer.
// Swapped with beside/slice_layer.wgsl.
// Needs: real.

alias Beside = Stored;

fn beside_of(phi: real, slice_layer: u32) -> Beside {
    return stored(phi, slice_layer);
}

fn slice_layer_of(beside: Beside) -> u32 {
    return stored_word(beside);
}
