// Cells: ring, layer and sector. CPU twin: Cell in src/geometry.rs.
// Needs: types, tables.

const OUTSIDE: u32 = 0xfffffu;
const LAYER_AT: u32 = 4u;
const SECTOR_AT: u32 = 12u;

fn cell_of(ring: u32, layer: u32, sector: u32) -> u32 {
    return ring | (layer << LAYER_AT) | (sector << SECTOR_AT);
}

fn ring_of(cell: u32) -> u32 {
    return cell & 15u;
}

fn layer_of(cell: u32) -> u32 {
    return (cell >> LAYER_AT) & 0xffu;
}

fn sector_of(cell: u32) -> u32 {
    return (cell >> SECTOR_AT) & 0xffu;
}

fn region_of(cell: u32) -> u32 {
    return ring_of(cell) * params.layers + layer_of(cell);
}

// 0 is vacuum.
fn material_of(cell: u32) -> u32 {
    if cell == OUTSIDE {
        return 0u;
    }
    let region = region_of(cell);
    return u32(tables[params.regions_row + region / 4u][region % 4u]);
}
