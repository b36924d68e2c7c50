// Interactions are sorted by region. Swapped with sort_by/process.wgsl.
// Needs: types, cells.

fn class_of(process: u32, cell: u32) -> u32 {
    return region_of(cell) % (params.classes - 1u);
}
