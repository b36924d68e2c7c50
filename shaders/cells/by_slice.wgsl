// Where a layer of a slice begins, among an RoI's cells: slices in turn, so that layer = layers is where the slice ends.
// Swapped with cells/by_layer.wgsl and cells/slices.wgsl.

fn cell_place(layers: u32, slices: u32, layer: u32, slice: u32) -> u32 {
    return slice * layers + layer;
}

fn cell_count(layers: u32, slices: u32) -> u32 {
    return layers * slices + 1u;
}
