// Where straight lines leave cells. CPU twin: Bounds in src/geometry.rs, whose lines these are.
// Needs: types.

const OUTSIDE: u32 = 0xfffffu;
const BORE: u32 = 0u;
const TUBE: u32 = 1u;
const AROUND: u32 = 2u;

struct Exit {
    distance: f32,
    to: u32,
}

fn cell_of(ring: u32, layer: u32, sector: u32) -> u32 {
    return ring | (layer << 2u) | (sector << 10u);
}

fn ring_of(cell: u32) -> u32 {
    return cell & 3u;
}

fn layer_of(cell: u32) -> u32 {
    return (cell >> 2u) & 0xffu;
}

fn sector_of(cell: u32) -> u32 {
    return (cell >> 10u) & 0xffu;
}

fn is_material(cell: u32) -> bool {
    return ring_of(cell) == TUBE && layer_of(cell) >= 1u && layer_of(cell) <= params.layers;
}

fn edge(layer: u32) -> f32 {
    return params.edges[layer / 4u][layer % 4u];
}

// By a rounding beyond a surface is at it.
fn nearer(exit: Exit, distance: f32, to: u32) -> Exit {
    let here = max(distance, 0.0);
    if here < exit.distance {
        return Exit(here, to);
    }
    return exit;
}

fn exit_of(cell: u32, place: vec3<f32>, direction: vec3<f32>) -> Exit {
    let ring = ring_of(cell);
    let layer = layer_of(cell);
    let sector = sector_of(cell);
    var exit = Exit(1e30, OUTSIDE);
    // Across the axis.
    if direction.z > 0.0 {
        let to = select(cell_of(ring, layer + 1u, sector), OUTSIDE, layer == params.layers + 1u);
        exit = nearer(exit, (edge(layer + 1u) - place.z) / direction.z, to);
    } else if direction.z < 0.0 {
        let to = select(cell_of(ring, layer - 1u, sector), OUTSIDE, layer == 0u);
        exit = nearer(exit, (edge(layer) - place.z) / direction.z, to);
    }
    // Around it.
    if params.sectors > 1u {
        let first = params.half_planes[sector].xy;
        let first_towards = first.x * direction.y - first.y * direction.x;
        if first_towards < 0.0 {
            let to = select(sector - 1u, params.sectors - 1u, sector == 0u);
            exit = nearer(exit, -((first.x * place.y - first.y * place.x) / first_towards), cell_of(ring, layer, to));
        }
        let second = params.half_planes[sector + 1u].xy;
        let second_towards = second.x * direction.y - second.y * direction.x;
        if second_towards > 0.0 {
            let to = select(sector + 1u, 0u, sector + 1u == params.sectors);
            exit = nearer(exit, -((second.x * place.y - second.y * place.x) / second_towards), cell_of(ring, layer, to));
        }
    }
    // Away from it.
    let a = dot(direction.xy, direction.xy);
    let b = dot(place.xy, direction.xy);
    let r = sqrt(dot(place.xy, place.xy));
    if ring != AROUND {
        let radius = select(params.radii.x, params.radii.y, ring == TUBE);
        let c = (r - radius) * (r + radius);
        let discriminant = b * b - a * c;
        if a > 0.0 && discriminant >= 0.0 {
            let root = sqrt(discriminant);
            var distance = 0.0;
            if b > 0.0 {
                distance = -(c / (b + root));
            } else {
                distance = (root - b) / a;
            }
            exit = nearer(exit, distance, cell_of(ring + 1u, layer, sector));
        }
    }
    if ring != BORE {
        let radius = select(params.radii.x, params.radii.y, ring == AROUND);
        let c = (r - radius) * (r + radius);
        let discriminant = b * b - a * c;
        if b < 0.0 && discriminant >= 0.0 {
            exit = nearer(exit, c / (sqrt(discriminant) - b), cell_of(ring - 1u, layer, sector));
        }
    }
    if ring == AROUND {
        if direction.x != 0.0 {
            exit = nearer(exit, (params.world.x - sign(direction.x) * place.x) / abs(direction.x), OUTSIDE);
        }
        if direction.y != 0.0 {
            exit = nearer(exit, (params.world.y - sign(direction.y) * place.y) / abs(direction.y), OUTSIDE);
        }
    }
    return exit;
}

// The cell that a path is in, and the one beyond its boundary.
var<private> cell_of_path: u32;
var<private> cell_beyond: u32;

fn distance_ahead(place: vec3<f32>, direction: vec3<f32>) -> f32 {
    let exit = exit_of(cell_of_path, place, direction);
    cell_beyond = exit.to;
    return exit.distance;
}
