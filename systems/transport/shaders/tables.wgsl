// Rates, losses and ranges of materials at nodes of energy. CPU twin: src/physics/tables.rs, whose
// lines these are.
// Needs: types.

// For each material a row with its radiation length, rows of electrons (bremsstrahlung, Moller,
// loss, logarithm of the range), then rows of photons (Compton, pairs, logarithms of the
// photoelectric effect and of the energy). After them the materials of regions.
@group(0) @binding(4) var<storage, read> tables: array<vec4<f32>>;

const LOG_LOWEST: f32 = -9.210340371976182;
const NODES_PER_LOG: f32 = 3.0400613733226573;
const LOG_PER_NODE: f32 = 0.32894072757057795;
const PHOTON_NODES: u32 = 101u;
const LOG_LOWEST_PHOTON: f32 = -6.907755278982137;
const LOG_HIGHEST_PHOTON: f32 = 16.11809565095832;
const PHOTON_NODES_PER_LOG: f32 = 4.342944819032518;

// Between nodes, straight in the logarithm of the energy.
fn looked_up(first: u32, energy: f32) -> vec4<f32> {
    let along = clamp((log(energy) - LOG_LOWEST) * NODES_PER_LOG, 0.0, f32(NODES - 1u));
    let node = min(u32(along), NODES - 2u);
    let low = tables[first + node];
    return low + (along - f32(node)) * (tables[first + node + 1u] - low);
}

// The first row of a material, from 1.
fn rows_of(material: u32) -> u32 {
    return (material - 1u) * (1u + NODES + params.photon_rows);
}

fn radiation_length_of(material: u32) -> f32 {
    return tables[rows_of(material)].x;
}

fn of_electron(material: u32, kinetic: f32) -> vec4<f32> {
    return looked_up(rows_of(material) + 1u, kinetic);
}

fn of_photon(material: u32, energy: f32) -> vec3<f32> {
    let first = rows_of(material) + 1u + NODES;
    let last = first + params.photon_rows - 1u;
    let logarithm = clamp(log(energy), LOG_LOWEST_PHOTON, LOG_HIGHEST_PHOTON);
    // Above all edges this is the row.
    let along = u32((logarithm - LOG_LOWEST_PHOTON) * PHOTON_NODES_PER_LOG);
    var row = min(first + along + params.photon_rows - PHOTON_NODES, last - 1u);
    while row > first && tables[row].w > logarithm {
        row -= 1u;
    }
    while row + 1u < last && tables[row + 1u].w <= logarithm {
        row += 1u;
    }
    let low = tables[row];
    let high = tables[row + 1u];
    let found = low + (logarithm - low.w) / (high.w - low.w) * (high - low);
    return vec3<f32>(found.xy, exp(found.z));
}

// The kinetic energy whose range has a logarithm.
fn energy_of_range(material: u32, logarithm: f32) -> f32 {
    let first = rows_of(material) + 1u;
    var low = 0u;
    var high = NODES - 1u;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if tables[first + middle].w <= logarithm {
            low = middle;
        } else {
            high = middle;
        }
    }
    let before = tables[first + low].w;
    let along = f32(low) + (logarithm - before) / (tables[first + high].w - before);
    return exp(LOG_LOWEST + along * LOG_PER_NODE);
}
