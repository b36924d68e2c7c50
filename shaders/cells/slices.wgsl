// Where a slice begins, among an RoI's cells: layers lie mixed. Swapped with cells/by_layer.wgsl and cells/by_slice.wgsl.

fn cell_place(layers: u32, slices: u32, layer: u32, slice: u32) -> u32 {
    return slice;
}

fn cell_count(layers: u32, slices: u32) -> u32 {
    return slices + 1u;
}
