// Where straight lines leave cells. CPU twin: Bounds in src/geometry.rs, whose lines these are.
// Needs: types, cells.

struct Exit {
    distance: f32,
    to: u32,
}

fn edge(layer: u32) -> f32 {
    return params.edges[layer / 4u][layer % 4u];
}

// Rounding may place a track slightly beyond a surface.
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
    if direction.z > 0.0 {
        let to = select(cell_of(ring, layer + 1u, sector), OUTSIDE, layer + 1u == params.layers);
        exit = nearer(exit, (edge(layer + 1u) - place.z) / direction.z, to);
    } else if direction.z < 0.0 {
        let to = select(cell_of(ring, layer - 1u, sector), OUTSIDE, layer == 0u);
        exit = nearer(exit, (edge(layer) - place.z) / direction.z, to);
    }
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
    let to = select(cell_of(ring + 1u, layer, sector), OUTSIDE, ring + 1u == params.shells);
    exit = outwards(exit, params.surfaces[ring].xyz, place.xy, direction.xy, to);
    if ring > 0u {
        let inner = cell_of(ring - 1u, layer, sector);
        exit = inwards(exit, params.surfaces[ring - 1u].xyz, place.xy, direction.xy, inner);
    }
    return exit;
}

// Where a line inside of a shell leaves it.
fn outwards(before: Exit, shell: vec3<f32>, at: vec2<f32>, along: vec2<f32>, to: u32) -> Exit {
    var exit = before;
    if shell.z != 0.0 {
        if along.x != 0.0 {
            exit = nearer(exit, (shell.x - sign(along.x) * at.x) / abs(along.x), to);
        }
        if along.y != 0.0 {
            exit = nearer(exit, (shell.y - sign(along.y) * at.y) / abs(along.y), to);
        }
        return exit;
    }
    let a = dot(along, along);
    let b = dot(at, along);
    let r = sqrt(dot(at, at));
    let c = (r - shell.x) * (r + shell.x);
    let discriminant = b * b - a * c;
    if a > 0.0 && discriminant >= 0.0 {
        let root = sqrt(discriminant);
        var distance = 0.0;
        if b > 0.0 {
            distance = -(c / (b + root));
        } else {
            distance = (root - b) / a;
        }
        exit = nearer(exit, distance, to);
    }
    return exit;
}

// A position may be so far inside of a box that it is about to enter.
const ENTRY_TOLERANCE: f32 = 0.05;

// Where a line outside of a shell enters it.
fn inwards(exit: Exit, shell: vec3<f32>, at: vec2<f32>, along: vec2<f32>, to: u32) -> Exit {
    if shell.z == 0.0 {
        let a = dot(along, along);
        let b = dot(at, along);
        let r = sqrt(dot(at, at));
        let c = (r - shell.x) * (r + shell.x);
        let discriminant = b * b - a * c;
        if b < 0.0 && discriminant >= 0.0 {
            return nearer(exit, c / (sqrt(discriminant) - b), to);
        }
        return exit;
    }
    var enters = -1e30;
    var leaves = 1e30;
    var speed = 0.0;
    for (var axis = 0u; axis < 2u; axis++) {
        let half = select(shell.y, shell.x, axis == 0u);
        let at_axis = select(at.y, at.x, axis == 0u);
        let along_axis = select(along.y, along.x, axis == 0u);
        let rate = abs(along_axis);
        let side = select(at_axis, -at_axis, along_axis < 0.0);
        if rate > 0.0 {
            let entry = (-half - side) / rate;
            if entry > enters {
                enters = entry;
                speed = rate;
            }
            leaves = min(leaves, (half - side) / rate);
        } else if abs(side) >= half {
            return exit;
        }
    }
    // A line that has just left through a face entered it long ago. One that cuts a corner stays
    // outside.
    if enters * speed > -ENTRY_TOLERANCE && leaves - enters > ENTRY_TOLERANCE {
        return nearer(exit, enters, to);
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
