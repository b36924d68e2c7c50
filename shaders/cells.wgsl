// Where an RoI's spacepoints of one slice and one layer begin, among its cells. CELLS says in which order cells lie; the files
// order/*.wgsl rely on it.

// 0: layers in turn, so that slice = slices is where the layer ends (order/by_layer.wgsl).
// 1: slices in turn, so that layer = layers is where the slice ends (order/by_slice.wgsl).
// 2: by slice alone, layers mixed (order/mixed_layers.wgsl).
override CELLS: u32 = 0;

fn cell_place(layers: u32, slices: u32, layer: u32, slice: u32) -> u32 {
    switch CELLS {
        case 0u: {
            return layer * slices + slice;
        }
        case 1u: {
            return slice * layers + layer;
        }
        default: {
            return slice;
        }
    }
}

fn cell_count(layers: u32, slices: u32) -> u32 {
    return select(layers * slices, slices, CELLS == 2u) + 1u;
}
