// Where a slice of a layer begins, among an RoI's cells: layers in turn, so that slice = slices is where the layer ends.
// Swapped with cells/by_slice.wgsl and cells/slices.wgsl.

fn cell_place(layers: u32, slices: u32, layer: u32, slice: u32) -> u32 {
    return layer * slices + slice;
}

fn cell_count(layers: u32, slices: u32) -> u32 {
    return layers * slices + 1u;
}
