// Rates, losses and ranges at nodes of energy. CPU twin: src/physics/tables.rs, whose lines these are.
// Needs: types.

// Of electrons: bremsstrahlung, Moller, loss, logarithm of the range; then of photons: Compton, pairs, photoelectric effect.
@group(0) @binding(4) var<storage, read> tables: array<vec4<f32>>;

const LOG_LOWEST: f32 = -9.210340371976182;
const NODES_PER_LOG: f32 = 3.0400613733226573;
const LOG_PER_NODE: f32 = 0.32894072757057795;

// Between nodes, straight in the logarithm of the energy.
fn looked_up(first: u32, energy: f32) -> vec4<f32> {
    let along = clamp((log(energy) - LOG_LOWEST) * NODES_PER_LOG, 0.0, f32(NODES - 1u));
    let node = min(u32(along), NODES - 2u);
    let low = tables[first + node];
    return low + (along - f32(node)) * (tables[first + node + 1u] - low);
}

fn of_electron(kinetic: f32) -> vec4<f32> {
    return looked_up(0u, kinetic);
}

fn of_photon(energy: f32) -> vec4<f32> {
    return looked_up(NODES, energy);
}

// The kinetic energy whose range has a logarithm.
fn energy_of_range(logarithm: f32) -> f32 {
    var low = 0u;
    var high = NODES - 1u;
    while high - low > 1u {
        let middle = (low + high) / 2u;
        if tables[middle].w <= logarithm {
            low = middle;
        } else {
            high = middle;
        }
    }
    let before = tables[low].w;
    let along = f32(low) + (logarithm - before) / (tables[high].w - before);
    return exp(LOG_LOWEST + along * LOG_PER_NODE);
}
